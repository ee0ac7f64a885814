// Gleaning: how fast gleans are, from which the throttle knows what writers may write meanwhile.
#include <algorithm>

#include "foedus-core/engine/engine.h"
#include "foedus-core/engine/gleaning.h"

namespace foedus::engine {

namespace {

constexpr std::uint64_t kPaceBytesMin = 1u << 20;  // of log: what less of it takes says little
// The work of a glean, in bytes of log that could be read meanwhile: of a page that it writes, and
// of a volatile page that it looks at.
constexpr double kWorkOfPage = 1'200;
constexpr double kWorkOfVolatilePage = 600;
constexpr std::uint64_t kPagesAbove = 4;  // of the pages with records, one above so many
constexpr double kDoneMax = 0.9;  // of a glean, that it is taken to have done before it ends

}  // namespace

Gleaning::Running::Running(Gleaning* gleaning, std::uint64_t since_us, std::uint64_t log_bytes)
    : gleaning_(gleaning) {
  // order: relaxed all, see backlog().
  gleaning->running_from_.store_relaxed(gleaning->log_covered_.load_relaxed());
  gleaning->running_to_.store_relaxed(log_bytes);
  gleaning->running_since_us_.store_relaxed(since_us);
}

Gleaning::Running::~Running() {
  gleaning_->running_since_us_.store_relaxed(0);  // order: relaxed, as above
}

std::uint64_t Gleaning::log_behind() const {
  // order: relaxed, a trigger and a statistic.
  return engine_->log()->bytes_written() - log_covered_.load_relaxed();
}

// What a glean has to do: read the log, write pages, and look at all volatile pages.
double Gleaning::work_of(double log_bytes, double pages) const {
  return log_bytes + kWorkOfPage * pages +
         kWorkOfVolatilePage * static_cast<double>(engine_->pool().pages_in_use());
}

double Gleaning::bytes_per_s(std::uint64_t log_bytes) const {
  const auto bytes = static_cast<double>(std::max(log_bytes, kPaceBytesMin));
  const double work = work_of(bytes, static_cast<double>(expected_pages(log_bytes)));
  return bytes / work * work_per_s_.load_relaxed();  // order: relaxed, an estimate
}

// Bytes of log that the running glean has not done. Each word by itself: a look between two of them
// is off for some milliseconds.
double Gleaning::left_of_running() const {
  // order: relaxed, an estimate, and all that follow.
  const std::uint64_t since_us = running_since_us_.load_relaxed();
  if (since_us == 0) return 0;
  const std::uint64_t to = running_to_.load_relaxed();
  const std::uint64_t taken = to - std::min(to, running_from_.load_relaxed());
  const auto elapsed_us = static_cast<double>(engine_->runtime().now_us() - since_us);
  const double done = bytes_per_s(taken) * elapsed_us / 1e6;
  return static_cast<double>(taken) - std::min(kDoneMax * static_cast<double>(taken), done);
}

std::uint64_t Gleaning::backlog() const {
  // order: relaxed, as above.
  if (running_since_us_.load_relaxed() == 0) return log_behind();
  const std::uint64_t to = running_to_.load_relaxed();
  const std::uint64_t written = engine_->log()->bytes_written();
  return written - std::min(written, to) + static_cast<std::uint64_t>(left_of_running());
}

double Gleaning::us_of(std::uint64_t bytes) const {
  return static_cast<double>(std::max(bytes, kPaceBytesMin)) * 1e6 / bytes_per_s(bytes);
}

double Gleaning::us_of_running() const {
  const auto running = static_cast<std::uint64_t>(left_of_running());
  return running == 0 ? 0 : us_of(running);
}

double Gleaning::us_to_room() const {
  const std::uint64_t backlog = this->backlog();
  const auto running = static_cast<std::uint64_t>(left_of_running());
  return (running == 0 ? 0 : us_of(running)) + us_of(backlog - std::min(backlog, running));
}

// Less log says little, and would let one glean follow the other.
void Gleaning::learn_pages(const GleanReport& report, std::uint64_t log_bytes) {
  if (log_bytes < kPaceBytesMin) return;
  const auto bytes = static_cast<double>(log_bytes);
  // order: relaxed, an estimate
  pages_per_byte_.store_relaxed(static_cast<double>(report.pages_written) / bytes);
  pages_last_ = report.pages_written;
  records_per_byte_ = static_cast<double>(report.records_read) / bytes;
}

// The more log, the more of its records meet on a page: less log than the last time may take as
// many pages as that did, but hardly more than one for each record.
std::uint64_t Gleaning::most_pages(std::uint64_t log_bytes) const {
  const auto records =
      static_cast<std::uint64_t>(records_per_byte_ * static_cast<double>(log_bytes));
  const std::uint64_t by_bytes = expected_pages(log_bytes);
  return std::max(by_bytes, std::min(pages_last_, records + records / kPagesAbove));
}

// The mean of the last one and of those before: the pace depends on how busy the machine is.
void Gleaning::learn_pace(std::uint64_t log_bytes, const GleanReport& report) {
  if (log_bytes < kPaceBytesMin || report.total_us == 0) return;
  const double work =
      work_of(static_cast<double>(log_bytes), static_cast<double>(report.pages_written));
  const double last = work * 1e6 / static_cast<double>(report.total_us);
  // order: relaxed, an estimate
  work_per_s_.store_relaxed((work_per_s_.load_relaxed() + last) / 2);
}

// Not many more than there are, and what is new.
std::uint64_t Gleaning::expected_pages(std::uint64_t log_bytes) const {
  std::uint64_t pages_max = log_bytes / page::kPageBytes;
  {
    const std::lock_guard lock(mutex_);
    if (manifest_.has_value()) {
      for (const snapshot::ManifestFile& file : manifest_->files) pages_max += file.live_pages;
    }
  }
  // order: relaxed, an estimate
  const double pages = pages_per_byte_.load_relaxed() * static_cast<double>(log_bytes);
  return std::min(pages_max, static_cast<std::uint64_t>(pages));
}

}  // namespace foedus::engine
