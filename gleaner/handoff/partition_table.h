#pragma once
// PartitionTable: which reducer gets a record. Made once for a glean and never changed; any thread
// may read it.
//
//   G10  Every storage has one partition for each reducer. Partition i holds the positions
//        [boundary i-1, boundary i), the first one from 0 and the last one to the end. Equal
//        boundaries make a partition without positions.

#include <cstdint>
#include <optional>
#include <vector>

#include "foedus-core/page/page_id.h"
#include "foedus/status.h"
#include "foedus/storage.h"
#include "gleaner/handoff/record_stream.h"

namespace foedus::gleaner {

struct StoragePartitions {
  page::StorageId id{};
  StorageKind kind = StorageKind::kMasstree;
  std::vector<std::uint64_t> boundaries;  // partitions - 1 of them, ascending

  std::uint32_t partition_of(std::uint64_t position) const;
  // Nothing if the partition has no position.
  std::optional<PositionRange> range_of(std::uint32_t partition) const;
};

class PartitionTable {
 public:
  // `storages`: those of the new snapshot; what is not among them was dropped. `id_end`: no storage
  // that the glean can meet, dropped ones included, has this id or a greater one.
  // kInvalidArgument: no partition, an id twice, 0 or not below id_end, or boundaries that are not
  // as G10 says.
  static Result<PartitionTable> make(std::uint32_t partitions,
                                     std::vector<StoragePartitions> storages,
                                     page::StorageId id_end);

  std::uint32_t partitions() const { return partitions_; }
  // In the order of their ids.
  const std::vector<StoragePartitions>& storages() const { return storages_; }
  page::StorageId id_end() const { return id_end_; }

  static constexpr std::uint32_t kDropped = ~std::uint32_t{0};
  // The index in storages(), or kDropped.
  std::uint32_t index_of(page::StorageId id) const {
    for (std::uint32_t i = static_cast<std::uint32_t>(id) & slot_mask_;; i = (i + 1) & slot_mask_) {
      const std::uint32_t index = slots_[i];
      if (index == kDropped || storages_[index].id == id) return index;
    }
  }

 private:
  PartitionTable() = default;

  std::uint32_t partitions_ = 0;
  page::StorageId id_end_{};
  std::vector<StoragePartitions> storages_;
  // Indexes by id, open addressing, at least half of them kDropped: each record asks.
  std::vector<std::uint32_t> slots_;
  std::uint32_t slot_mask_ = 0;
};

}  // namespace foedus::gleaner
