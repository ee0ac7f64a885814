#pragma once
// Copies of a few bytes whose number the compiler does not know: most keys and payloads are shorter
// than it takes to call memcpy and to find out there what to do.

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace foedus::base {

// Copies 16 bytes by words of four. The bytes were often written a moment ago, field by field: a
// load of more than a field finds several stores under way, none of which has all that it asks for,
// and waits until they have reached the cache.
inline void copy_16(char* to, const char* from) {
#pragma GCC unroll 4
  for (std::size_t at = 0; at < 16; at += 4) {
    std::uint32_t word;
    std::memcpy(&word, from + at, 4);
    asm("" : "+r"(word));  // else the compiler makes one load of four
    std::memcpy(to + at, &word, 4);
  }
}

// As std::memcpy(); `from` may be null if there are no bytes.
inline void copy_bytes(char* to, const char* from, std::size_t bytes) {
  if (bytes > 64) {
    std::memcpy(to, from, bytes);
  } else if (bytes >= 16) {
    const std::size_t last = bytes - 16;
    for (std::size_t at = 0; at < last; at += 16) copy_16(to + at, from + at);
    copy_16(to + last, from + last);  // overlaps with the one before, if need be
  } else if (bytes >= 8) {
    std::uint64_t first;
    std::uint64_t last;
    std::memcpy(&first, from, 8);
    std::memcpy(&last, from + bytes - 8, 8);
    std::memcpy(to, &first, 8);
    std::memcpy(to + bytes - 8, &last, 8);
  } else if (bytes >= 4) {
    std::uint32_t first;
    std::uint32_t last;
    std::memcpy(&first, from, 4);
    std::memcpy(&last, from + bytes - 4, 4);
    std::memcpy(to, &first, 4);
    std::memcpy(to + bytes - 4, &last, 4);
  } else {
    for (std::size_t i = 0; i < bytes; ++i) to[i] = from[i];
  }
}

}  // namespace foedus::base
