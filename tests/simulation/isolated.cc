#include "tests/simulation/isolated.h"

#include <malloc.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

namespace foedus::simulation {

namespace {

struct Header {
  std::uint64_t step;
  std::uint64_t call;
  std::uint64_t digest;
  std::uint64_t failure_bytes;
  Counts counts;
};

void write_all(int to, const void* from, std::size_t bytes) {
  const char* at = static_cast<const char*>(from);
  while (bytes != 0) {
    const ssize_t done = write(to, at, bytes);
    if (done <= 0) return;
    at += done;
    bytes -= static_cast<std::size_t>(done);
  }
}

std::string read_all(int from) {
  std::string all;
  char some[4096];
  for (ssize_t done; (done = read(from, some, sizeof(some))) > 0;) {
    all.append(some, static_cast<std::size_t>(done));
  }
  return all;
}

// Lets memory of one engine be reused by the next one without a clearing by the system.
void keep_memory() {
  constexpr int kBytes = 32 << 20;
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_THRESHOLD, kBytes);
  mallopt(M_TRIM_THRESHOLD, 2 * kBytes);
}

[[noreturn]] void run_as_child(const Plan& plan, unsigned seconds_max, int to) {
  alarm(seconds_max);
  keep_memory();
  const Outcome outcome = Simulation(plan).run();
  const Header header{outcome.step, outcome.call, outcome.digest, outcome.failure.size(),
                      outcome.counts};
  write_all(to, &header, sizeof(header));
  write_all(to, outcome.failure.data(), outcome.failure.size());
  _exit(0);
}

}  // namespace

Outcome run_isolated(const Plan& plan, unsigned seconds_max) {
  Outcome outcome;
  int ends[2];
  if (pipe(ends) != 0) {
    outcome.failure = "no pipe";
    return outcome;
  }
  const pid_t child = fork();
  if (child == 0) run_as_child(plan, seconds_max, ends[1]);
  close(ends[1]);
  const std::string said = child < 0 ? std::string() : read_all(ends[0]);
  close(ends[0]);
  int status = 0;
  if (child > 0) waitpid(child, &status, 0);
  Header header;
  if (said.size() < sizeof(header)) {
    outcome.failure = "the process ended by signal " +
                      std::to_string(WIFSIGNALED(status) ? WTERMSIG(status) : 0) + ", exit " +
                      std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : 0);
    outcome.step = plan.steps;
    return outcome;
  }
  std::memcpy(&header, said.data(), sizeof(header));
  outcome.failure = said.substr(sizeof(header), header.failure_bytes);
  outcome.step = header.step;
  outcome.call = header.call;
  outcome.digest = header.digest;
  outcome.counts = header.counts;
  return outcome;
}

}  // namespace foedus::simulation
