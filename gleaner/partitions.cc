#include "gleaner/partitions.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "gleaner/compose/kinds.h"
#include "gleaner/partition/partition.h"

namespace foedus::gleaner {

Result<PartitionTable> partitions_of(const engine::GleanOrder& order) {
  const std::uint32_t socs = order.topology->socs();
  const std::uint32_t reducers = order.reducers == 0 ? socs : order.reducers;
  std::vector<StoragePartitions> partitions;
  for (std::size_t i = 0; i < order.storages.size(); ++i) {
    const storage_meta::StorageMeta& meta = order.storages[i];
    std::vector<storage::PageSample> samples;
    if (i < order.samples.size()) samples = order.samples[i];
    StoragePartitions one{meta.id, meta.kind,
                          choose_boundaries(meta, std::move(samples), reducers, socs)};
    for (std::uint64_t& boundary : one.boundaries) boundary = align_boundary(meta, boundary);
    partitions.push_back(std::move(one));
  }
  return PartitionTable::make(reducers, std::move(partitions), order.next_storage_id);
}

}  // namespace foedus::gleaner
