#include "foedus-core/storage_meta/storage_meta.h"

#include <cstring>

#include "foedus/options.h"

namespace foedus {

std::string_view to_string(StorageKind kind) {
  switch (kind) {
    case StorageKind::kArray:
      return "array";
    case StorageKind::kHash:
      return "hash";
    case StorageKind::kMasstree:
      return "masstree";
    case StorageKind::kSequential:
      return "sequential";
  }
  return "unknown";
}

namespace storage_meta {

StorageParameters parameters_of(const StorageMeta& meta) {
  StorageParameters parameters{};
  parameters.records = meta.records;
  parameters.payload_bytes = meta.payload_bytes;
  parameters.kind = static_cast<std::uint8_t>(meta.kind);
  parameters.fan_out_bits = static_cast<std::uint8_t>(meta.fan_out_bits);
  return parameters;
}

Result<StorageMeta> parse(page::StorageId id, std::string_view name, std::string_view parameters) {
  StorageParameters read;
  if (parameters.size() != sizeof(read) || name.empty() || name.size() > kMaxStorageNameBytes) {
    return Status::error(ErrorCode::kCorruption, "a create-storage record of impossible size");
  }
  std::memcpy(&read, parameters.data(), sizeof(read));
  if (read.kind < static_cast<std::uint8_t>(StorageKind::kArray) ||
      read.kind > static_cast<std::uint8_t>(StorageKind::kSequential) || read.zero != 0) {
    return Status::error(ErrorCode::kCorruption, "a create-storage record of an unknown kind");
  }
  const bool is_array = read.kind == static_cast<std::uint8_t>(StorageKind::kArray);
  const bool can_be_array = read.records != 0 && read.records <= kMaxArrayRecords &&
                            read.payload_bytes != 0 && read.payload_bytes <= kMaxArrayPayloadBytes;
  if (is_array && !can_be_array) {
    return Status::error(ErrorCode::kCorruption, "a create-storage record of an impossible array");
  }
  StorageMeta meta;
  meta.id = id;
  meta.kind = static_cast<StorageKind>(read.kind);
  meta.name = std::string(name);
  meta.records = read.records;
  meta.payload_bytes = read.payload_bytes;
  meta.fan_out_bits = read.fan_out_bits;
  return meta;
}

}  // namespace storage_meta
}  // namespace foedus
