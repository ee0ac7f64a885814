#include "foedus-core/base/crc32c.h"

#include <nmmintrin.h>

#include <algorithm>
#include <cstring>

#if defined(FOEDUS_HAVE_ISAL)
#include <isa-l/crc.h>
// Weak: a program that links libfoedus.a without ISA-L works, with slower checksums.
#pragma weak crc32_iscsi
#endif

namespace foedus::base {

namespace {

std::uint64_t word_at(const unsigned char* data) {
  std::uint64_t word;
  std::memcpy(&word, data, sizeof(word));
  return word;
}

#if defined(FOEDUS_HAVE_ISAL)
// The instruction takes 0.4 ns a word; ISA-L begins with some 10 ns, and then takes a fifth of it.
constexpr std::size_t kLongBytes = 160;
constexpr std::size_t kBytesPerCall = std::size_t{1} << 30;  // ISA-L counts in an int

// Returns how many bytes, from the first one on, are in *crc now.
std::size_t take_long(const unsigned char* data, std::size_t bytes, std::uint32_t* crc) {
  if (crc32_iscsi == nullptr) return 0;
  std::size_t taken = 0;
  while (bytes - taken >= kLongBytes) {
    const std::size_t part = std::min(bytes - taken, kBytesPerCall);
    // It takes a pointer to what could be written, and only reads.
    *crc = crc32_iscsi(const_cast<unsigned char*>(data) + taken, static_cast<int>(part), *crc);
    taken += part;
  }
  return taken;
}
#else
constexpr std::size_t kLongBytes = ~std::size_t{0};
std::size_t take_long(const unsigned char*, std::size_t, std::uint32_t*) { return 0; }
#endif

}  // namespace

std::uint32_t crc32c(const void* data, std::size_t bytes, std::uint32_t seed) {
  const unsigned char* at = static_cast<const unsigned char*>(data);
  std::uint32_t crc = ~seed;
  if (bytes >= kLongBytes) {
    const std::size_t taken = take_long(at, bytes, &crc);
    at += taken;
    bytes -= taken;
  }
  std::uint64_t words = crc;
  for (; bytes >= 8; at += 8, bytes -= 8) words = _mm_crc32_u64(words, word_at(at));
  crc = static_cast<std::uint32_t>(words);
  for (; bytes > 0; ++at, --bytes) crc = _mm_crc32_u8(crc, *at);
  return ~crc;
}

}  // namespace foedus::base
