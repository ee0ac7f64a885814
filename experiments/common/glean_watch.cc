#include "experiments/common/glean_watch.h"

#include <gflags/gflags.h>

#include <algorithm>

#include "experiments/common/placement.h"

DEFINE_bool(drop_volatile, false, "glean before the run, so that it begins over snapshot pages");
DEFINE_double(warm_seconds, 0, "run so long before the run that is measured");

namespace experiments {

namespace {
constexpr auto kSampleInterval = std::chrono::milliseconds(100);
constexpr std::uint64_t kPageBytes = 4096;

// Of the log that is in a snapshot.
std::uint64_t log_bytes_gleaned(const foedus::Stats& stats) {
  return stats.log_bytes - std::min(stats.log_bytes, stats.log_bytes_behind);
}

// Returns how much was read from emulated memory, and written, between two looks at its counters.
JsonObject nvm_between(const foedus::NvmStats& before, const foedus::NvmStats& after) {
  std::uint64_t writes_max = after.lines_by_writes.size() - 1;
  while (writes_max > 0 && after.lines_by_writes[writes_max] == 0) --writes_max;
  JsonObject object;
  object.add("reads", after.reads - before.reads);
  object.add("lines_read", after.lines_read - before.lines_read);
  object.add("pages_read", after.pages_read - before.pages_read);
  object.add("writes", after.writes - before.writes);
  object.add("lines_written", after.lines_written - before.lines_written);
  object.add("pages_written", after.pages_written - before.pages_written);
  object.add("line_writes_max", writes_max);
  return object;
}

double share_of(std::uint64_t part, double whole) { return static_cast<double>(part) / whole; }
}  // namespace

GleanWatch::GleanWatch(foedus::Database& db)
    : db_(db), start_(Clock::now()), before_(db.stats()), thread_([this] { watch(); }) {}

GleanWatch::~GleanWatch() { stop(); }

void GleanWatch::watch() {
  std::unique_lock lock(mutex_);
  while (!stopping_.wait_for(lock, kSampleInterval, [this] { return is_stopping_; })) {
    const foedus::Stats stats = db_.stats();
    behind_max_ = std::max(behind_max_, stats.log_bytes_behind);
    volatile_max_ = std::max(volatile_max_, stats.volatile_page_bytes);
    ++samples_;
  }
}

void GleanWatch::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  stopping_.notify_all();
  thread_.join();
  after_ = db_.stats();
  seconds_ = std::chrono::duration<double>(Clock::now() - start_).count();
  behind_max_ = std::max(behind_max_, after_.log_bytes_behind);
  volatile_max_ = std::max(volatile_max_, after_.volatile_page_bytes);
}

void GleanWatch::add_members(JsonObject& line, std::uint32_t sessions) const {
  const std::uint64_t pages = after_.snapshot_pages_written - before_.snapshot_pages_written;
  const std::uint64_t log_bytes = log_bytes_gleaned(after_) - log_bytes_gleaned(before_);
  const std::uint64_t records = after_.gleaned_records - before_.gleaned_records;
  const double cpu_s = share_of(after_.glean_cpu_us - before_.glean_cpu_us, 1e6);
  line.add("gleans", after_.gleans - before_.gleans);
  line.add("gleaned_records", records);
  line.add("gleaned_log_bytes", log_bytes);
  line.add("snapshot_pages_written", pages);
  line.add("write_amplification", share_of(pages * kPageBytes, static_cast<double>(log_bytes)));
  line.add("volatile_pages_dropped",
           after_.volatile_pages_dropped - before_.volatile_pages_dropped);
  line.add("volatile_pages_spared", after_.volatile_pages_spared - before_.volatile_pages_spared);
  line.add("log_bytes_behind_max", behind_max_);
  line.add("log_bytes_behind_bound", db_.effective_options().options.glean.log_bytes_max);
  line.add("samples", samples_);
  line.add("writers_waited_share", share_of(after_.writers_waited_us - before_.writers_waited_us,
                                            seconds_ * 1e6 * sessions));
  line.add("gleaner_cpu_s", cpu_s);
  line.add("gleaner_cpu_s_per_million_records", cpu_s * 1e6 / static_cast<double>(records));
  line.add("cache_bytes", after_.cache_bytes);
  line.add("cache_hits", after_.cache_hits - before_.cache_hits);
  line.add("cache_misses", after_.cache_misses - before_.cache_misses);
  line.add("volatile_page_bytes_max", volatile_max_);
  if (after_.nvm.writes != 0) line.add("nvm", nvm_between(before_.nvm, after_.nvm));
  line.add("placement", placement_between(before_, after_));
}

foedus::Status drop_volatile_by_flags(foedus::Database& db, JsonObject& line) {
  if (!FLAGS_drop_volatile) return {};
  line.add("volatile_page_bytes_before_drop", db.stats().volatile_page_bytes);
  FOEDUS_TRY(const foedus::GleanReport report, db.glean());
  line.add("pages_dropped_before_run", report.pages_dropped);
  line.add("volatile_page_bytes_before_run", db.stats().volatile_page_bytes);
  return {};
}

}  // namespace experiments
