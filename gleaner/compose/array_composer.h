#pragma once
// Composer of arrays. Index arithmetic fixes the place of every record and page, so nothing is
// merged or balanced: a touched border page is its old self with the records folded in, an interior
// page is its old self with new ids of touched children. Pages are the volatile ones to the byte,
// so that a volatile page is made by copying.
//
//   stream --> open border page --close--> its slot in the open page above --close--> … --> Subtree
//
//   A page is open from the first record in it to the first one beyond it; records come by index,
//   so there is one open page of each level, it is written once, and after its children.
//
//   Absence is a null pointer (A2): a subtree that no record ever touched has no page, and an array
//   that none ever touched has a null root.

#include <cstdint>
#include <vector>

#include "foedus/status.h"
#include "gleaner/compose/composition.h"

namespace foedus::gleaner {

// Rounds down to a boundary between ranges: the first index of an interior page of level 1. Below
// that, two composers would both have to write one page.
std::uint64_t align_array_boundary(const storage_meta::StorageMeta& meta, std::uint64_t position);

// The pages that records of `range` touch: a subtree for each page whose parent is not of this
// range alone, in their order; so the fewest that there can be, and just the root if the range is
// all. Empty if there are no records. kCorruption: a record that no array can have logged (names
// storage and index), or a page of the snapshot before that is not the one that its parent names;
// else what stream, reader and writer report. What was appended then is of no use.
// REQUIRES: begin of the range, and of the one behind it, are aligned or behind the last record.
Result<std::vector<Subtree>> compose_array(const Composition& composition,
                                           const PositionRange& range, RecordStream* records);

// Writes the pages above, and gives the root, at the level that follows from the number of records.
// The root before, which may be null, if there is no subtree. Reads the old pages above subtrees,
// writes each anew, and copies no other. Failures as above.
// REQUIRES: subtrees of compose_array(), of all ranges in their order.
Result<page::SnapshotPageId> join_array(const Composition& composition,
                                        const std::vector<Subtree>& subtrees);

}  // namespace foedus::gleaner
