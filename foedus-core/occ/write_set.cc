#include "foedus-core/occ/write_set.h"

#include <algorithm>

#include "foedus-core/base/invariant.h"

namespace foedus::occ {

namespace {

// Most entries by which one call of make_room() raises room_ above count_.
constexpr std::size_t kRoomMax = 1u << 20;
constexpr std::uint32_t kScannedMax = 64;  // most entries that known() scans one by one

}  // namespace

void WriteSet::make_room() {
  const std::uint32_t unindexed = count_ - indexed_;
  if (count_ == entries_.size()) entries_.resize(std::max(kEntriesMin, 2 * entries_.size()));
  if (owns_count_ + unindexed == owns_.size()) {
    owns_.resize(std::max(kEntriesMin, 2 * owns_.size()));
  }
  index_.reserve(unindexed + 1);
  const std::size_t more =
      std::min({entries_.size() - count_, owns_.size() - owns_count_ - unindexed,
                index_.room() - unindexed});
  room_ = count_ + static_cast<std::uint32_t>(std::min<std::size_t>(more, kRoomMax));
}

void WriteSet::index_up_to(std::uint32_t end) {
  for (; indexed_ < end; ++indexed_) {
    index_.at(entries_[indexed_].record) = owns_count_;
    owns_[owns_count_++] = {indexed_, indexed_, indexed_};
  }
}

std::uint32_t WriteSet::known(const page::RecordHeader* record, std::uint32_t end) {
  // Scans the entries one by one only if none is indexed and they are few. Otherwise indexes all of
  // them at once: each later call would scan again what this call leaves unindexed.
  bool is_sought = end - indexed_ > (indexed_ == 0 ? kScannedMax : 0);
  for (std::uint32_t i = indexed_; i < end && !is_sought; ++i) {
    is_sought = entries_[i].record == record;
  }
  if (is_sought) index_up_to(end);
  return index_.find(record);
}

void WriteSet::link_to_known(std::uint32_t number) {
  const std::uint32_t known_as = known(entries_[number].record, number);
  if (known_as == WriteEntry::kNone) return;
  ++indexed_;
  has_repeats_ = true;
  Own& own = owns_[known_as];
  entries_[own.newest].next_own = number;
  own.newest = number;
  const log::LogRecordType type = entries_[number].log->type;
  if (type == log::LogRecordType::kPut || type == log::LogRecordType::kErase) own.first = number;
}

void WriteSet::move(const page::RecordHeader* from, page::RecordHeader* to, std::uint32_t place) {
  const std::uint32_t known_as = known(from, count_);
  FOEDUS_INVARIANT(known_as != WriteEntry::kNone, from, to);
  index_.reserve(1);  // may allocate, so before anything changes
  for (std::uint32_t i = owns_[known_as].oldest; i != WriteEntry::kNone; i = entries_[i].next_own) {
    entries_[i].record = to;
    entries_[i].place = place;
  }
  // The old address stays in the index and finds the same chain: a cursor may still stand there.
  index_.set(to, known_as);
  filter_.add(to);
  room_ = 0;
}

void WriteSet::sort() {
  sorted_.clear();
  for (WriteEntry& entry : entries()) sorted_.push_back({entry.record, &entry});
  // The entries lie in the order of the calls, so that their addresses break ties.
  std::sort(sorted_.begin(), sorted_.end(), [](const Sorted& a, const Sorted& b) {
    return a.record != b.record ? a.record < b.record : a.entry < b.entry;
  });
}

void WriteSet::clear() {
  if (is_empty()) return;
  count_ = room_ = indexed_ = owns_count_ = 0;
  has_repeats_ = false;
  filter_.clear();
  sorted_.clear();
  base::trim(&sorted_, kKeptBytesMax);
  base::trim(&entries_, kKeptBytesMax);
  base::trim(&owns_, kKeptBytesMax);
  index_.clear();
}

}  // namespace foedus::occ
