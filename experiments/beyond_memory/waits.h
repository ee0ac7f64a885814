#pragma once
// What a thread waits for: the time on the wall, less that in which it was at work, by cause.

#include <cstdint>

namespace experiments::beyond_memory {

// Times of the thread that asks for them, in microseconds. Only what lies between two of them means
// something.
struct ThreadTime {
  std::uint64_t wall_us = 0;
  std::uint64_t busy_us = 0;            // on a processor
  std::uint64_t for_processor_us = 0;   // ready, and on none; 0 where the kernel does not say

  static ThreadTime now();
  ThreadTime since(const ThreadTime& before) const {
    return {wall_us - before.wall_us, busy_us - before.busy_us,
            for_processor_us - before.for_processor_us};
  }
  // All else: sleeping, for the gleaner, a device or a lock.
  std::uint64_t asleep_us() const {
    const std::uint64_t known = busy_us + for_processor_us;
    return wall_us > known ? wall_us - known : 0;
  }
};

}  // namespace experiments::beyond_memory
