#pragma once
// Increments of numbers of 64 bits within payloads, which lie at any address and wrap around.

#include <cstdint>
#include <cstring>

namespace foedus::base {

// Returns the number at `number` plus the one at `delta`. REQUIRES: no thread writes to either.
inline std::uint64_t incremented(const char* number, const char* delta) {
  std::uint64_t sum;
  std::uint64_t added;
  std::memcpy(&sum, number, sizeof(sum));
  std::memcpy(&added, delta, sizeof(added));
  return sum + added;
}

// Adds the number at `delta` to the one at `number`, which no other thread reads or writes.
inline void increment(char* number, const char* delta) {
  const std::uint64_t sum = incremented(number, delta);
  std::memcpy(number, &sum, sizeof(sum));
}

}  // namespace foedus::base
