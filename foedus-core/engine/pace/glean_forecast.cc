#include "foedus-core/engine/pace/glean_forecast.h"

#include <algorithm>

namespace foedus::engine {

namespace {

constexpr std::uint64_t kPaceBytesMin = 1u << 20;  // a glean of less log tells too little
constexpr std::uint64_t kPagesAbove = 4;           // most_pages() adds a page for 4 records

}  // namespace

GleanForecast::Running::Running(GleanForecast* forecast)
    : forecast_(forecast),
      log_bytes_(forecast->parts_.log->bytes_written()),
      log_covered_(forecast->log_covered_.load_relaxed()) {  // order: relaxed, own word
  // order: relaxed all, estimates for other threads.
  forecast->running_from_.store_relaxed(log_covered_);
  forecast->running_to_.store_relaxed(log_bytes_);
  forecast->pace_.begin(forecast->size_of(log_bytes_ - log_covered_),
                        forecast->parts_.runtime->now_us());
}

void GleanForecast::Running::at(const GleanProgress& progress) {
  // order: relaxed, a statistic
  forecast_->stage_.store_relaxed(1 + static_cast<std::uint64_t>(progress.stage));
  forecast_->pace_.at(progress, forecast_->parts_.runtime->now_us());
}

void GleanForecast::Running::has_snapshot(const GleanReport& report, bool is_news) {
  is_news_ = is_news;
  size_ = forecast_->size_of(log_bytes_ - log_covered_);  // before installing drops volatile pages
  size_.pages = static_cast<double>(report.pages_written);
  if (!is_news) return;
  forecast_->learn_pages(report, log_bytes_ - log_covered_);
  forecast_->log_covered_.store_relaxed(log_bytes_);  // order: relaxed, see log_behind()
}

void GleanForecast::Running::has_ended(const GleanReport& report) {
  if (is_news_) forecast_->pace_.learn(size_, report);
}

std::uint64_t GleanForecast::log_behind() const {
  // order: relaxed, a trigger and a statistic.
  return parts_.log->bytes_written() - log_covered_.load_relaxed();
}

GleanSize GleanForecast::size_of(std::uint64_t log_bytes) const {
  return {.log_bytes = static_cast<double>(log_bytes),
          .pages = static_cast<double>(expected_pages(log_bytes)),
          .volatile_pages = static_cast<double>(parts_.pool->pages_in_use())};
}

double GleanForecast::us_of(std::uint64_t log_bytes) const {
  return pace_.us_of(size_of(std::max(log_bytes, kPaceBytesMin)), parts_.runtime->now_us());
}

double GleanForecast::bytes_per_s(std::uint64_t log_bytes) const {
  const std::uint64_t bytes = std::max(log_bytes, kPaceBytesMin);
  return static_cast<double>(bytes) * 1e6 / std::max(us_of(bytes), 1.0);
}

// Returns the bytes of the running glean's log that it has not processed.
std::uint64_t GleanForecast::left_of_running() const {
  // order: relaxed both, an estimate.
  const std::uint64_t to = running_to_.load_relaxed();
  const std::uint64_t taken = to - std::min(to, running_from_.load_relaxed());
  const double share = pace_.left(parts_.runtime->now_us()).share;
  return static_cast<std::uint64_t>(share * static_cast<double>(taken));
}

std::uint64_t GleanForecast::backlog() const {
  if (!pace_.is_running()) return log_behind();
  const std::uint64_t to = running_to_.load_relaxed();  // order: relaxed, an estimate
  const std::uint64_t written = parts_.log->bytes_written();
  return written - std::min(written, to) + left_of_running();
}

double GleanForecast::us_to_log_room() const {
  return pace_.left(parts_.runtime->now_us()).us_to_room;
}

double GleanForecast::us_to_room() const {
  const std::uint64_t backlog = this->backlog();
  const std::uint64_t next = backlog - std::min(backlog, left_of_running());
  return pace_.left(parts_.runtime->now_us()).us + us_of(next);
}

// Learns how many pages a byte of log makes. Ignores gleans of little log: these write many pages a
// byte, so the estimates for larger gleans would be far too high.
void GleanForecast::learn_pages(const GleanReport& report, std::uint64_t log_bytes) {
  if (log_bytes < kPaceBytesMin) return;
  const auto bytes = static_cast<double>(log_bytes);
  // order: relaxed, an estimate
  pages_per_byte_.store_relaxed(static_cast<double>(report.pages_written) / bytes);
  pages_last_ = report.pages_written;
  records_per_byte_ = static_cast<double>(report.records_read) / bytes;
}

// The more log a glean has, the more of its records share a page. So a glean with less log than the
// last one may write as many pages as the last one did, but hardly more than 5 pages for 4 records.
std::uint64_t GleanForecast::most_pages(std::uint64_t log_bytes) const {
  const auto records =
      static_cast<std::uint64_t>(records_per_byte_ * static_cast<double>(log_bytes));
  const std::uint64_t by_bytes = expected_pages(log_bytes);
  return std::max(by_bytes, std::min(pages_last_, records + records / kPagesAbove));
}

// Limits the estimate to the live pages and one page for each 4 KiB of log: a glean hardly writes
// more.
std::uint64_t GleanForecast::expected_pages(std::uint64_t log_bytes) const {
  const std::uint64_t pages_max = log_bytes / page::kPageBytes + parts_.newest->live_pages();
  // order: relaxed, an estimate
  const double pages = pages_per_byte_.load_relaxed() * static_cast<double>(log_bytes);
  return std::min(pages_max, static_cast<std::uint64_t>(pages));
}

}  // namespace foedus::engine
