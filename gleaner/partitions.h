#pragma once
// The partition stage for an order (paper §7.2).

#include "foedus-core/engine/snapshot_driver.h"
#include "foedus/status.h"
#include "gleaner/handoff/partition_table.h"

namespace foedus::gleaner {

// Divides the storages of an order among its reducers by the samples, with boundaries that their
// composers accept. Fails as PartitionTable::make() does.
Result<PartitionTable> partitions_of(const engine::GleanOrder& order);

}  // namespace foedus::gleaner
