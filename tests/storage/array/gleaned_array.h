#pragma once
// Arrays of 8-byte records, and their composition, for tests with Gleaned
// (tests/storage/gleaned.h).

#include <cstdint>
#include <vector>

#include "foedus-core/storage_meta/storage_meta.h"
#include "gleaner/compose/array/composer.h"

namespace foedus::testing {

inline storage_meta::StorageMeta array_meta(std::uint64_t records) {
  storage_meta::StorageMeta meta;
  meta.kind = StorageKind::kArray;
  meta.records = records;
  meta.payload_bytes = 8;
  return meta;
}

inline Result<page::SnapshotPageId> compose_whole_array(const gleaner::Composition& composition,
                                                        gleaner::RecordStream* records) {
  FOEDUS_TRY(const std::vector<gleaner::Subtree> subtrees,
             gleaner::compose_array(composition, {}, records));
  return gleaner::join_array(composition, subtrees);
}

}  // namespace foedus::testing
