#include "experiments/common/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "experiments/common/text.h"

namespace experiments {

namespace {
constexpr auto kRedrawInterval = std::chrono::milliseconds(200);
constexpr auto kLineInterval = std::chrono::seconds(3);
}  // namespace

Progress::Progress(std::string name, std::uint64_t total)
    : name_(std::move(name)),
      total_(std::max<std::uint64_t>(total, 1)),
      is_terminal_(isatty(STDERR_FILENO) == 1),
      start_(Clock::now()),
      next_draw_(start_ + (is_terminal_ ? Clock::duration(0) : Clock::duration(kLineInterval))) {}

Progress::~Progress() {
  const std::lock_guard guard(mutex_);
  draw_locked(true);
}

void Progress::add(std::uint64_t steps) {
  // order: a counter for the eye; the draw may lag behind.
  done_.fetch_add(steps, std::memory_order_relaxed);
  draw_if_due();
}

void Progress::set(std::uint64_t done, const std::string& remark) {
  // order: as in add().
  done_.store(done, std::memory_order_relaxed);
  {
    const std::lock_guard guard(mutex_);
    remark_ = remark;
  }
  draw_if_due();
}

void Progress::draw_if_due() {
  const std::unique_lock guard(mutex_, std::try_to_lock);
  if (!guard.owns_lock() || Clock::now() < next_draw_) return;
  draw_locked(false);
}

void Progress::draw_locked(bool is_last) {
  constexpr unsigned kBarColumns = 40;
  const Clock::time_point now = Clock::now();
  // order: as in add().
  const std::uint64_t done = std::min(done_.load(std::memory_order_relaxed), total_);
  const auto percent = static_cast<unsigned>(done * 100 / total_);
  const double seconds = std::chrono::duration<double>(now - start_).count();
  // The first second tells too little.
  const bool is_known = !is_last && done != 0 && seconds > 1;
  const double left = seconds * static_cast<double>(total_ - done) / static_cast<double>(done);
  const std::string after = (is_known ? text("%.0f s left ", left) : "") + remark_;
  if (is_terminal_) {
    const std::string bar(done * kBarColumns / total_, '#');
    std::fprintf(stderr, "\r%-12s [%-40s] %3u%% %6.1f s %s\033[K%s", name_.c_str(), bar.c_str(),
                 percent, seconds, after.c_str(), is_last ? "\n" : "");
  } else {
    std::fprintf(stderr, "%s: %u%%, %.1f s %s\n", name_.c_str(), percent, seconds, after.c_str());
  }
  std::fflush(stderr);
  next_draw_ = now + (is_terminal_ ? Clock::duration(kRedrawInterval) : kLineInterval);
}

}  // namespace experiments
