#pragma once
// StorageMeta: what the catalog knows of a storage, and how that is written to the log.

#include <cstdint>
#include <string>
#include <string_view>

#include "foedus/status.h"
#include "foedus/storage.h"

namespace foedus::page {
enum class StorageId : std::uint32_t;
}

namespace foedus::storage_meta {

struct StorageMeta {
  page::StorageId id{};
  StorageKind kind = StorageKind::kMasstree;
  std::string name;
  std::uint64_t records = 0;        // arrays: number of records
  std::uint32_t payload_bytes = 0;  // arrays: bytes of a payload
  std::uint32_t fan_out_bits = 0;   // hash: bits of the hash that the root spreads by
};

// The payload of a create-storage log record; its key is the name. Described in log/FORMAT.md.
struct StorageParameters {
  std::uint64_t records;        // +8 -> 8
  std::uint32_t payload_bytes;  // +4 -> 12
  std::uint8_t kind;            // +1 -> 13
  std::uint8_t fan_out_bits;    // +1 -> 14
  std::uint16_t zero;           // +2 -> 16
};
static_assert(sizeof(StorageParameters) == 16);

StorageParameters parameters_of(const StorageMeta& meta);
// Returns the metadata, or kCorruption if parameters_of() cannot have written that.
Result<StorageMeta> parse(page::StorageId id, std::string_view name, std::string_view parameters);

}  // namespace foedus::storage_meta
