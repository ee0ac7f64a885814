#include "foedus-core/occ/access_set.h"

#include <algorithm>
#include <utility>

namespace foedus::occ {

namespace {

constexpr std::size_t kEntriesMin = 64;  // a vector grows to at least as many
// Room is looked for anew after this many entries at the latest.
constexpr std::size_t kRoomMax = 1u << 20;
constexpr std::uint32_t kScannedMax = 64;  // entries that a look goes through one by one

}  // namespace

void AddressIndex::set(const void* address, std::uint32_t number) {
  FOEDUS_INVARIANT(number != WriteEntry::kNone);
  at(address) = number;
}

void AddressIndex::grow() {
  const auto begin = static_cast<std::size_t>(table_ - slots_.data());
  const std::size_t end = begin + table_mask_ + 1;
  const std::size_t mask = table_mask_ * 2 + 1;
  if (slots_.size() <= end) {
    slots_.resize(end + mask + 1);
    table_ = slots_.data() + begin;
  }
  table_mask_ = mask;
  table_ = slots_.data() + end;
  used_ = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const Slot slot = slots_[i];
    if (slot.generation == generation_) set(slot.address, slot.number);
  }
}

void AddressIndex::forget_all() {
  for (Slot& slot : slots_) slot.generation = 0;
  generation_ = 1;
}

void ReadSet::resize(std::size_t room) {
  const std::size_t used = size();
  room_.resize(room);
  next_ = room_.data() + used;
  room_end_ = room_.data() + room;
}

void ReadSet::grow() { resize(std::max(kEntriesMin, 2 * room_.size())); }

void WriteSet::make_room() {
  const std::uint32_t unindexed = count_ - indexed_;
  if (count_ == entries_.size()) entries_.resize(std::max(kEntriesMin, 2 * entries_.size()));
  if (owns_count_ + unindexed == owns_.size()) {
    owns_.resize(std::max(kEntriesMin, 2 * owns_.size()));
  }
  index_.reserve(unindexed + 1);
  const std::size_t more = std::min({entries_.size() - count_,
                                     owns_.size() - owns_count_ - unindexed,
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
  // One by one while all are few; later on what a look leaves would be looked at again and again.
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
  index_.reserve(1);  // before anything changes
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

void PageSet::add(page::PageHeader* page, page::PageVersion observed, StorageControl* storage) {
  if (!entries_.empty() && index_.find(page) != WriteEntry::kNone) return;
  reserve(1);
  index_.set(page, static_cast<std::uint32_t>(entries_.size()));
  entries_.push_back({page, observed.counts(), storage});
}

void PageSet::repoint(PageEntry* entry, page::PageHeader* page, page::PageVersion observed) {
  const auto number = static_cast<std::uint32_t>(entry - entries_.data());
  FOEDUS_INVARIANT(number < entries_.size(), number);
  entry->page = page;
  entry->observed = observed.counts();
  index_.set(page, number);
}

void HeldLocks::add(page::RecordHeader* record, LockWaiter* waiter) {
  reserve(1);
  index_.set(record, static_cast<std::uint32_t>(entries_.size()));
  entries_.push_back({record, waiter});
  highest_ = std::max(highest_, address_of(record));
}

LockWaiter* HeldLocks::move(const page::RecordHeader* from, page::RecordHeader* to,
                            LockWaiter* waiter) {
  const std::uint32_t i = find(from);
  FOEDUS_INVARIANT(i != WriteEntry::kNone, from, to);
  index_.set(to, i);
  highest_ = std::max(highest_, address_of(to));
  entries_[i].record = to;
  return std::exchange(entries_[i].waiter, waiter);
}

void WaiterPool::add_block() {
  base::reserve_more(&blocks_, 1);
  if (source_ != nullptr && !source_->try_take(kBlockBytes)) throw base::BudgetSpent();
  try {
    blocks_.push_back(std::make_unique<LockWaiter[]>(kBlockWaiters));
  } catch (const std::bad_alloc&) {
    if (source_ != nullptr) source_->give_back(kBlockBytes);
    throw;
  }
  for (std::size_t i = 0; session_ >= 0 && i < kBlockWaiters; ++i) {
    blocks_.back()[i].set_session(static_cast<std::uint32_t>(session_));
  }
}

void WaiterPool::drop_blocks(std::size_t kept) {
  while (blocks_.size() > kept) {
    blocks_.pop_back();
    if (source_ != nullptr) source_->give_back(kBlockBytes);
  }
}

}  // namespace foedus::occ
