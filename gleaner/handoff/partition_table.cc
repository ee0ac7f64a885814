#include "gleaner/handoff/partition_table.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "foedus-core/base/invariant.h"

namespace foedus::gleaner {

std::uint32_t StoragePartitions::partition_of(std::uint64_t position) const {
  const auto above = std::upper_bound(boundaries.begin(), boundaries.end(), position);
  return static_cast<std::uint32_t>(above - boundaries.begin());
}

std::optional<PositionRange> StoragePartitions::range_of(std::uint32_t partition) const {
  FOEDUS_INVARIANT(partition <= boundaries.size(), partition, boundaries.size());
  PositionRange range;
  if (partition != 0) range.begin = boundaries[partition - 1];
  if (partition == boundaries.size()) return range;
  if (boundaries[partition] == range.begin) return std::nullopt;
  range.last = boundaries[partition] - 1;
  return range;
}

namespace {

Status invalid(page::StorageId id, const char* what) {
  return Status::error(ErrorCode::kInvalidArgument,
                       "partitions of storage " + std::to_string(static_cast<std::uint32_t>(id)) +
                           ": " + what);
}

Status check(const StoragePartitions& storage, std::uint32_t partitions, page::StorageId id_end) {
  if (storage.id == page::StorageId{0} || storage.id >= id_end) {
    return invalid(storage.id, "the id is out of range");
  }
  if (storage.boundaries.size() + 1 != partitions) {
    return invalid(storage.id, "the number of boundaries is not that of partitions less one");
  }
  if (!std::is_sorted(storage.boundaries.begin(), storage.boundaries.end())) {
    return invalid(storage.id, "the boundaries do not ascend");
  }
  return {};
}

}  // namespace

Result<PartitionTable> PartitionTable::make(std::uint32_t partitions,
                                            std::vector<StoragePartitions> storages,
                                            page::StorageId id_end) {
  if (partitions == 0) {
    return Status::error(ErrorCode::kInvalidArgument, "a glean needs at least one partition");
  }
  std::sort(storages.begin(), storages.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
  PartitionTable table;
  table.slots_.assign(std::bit_ceil(2 * storages.size() + 1), kDropped);
  table.slot_mask_ = static_cast<std::uint32_t>(table.slots_.size() - 1);
  for (std::uint32_t i = 0; i < storages.size(); ++i) {
    FOEDUS_CHECK(check(storages[i], partitions, id_end));
    if (i != 0 && storages[i - 1].id == storages[i].id) {
      return invalid(storages[i].id, "given twice");
    }
    std::uint32_t slot = static_cast<std::uint32_t>(storages[i].id) & table.slot_mask_;
    while (table.slots_[slot] != kDropped) slot = (slot + 1) & table.slot_mask_;
    table.slots_[slot] = i;
  }
  table.partitions_ = partitions;
  table.id_end_ = id_end;
  table.storages_ = std::move(storages);
  return table;
}

}  // namespace foedus::gleaner
