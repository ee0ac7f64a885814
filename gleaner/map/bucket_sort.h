#pragma once
// Sorting of a bucket: 16 bytes a record are moved, never the record.

#include <cstddef>
#include <cstdint>

#include "foedus/storage.h"
#include "gleaner/handoff/bucket.h"

namespace foedus::gleaner {

// A record in a mapper's memory: `unit` times 8 bytes behind its beginning.
struct SortEntry {
  std::uint64_t position;
  std::uint32_t unit;
  std::uint32_t bucket;
};
static_assert(sizeof(SortEntry) == 16);

inline const RecordEntry* entry_of(const char* memory, const SortEntry& entry) {
  return RecordEntry::at(memory + std::uint64_t{entry.unit} * 8);
}

// Sorts the records of one storage into the order G2. `scratch`: room for as many entries. A radix
// sort by position; records that share one are sorted by what decides next: the following eight
// bytes of their keys, or TIDs where the keys are equal, and comparisons where few are left.
void sort_bucket(const char* memory, StorageKind kind, SortEntry* entries, SortEntry* scratch,
                 std::size_t count);

}  // namespace foedus::gleaner
