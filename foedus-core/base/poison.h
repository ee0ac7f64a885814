#pragma once
// Poison: memory that must not be read before it is filled. A build for AddressSanitizer ends the
// process at the first read of a poisoned byte. A build with assertions fills the memory with
// kPoison, so that a read shows. Other builds do nothing.

#include <cstddef>
#include <cstring>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace foedus::base {

inline constexpr unsigned char kPoison = 0xdb;

inline void poison(void* begin, std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __asan_poison_memory_region(begin, bytes);
#elif !defined(NDEBUG)
  std::memset(begin, kPoison, bytes);
#else
  static_cast<void>(begin);
  static_cast<void>(bytes);
#endif
}

// Before it is filled, and before it is given back.
inline void unpoison(void* begin, std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(begin, bytes);
#else
  static_cast<void>(begin);
  static_cast<void>(bytes);
#endif
}

}  // namespace foedus::base
