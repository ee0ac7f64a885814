#pragma once
// Calls the composer of a storage's kind.

#include <cstdint>
#include <vector>

#include "foedus/status.h"
#include "gleaner/compose/base/composition.h"

namespace foedus::gleaner {

// Returns the nearest boundary at or before this one that the composer accepts.
std::uint64_t align_boundary(const storage_meta::StorageMeta& meta, std::uint64_t boundary);
// Composes the records of one range.
Result<std::vector<Subtree>> compose(const Composition& composition, const PositionRange& range,
                                     RecordStream* records);
// Returns the root over the subtrees of all ranges, in their order.
Result<page::SnapshotPageId> join(const Composition& composition,
                                  const std::vector<Subtree>& subtrees);

}  // namespace foedus::gleaner
