#pragma once
// Composer of hash storages. The trie on the hash is built anew where records fall, with bins as
// large as fit one page. The rest of the trie stays as it was.
//
//   range --build(): halved until the digits of a part have one old page, or none--> part
//   part --no record falls into it--> its old page, not looked at (G6)
//        --an old interior page--> build() of its digits
//        --an old bin, or none--> HashMerge, --fresh(): halved until it fits--> bins
//   two halves --each is empty or one new bin, together they fit--> one bin, not written yet
//
//   So a bin has the shortest prefix for which its records fit, as far as the halves were touched.
//   A bin that rises to the prefix of its interior page takes that page's place. A bin is chained
//   if its records do not fit and have 63 bits of hash in common; these are held in memory at once.

#include <cstdint>
#include <vector>

#include "foedus/status.h"
#include "gleaner/compose/base/composition.h"

namespace foedus::gleaner {

// Rounds down to a boundary between ranges: the first hash of a digit of the root.
std::uint64_t align_hash_boundary(const storage_meta::StorageMeta& meta, std::uint64_t position);

// Returns the root's pointers in `range`: a subtree for each old or new pointer that is not null,
// in the order of their ranges. The level of each is 0, because old pages are not read to find it
// out. An old bin that has hashes of two ranges is divided, even if no record falls into it.
// kCorruption: a log record that contradicts the snapshot (G8), or a page of the previous snapshot
// that is not the one that its parent names. Returns errors of stream, reader and writer. The pages
// that were appended before an error are of no use.
// REQUIRES: begin of the range, and of the next one, are aligned.
Result<std::vector<Subtree>> compose_hash(const Composition& composition,
                                          const PositionRange& range, RecordStream* records);

// Writes and returns the root, or returns the previous root if that would be equal. A storage
// without records has a root, too. Fails as compose_hash() does.
// REQUIRES: subtrees of compose_hash() of all ranges, those without records included, in order.
Result<page::SnapshotPageId> join_hash(const Composition& composition,
                                       const std::vector<Subtree>& subtrees);

}  // namespace foedus::gleaner
