#include "foedus-core/base/process.h"

#include <pthread.h>

#include "foedus-core/base/invariant.h"

namespace foedus::base {

namespace internal {
AtomicWord<std::uint64_t> process_generation{1};
}

namespace {

void count_fork() {
  // order: relaxed, a process has one thread when it begins.
  internal::process_generation.store_relaxed(process_generation() + 1);
}

struct ForkHandler {
  ForkHandler() {
    const int error_number = pthread_atfork(nullptr, nullptr, count_fork);
    FOEDUS_INVARIANT(error_number == 0, error_number);
  }
} const fork_handler;

}  // namespace

Status forked_error() {
  return Status::error(ErrorCode::kForked,
                       "it was opened by the process of which this one is a child by fork(); use "
                       "it there, or open the directory here once that process has closed it");
}

}  // namespace foedus::base
