#include "experiments/common/foedus_backend.h"

#include <glog/logging.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "experiments/common/options.h"

namespace experiments {

namespace {

void log_of_engine(foedus::LogLevel level, std::string_view line) {
  switch (level) {
    case foedus::LogLevel::kInfo:
      LOG(INFO) << line;
      return;
    case foedus::LogLevel::kWarning:
      LOG(WARNING) << line;
      return;
    case foedus::LogLevel::kError:
      LOG(ERROR) << line;
      return;
  }
}

// Returns what stands between commas.
std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin < list.size()) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    parts.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

foedus::Status FoedusTxn::wrong_size(const Table& table, std::size_t found, std::size_t expected) {
  return foedus::Status::error(
             foedus::ErrorCode::kCorruption,
             "a row of " + std::to_string(found) + " bytes, not " + std::to_string(expected))
      .at_storage(table.keyed.name());
}

Counters FoedusWorker::counters() const {
  Counters counters{.commits = commits_, .rollbacks = rollbacks_, .conflicts = {}};
  for (std::size_t i = 0; i < conflicts_.size(); ++i) {
    if (conflicts_[i] == 0) continue;
    const auto reason = static_cast<foedus::ConflictReason>(i);
    counters.conflicts[std::string(foedus::to_string(reason))] = conflicts_[i];
  }
  if (rooms_made_ != 0) counters.conflicts["out_of_memory"] = rooms_made_;
  return counters;
}

bool FoedusWorker::make_room() {
  constexpr useconds_t kUntilReusedUs = 20'000;  // dropped pages have to leave all transactions
  if (!db_->glean().is_ok()) return false;
  ++rooms_made_;
  ::usleep(kUntilReusedUs);
  return true;
}

void FoedusWorker::back_off(std::uint32_t tries) {
  constexpr std::uint32_t kDoublingsMax = 13;  // 8192 pauses, some 100 us
  constexpr std::uint32_t kYieldFrom = 5;      // the other one may be waiting for this processor
  back_off_state_ ^= back_off_state_ << 13;
  back_off_state_ ^= back_off_state_ >> 7;
  back_off_state_ ^= back_off_state_ << 17;
  const std::uint64_t bound = std::uint64_t{1} << (tries < kDoublingsMax ? tries : kDoublingsMax);
  if (tries >= kYieldFrom) sched_yield();
  for (std::uint64_t pauses = back_off_state_ % bound; pauses > 0; --pauses) __builtin_ia32_pause();
}

foedus::Result<FoedusBackend> FoedusBackend::open(foedus::Options options,
                                                  foedus::Durability durability) {
  FOEDUS_TRY(foedus::Database db, foedus::Database::open(std::move(options)));
  note_options_in_force(db.effective_options().options);
  return FoedusBackend(std::move(db), durability);
}

foedus::Result<FoedusTable> FoedusBackend::open_table(const TableSpec& spec) {
  Table table;
  table.kind = spec.kind;
  switch (spec.kind) {
    case TableKind::kArray: {
      FOEDUS_TRY(table.array, db_->open_array(spec.name, spec.records, spec.row_bytes));
      break;
    }
    case TableKind::kHash: {
      foedus::HashOptions options;
      if (spec.records != 0) options.records_expected = spec.records;
      FOEDUS_TRY(table.keyed, db_->open_hash(spec.name, options));
      break;
    }
    case TableKind::kOrdered: {
      FOEDUS_TRY(table.tree, db_->open_masstree(spec.name));
      table.keyed = table.tree;
      break;
    }
    case TableKind::kAppend: {
      FOEDUS_TRY(table.sequential, db_->open_sequential(spec.name));
      break;
    }
  }
  return table;
}

foedus::Result<FoedusWorker> FoedusBackend::new_worker() {
  FOEDUS_TRY(foedus::Session session, db_->new_session());
  return FoedusWorker(db_.get(), std::move(session), durability_);
}

void FoedusBackend::fill_stats(StatsLine& line) {
  const foedus::Stats stats = db_->stats();
  line.log_bytes = stats.log_bytes;
  line.volatile_page_bytes = stats.volatile_page_bytes;
  line.log_buffer_bytes = stats.log_buffer_bytes;
  line.free_page_bytes = stats.free_page_bytes;
}

void set_gleans_by_flags(std::string_view mode, foedus::Options* options) {
  constexpr std::uint64_t kLogBytesMin = 1u << 20;
  constexpr std::uint32_t kVolatilePercentMax = 90;
  foedus::GleanOptions& glean = options->glean;
  if (FLAGS_glean_log_bytes != 0) glean.log_bytes = FLAGS_glean_log_bytes;
  if (mode == "back-to-back") {
    glean.log_bytes_max = 8 * glean.log_bytes;  // writers are held up no sooner than without it
    glean.log_bytes = kLogBytesMin;
  } else if (mode == "off") {
    glean.log_bytes = 0;
    glean.interval_us = 0;
    options->pages.volatile_percent = kVolatilePercentMax;
    glean.close_us = 0;
  }
  if (FLAGS_glean_close_us >= 0) glean.close_us = static_cast<std::uint64_t>(FLAGS_glean_close_us);
  if (FLAGS_volatile_percent >= 0) {
    options->pages.volatile_percent = static_cast<std::uint32_t>(FLAGS_volatile_percent);
  }
  options->pages.cache_bytes = FLAGS_cache_bytes;
}

foedus::Durability durability_by_flags() {
  return durability_is_sync() ? foedus::Durability::kSync : foedus::Durability::kAsync;
}

foedus::Options foedus_options_by_flags() {
  foedus::Options options;
  options.dir = FLAGS_dir;
  options.files.dirs = parts_of(FLAGS_dirs);
  if (FLAGS_device == "mapped") options.files.device = foedus::DeviceKind::kMapped;
  if (FLAGS_device == "emulated") options.files.device = foedus::DeviceKind::kEmulated;
  options.emulation.nvm_latency_ns = FLAGS_nvm_latency_ns;
  options.emulation.nvm_bandwidth_mb = FLAGS_nvm_bandwidth_mb;
  options.tiers.ssd_dirs = parts_of(FLAGS_ssd_dir);
  options.tiers.nvm_bytes = FLAGS_nvm_bytes;
  options.tiers.ssd_bytes = FLAGS_ssd_bytes;
  options.emulation.ssd_latency_ns = FLAGS_ssd_latency_ns;
  options.emulation.ssd_bandwidth_mb = FLAGS_ssd_bandwidth_mb;
  if (FLAGS_nvm_cache == "mini") options.pages.nvm_cache = foedus::NvmCache::kMiniPages;
  if (FLAGS_nvm_cache == "lines") options.pages.nvm_cache = foedus::NvmCache::kLines;
  if (FLAGS_nvm_cache == "pages") options.pages.nvm_cache = foedus::NvmCache::kPages;
  if (FLAGS_nvm_cache == "hybrid") options.pages.nvm_cache = foedus::NvmCache::kHybrid;
  if (FLAGS_nvm_cache == "direct") options.pages.nvm_cache = foedus::NvmCache::kDirect;
  options.pages.snapshot_cache = FLAGS_snapshot_cache == "on";
  options.socs = FLAGS_socs;
  options.log.loggers_per_soc = FLAGS_loggers_per_soc;
  options.memory_bytes = FLAGS_memory_bytes;
  if (FLAGS_log_buffer_bytes != 0) options.log.buffer_bytes = FLAGS_log_buffer_bytes;
  if (FLAGS_epoch_interval_us != 0) options.epoch_interval_us = FLAGS_epoch_interval_us;
  options.log.kind = log_is_on() ? foedus::Logging::kFiles : foedus::Logging::kNone;
  set_gleans_by_flags(FLAGS_glean, &options);
  options.log_sink = log_of_engine;
  return options;
}

foedus::Result<FoedusBackend> open_foedus_by_flags() {
  return FoedusBackend::open(foedus_options_by_flags(), durability_by_flags());
}

}  // namespace experiments
