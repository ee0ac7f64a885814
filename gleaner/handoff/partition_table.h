#pragma once
// PartitionTable says which reducer gets a record. It is made once for a glean and never changed;
// any thread may read it.
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
  // Returns the positions of a partition; nothing if it has none.
  std::optional<PositionRange> range_of(std::uint32_t partition) const;
};

class PartitionTable {
 public:
  // Makes the table of a glean. `storages`: those of the new snapshot; any other storage was
  // dropped. `id_end`: an id above those of all storages that the glean can meet, dropped ones
  // included.
  // kInvalidArgument: no partition; an id that is 0, given twice or not below id_end; or boundaries
  // that are not as G10 says.
  static Result<PartitionTable> make(std::uint32_t partitions,
                                     std::vector<StoragePartitions> storages,
                                     page::StorageId id_end);

  std::uint32_t partitions() const { return partitions_; }
  // Returns the storages in the order of their ids.
  const std::vector<StoragePartitions>& storages() const { return storages_; }
  page::StorageId id_end() const { return id_end_; }

  static constexpr std::uint32_t kDropped = ~std::uint32_t{0};
  // Returns the index in storages(), or kDropped.
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
  // Indexes by id, with open addressing, because each record looks its storage up. At least half of
  // the slots are kDropped.
  std::vector<std::uint32_t> slots_;
  std::uint32_t slot_mask_ = 0;
};

}  // namespace foedus::gleaner
