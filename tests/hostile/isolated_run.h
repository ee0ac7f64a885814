#pragma once
// Uses damaged bytes in a process of its own: an abort, or a process that does not end, is an
// outcome like others.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace foedus::hostile {

// Returns the stride over a test's cases: that of FOEDUS_STRIDE, or the usual one. It is longer
// under ThreadSanitizer, because the choice of the byte causes no race.
inline std::uint64_t stride_or(std::uint64_t usual) {
#if defined(__SANITIZE_THREAD__)
  usual *= 8;
#endif
  const char* const text = std::getenv("FOEDUS_STRIDE");
  const std::uint64_t stride = text == nullptr ? usual : std::strtoull(text, nullptr, 10);
  return stride == 0 ? 1 : stride;
}

inline constexpr const char* kDidNotEnd = "it did not end";

template <typename What>
std::string run_isolated_once(What&& what, unsigned seconds_max) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child < 0) return "no process";
  if (child == 0) {
    alarm(seconds_max);
    const std::string wrong = what();
    const ssize_t written = write(ends[1], wrong.data(), wrong.size());
    _exit(written == static_cast<ssize_t>(wrong.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string wrong;
  char some[4096];
  for (ssize_t done; (done = read(ends[0], some, sizeof(some))) > 0;) {
    wrong.append(some, static_cast<std::size_t>(done));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return signal == SIGALRM ? kDidNotEnd : "it died of signal " + std::to_string(signal);
  }
  if (wrong.empty() && WEXITSTATUS(status) != 0) {
    return "it ended with status " + std::to_string(WEXITSTATUS(status));
  }
  return wrong;
}

// Runs `what`, which returns a complaint or an empty string. A run that did not end is repeated,
// because the machine may have been busy. REQUIRES: one thread.
template <typename What>
std::string run_isolated(What&& what, unsigned seconds_max = 60) {
  const std::string wrong = run_isolated_once(what, seconds_max);
  return wrong == kDidNotEnd ? run_isolated_once(what, seconds_max) : wrong;
}

}  // namespace foedus::hostile
