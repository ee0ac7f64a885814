#include "tools/foedus/data/report.h"

#include <ostream>
#include <string>
#include <utility>

#include "foedus-core/base/json.h"
#include "tools/foedus/data/any_storage.h"
#include "tools/foedus/data/data_command.h"
#include "tools/foedus/preview.h"

namespace foedus::cli {

namespace {

// Writes numbers by name: members of a JSON object, or lines.
class Numbers {
 public:
  Numbers(std::ostream* out, bool is_json) : out_(out), json_(out), is_json_(is_json) {
    if (is_json_) json_.begin_object();
  }
  void finish() {
    if (is_json_) json_.end_object();
  }
  void add(std::string_view name, std::uint64_t number) {
    if (is_json_) {
      json_.number(name, number);
    } else if (number != 0) {
      *out_ << name << ": " << number;
      if (name.find("bytes") != name.npos && number >= 10'240)
        *out_ << " (" << size_of(number) << ")";
      *out_ << '\n';
    }
  }
  void add_conflicts(const std::uint64_t (&conflicts)[kConflictReasonCount]) {
    for (std::size_t i = 1; i < kConflictReasonCount; ++i) {
      const std::string_view name = to_string(static_cast<ConflictReason>(i));
      if (name == to_string(static_cast<ConflictReason>(kConflictReasonCount))) continue;
      add("conflicts_" + std::string(name), conflicts[i]);
    }
  }
  base::Json* json() { return is_json_ ? &json_ : nullptr; }

 private:
  std::ostream* const out_;
  base::Json json_;
  const bool is_json_;
};

constexpr std::pair<std::string_view, std::uint64_t Stats::*> kCounters[] = {
    {"commits", &Stats::commits},
    {"rollbacks", &Stats::rollbacks},
    {"log_bytes", &Stats::log_bytes},
    {"log_bytes_behind", &Stats::log_bytes_behind},
    {"volatile_page_bytes", &Stats::volatile_page_bytes},
    {"free_page_bytes", &Stats::free_page_bytes},
    {"waiting_page_bytes", &Stats::waiting_page_bytes},
    {"log_buffer_bytes", &Stats::log_buffer_bytes},
    {"open_transactions", &Stats::open_transactions},
    {"oldest_transaction_us", &Stats::oldest_transaction_us},
    {"gleans", &Stats::gleans},
    {"gleaned_records", &Stats::gleaned_records},
    {"glean_cpu_us", &Stats::glean_cpu_us},
    {"snapshot_pages_written", &Stats::snapshot_pages_written},
    {"volatile_pages_dropped", &Stats::volatile_pages_dropped},
    {"volatile_pages_spared", &Stats::volatile_pages_spared},
    {"cache_bytes", &Stats::cache_bytes},
    {"cache_hits", &Stats::cache_hits},
    {"cache_misses", &Stats::cache_misses},
    {"cache_lines_loaded", &Stats::cache_lines_loaded},
    {"cache_pages_outgrown", &Stats::cache_pages_outgrown},
    {"writers_waited_us", &Stats::writers_waited_us},
    {"write_limit_bytes_per_s", &Stats::write_limit_bytes_per_s},
};

constexpr std::pair<std::string_view, std::uint64_t GleanReport::*> kReport[] = {
    {"records_read", &GleanReport::records_read},
    {"records_composed", &GleanReport::records_composed},
    {"runs_spilled", &GleanReport::runs_spilled},
    {"pages_written", &GleanReport::pages_written},
    {"pages_moved", &GleanReport::pages_moved},
    {"pages_live", &GleanReport::pages_live},
    {"pages_total", &GleanReport::pages_total},
    {"pages_dropped", &GleanReport::pages_dropped},
    {"pages_kept", &GleanReport::pages_kept},
    {"pages_spared", &GleanReport::pages_spared},
    {"catalog_us", &GleanReport::catalog_us},
    {"map_reduce_us", &GleanReport::map_reduce_us},
    {"compose_us", &GleanReport::compose_us},
    {"install_us", &GleanReport::install_us},
    {"reclaim_us", &GleanReport::reclaim_us},
    {"total_us", &GleanReport::total_us},
    {"total_cpu_us", &GleanReport::total_cpu_us},
};

// Finds a storage by its name: `stats` may have storages in another order than the catalog.
std::uint64_t volatile_pages_of(const Stats& stats, std::string_view name) {
  for (const StorageStats& one : stats.storages) {
    if (one.name == name) return one.volatile_pages;
  }
  return 0;
}

void put_stored(const Database& db, const Stats& stats, base::Json* json) {
  json->begin_array("storages");
  for (const StorageInfo& info : db.storages()) {
    json->begin_object();
    json->text("name", info.name);
    json->text("kind", name_of(info.kind));
    json->number("volatile_pages", volatile_pages_of(stats, info.name));
    json->end_object();
  }
  json->end_array();
  json->begin_array("snapshots");
  for (const SnapshotInfo& one : db.snapshots()) {
    json->begin_object();
    json->number("number", one.number);
    json->number("covered", one.covered.number());
    json->number("pages", one.pages);
    json->number("live_pages", one.live_pages);
    json->end_object();
  }
  json->end_array();
}

}  // namespace

void write_storages(const Database& db, std::ostream* out) {
  for (const StorageInfo& info : db.storages()) {
    *out << format_bytes(info.name, ByteForm::kText) << '\t'
         << format_shape({info.kind, info.records, info.payload_bytes}) << '\n';
  }
}

void write_stats(const Database& db, bool is_json, std::ostream* out) {
  const Stats stats = db.stats();
  Numbers numbers(out, is_json);
  for (const auto& [name, member] : kCounters) numbers.add(name, stats.*member);
  numbers.add_conflicts(stats.conflicts);
  numbers.add("newest_snapshot", stats.snapshot);
  numbers.add("covered_epoch", stats.covered_epoch.number());
  numbers.add("current_epoch", stats.current_epoch.number());
  numbers.add("durable_epoch", stats.durable_epoch.number());
  if (numbers.json() != nullptr) {
    put_stored(db, stats, numbers.json());
  } else {
    for (const SnapshotInfo& one : db.snapshots()) {
      *out << "snapshot " << one.number << ": epochs up to " << one.covered.number() << ", "
           << count_of(one.live_pages, "live page") << " of " << one.pages << '\n';
    }
    for (const StorageInfo& info : db.storages()) {
      *out << "storage " << quoted(info.name) << ": "
           << format_shape({info.kind, info.records, info.payload_bytes}) << ", "
           << count_of(volatile_pages_of(stats, info.name), "volatile page") << '\n';
    }
  }
  numbers.finish();
}

void write_report(const GleanReport& report, bool is_json, std::ostream* out) {
  Numbers numbers(out, is_json);
  numbers.add("snapshot", report.snapshot);
  numbers.add("covered_epoch", report.covered.number());
  for (const auto& [name, member] : kReport) numbers.add(name, report.*member);
  numbers.finish();
}

GleanProgressSink show_glean(const std::function<void(std::string_view)>& progress) {
  if (!progress) return {};
  return [progress](const GleanProgress& now) {
    const std::string amounts = std::to_string(now.done) + " of " + std::to_string(now.total);
    switch (now.stage) {
      case GleanStage::kMap:
        progress("read " + size_of(now.done) + " of " + size_of(now.total) + " of log");
        return;
      case GleanStage::kCompose:
        progress("put " + amounts + " records into pages");
        return;
      case GleanStage::kInstall:
        progress("installed " + amounts + " storages");
        return;
    }
  };
}

Result<ExitStatus> run_glean(const DataCommand& command, Console* console) {
  return with_database(command, false, console, [&](Database& db) -> Result<ExitStatus> {
    FOEDUS_TRY(const GleanReport report, db.glean(show_glean(console->progress)));
    write_report(report, command.is_json, console->out);
    FOEDUS_CHECK(check_output(*console->out));
    return ExitStatus::kFine;
  });
}

Result<ExitStatus> run_stats(const DataCommand& command, Console* console) {
  return with_database(command, false, console, [&](Database& db) -> Result<ExitStatus> {
    write_stats(db, command.is_json, console->out);
    FOEDUS_CHECK(check_output(*console->out));
    return ExitStatus::kFine;
  });
}

}  // namespace foedus::cli
