#include "gleaner/handoff/compaction.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <tuple>
#include <utility>

#include "foedus-core/base/increment.h"
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
  FOEDUS_INVARIANT(newer.bytes.size() == sizeof(std::uint64_t), newer.bytes.size());
  base::increment(bytes.data() + (newer.begin - begin), newer.bytes.data());
}

// Merges an older write under this one. REQUIRES: `before` touches it.
void KeyHistory::Change::join(Change before) {
  const std::uint64_t joined_end = std::max(before.end(), end());
  if (begin < before.begin) {
    before.bytes.insert(0, before.begin - begin, '\0');
    before.begin = begin;
  }
  before.bytes.resize(joined_end - before.begin);
  before.overwrite(part());
  before.become_as_new_as(*this);
  *this = std::move(before);
}

void KeyHistory::clear() {
  forget();
  made_.clear();
}

void KeyHistory::forget() {
  count_ = 0;
  index_.clear();
  is_indexed_ = false;
  is_tangled_ = false;
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
    forget();
    push()->become(record);
    return;
  }
  FOEDUS_INVARIANT(type == LogRecordType::kWriteAt || type == LogRecordType::kIncrement, type);
  if (fold_into_only(record)) return;
  if (is_indexed_ || try_index()) {
    if (type == LogRecordType::kWriteAt ? try_write(record) : try_increment(record)) return;
    drop_index();
    is_tangled_ = true;
  }
  Change change;
  change.become(record);
  if (type == LogRecordType::kWriteAt) {
    add_write(std::move(change));
  } else {
    add_increment(std::move(change));
  }
}

// Folds the record into the only change, a put or a write, if that covers the record's bytes. Most
// records are folded so, and are never copied.
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

// Returns true if no change after `index` overlaps `change`, which could then as well be the last.
bool KeyHistory::is_free_after(std::size_t index, const Change& change) {
  for (std::size_t i = index + 1; i < count_; ++i) {
    ++looks_;
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
    ++looks_;
    Change& before = changes_[i];
    if (is_whole(before.type)) break;
    if (before.type == LogRecordType::kIncrement) {
      if (given.contains(before)) {
        erase_change(i);
      } else if (given.overlaps(before)) {
        break;  // its carry crosses from overwritten bytes into others
      }
      continue;
    }
    if (!write.touches(before) || !is_free_after(i, before)) continue;
    write.join(std::move(before));
    erase_change(i);
  }
  *push() = std::move(write);
}

void KeyHistory::add_increment(Change increment) {
  for (std::size_t i = count_; i-- != 0;) {
    ++looks_;
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

// Builds the index if there are many changes and none overlaps another. The changes then have no
// order. Returns whether there is an index.
bool KeyHistory::try_index() {
  if (count_ < indexed_from_ || is_tangled_) return false;
  looks_ += count_;
  for (std::size_t i = is_whole(changes_[0].type) ? 1 : 0; i < count_ && !is_tangled_; ++i) {
    const bool is_new = index_.emplace(changes_[i].begin, i).second;
    is_tangled_ = !is_new || changes_[i].bytes.empty();
  }
  const Change* before = nullptr;
  for (const auto& [begin, place] : index_) {
    const Change& change = changes_[place];
    if (before != nullptr) {
      const bool are_one = before->is_write() && change.is_write() && before->touches(change);
      is_tangled_ = is_tangled_ || are_one || before->overlaps(change);
    }
    before = &change;
  }
  if (is_tangled_) index_.clear();
  is_indexed_ = !is_tangled_;
  return is_indexed_;
}

// Drops the index, and restores the order of TIDs.
void KeyHistory::drop_index() {
  if (!is_indexed_) return;
  is_indexed_ = false;
  index_.clear();
  std::sort(changes().begin(), changes().end(), [](const Change& a, const Change& b) {
    return std::tie(a.tid, a.session, a.sequence) < std::tie(b.tid, b.session, b.sequence);
  });
}

// Returns the first indexed change that ends at `begin` or later.
KeyHistory::Index::iterator KeyHistory::first_touching(std::uint64_t begin) {
  const auto at = index_.lower_bound(begin);
  if (at == index_.begin()) return at;
  ++looks_;
  const auto before = std::prev(at);
  return changes_[before->second].end() < begin ? at : before;
}

// Erases a change and moves the last one to its place. Returns the next in the index.
KeyHistory::Index::iterator KeyHistory::erase_indexed(Index::iterator at) {
  const std::size_t place = at->second;
  at = index_.erase(at);
  if (place != --count_) {
    std::swap(changes_[place], changes_[count_]);
    index_.find(changes_[place].begin)->second = place;
  }
  return at;
}

void KeyHistory::push_indexed(Change change) {
  index_.emplace(change.begin, count_);
  *push() = std::move(change);
}

// Adds an increment by the index. Returns false if it overlaps a change into which it cannot be
// folded.
bool KeyHistory::try_increment(const StreamRecord& record) {
  const Part part{record.log->payload_offset, record.log->payload()};
  for (auto at = first_touching(part.begin); at != index_.end(); ++at) {
    ++looks_;
    Change& before = changes_[at->second];
    if (before.begin >= part.end()) break;
    if (!before.overlaps(part)) continue;
    if (before.is_write() ? !before.contains(part) : before.begin != part.begin) return false;
    before.increment(part);
    before.become_as_new_as(record.log->tid, record);
    return true;
  }
  Change change;
  change.become(record);
  push_indexed(std::move(change));
  return true;
}

// Adds a write by the index. Returns false if it is empty or covers only a part of an increment.
bool KeyHistory::try_write(const StreamRecord& record) {
  const Part part{record.log->payload_offset, record.log->payload()};
  if (part.bytes.empty()) return false;
  const auto first = first_touching(part.begin);
  for (auto at = first; at != index_.end() && at->first <= part.end(); ++at) {
    ++looks_;
    Change& before = changes_[at->second];
    if (!before.is_write()) {
      const bool is_inside = part.begin <= before.begin && before.end() <= part.end();
      if (before.overlaps(part) && !is_inside) return false;
    } else if (before.contains(part)) {
      before.overwrite(part);
      before.become_as_new_as(record.log->tid, record);
      return true;
    }
  }
  Change write;
  write.become(record);
  for (auto at = first; at != index_.end() && at->first <= part.end();) {
    Change& before = changes_[at->second];
    if (!before.is_write() && !before.overlaps(part)) {
      ++at;
      continue;
    }
    if (before.is_write()) write.join(std::move(before));
    at = erase_indexed(at);
  }
  push_indexed(std::move(write));
  return true;
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
  drop_index();
  std::size_t words = 0;
  for (const Change& change : changes()) {
    words += log::LogRecord::size_of(key_.size(), change.bytes.size()) / 8;
  }
  if (memory_.size() < words) memory_.resize(words);
  std::uint64_t* to = memory_.data();
  for (const Change& change : changes()) to = make(change, to);
}

}  // namespace foedus::gleaner
