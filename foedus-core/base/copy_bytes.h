#pragma once
// Copies of a few bytes whose number the compiler does not know: most keys and payloads are shorter
// than it takes to call memcpy and to find out there what to do.

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace foedus::base {

// As std::memcpy(); `from` may be null if there are no bytes.
inline void copy_bytes(char* to, const char* from, std::size_t bytes) {
  if (bytes > 32) {
    std::memcpy(to, from, bytes);
  } else if (bytes >= 16) {  // two pieces, which overlap
    std::memcpy(to, from, 16);
    std::memcpy(to + bytes - 16, from + bytes - 16, 16);
  } else if (bytes >= 8) {
    std::uint64_t first;
    std::uint64_t last;
    std::memcpy(&first, from, 8);
    std::memcpy(&last, from + bytes - 8, 8);
    std::memcpy(to, &first, 8);
    std::memcpy(to + bytes - 8, &last, 8);
  } else {
    for (std::size_t i = 0; i < bytes; ++i) to[i] = from[i];
  }
}

}  // namespace foedus::base
