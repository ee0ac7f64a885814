#pragma once
// The composer of Master-Trees: sorted log records and the tree of the previous snapshot become a
// tree of full pages. A snapshot page equals a volatile page of its records to the byte, except
// that its pointers name snapshot pages. So each is made of the other by copying.
//
//   compose_masstree --MasstreeMerge: old pages, and log records of MasstreeInput, by key-->
//     MasstreeLayer, one for each layer on the path: border pages --> MasstreeLevels: those above
//
//   The order of keys as strings is that of slices, then of length classes, in every layer. A slice
//   is filled up with zeroes. So of two keys with one slice and up to 8 bytes the shorter is a
//   prefix of the other, and both are prefixes of those with more bytes. One pass is therefore
//   enough.

#include <cstdint>
#include <vector>

#include "foedus/status.h"
#include "gleaner/compose/base/composition.h"

namespace foedus::gleaner {

// Returns the pages of `range`, without gaps between them. Of each level there are at most as many
// as three interior pages can lead to (G69). The ends of `range` may be any slices. Pages of the
// previous snapshot that cross an end are made anew.
//
// `fences`: ascending slices of the first layer. Where pages are written, border pages begin at
// them, and so do the pages of level 1 above. Reused pages stay as they are.
//
// kCorruption: a record contradicts the snapshot (G8; names storage and key), or a page of the
// previous snapshot is not the one that its pointer is for. Returns errors of stream, reader and
// writer.
Result<std::vector<Subtree>> compose_masstree(const Composition& composition,
                                              const PositionRange& range, RecordStream* records,
                                              const std::vector<std::uint64_t>& fences = {});

// Returns one root over all subtrees. Lower subtrees get pages above them, up to the height of
// those beside them. REQUIRES: in the order of their ranges, which are all positions. Returns
// errors of the writer.
Result<page::SnapshotPageId> join_masstree(const Composition& composition,
                                           const std::vector<Subtree>& subtrees);

}  // namespace foedus::gleaner
