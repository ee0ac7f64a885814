#pragma once
// Clock: where time and randomness come from. No other file of the engine asks the system for them,
// so that a simulated runtime (base/task.h) can own both.

#include <cstdint>

namespace foedus::base {

// Microseconds of the system's monotonic clock.
std::uint64_t system_now_us();

// Microseconds of processor time that the calling thread has had. A system call.
std::uint64_t thread_cpu_us();

// Suspends the calling thread for about that many microseconds.
void system_sleep_us(std::uint64_t microseconds);

// One turn of a spin loop: a pause, and after many of them a yield of the processor, so that a
// holder that was descheduled can go on.
class SpinWait {
 public:
  void once() {
    if (++turns_ < kTurnsBeforeYield) [[likely]] {
      __builtin_ia32_pause();
    } else {
      yield();
    }
  }

 private:
  static constexpr unsigned kTurnsBeforeYield = 128;
  static void yield();
  unsigned turns_ = 0;
};

// A number that differs from run to run, to seed generators with.
std::uint64_t system_seed();

// Small, fast, and good enough for back-off and sampling (xorshift64*). Not for two threads at
// once.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed == 0 ? 0x9e3779b97f4a7c15u : seed) {}
  std::uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1du;
  }
  // Uniform in [0, bound). REQUIRES: bound > 0.
  std::uint64_t below(std::uint64_t bound) {
    return static_cast<std::uint64_t>((static_cast<Wide>(next()) * bound) >> 64);
  }

 private:
  __extension__ using Wide = unsigned __int128;

  std::uint64_t state_;
};

}  // namespace foedus::base
