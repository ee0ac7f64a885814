#pragma once
// SortedRecords: the records of some blocks in the order of storages and G2, by their items; the
// records stay where they are.
//
//   items of all blocks --deal()--> those of each storage together --sort_next()--> sorted groups
//
//        area: | items, storage by storage                  | scratch of the sort |
//
//   G23  A record is sorted once, by the reducer that holds it, when there is nothing to wait for:
//        at the end of the log, or when memory has to be spilled. A group is what the scratch has
//        room for; mostly that is all of a storage, and there is nothing to merge.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gleaner/handoff/block.h"
#include "gleaner/handoff/partition_table.h"
#include "gleaner/reduce/sorted_source.h"

namespace foedus::gleaner {

// Some or all records of one storage, sorted.
struct SortedGroup {
  page::StorageId storage{};
  std::span<const SortItem> items;
};

class SortedRecords {
 public:
  // `memory`: where blocks are. `area`: at a multiple of 16. All outlive this.
  SortedRecords(const PartitionTable* table, const char* memory, char* area,
                std::uint64_t area_bytes);
  SortedRecords(const SortedRecords&) = delete;
  SortedRecords& operator=(const SortedRecords&) = delete;

  // An area for whatever records blocks of so many bytes hold, and for a scratch of at least a
  // quarter of it.
  static std::uint64_t area_bytes_for(std::uint64_t block_bytes);

  const char* memory() const { return memory_; }

  // Forgets what was there. The blocks stay as they are from now on.
  void deal(const std::vector<const BlockHeader*>& blocks);
  // Sorts one group; false: all are sorted.
  bool sort_next();
  // REQUIRES: all are sorted. In the order of storages.
  const std::vector<SortedGroup>& groups() const { return groups_; }

 private:
  const PartitionTable* const table_;
  const char* const memory_;
  SortItem* const area_;
  const std::size_t area_items_;

  std::vector<std::size_t> ends_;  // of each storage's items, by index in the table
  std::size_t count_ = 0;
  std::uint32_t next_storage_ = 0;
  std::size_t next_item_ = 0;
  std::vector<SortedGroup> groups_;
};

}  // namespace foedus::gleaner
