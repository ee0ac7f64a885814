#include "gleaner/reduce/sorted_records.h"

#include <algorithm>
#include <utility>

#include "foedus-core/base/invariant.h"
#include "gleaner/reduce/item_sort.h"

namespace foedus::gleaner {

namespace {

// The least bytes of a record, without key and payload. Even if all records are such, their items
// leave a part of the area to the scratch.
constexpr std::uint64_t kRecordBytesMin =
    sizeof(RecordEntry) + log::LogRecord::size_of(0, 0) + sizeof(SortItem);
constexpr std::uint64_t kAreaShare = 3;  // area_bytes_for() is 1/3 of the blocks' bytes
static_assert(kAreaShare * sizeof(SortItem) < kRecordBytesMin);

}  // namespace

std::uint64_t SortedRecords::area_bytes_for(std::uint64_t block_bytes) {
  return block_bytes / kAreaShare / sizeof(SortItem) * sizeof(SortItem);
}

SortedRecords::SortedRecords(const PartitionTable* table, const char* memory, char* area,
                             std::uint64_t area_bytes)
    : table_(table),
      memory_(memory),
      area_(reinterpret_cast<SortItem*>(area)),
      area_items_(area_bytes / sizeof(SortItem)) {
  FOEDUS_INVARIANT(reinterpret_cast<std::uintptr_t>(area) % sizeof(SortItem) == 0, area);
}

void SortedRecords::distribute(const std::vector<const BlockHeader*>& blocks) {
  groups_.clear();
  next_storage_ = 0;
  next_item_ = 0;
  ends_.assign(table_->storages().size(), 0);
  for (const BlockHeader* const block : blocks) {
    for (const SortItem* item = block->items_begin(); item != block->items_end(); ++item) {
      ++ends_[item->storage];
    }
  }
  count_ = 0;
  for (std::size_t& end : ends_) count_ += std::exchange(end, count_);
  FOEDUS_INVARIANT(count_ < area_items_, count_, area_items_);
  // Items are dealt in the order in which they came. G2 does not need it, but runs of them are then
  // in order already.
  for (const BlockHeader* const block : blocks) {
    for (const SortItem* item = block->items_end(); item-- != block->items_begin();) {
      area_[ends_[item->storage]++] = *item;
    }
  }
}

bool SortedRecords::sort_next() {
  while (next_storage_ < ends_.size() && ends_[next_storage_] == next_item_) ++next_storage_;
  if (next_storage_ == ends_.size()) return false;
  const StoragePartitions& storage = table_->storages()[next_storage_];
  SortItem* const items = area_ + next_item_;
  const std::size_t count = std::min(ends_[next_storage_] - next_item_, area_items_ - count_);
  sort_items(memory_, storage.kind, items, area_ + count_, count);
  groups_.push_back({storage.id, memory_, {items, count}});
  next_item_ += count;
  return true;
}

}  // namespace foedus::gleaner
