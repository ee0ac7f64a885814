#include "foedus-core/log/ring/record.h"

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

}  // namespace foedus::log
