#pragma once
// SortedRecords sorts the items of the records of some blocks into the order of storages and G2.
// The records do not move.
//
//   items of all blocks --distribute()--> those of each storage together --sort_next()--> sorted
//     groups
//
//        area: | items, storage by storage                  | scratch of the sort |
//
//   G23  A record is sorted once, by the reducer that holds it: at the end of the log, or when
//        memory has to be spilled. A group is as large as the scratch allows. In most cases that is
//        all of a storage, and no merge is needed.

#include <cstdint>
#include <memory>
#include <vector>

#include "gleaner/handoff/block.h"
#include "gleaner/handoff/partition_records.h"
#include "gleaner/handoff/partition_table.h"
#include "gleaner/reduce/sorted_source.h"

namespace foedus::gleaner {

class SortedRecords {
 public:
  // `memory`: where the blocks are. `area`: at a multiple of 16. REQUIRES: all outlive this object.
  SortedRecords(const PartitionTable* table, const char* memory, char* area,
                std::uint64_t area_bytes);
  SortedRecords(const SortedRecords&) = delete;
  SortedRecords& operator=(const SortedRecords&) = delete;

  // Returns the size of an area for the items of any records in blocks of so many bytes, and for a
  // scratch of at least a quarter of it.
  static std::uint64_t area_bytes_for(std::uint64_t block_bytes);

  // Deals out the items of the blocks by storage, and forgets items of earlier blocks. The blocks
  // must stay unchanged from now on.
  void distribute(const std::vector<const BlockHeader*>& blocks);
  // Sorts one group. Returns false if all are sorted.
  bool sort_next();
  // Returns the groups in the order of storages. REQUIRES: all are sorted.
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
