#include "gleaner/handoff/compaction.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "foedus-core/base/invariant.h"

namespace foedus::gleaner {

using log::LogRecordType;

void KeyHistory::Change::become(const StreamRecord& record) {
  const log::LogRecord& log = *record.log;
  type = log.type;
  begin = log.payload_offset;
  bytes.assign(log.payload());
  become_as_new_as(log.tid, record);
}

void KeyHistory::Change::overwrite(const Part& newer) {
  FOEDUS_INVARIANT(contains(newer), begin, newer.begin);
  if (newer.bytes.empty()) return;
  std::memcpy(bytes.data() + (newer.begin - begin), newer.bytes.data(), newer.bytes.size());
}

void KeyHistory::Change::increment(const Part& newer) {
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

void KeyHistory::clear() {
  count_ = 0;
  made_.clear();
}

KeyHistory::Change* KeyHistory::push() {
  if (count_ == changes_.size()) changes_.emplace_back();
  return &changes_[count_++];
}

void KeyHistory::add(const StreamRecord& record) {
  const LogRecordType type = record.log->type;
  if (count_ == 0) {
    key_.assign(record.log->key());
    position_ = record.position;
    storage_id_ = record.log->storage_id;
  }
  if (is_whole(type)) {
    count_ = 0;
    push()->become(record);
    return;
  }
  FOEDUS_INVARIANT(type == LogRecordType::kWriteAt || type == LogRecordType::kIncrement, type);
  if (fold_into_only(record)) return;
  Change change;
  change.become(record);
  if (type == LogRecordType::kWriteAt) {
    add_write(std::move(change));
  } else {
    add_increment(std::move(change));
  }
}

// Most records change bytes of the only one before them, a put or a write: they are never copied.
bool KeyHistory::fold_into_only(const StreamRecord& record) {
  if (count_ != 1) return false;
  Change& only = changes_[0];
  const Part part{record.log->payload_offset, record.log->payload()};
  const bool has_bytes = only.type == LogRecordType::kPut || only.type == LogRecordType::kWriteAt;
  if (!has_bytes || !only.contains(part)) return false;
  if (record.log->type == LogRecordType::kWriteAt) {
    only.overwrite(part);
  } else {
    only.increment(part);
  }
  only.become_as_new_as(record.log->tid, record);
  return true;
}

// True if no change behind `index` overlaps that one, which could then as well have come last.
bool KeyHistory::is_free_after(std::size_t index, const Change& change) const {
  for (std::size_t i = index + 1; i < count_; ++i) {
    if (changes_[i].overlaps(change)) return false;
  }
  return true;
}

void KeyHistory::erase_change(std::size_t index) {
  std::rotate(changes().begin() + static_cast<std::ptrdiff_t>(index),
              changes().begin() + static_cast<std::ptrdiff_t>(index) + 1, changes().end());
  --count_;
}

void KeyHistory::add_write(Change write) {
  const Change given = write;
  for (std::size_t i = count_; i-- != 0;) {
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
    joined.overwrite(write.part());
    joined.become_as_new_as(write);
    write = std::move(joined);
  }
  *push() = std::move(write);
}

void KeyHistory::add_increment(Change increment) {
  for (std::size_t i = count_; i-- != 0;) {
    Change& before = changes_[i];
    if (is_whole(before.type)) break;
    if (!before.overlaps(increment)) continue;
    const bool is_sum = before.type == LogRecordType::kIncrement && before.begin == increment.begin;
    const bool is_inside = before.type == LogRecordType::kWriteAt && before.contains(increment);
    if (!(is_sum || is_inside) || !is_free_after(i, before)) break;
    before.increment(increment.part());
    before.become_as_new_as(increment);
    std::rotate(changes().begin() + static_cast<std::ptrdiff_t>(i),
                changes().begin() + static_cast<std::ptrdiff_t>(i) + 1, changes().end());
    return;
  }
  *push() = std::move(increment);
}

std::uint64_t* KeyHistory::make(const Change& change, std::uint64_t* to) {
  auto* const record = reinterpret_cast<log::LogRecord*>(to);
  record->prepare(change.type, storage_id_, key_.size(), change.bytes.size(), change.begin);
  record->tid = change.tid;
  if (!key_.empty()) std::memcpy(record->key_data(), key_.data(), key_.size());
  if (!change.bytes.empty()) {
    std::memcpy(record->payload_data(), change.bytes.data(), change.bytes.size());
  }
  made_.push_back({position_, record, change.session, change.sequence});
  return to + record->record_bytes / 8;
}

void KeyHistory::finish() {
  FOEDUS_INVARIANT(made_.empty(), made_.size());
  std::size_t words = 0;
  for (const Change& change : changes()) {
    words += log::LogRecord::size_of(key_.size(), change.bytes.size()) / 8;
  }
  if (memory_.size() < words) memory_.resize(words);
  std::uint64_t* to = memory_.data();
  for (const Change& change : changes()) to = make(change, to);
}

}  // namespace foedus::gleaner
