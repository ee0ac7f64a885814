#pragma once
// Composer of sequential storages. Nothing is ever merged with the snapshot before: the records of
// a glean are behind all of it, and become one run of full pages (sequential_snapshot_page.h).
//
//   stream --> open record page --full--> appended, …, --end--> newest runs page with one run more
//
// In memory: the open record page, then the runs page.

#include <vector>

#include "foedus/status.h"
#include "gleaner/compose/composition.h"

namespace foedus::gleaner {

// The new root, as the only subtree, of level 1. Empty if there are no records. There is one
// composer for a storage and `range` says nothing: all positions are 0. kCorruption: a record that
// no append can have logged, or of an epoch that the snapshot before has (names storage, session
// and TID), or the root before is not of this storage; else what stream, reader and writer report.
// What was appended then is of no use. REQUIRES: nobody else uses the writer meanwhile.
Result<std::vector<Subtree>> compose_sequential(const Composition& composition,
                                                const PositionRange& range, RecordStream* records);

// The root that compose_sequential() made, or the one before, which may be null. Neither reads nor
// writes. REQUIRES: subtrees of one compose_sequential().
Result<page::SnapshotPageId> join_sequential(const Composition& composition,
                                             const std::vector<Subtree>& subtrees);

}  // namespace foedus::gleaner
