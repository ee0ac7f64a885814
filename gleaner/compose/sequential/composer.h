#pragma once
// Composer of sequential storages. The records of a glean come after those of the previous
// snapshot, so nothing is merged. They become one run of full pages (sequential_snapshot_page.h).
//
//   stream --> open record page --full--> appended, …, --end--> newest runs page with one run more
//
// The composer holds two pages in memory: the open record page, and then the runs page.

#include <vector>

#include "foedus/status.h"
#include "gleaner/compose/base/composition.h"

namespace foedus::gleaner {

// Writes the records of a glean. Returns the new root as the only subtree, of level 1; empty if
// there are no records. A storage has one composer, and `range` has no meaning: all positions are
// 0.
// kCorruption: a record that no append can have logged, or of an epoch that the previous snapshot
// has (names storage, session and TID), or the previous root is not of this storage. Returns errors
// of stream, reader and writer. The pages that were appended before an error are of no use.
// REQUIRES: no other thread uses the writer meanwhile.
Result<std::vector<Subtree>> compose_sequential(const Composition& composition,
                                                const PositionRange& range, RecordStream* records);

// Returns the root that compose_sequential() made, or the previous one, which may be null. Neither
// reads nor writes. REQUIRES: subtrees of one compose_sequential().
Result<page::SnapshotPageId> join_sequential(const Composition& composition,
                                             const std::vector<Subtree>& subtrees);

}  // namespace foedus::gleaner
