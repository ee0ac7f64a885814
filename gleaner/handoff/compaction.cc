#include "gleaner/handoff/compaction.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "foedus-core/base/invariant.h"

namespace foedus::gleaner {

using log::LogRecordType;

void KeyHistory::Change::overwrite(const Change& newer) {
  FOEDUS_INVARIANT(contains(newer), begin, newer.begin);
  if (newer.bytes.empty()) return;
  std::memcpy(bytes.data() + (newer.begin - begin), newer.bytes.data(), newer.bytes.size());
}

void KeyHistory::Change::increment(const Change& newer) {
  FOEDUS_INVARIANT(contains(newer), begin, newer.begin);
  std::uint64_t value;
  std::uint64_t delta;
  FOEDUS_INVARIANT(newer.bytes.size() == sizeof(delta), newer.bytes.size());
  char* const at = bytes.data() + (newer.begin - begin);
  std::memcpy(&value, at, sizeof(value));
  std::memcpy(&delta, newer.bytes.data(), sizeof(delta));
  value += delta;
  std::memcpy(at, &value, sizeof(value));
}

void KeyHistory::Change::become_as_new_as(const Change& newer) {
  tid = newer.tid;
  session = newer.session;
  sequence = newer.sequence;
}

KeyHistory::Change KeyHistory::change_of(const StreamRecord& record) {
  const log::LogRecord& log = *record.log;
  return {log.type,          log.payload_offset, std::string(log.payload()),
          log.tid,           record.session,     record.sequence};
}

void KeyHistory::clear() {
  changes_.clear();
  made_.clear();
  memory_.clear();
}

void KeyHistory::add(const StreamRecord& record) {
  const LogRecordType type = record.log->type;
  if (changes_.empty()) {
    key_.assign(record.log->key());
    position_ = record.position;
    storage_id_ = record.log->storage_id;
  }
  Change change = change_of(record);
  if (is_whole(type)) {
    changes_.clear();
    changes_.push_back(std::move(change));
    return;
  }
  FOEDUS_INVARIANT(type == LogRecordType::kWriteAt || type == LogRecordType::kIncrement, type);
  const bool is_write = type == LogRecordType::kWriteAt;
  if (changes_.size() == 1 && changes_[0].type == LogRecordType::kPut &&
      changes_[0].contains(change)) {
    if (is_write) {
      changes_[0].overwrite(change);
    } else {
      changes_[0].increment(change);
    }
    changes_[0].become_as_new_as(change);
  } else if (is_write) {
    add_write(std::move(change));
  } else {
    add_increment(std::move(change));
  }
}

// True if no change behind `index` overlaps that one, which could then as well have come last.
bool KeyHistory::is_free_after(std::size_t index, const Change& change) const {
  for (std::size_t i = index + 1; i < changes_.size(); ++i) {
    if (changes_[i].overlaps(change)) return false;
  }
  return true;
}

void KeyHistory::erase_change(std::size_t index) {
  changes_.erase(changes_.begin() + static_cast<std::ptrdiff_t>(index));
}

void KeyHistory::add_write(Change write) {
  const Change given = write;
  for (std::size_t i = changes_.size(); i-- != 0;) {
    Change& before = changes_[i];
    if (is_whole(before.type)) break;
    if (before.type == LogRecordType::kIncrement) {
      if (given.contains(before)) {
        erase_change(i);
      } else if (given.overlaps(before)) {
        break;  // it carries from bytes that are overwritten into others that are not
      }
      continue;
    }
    if (!write.touches(before) || !is_free_after(i, before)) continue;
    Change joined = std::move(before);
    erase_change(i);
    const std::uint64_t end = std::max(joined.end(), write.end());
    if (write.begin < joined.begin) {
      joined.bytes.insert(0, joined.begin - write.begin, '\0');
      joined.begin = write.begin;
    }
    joined.bytes.resize(end - joined.begin);
    joined.overwrite(write);
    joined.become_as_new_as(write);
    write = std::move(joined);
  }
  changes_.push_back(std::move(write));
}

void KeyHistory::add_increment(Change increment) {
  for (std::size_t i = changes_.size(); i-- != 0;) {
    Change& before = changes_[i];
    if (is_whole(before.type)) break;
    if (!before.overlaps(increment)) continue;
    const bool is_sum =
        before.type == LogRecordType::kIncrement && before.begin == increment.begin;
    const bool is_inside = before.type == LogRecordType::kWriteAt && before.contains(increment);
    if (!(is_sum || is_inside) || !is_free_after(i, before)) break;
    before.increment(increment);
    before.become_as_new_as(increment);
    std::rotate(changes_.begin() + static_cast<std::ptrdiff_t>(i),
                changes_.begin() + static_cast<std::ptrdiff_t>(i) + 1, changes_.end());
    return;
  }
  changes_.push_back(std::move(increment));
}

void KeyHistory::make(const Change& change) {
  const std::size_t bytes = log::LogRecord::size_of(key_.size(), change.bytes.size());
  memory_.push_back(std::make_unique_for_overwrite<std::uint64_t[]>(bytes / 8));
  auto* const record = reinterpret_cast<log::LogRecord*>(memory_.back().get());
  record->prepare(change.type, storage_id_, key_.size(), change.bytes.size(), change.begin);
  record->tid = change.tid;
  if (!key_.empty()) std::memcpy(record->key_data(), key_.data(), key_.size());
  if (!change.bytes.empty()) {
    std::memcpy(record->payload_data(), change.bytes.data(), change.bytes.size());
  }
  made_.push_back({position_, record, change.session, change.sequence});
}

void KeyHistory::finish() {
  FOEDUS_INVARIANT(made_.empty(), made_.size());
  for (const Change& change : changes_) make(change);
}

}  // namespace foedus::gleaner
