#include "foedus-core/base/system/process.h"

#include <pthread.h>
#include <unistd.h>

#include "foedus-core/base/invariant.h"

namespace foedus::base {

namespace internal {
AtomicWord<std::uint64_t> process_generation{1};
thread_local constinit std::uint32_t thread_id = 0;  // 0: not asked yet

std::uint32_t find_thread_id() { return thread_id = static_cast<std::uint32_t>(gettid()); }
}  // namespace internal

namespace {

void count_fork() {
  // order: relaxed, a process has one thread when it begins.
  internal::process_generation.store_relaxed(process_generation() + 1);
  internal::thread_id = 0;  // the child's thread has another one
}

struct ForkHandler {
  ForkHandler() {
    const int error_number = pthread_atfork(nullptr, nullptr, count_fork);
    FOEDUS_INVARIANT(error_number == 0, error_number);
  }
} const fork_handler;

}  // namespace

void at_fork(void (*before)(), void (*after)()) {
  [[maybe_unused]] const int ignored = pthread_atfork(before, after, after);
}

Status forked_error() {
  return Status::error(ErrorCode::kForked,
                       "it was opened by the process of which this one is a child by fork(); use "
                       "it there, or open the directory here once that process has closed it");
}

}  // namespace foedus::base
