#pragma once
// Copies of a few bytes whose number the compiler does not know. Most keys and payloads are so
// short that calling memcpy, and choosing a way to copy there, takes longer than the copy.

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace foedus::base {

// Copies 16 bytes by words of four. The bytes were often written a moment ago, field by field. A
// load of more than a field meets several stores under way, none of which has all its bytes, and
// waits until they have reached the cache.
inline void copy_16(char* to, const char* from) {
#pragma GCC unroll 4
  for (std::size_t at = 0; at < 16; at += 4) {
    std::uint32_t word;
    std::memcpy(&word, from + at, 4);
    asm("" : "+r"(word));  // else the compiler makes one load of four
    std::memcpy(to + at, &word, 4);
  }
}

// Copies as many bytes as one Word or two hold: the first Word and the last, which may overlap.
template <typename Word>
inline void copy_ends(char* to, const char* from, std::size_t bytes) {
  const std::size_t at = bytes - sizeof(Word);
  Word first;
  Word last;
  std::memcpy(&first, from, sizeof(Word));
  std::memcpy(&last, from + at, sizeof(Word));
  std::memcpy(to, &first, sizeof(Word));
  std::memcpy(to + at, &last, sizeof(Word));
}

// Copies bytes like std::memcpy(); `from` may be null if there are no bytes.
inline void copy_bytes(char* to, const char* from, std::size_t bytes) {
  if (bytes > 64) {
    std::memcpy(to, from, bytes);
  } else if (bytes >= 16) {
    const std::size_t last = bytes - 16;
    for (std::size_t at = 0; at < last; at += 16) copy_16(to + at, from + at);
    copy_16(to + last, from + last);  // overlaps with the one before, if need be
  } else if (bytes >= 8) {
    copy_ends<std::uint64_t>(to, from, bytes);
  } else if (bytes >= 4) {
    copy_ends<std::uint32_t>(to, from, bytes);
  } else {
    for (std::size_t i = 0; i < bytes; ++i) to[i] = from[i];
  }
}

}  // namespace foedus::base
