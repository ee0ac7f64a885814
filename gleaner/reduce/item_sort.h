#pragma once
// Sorting of one storage's records: 16 bytes of each are moved, never the record.

#include <cstddef>
#include <cstdint>

#include "foedus/storage.h"
#include "gleaner/handoff/block.h"

namespace foedus::gleaner {

// Sorts the items of records of one storage into the order G2. `memory`: what their units count in.
// `scratch`: room for as many items. A radix sort by position; records that share one are sorted by
// what decides next: the following eight bytes of their keys, or TIDs where the keys are equal, and
// comparisons where few are left. REQUIRES: fewer than 2^32 items.
void sort_items(const char* memory, StorageKind kind, SortItem* items, SortItem* scratch,
                std::size_t count);

}  // namespace foedus::gleaner
