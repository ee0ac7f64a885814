#pragma once
// MapMemory: a mapper's records until they are shipped: copied as they come, sorted into buckets
// when it is full.
//
//      memory                                                                    memory + bytes
//        | records in their order of arrival ──►     ... ◄── sort entries, the newest first |
//        |                                       room for as many again: the scratch        |
//
//   G16  All buckets share the memory, so that one storage or partition may fill it alone, and an
//        idle one costs nothing. It is emptied as a whole.

#include <cstdint>
#include <vector>

#include "foedus-core/base/invariant.h"
#include "gleaner/handoff/partition_table.h"
#include "gleaner/map/bucket_sort.h"
#include "gleaner/map/record_source.h"

namespace foedus::gleaner {

// One storage's records for one partition, sorted.
struct SortedBucket {
  const StoragePartitions* storage = nullptr;
  std::uint32_t partition = 0;
  SortEntry* entries = nullptr;
  std::size_t count = 0;
};

class MapMemory {
 public:
  // `memory`: at a multiple of 64, outlives this. Bytes beyond 32 GiB are not used.
  MapMemory(const PartitionTable* table, char* memory, std::uint64_t bytes);
  MapMemory(const MapMemory&) = delete;
  MapMemory& operator=(const MapMemory&) = delete;

  const char* memory() const { return memory_; }
  bool is_empty() const { return count_ == 0; }

  // Copies the record, of the storage at `index` of the table. False: there is no room.
  bool try_add(std::uint32_t index, const SourceRecord& record, std::uint64_t position);

  // Begins to hand out what it holds; nothing is added before the last bucket was handed out.
  void begin_buckets();
  // The next bucket, valid until the next call; false after the last: it is empty now.
  bool next_bucket(SortedBucket* bucket);

 private:
  std::size_t bucket_of(std::uint32_t index, std::uint64_t position) const {
    return std::size_t{index} * table_->partitions() +
           table_->storages()[index].partition_of(position);
  }

  const PartitionTable* const table_;
  char* const memory_;
  const std::uint64_t bytes_;

  std::uint64_t record_bytes_ = 0;
  std::size_t count_ = 0;
  std::vector<std::uint32_t> bucket_counts_;  // by storage, then partition
  // While buckets are handed out.
  SortEntry* sorted_ = nullptr;
  SortEntry* scratch_ = nullptr;
  std::size_t next_bucket_ = 0;
  std::size_t next_entry_ = 0;
};

}  // namespace foedus::gleaner
