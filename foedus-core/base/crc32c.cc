#include "foedus-core/base/crc32c.h"

#include <nmmintrin.h>

#include <array>
#include <cstring>

namespace foedus::base {

namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78;  // reflected Castagnoli

// Three streams of this many bytes run side by side: the instruction has a latency of three cycles
// and starts one each.
constexpr std::size_t kStreamBytes = 256;

// table[k][b]: the checksum register after kStreamBytes zero bytes, for byte b of it at place k.
constexpr std::array<std::array<std::uint32_t, 256>, 4> make_shift_table() {
  std::array<std::array<std::uint32_t, 256>, 4> table{};
  for (unsigned place = 0; place < 4; ++place) {
    for (unsigned value = 0; value < 256; ++value) {
      table[place][value] = value << (8 * place);
    }
  }
  // One bit step of the register is linear, so every entry can be stepped on its own.
  for (std::size_t bit = 0; bit < kStreamBytes * 8; ++bit) {
    for (unsigned place = 0; place < 4; ++place) {
      for (unsigned value = 0; value < 256; value = value == 0 ? 1 : value * 2) {
        std::uint32_t& entry = table[place][value];
        entry = (entry >> 1) ^ ((entry & 1) != 0 ? kPolynomial : 0);
      }
    }
  }
  for (unsigned place = 0; place < 4; ++place) {
    for (unsigned value = 3; value < 256; ++value) {
      const unsigned lowest = value & (~value + 1);
      if (lowest == value) continue;
      table[place][value] = table[place][lowest] ^ table[place][value ^ lowest];
    }
  }
  return table;
}

const std::array<std::array<std::uint32_t, 256>, 4>& shift_table() {
  static const std::array<std::array<std::uint32_t, 256>, 4> table = make_shift_table();
  return table;
}

// The register after kStreamBytes more zero bytes.
std::uint32_t shifted(std::uint32_t crc) {
  const auto& table = shift_table();
  return table[0][crc & 0xff] ^ table[1][(crc >> 8) & 0xff] ^ table[2][(crc >> 16) & 0xff] ^
         table[3][crc >> 24];
}

std::uint64_t word_at(const unsigned char* data) {
  std::uint64_t word;
  std::memcpy(&word, data, sizeof(word));
  return word;
}

}  // namespace

std::uint32_t crc32c(const void* data, std::size_t bytes, std::uint32_t seed) {
  const unsigned char* at = static_cast<const unsigned char*>(data);
  std::uint64_t crc = seed ^ 0xffffffffu;
  while (bytes >= 3 * kStreamBytes) {
    std::uint64_t second = 0;
    std::uint64_t third = 0;
    for (std::size_t i = 0; i < kStreamBytes; i += 8) {
      crc = _mm_crc32_u64(crc, word_at(at + i));
      second = _mm_crc32_u64(second, word_at(at + kStreamBytes + i));
      third = _mm_crc32_u64(third, word_at(at + 2 * kStreamBytes + i));
    }
    crc = shifted(shifted(static_cast<std::uint32_t>(crc)) ^ static_cast<std::uint32_t>(second)) ^
          static_cast<std::uint32_t>(third);
    at += 3 * kStreamBytes;
    bytes -= 3 * kStreamBytes;
  }
  for (; bytes >= 8; at += 8, bytes -= 8) crc = _mm_crc32_u64(crc, word_at(at));
  for (; bytes > 0; ++at, --bytes) crc = _mm_crc32_u8(static_cast<std::uint32_t>(crc), *at);
  return static_cast<std::uint32_t>(crc) ^ 0xffffffffu;
}

}  // namespace foedus::base
