#pragma once
// Stands in for base/clock.h: time stands still, and a turn of a spin loop lets others go on.

#include <cstdint>

#include "tests/models/relacy.h"

namespace foedus::base {

inline std::uint64_t system_now_us() { return 0; }
inline void system_sleep_us(std::uint64_t) { rl::yield(1, MODEL_HERE); }

class SpinWait {
 public:
  void once() { rl::yield(1, MODEL_HERE); }
};

}  // namespace foedus::base
