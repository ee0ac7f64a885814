#pragma once
// CRC32C (Castagnoli), the checksum of everything persisted. Short inputs by the instruction of SSE
// 4.2; long ones by ISA-L, which multiplies without carries, as wide as the processor can.

#include <cstddef>
#include <cstdint>

namespace foedus::base {

// The checksum of `bytes` bytes at `data`, continuing from `seed` (0 to begin):
// crc32c(b, crc32c(a)) == crc32c(ab).
std::uint32_t crc32c(const void* data, std::size_t bytes, std::uint32_t seed = 0);

}  // namespace foedus::base
