#pragma once
// Clock: where time and randomness come from. No other file of the engine asks the system for them,
// so that a simulated runtime (task.h) can own both.

#include <cstdint>

namespace foedus::base {

// Microseconds of the system's monotonic clock.
std::uint64_t system_now_us();

// Microseconds since 1970 in UTC, for people: this clock may be set, and run backwards.
std::uint64_t system_wall_us();

// Microseconds of processor time that the calling thread has had. A system call.
std::uint64_t thread_cpu_us();

// The processor's time-stamp counter, and how far it goes on in a nanosecond, which the first call
// measures in some 0.3 ms. For times that are shorter than the system's clocks can tell.
std::uint64_t system_ticks();
double system_ticks_per_ns();

// Suspends the calling thread for about that many microseconds.
void system_sleep_us(std::uint64_t microseconds);

// SpinWait: one turn of a loop that waits for another thread. The first turns pause the processor.
// The next yield it, so that a thread that was descheduled can go on. All later turns sleep, longer
// each time, so that a long wait takes no processor. A loop that is bounded in turns is bounded in
// time.
class SpinWait {
 public:
  static constexpr unsigned kPauses = 128;
  static constexpr unsigned kYields = 4;
  // These take some microseconds if no other thread wants the processor.
  static constexpr unsigned kTurnsBeforeSleep = kPauses + kYields;
  // The longest sleep of one turn, in microseconds. The system adds some 50.
  static constexpr std::uint64_t kSleepUsMax = 320;

  void once() {
    if (++turns_ <= kPauses) [[likely]] {
      __builtin_ia32_pause();
    } else {
      rest();
    }
  }
  // Returns whether that many turns were taken.
  bool has_taken(unsigned turns) const { return turns_ >= turns; }

 private:
  void rest();
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
