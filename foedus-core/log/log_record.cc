#include "foedus-core/log/log_record.h"

#include <cstring>

#include "foedus-core/base/invariant.h"

namespace foedus::log {

std::uint64_t LogRecord::index() const {
  FOEDUS_INVARIANT(key_bytes == sizeof(std::uint64_t), key_bytes);
  std::uint64_t value;
  std::memcpy(&value, key_data(), sizeof(value));
  return value;
}

void LogRecord::fill(char* at, std::size_t bytes) {
  FOEDUS_INVARIANT(bytes % 8 == 0 && bytes != 0, bytes);
  std::memset(at, 0, bytes);
  const auto record_size = static_cast<std::uint32_t>(bytes);
  std::memcpy(at, &record_size, sizeof(record_size));
}

void LogRecord::prepare(LogRecordType record_type, page::StorageId storage, std::size_t key_size,
                        std::size_t payload_size, std::uint32_t offset) {
  constexpr std::uint64_t kZero = 0;
  record_bytes = static_cast<std::uint32_t>(size_of(key_size, payload_size));
  storage_id = storage;
  tid = 0;
  type = record_type;
  padding_bytes = static_cast<std::uint8_t>(aligned(payload_size) - payload_size);
  key_bytes = static_cast<std::uint16_t>(key_size);
  payload_offset = offset;
  // The last word of key and of payload, so that padding is zero; the caller writes over the rest.
  if (key_size % 8 != 0) std::memcpy(payload_data() - 8, &kZero, 8);
  if (padding_bytes != 0) std::memcpy(reinterpret_cast<char*>(this) + record_bytes - 8, &kZero, 8);
}

}  // namespace foedus::log
