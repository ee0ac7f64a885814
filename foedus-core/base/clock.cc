#include "foedus-core/base/clock.h"

#include <sched.h>
#include <time.h>

#include <random>

namespace foedus::base {

std::uint64_t system_now_us() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec) / 1'000;
}

void system_sleep_us(std::uint64_t microseconds) {
  timespec rest;
  rest.tv_sec = static_cast<time_t>(microseconds / 1'000'000);
  rest.tv_nsec = static_cast<long>(microseconds % 1'000'000) * 1'000;
  nanosleep(&rest, nullptr);  // an early return is a shorter back-off, nothing else
}

void SpinWait::yield() { sched_yield(); }

std::uint64_t system_seed() {
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32) | device();
}

}  // namespace foedus::base
