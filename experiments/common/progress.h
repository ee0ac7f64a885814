#pragma once
// Progress: how far a phase is, on stderr. A bar that is redrawn where stderr is a terminal, a
// plain line every few seconds where it is not.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace experiments {

class Progress {
 public:
  // `total`: steps of the whole phase.
  Progress(std::string name, std::uint64_t total);
  // Draws the final state.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Adds steps that are done. Any thread; meant for steps of a millisecond or more.
  void add(std::uint64_t steps);
  // For a phase watched by one thread: sets the steps, with a remark such as the throughput.
  void set(std::uint64_t done, const std::string& remark);

 private:
  using Clock = std::chrono::steady_clock;
  void draw_if_due();
  void draw_locked(bool is_last);

  const std::string name_;
  const std::uint64_t total_;
  const bool is_terminal_;
  const Clock::time_point start_;
  std::atomic<std::uint64_t> done_{0};

  std::mutex mutex_;  // guards what follows, and the line on the screen
  Clock::time_point next_draw_;
  std::string remark_;
};

}  // namespace experiments
