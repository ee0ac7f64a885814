#include "experiments/beyond_memory/waits.h"

#include <cstdio>
#include <ctime>

namespace experiments::beyond_memory {

namespace {

std::uint64_t clock_us(clockid_t clock) {
  timespec time{};
  if (::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec) / 1'000;
}

// The second number of /proc/thread-self/schedstat, in nanoseconds.
std::uint64_t run_delay_us() {
  std::FILE* const file = std::fopen("/proc/thread-self/schedstat", "r");
  if (file == nullptr) return 0;
  unsigned long long ran_ns = 0;
  unsigned long long waited_ns = 0;
  const bool is_there = std::fscanf(file, "%llu %llu", &ran_ns, &waited_ns) == 2;
  std::fclose(file);
  return is_there ? waited_ns / 1'000 : 0;
}

}  // namespace

ThreadTime ThreadTime::now() {
  return {clock_us(CLOCK_MONOTONIC), clock_us(CLOCK_THREAD_CPUTIME_ID), run_delay_us()};
}

}  // namespace experiments::beyond_memory
