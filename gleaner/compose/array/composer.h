#pragma once
// Composer of arrays. Index arithmetic fixes the place of every record and page, so nothing is
// merged or balanced. A touched border page is its old version with the records folded in. A
// touched interior page is its old version with new ids of children. Pages equal the volatile ones
// to the byte, so that a volatile page is made by copying.
//
//   stream --> open border page --close--> its slot in the open page above --close--> … --> Subtree
//
//   A page is open from the first record in it to the first record after it. Records come by index,
//   so one page of each level is open. It is written once, after its children.
//
//   A null pointer means that no record exists (A2). A subtree that no record ever touched has no
//   page, and an array that no record ever touched has a null root.

#include <cstdint>
#include <vector>

#include "foedus/status.h"
#include "gleaner/compose/base/composition.h"

namespace foedus::gleaner {

// Rounds down to a boundary between ranges: the first index of an interior page of level 1. With a
// lower boundary, two composers would both have to write one page.
std::uint64_t align_array_boundary(const storage_meta::StorageMeta& meta, std::uint64_t position);

// Writes the pages that records of `range` touch. Returns a subtree for each page whose parent is
// not of this range alone, in their order. So the subtrees are as few as possible, and only the
// root if the range has all positions. Empty if there are no records.
// kCorruption: a record that no array can have logged (names storage and index), or a page of the
// previous snapshot that is not the one that its parent names. Returns errors of stream, reader and
// writer. The pages that were appended before an error are of no use.
// REQUIRES: begin of the range, and of the next one, are aligned or after the last record.
Result<std::vector<Subtree>> compose_array(const Composition& composition,
                                           const PositionRange& range, RecordStream* records);

// Writes the pages above the subtrees, and returns the root, whose level follows from the number of
// records. Without subtrees, returns the previous root, which may be null. Reads the old pages
// above subtrees, writes each anew, and copies no others. Fails as compose_array() does.
// REQUIRES: subtrees of compose_array(), of all ranges in their order.
Result<page::SnapshotPageId> join_array(const Composition& composition,
                                        const std::vector<Subtree>& subtrees);

}  // namespace foedus::gleaner
