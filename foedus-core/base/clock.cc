#include "foedus-core/base/clock.h"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <random>

#include "foedus-core/base/sync_point.h"

namespace foedus::base {

namespace {

std::uint64_t now_of(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec) / 1'000;
}

}  // namespace

std::uint64_t system_now_us() { return now_of(CLOCK_MONOTONIC); }

std::uint64_t thread_cpu_us() { return now_of(CLOCK_THREAD_CPUTIME_ID); }

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
