// Gleaning: how fast gleans are, by which the throttle knows what writers may write meanwhile.
#include <algorithm>

#include "foedus-core/engine/engine.h"
#include "foedus-core/engine/gleaning.h"

namespace foedus::engine {

namespace {

constexpr std::uint64_t kPaceBytesMin = 1u << 20;  // of log: a glean of less says little
constexpr std::uint64_t kPagesAbove = 4;           // most_pages() adds one page for each so many

}  // namespace

Gleaning::Running::Running(Gleaning* gleaning, std::uint64_t since_us, std::uint64_t log_bytes)
    : gleaning_(gleaning) {
  // order: relaxed all, see backlog().
  const std::uint64_t covered = gleaning->log_covered_.load_relaxed();
  gleaning->running_from_.store_relaxed(covered);
  gleaning->running_to_.store_relaxed(log_bytes);
  gleaning->pace_.begin(gleaning->size_of(log_bytes - covered), since_us);
}

Gleaning::Running::~Running() { gleaning_->pace_.end(); }

std::uint64_t Gleaning::log_behind() const {
  // order: relaxed, a trigger and a statistic.
  return engine_->log()->bytes_written() - log_covered_.load_relaxed();
}

GleanSize Gleaning::size_of(std::uint64_t log_bytes) const {
  return {.log_bytes = static_cast<double>(log_bytes),
          .pages = static_cast<double>(expected_pages(log_bytes)),
          .volatile_pages = static_cast<double>(engine_->pool().pages_in_use())};
}

double Gleaning::us_of(std::uint64_t log_bytes) const {
  return pace_.us_of(size_of(std::max(log_bytes, kPaceBytesMin)), engine_->runtime().now_us());
}

double Gleaning::bytes_per_s(std::uint64_t log_bytes) const {
  const std::uint64_t bytes = std::max(log_bytes, kPaceBytesMin);
  return static_cast<double>(bytes) * 1e6 / std::max(us_of(bytes), 1.0);
}

// Returns the bytes of log that the running glean has not done.
std::uint64_t Gleaning::left_of_running() const {
  // order: relaxed both, an estimate.
  const std::uint64_t to = running_to_.load_relaxed();
  const std::uint64_t taken = to - std::min(to, running_from_.load_relaxed());
  const double share = pace_.left(engine_->runtime().now_us()).share;
  return static_cast<std::uint64_t>(share * static_cast<double>(taken));
}

std::uint64_t Gleaning::backlog() const {
  if (!pace_.is_running()) return log_behind();
  const std::uint64_t to = running_to_.load_relaxed();  // order: relaxed, as above
  const std::uint64_t written = engine_->log()->bytes_written();
  return written - std::min(written, to) + left_of_running();
}

double Gleaning::us_to_log_room() const {
  return pace_.left(engine_->runtime().now_us()).us_to_room;
}

double Gleaning::us_to_room() const {
  const std::uint64_t backlog = this->backlog();
  const std::uint64_t next = backlog - std::min(backlog, left_of_running());
  return pace_.left(engine_->runtime().now_us()).us + us_of(next);
}

// Ignores a glean of less log: it says little, and would make gleans follow each other.
void Gleaning::learn_pages(const GleanReport& report, std::uint64_t log_bytes) {
  if (log_bytes < kPaceBytesMin) return;
  const auto bytes = static_cast<double>(log_bytes);
  // order: relaxed, an estimate
  pages_per_byte_.store_relaxed(static_cast<double>(report.pages_written) / bytes);
  pages_last_ = report.pages_written;
  records_per_byte_ = static_cast<double>(report.records_read) / bytes;
}

// Returns an upper bound. The more log, the more of its records share a page. So less log than the
// last time may change as many pages, but hardly more than one for each record.
std::uint64_t Gleaning::most_pages(std::uint64_t log_bytes) const {
  const auto records =
      static_cast<std::uint64_t>(records_per_byte_ * static_cast<double>(log_bytes));
  const std::uint64_t by_bytes = expected_pages(log_bytes);
  return std::max(by_bytes, std::min(pages_last_, records + records / kPagesAbove));
}

// Caps the estimate: a glean writes hardly more pages than are live, and one for each 4 KiB of new
// log.
std::uint64_t Gleaning::expected_pages(std::uint64_t log_bytes) const {
  const std::uint64_t pages_max = log_bytes / page::kPageBytes + newest_->live_pages();
  // order: relaxed, an estimate
  const double pages = pages_per_byte_.load_relaxed() * static_cast<double>(log_bytes);
  return std::min(pages_max, static_cast<std::uint64_t>(pages));
}

}  // namespace foedus::engine
