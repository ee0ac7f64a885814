#pragma once
// Sorts the records of one storage by items of 16 bytes. The records do not move.

#include <cstddef>
#include <cstdint>

#include "foedus/storage.h"
#include "gleaner/handoff/block.h"

namespace foedus::gleaner {

// Sorts the items of records of one storage into the order of G2. `memory`: the reducer's memory,
// in which items count units. `scratch`: room for as many items. It is a radix sort by position.
// Records with one position are sorted by the next 8 bytes of their keys, by TIDs if their keys are
// equal, or by comparisons if they are few. REQUIRES: fewer than 2^32 items.
void sort_items(const char* memory, StorageKind kind, SortItem* items, SortItem* scratch,
                std::size_t count);

}  // namespace foedus::gleaner
