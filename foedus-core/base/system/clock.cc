#include "foedus-core/base/system/clock.h"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <random>

#include "foedus-core/base/system/sync_point.h"

namespace foedus::base {

namespace {

std::uint64_t now_ns_of(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}
std::uint64_t now_of(clockid_t clock) { return now_ns_of(clock) / 1'000; }

// Ticks are counted from before the first look at the other clock to after the last one. So where
// the processor is taken away between two looks, they are too many, never too few: the least of
// three measurements counts. A look takes some 50 ns, a thousandth of what is measured.
double measure_ticks_per_ns() {
  constexpr std::uint64_t kSpanNs = 100'000;
  double ticks_per_ns = 0;
  for (int round = 0; round < 3; ++round) {
    const std::uint64_t begin = system_ticks();
    const std::uint64_t begin_ns = now_ns_of(CLOCK_MONOTONIC);
    std::uint64_t end_ns = begin_ns;
    while (end_ns < begin_ns + kSpanNs) end_ns = now_ns_of(CLOCK_MONOTONIC);
    const std::uint64_t end = system_ticks();
    const double seen = static_cast<double>(end - begin) / static_cast<double>(end_ns - begin_ns);
    ticks_per_ns = round == 0 ? seen : std::min(ticks_per_ns, seen);
  }
  return ticks_per_ns;
}

}  // namespace

std::uint64_t system_now_us() { return now_of(CLOCK_MONOTONIC); }

std::uint64_t system_wall_us() { return now_of(CLOCK_REALTIME); }

std::uint64_t thread_cpu_us() { return now_of(CLOCK_THREAD_CPUTIME_ID); }

std::uint64_t system_ticks() { return __builtin_ia32_rdtsc(); }

double system_ticks_per_ns() {
  static const double ticks_per_ns = measure_ticks_per_ns();
  return ticks_per_ns;
}

void system_sleep_us(std::uint64_t microseconds) {
  timespec rest;
  rest.tv_sec = static_cast<time_t>(microseconds / 1'000'000);
  rest.tv_nsec = static_cast<long>(microseconds % 1'000'000) * 1'000;
  nanosleep(&rest, nullptr);  // an early return is a shorter back-off, nothing else
}

void SpinWait::rest() {
  constexpr std::uint64_t kSleepUsMin = 20;
  if (turns_ <= kTurnsBeforeSleep) {
    FOEDUS_SYNC_POINT("spin:yield");
    sched_yield();
    return;
  }
  FOEDUS_SYNC_POINT("spin:sleep");
  const unsigned doublings = std::min(turns_ - kTurnsBeforeSleep - 1, 31u);
  system_sleep_us(std::min(kSleepUsMin << doublings, kSleepUsMax));
}

std::uint64_t system_seed() {
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32) | device();
}

}  // namespace foedus::base
