#pragma once
// The composer of Master-Trees: sorted log records and the tree of the snapshot before become a
// tree of full pages. A page of the snapshot is to the byte what a volatile page of its records
// would be, but that its pointers name pages of snapshots: one is made of the other by copying.
//
//   compose_masstree --MasstreeMerge: old pages, and log records of MasstreeInput, by key-->
//     MasstreeLayer, one for each layer on the path: border pages --> MasstreeLevels: those above
//
//   The order of keys as strings is that of slices, then of length classes, in every layer: a slice
//   is filled up with zeroes, so of two keys with one slice and up to 8 bytes the shorter is a
//   prefix of the other, and both are prefixes of those with more bytes. So one pass is enough.

#include <cstdint>
#include <vector>

#include "foedus/status.h"
#include "gleaner/compose/composition.h"

namespace foedus::gleaner {

// The pages of `range`, whose ends may be any slices, without gaps: of each level at most as many
// as three interior pages have children (G69). Pages of the snapshot before that cross an end are
// made anew.
//
// `fences`: ascending slices of the first layer at which pages are to begin, and those of level 1
// above them, where pages are written; what is reused stays as it is.
//
// kCorruption: G8, names storage and key; or a page of the snapshot before is not what its
// pointer is for. Failures of stream, reader and writer.
Result<std::vector<Subtree>> compose_masstree(const Composition& composition,
                                              const PositionRange& range, RecordStream* records,
                                              const std::vector<std::uint64_t>& fences = {});

// One root over all. Subtrees of less height than those around them get pages above them.
// REQUIRES: in the order of their ranges, which are all positions. Failures of the writer.
Result<page::SnapshotPageId> join_masstree(const Composition& composition,
                                           const std::vector<Subtree>& subtrees);

}  // namespace foedus::gleaner
