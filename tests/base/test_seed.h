#pragma once
// Returns the seed of a randomized test, which is printed: FOEDUS_SEED of the environment, or the
// default.

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace foedus::testing {

inline std::uint64_t test_seed(std::uint64_t otherwise) {
  const char* const text = std::getenv("FOEDUS_SEED");
  const std::uint64_t seed = text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
  std::printf("FOEDUS_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

}  // namespace foedus::testing
