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
  FOEDUS_INVARIANT(owns_count_ + (end - indexed_) <= owns_.size(), owns_count_, end);
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
  const std::uint32_t i = index_.find(record);
  return i == WriteEntry::kNone || owns_[i].oldest == WriteEntry::kNone ? WriteEntry::kNone : i;
}

void WriteSet::link_to_known(std::uint32_t number) {
  const std::uint32_t known_as = known(entries_[number].record, number);
  if (known_as == WriteEntry::kNone) return;
  ++indexed_;
  has_repeats_ = true;
  Own& own = owns_[known_as];
  entries_[own.newest].next_own = number;
  own.newest = number;
  if (entries_[number].is_whole()) own.first = number;
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

void WriteSet::cut_chain(Own* own, std::uint32_t count) {
  Own kept;
  for (std::uint32_t i = own->oldest; i < count; i = entries_[i].next_own) {
    if (kept.oldest == WriteEntry::kNone) kept = {i, i, i};
    kept.newest = i;
    if (entries_[i].is_whole()) kept.first = i;
  }
  if (kept.newest != WriteEntry::kNone) entries_[kept.newest].next_own = WriteEntry::kNone;
  *own = kept;
}

// The filter keeps the records of entries that go: it may say of a record too often that it was
// added. An address in the index that has no entry any more keeps its number in owns_, which then
// says so; another entry of the record gets a number of its own.
void WriteSet::cut(std::uint32_t count) {
  FOEDUS_INVARIANT(count <= count_, count, count_);
  cuts_.push_back(count);
  ++cut_count_;
  for (std::uint32_t i = count; i < indexed_; ++i) {
    const std::uint32_t known_as = index_.find(entries_[i].record);
    FOEDUS_INVARIANT(known_as != WriteEntry::kNone, i);
    Own& own = owns_[known_as];
    if (own.newest >= count) cut_chain(&own, count);  // else an entry before has cut it
  }
  indexed_ = std::min(indexed_, count);
  count_ = count;
  room_ = 0;  // entries that are added from now on may take numbers of owns_ beyond those counted
}

std::uint32_t WriteSet::kept_since(State state) const {
  std::uint32_t kept = state.entries;
  for (std::size_t i = state.cuts; i < cuts_.size(); ++i) kept = std::min(kept, cuts_[i]);
  return kept;
}

void WriteSet::clear() {
  if (cut_count_ != 0) [[unlikely]] {
    cut_count_ = 0;
    cuts_.clear();
    base::trim(&cuts_, kKeptBytesMax);
  } else if (is_empty()) {
    return;
  }
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
