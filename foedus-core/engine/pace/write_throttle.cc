#include "foedus-core/engine/pace/write_throttle.h"

#include <algorithm>
#include <cstdio>
#include <limits>

#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/engine/setup/granted_memory.h"

namespace foedus::engine {

namespace {

constexpr std::uint64_t kLookUs = 5'000;     // between two steps without a limit
constexpr std::uint64_t kGrantUs = 2'000;    // between two grants
constexpr std::uint64_t kBurstUs = 10'000;   // time whose bytes may be granted ahead of claims
constexpr std::uint64_t kWaitUsMin = 200;    // least sleep of a writer: the system adds some 50
constexpr std::uint64_t kWaitUsMax = 5'000;  // longest sleep, before a look whether it may go on
constexpr std::uint64_t kReportUs = 10'000'000;
constexpr std::uint64_t kFreeUs = 2'000'000;  // waits are over when none was seen for this long

// Shares of the bound of the log. Up to a backlog of kBacklogFree, or of GleanOptions::log_bytes if
// that is more, writers are not limited. At kBacklogBalance above that, writers write at the pace
// of the gleaner. Then each glean processes kBacklogFree + kBacklogBalance of the bound, and
// writers add as much while it runs. So twice that sum must be below 1, with room for gleans that
// take longer than expected.
constexpr double kBacklogFree = 0.125;
constexpr double kBacklogBalance = 0.325;
// Least multiple of the gleaner's pace at which writers write, reached at twice kBacklogBalance.
// The backlog then shrinks as fast as writers write, so there is no need to stop them.
constexpr double kLeastOfPace = 0.5;
constexpr double kPagesReserve = 0.05;  // share of all pages, for the installer and stocks of pages
constexpr double kReleaseUsMin = 20'000;
constexpr double kLeastOfLog = 1e6;  // least limit by log while bytes_left > 0, in bytes a second
constexpr double kLeastOfMemory = 64 << 10;  // least limit by memory, in bytes a second
constexpr double kMostBytesPerS = 100e9;  // a limit above this is none: no machine writes so fast
// Writers are not limited while volatile pages take at most volatile_percent of their memory, or
// kPercentFreeMin if that is more. If volatile_percent is 0, volatile pages make no glean due, and
// the limit begins above kPercentFreeUndropped.
constexpr std::uint32_t kPercentFreeMin = 50;
constexpr std::uint32_t kPercentFreeUndropped = 80;
constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr std::uint64_t kLearnBytes = 256 << 10;  // log bytes between updates of pages_per_byte_

std::string in_megabytes(std::uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f MB", static_cast<double>(bytes) / 1e6);
  return text;
}

}  // namespace

double write_limit_of(const LogPressure& pressure) {
  if (pressure.bytes_left <= 0) return 0;
  double limit = kInfinite;
  if (pressure.backlog_share > pressure.free_share) {
    const double above = (pressure.backlog_share - pressure.free_share) / kBacklogBalance;
    const double multiple =
        above <= 1 ? 1 / above : std::max(kLeastOfPace, 1 - (1 - kLeastOfPace) * (above - 1));
    limit = multiple * pressure.bytes_per_s;
  }
  if (pressure.glean_s > 0) limit = std::min(limit, pressure.bytes_left / pressure.glean_s);
  return std::max(limit, kLeastOfLog);
}

double write_limit_of(const MemoryPressure& pressure) {
  if (pressure.share_in_use <= pressure.share_in_use_free || pressure.pages_per_byte == 0) {
    return kInfinite;
  }
  const double left = std::max(0.0, 1 - kPagesReserve - pressure.share_in_use) * pressure.pages;
  const double bytes_left = left / pressure.pages_per_byte;
  return bytes_left * 1e6 / std::max(pressure.release_us, kReleaseUsMin);
}

double WriteThrottle::limit_of_log() const {
  const GleanOptions& options = parts_.options->glean;
  const GleanForecast& forecast = *parts_.forecast;
  const std::uint64_t behind = forecast.log_behind();
  const std::uint64_t backlog = forecast.backlog();
  LogPressure pressure;
  pressure.bytes_per_s = forecast.bytes_per_s(backlog);
  pressure.free_share = kBacklogFree;
  pressure.bytes_left = kInfinite;
  if (options.log_bytes_max != 0) {
    const double bound = static_cast<double>(options.log_bytes_max);
    pressure.bytes_left = bound - static_cast<double>(behind);
    pressure.glean_s = forecast.us_to_log_room() / 1e6;
    pressure.backlog_share = static_cast<double>(backlog) / bound;
    pressure.free_share = std::max(kBacklogFree, static_cast<double>(options.log_bytes) / bound);
  }
  return write_limit_of(pressure);
}

double WriteThrottle::limit_of_memory() {
  const std::uint32_t percent = parts_.options->pages.volatile_percent;
  const std::uint64_t in_use = parts_.pool->pages_in_use();
  learn_pages_per_byte(in_use);
  MemoryPressure pressure;
  pressure.pages = static_cast<double>(parts_.pool->bytes_max() / page::kPageBytes);
  pressure.share_in_use = static_cast<double>(in_use) / pressure.pages;
  pressure.share_in_use_free =
      (percent == 0 ? kPercentFreeUndropped : std::max(percent, kPercentFreeMin)) / 100.0;
  pressure.pages_per_byte = pages_per_byte_;
  pressure.release_us = parts_.forecast->us_to_room();
  return write_limit_of(pressure);
}

// Learns how many pages writers take for a byte of log. If fewer pages are in use than at the last
// step, none counts as taken since then.
void WriteThrottle::learn_pages_per_byte(std::uint64_t in_use) {
  const std::uint64_t log_bytes = parts_.log->bytes_written();
  if (in_use > pages_in_use_) pages_taken_ += in_use - pages_in_use_;
  pages_in_use_ = in_use;
  const std::uint64_t since = log_bytes - log_bytes_learned_;
  if (since < kLearnBytes) return;
  const double last = static_cast<double>(pages_taken_) / static_cast<double>(since);
  pages_per_byte_ = (3 * pages_per_byte_ + last) / 4;
  pages_taken_ = 0;
  log_bytes_learned_ = log_bytes;
}

std::uint64_t WriteThrottle::step() {
  const std::uint64_t now_us = parts_.runtime->now_us();
  const std::uint64_t elapsed_us = now_us - stepped_us_;
  stepped_us_ = now_us;
  const double of_log = limit_of_log();
  const double of_memory = limit_of_memory();
  const auto shortage = of_memory < of_log ? Shortage::kMemory : Shortage::kLog;
  const bool is_in_vain = parts_.newest->has_failed() || parts_.log->has_failed();
  std::uint64_t limit = kUnlimited;
  if (is_in_vain) {
    limit = kUnlimited;
  } else if (of_log == 0) {
    limit = kStopped;
  } else if (const double least = std::min(of_log, of_memory); least < kMostBytesPerS) {
    limit = static_cast<std::uint64_t>(std::max(least, kLeastOfMemory));
  }
  // order: relaxed, hints. Asked before the next grant, which may end the waits.
  const bool do_wait = is_on() && claimed_.load_relaxed() > granted_.load_relaxed();
  if (do_wait && shortage == Shortage::kMemory) {
    waits_for_memory_.fetch_add_relaxed(1);  // order: relaxed, a hint
  }
  if (limit != kUnlimited) grant(limit, elapsed_us);
  // order: relaxed, a hint. All writers read it, so its line is written only if the limit changes.
  if (limit != limit_.load_relaxed()) limit_.store_relaxed(limit);
  report(do_wait, limit, shortage, now_us);
  return limit == kUnlimited ? kLookUs : kGrantUs;
}

// Grants the bytes of `elapsed_us`. Grants at most those of kBurstUs ahead of claims, so that
// writers that paused do not write faster than the limit later.
void WriteThrottle::grant(std::uint64_t limit, std::uint64_t elapsed_us) {
  const auto in = [limit](std::uint64_t us) {
    return static_cast<std::uint64_t>(static_cast<double>(limit) / 1e6 * static_cast<double>(us));
  };
  // order: relaxed, counts; granted_ is this task's own.
  const std::uint64_t claimed = claimed_.load_relaxed();
  std::uint64_t granted = granted_.load_relaxed();
  if (!is_on()) granted = std::max(granted, claimed);  // claims of an earlier limit wait no more
  if (limit != kStopped) granted += in(elapsed_us);
  granted_.store_relaxed(std::min(granted, claimed + in(kBurstUs)));
}

void WriteThrottle::wait(std::uint64_t bytes) {
  base::Runtime& runtime = *parts_.runtime;
  // order: relaxed, a count: no data are read by it.
  const std::uint64_t claim = claimed_.fetch_add_relaxed(bytes) + bytes;
  const std::uint64_t begin_us = runtime.now_us();
  for (;;) {
    // order: relaxed, hints both: a change that this look misses is seen at the next.
    const std::uint64_t limit = limit_.load_relaxed();
    const std::uint64_t granted = granted_.load_relaxed();
    if (limit == kUnlimited || granted >= claim || !parts_.state->check_open().is_ok()) break;
    const double us = static_cast<double>(claim - granted) * 1e6 / static_cast<double>(limit);
    runtime.pause(us >= static_cast<double>(kWaitUsMax)
                      ? kWaitUsMax
                      : std::max(static_cast<std::uint64_t>(us), kWaitUsMin));
  }
  waited_us_.fetch_add_relaxed(runtime.now_us() - begin_us);  // order: relaxed, a statistic
}

// ---- what the operator is told

std::string WriteThrottle::describe(std::uint64_t limit, Shortage shortage) const {
  const GleanOptions& options = parts_.options->glean;
  const std::uint64_t behind = parts_.forecast->log_behind();
  std::string text = "writers are stopped until a glean ends: ";
  if (limit != kStopped) {
    text =
        "writers are slowed to the gleaner's pace, " + in_megabytes(limit) + " of log a second: ";
  }
  if (shortage == Shortage::kMemory) {
    return text + "volatile pages take " +
           size_in_words(parts_.pool->pages_in_use() * page::kPageBytes) + " of " +
           size_in_words(parts_.pool->bytes_max());
  }
  text += size_in_words(behind) + " of log are in no snapshot, ";
  return text + "of at most " + size_in_words(options.log_bytes_max);
}

// Tells the operator when writers begin to wait, then every ten seconds, and when it is over.
void WriteThrottle::report(bool do_wait, std::uint64_t limit, Shortage shortage,
                           std::uint64_t now_us) {
  if (!parts_.operator_log->has_sink()) return;
  if (do_wait && limit != kUnlimited) {
    wait_seen_us_ = now_us;
    if (is_reported_ && now_us - reported_us_ < kReportUs) return;
    if (!is_reported_) unreported_waited_us_ = waited_us();
    is_reported_ = true;
    reported_us_ = now_us;
    base::trying([&] { parts_.operator_log->say(LogLevel::kWarning, describe(limit, shortage)); });
  } else if (is_reported_ && now_us - wait_seen_us_ >= kFreeUs) {
    is_reported_ = false;
    base::trying([&] {
      const std::uint64_t waited_us = this->waited_us() - unreported_waited_us_;
      parts_.operator_log->say(LogLevel::kInfo,
                               "writers are not slowed any more; together they waited for " +
                                   std::to_string(waited_us / 1000) + " ms");
    });
  }
}

}  // namespace foedus::engine
