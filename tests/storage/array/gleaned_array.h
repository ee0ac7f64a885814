#pragma once
// Arrays of 8-byte records, for tests with Gleaned (tests/storage/gleaned.h).

#include <cstdint>

#include "foedus-core/storage_meta/storage_meta.h"

namespace foedus::testing {

inline storage_meta::StorageMeta array_meta(std::uint64_t records) {
  storage_meta::StorageMeta meta;
  meta.kind = StorageKind::kArray;
  meta.records = records;
  meta.payload_bytes = 8;
  return meta;
}

}  // namespace foedus::testing
