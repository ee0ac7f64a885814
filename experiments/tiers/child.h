#pragma once
// A measurement in a process of its own. It begins with nothing in memory. The next one finds
// nothing of it but its files.

#include <errno.h>
#include <glog/logging.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <type_traits>

#include "experiments/common/text.h"
#include "foedus/status.h"

namespace experiments::tiers {

// Runs `measure` in a child, which is killed once it has returned: a database that it has left open
// is found as after a crash. REQUIRES: the calling process has no other thread.
template <typename Measure, typename Seen = typename std::invoke_result_t<Measure&>::value_type>
foedus::Result<Seen> in_child(Measure measure) {
  static_assert(std::is_trivially_copyable_v<Seen>);
  constexpr auto kFailure = foedus::ErrorCode::kIoError;
  int pipe[2];
  if (::pipe(pipe) != 0) return failed(kFailure, "pipe: errno %d", errno);
  const pid_t child = ::fork();
  if (child < 0) return failed(kFailure, "fork: errno %d", errno);
  if (child == 0) {
    ::close(pipe[0]);
    const foedus::Result<Seen> seen = measure();
    if (seen.is_ok()) {
      const Seen value = *seen;
      if (::write(pipe[1], &value, sizeof(value)) == sizeof(value)) ::kill(::getpid(), SIGKILL);
    }
    LOG(ERROR) << "tiers: " << seen.status().message();
    ::_exit(1);
  }
  ::close(pipe[1]);
  Seen value{};
  const ssize_t got = ::read(pipe[0], &value, sizeof(value));
  ::close(pipe[0]);
  ::waitpid(child, nullptr, 0);
  if (got == static_cast<ssize_t>(sizeof(value))) return value;
  return failed(kFailure, "a process that measures has failed");
}

}  // namespace experiments::tiers
