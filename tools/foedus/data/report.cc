#include "tools/foedus/data/report.h"

#include <algorithm>
#include <iterator>
#include <ostream>
#include <string>
#include <utility>

#include "foedus-core/base/json.h"
#include "foedus-core/stats/fields.h"
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
      const auto reason = static_cast<ConflictReason>(i);
      if (is_used(reason)) add("conflicts_" + std::string(to_string(reason)), conflicts[i]);
    }
  }
  base::Json* json() { return is_json_ ? &json_ : nullptr; }

 private:
  std::ostream* const out_;
  base::Json json_;
  const bool is_json_;
};

constexpr std::pair<std::string_view, std::uint64_t BackupReport::*> kBackup[] = {
    {"files", &BackupReport::files},
    {"bytes", &BackupReport::bytes},
    {"files_copied", &BackupReport::files_copied},
    {"bytes_copied", &BackupReport::bytes_copied},
    {"files_linked", &BackupReport::files_linked},
    {"files_kept", &BackupReport::files_kept},
    {"snapshot_us", &BackupReport::snapshot_us},
    {"total_us", &BackupReport::total_us},
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
    json->text("kind", to_string(info.kind));
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
  const Stats now = db.stats();
  Numbers numbers(out, is_json);
  for (const stats::Field<Stats>& field : stats::kFields)
    numbers.add(field.name, now.*field.member);
  for (const stats::HistogramField& field : stats::kHistograms) {
    const Histogram& of = now.*field.member;
    const std::string name(field.name);
    numbers.add(name + "_count", of.count);
    for (const stats::Quantile& quantile : stats::kQuantiles) {
      numbers.add(name + "_" + std::string(quantile.name), of.quantile(quantile.part));
    }
  }
  numbers.add_conflicts(now.conflicts);
  numbers.add("newest_snapshot", now.snapshot);
  numbers.add("covered_epoch", now.covered_epoch.number());
  numbers.add("current_epoch", now.current_epoch.number());
  numbers.add("durable_epoch", now.durable_epoch.number());
  if (numbers.json() != nullptr) {
    put_stored(db, now, numbers.json());
  } else {
    for (const SnapshotInfo& one : db.snapshots()) {
      *out << "snapshot " << one.number << ": epochs up to " << one.covered.number() << ", "
           << count_of(one.live_pages, "live page") << " of " << one.pages << '\n';
    }
    for (const StorageInfo& info : db.storages()) {
      *out << "storage " << quoted(info.name) << ": "
           << format_shape({info.kind, info.records, info.payload_bytes}) << ", "
           << count_of(volatile_pages_of(now, info.name), "volatile page") << '\n';
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

Result<ExitStatus> run_backup(const DataCommand& command, Console* console) {
  constexpr std::pair<std::string_view, BackupFiles> kFiles[] = {{"", BackupFiles::kAuto},
                                                                 {"auto", BackupFiles::kAuto},
                                                                 {"link", BackupFiles::kLink},
                                                                 {"copy", BackupFiles::kCopy}};
  const auto* const files =
      std::find_if(std::begin(kFiles), std::end(kFiles),
                   [&](const auto& one) { return one.first == command.backup_files; });
  if (files == std::end(kFiles)) {
    return Status::error(ErrorCode::kInvalidArgument,
                         "--files is auto, link or copy, not \"" + command.backup_files + "\"");
  }
  return with_database(command, false, console, [&](Database& db) -> Result<ExitStatus> {
    BackupOptions options;
    options.files = files->second;
    options.compare_all = command.is_comparing_all;
    FOEDUS_TRY(const BackupReport report, db.backup(command.file, options));
    Numbers numbers(console->out, command.is_json);
    numbers.add("snapshot", report.snapshot);
    numbers.add("covered_epoch", report.covered.number());
    for (const auto& [name, member] : kBackup) numbers.add(name, report.*member);
    numbers.finish();
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
