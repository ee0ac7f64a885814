#pragma once
// Stands in for base/system/clock.h: time stands still, and a turn of a spin loop lets other
// threads run.

#include <cstdint>

#include "tests/models/harness/relacy.h"

namespace foedus::base {

inline std::uint64_t system_now_us() { return 0; }
inline void system_sleep_us(std::uint64_t) { rl::yield(1, MODEL_HERE); }

class SpinWait {
 public:
  static constexpr unsigned kPauses = 1;
  static constexpr unsigned kTurnsBeforeSleep = 1;

  void once() {
    has_turned_ = true;
    rl::yield(1, MODEL_HERE);
  }
  // Returns true after one turn, which is enough to see changes of other threads.
  bool has_taken(unsigned) const { return has_turned_; }

 private:
  bool has_turned_ = false;
};

}  // namespace foedus::base
