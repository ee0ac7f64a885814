// The command info: formats, epochs, storages and files of a database, and the work of its next
// open.
#include <algorithm>
#include <optional>
#include <ostream>

#include "foedus-core/log/savepoint.h"
#include "foedus-core/log/segments/format.h"
#include "foedus-core/snapshot/files/format.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "tools/foedus/closed_database.h"
#include "tools/foedus/commands.h"
#include "tools/foedus/describe.h"
#include "tools/foedus/log_survey.h"
#include "tools/foedus/preview.h"
#include "tools/foedus/verify/snapshot.h"

namespace foedus::cli {

namespace {

struct Info {
  std::optional<device::TierFill> fill;
  std::optional<snapshot::Manifest> manifest;
  std::optional<SnapshotCounts> counts;
  LogSurvey log;

  std::uint64_t covered() const { return manifest.has_value() ? manifest->covered.number() : 0; }
  std::uint64_t newest_seen() const {
    const std::uint64_t in_log = log.found.newest_seen.number();
    return manifest.has_value() ? std::max(in_log, manifest->newest_seen.number()) : in_log;
  }
  bool was_closed_cleanly() const {
    return log.found.is_fresh || (log.found.savepoint.flags & log::kClosedCleanly) != 0;
  }
  // Returns the counts of a storage of the newest snapshot, or null if the snapshot does not have
  // it or its pages were not counted.
  const StorageCounts* counts_of(page::StorageId id) const {
    if (!counts.has_value()) return nullptr;
    for (std::size_t i = 0; i < manifest->storages.size(); ++i) {
      if (manifest->storages[i].id == id) return &counts->storages[i];
    }
    return nullptr;
  }
  std::uint64_t live_pages(std::size_t file) const {
    return counts.has_value() ? counts->live_pages[file] : manifest->files[file].live_pages;
  }
};

std::string state_of(const log::FoundSegment& segment) {
  if (!segment.is_sealed) return "open";
  return (segment.seal.flags & log::kSealedByRecovery) != 0 ? "sealed by recovery" : "sealed";
}

void put_storages(base::Json* json, const Info& info) {
  json->begin_array("storages");
  for (const auto& [id, meta] : info.log.storages) {
    json->begin_object();
    put(json, meta);
    if (const StorageCounts* const counts = info.counts_of(id); counts != nullptr) {
      json->begin_object("in_snapshot");
      put(json, *counts);
      json->end_object();
    }
    json->end_object();
  }
  json->end_array();
}

void put_files(base::Json* json, const Info& info) {
  json->begin_array("files");
  const std::size_t count = info.manifest.has_value() ? info.manifest->files.size() : 0;
  for (std::size_t i = 0; i < count; ++i) {
    const snapshot::ManifestFile& file = info.manifest->files[i];
    json->begin_object();
    json->text("name", snapshot::snapshot_name(file.snapshot, file.soc));
    json->number("pages", file.pages);
    json->number("live_pages", info.live_pages(i));
    json->end_object();
  }
  json->end_array();
}

void put_segments(base::Json* json, const Info& info) {
  json->begin_array("segments");
  for (std::size_t i = 0; i < info.log.segments.size(); ++i) {
    const log::FoundSegment& segment = info.log.found.segments[i];
    json->begin_object();
    json->text("name", segment.name());
    json->text("state", state_of(segment));
    json->number("incarnation", segment.header.incarnation);
    json->number("bytes", segment.seal.valid_bytes);
    json->number("oldest_epoch", segment.seal.oldest_epoch);
    json->number("newest_epoch", segment.seal.newest_epoch);
    json->number("records", info.log.segments[i].records);
    json->end_object();
  }
  json->end_array();
}

void write_json(const Command& command, const Info& info, const Findings& findings,
                std::ostream* out) {
  base::Json json(out);
  json.begin_object();
  json.text("directory", command.directories.dir);
  put(&json, findings);
  json.begin_object("formats");
  json.number("log", log::kLogFormatVersion);
  json.number("snapshot", snapshot::kSnapshotFormatVersion);
  json.end_object();
  json.boolean("closed_cleanly", info.was_closed_cleanly());
  json.begin_object("epochs");
  json.number("durable", info.log.found.cut.number());
  json.number("covered", info.covered());
  json.number("newest_seen", info.newest_seen());
  json.end_object();
  const auto number = info.manifest.has_value() ? info.manifest->number : page::SnapshotNumber{0};
  json.number("newest_snapshot", static_cast<std::uint32_t>(number));
  json.boolean("pages_counted", info.counts.has_value());
  put_storages(&json, info);
  put_files(&json, info);
  put_segments(&json, info);
  if (info.fill.has_value()) {
    json.begin_object("tiers");
    json.number("nvm_pages", info.fill->nvm_bytes / page::kPageBytes);
    json.number("ssd_pages", info.fill->ssd_bytes / page::kPageBytes);
    json.end_object();
  }
  json.begin_object("to_recover");
  json.number("records", info.log.tail.records);
  json.number("bytes", info.log.tail.bytes);
  json.end_object();
  json.end_object();
}

void write_storages(const Info& info, std::ostream* out) {
  *out << "storages: " << info.log.storages.size() << '\n';
  for (const auto& [id, meta] : info.log.storages) {
    *out << "  " << line_of(meta);
    const StorageCounts* const counts = info.counts_of(id);
    if (counts != nullptr) *out << "; " << line_of(*counts, meta.kind);
    const bool is_new = !info.manifest.has_value() ||
                        std::none_of(info.manifest->storages.begin(), info.manifest->storages.end(),
                                     [id = id](const auto& one) { return one.id == id; });
    *out << (is_new ? "; in no snapshot yet\n" : "\n");
  }
}

void write_text(const Command& command, const Info& info, const Findings& findings,
                std::ostream* out) {
  findings.print(out, Findings::Which::kProblems);
  *out << "database in " << command.directories.dir << ", "
       << (info.was_closed_cleanly() ? "closed cleanly" : "not closed cleanly") << '\n'
       << "formats: log " << log::kLogFormatVersion << ", snapshots "
       << snapshot::kSnapshotFormatVersion << '\n'
       << "epochs: durable up to " << info.log.found.cut.number()
       << ", in the newest snapshot up to " << info.covered() << ", newest seen "
       << info.newest_seen() << '\n';
  write_storages(info, out);
  if (info.manifest.has_value()) {
    *out << "snapshot " << static_cast<std::uint32_t>(info.manifest->number) << ": "
         << count_of(info.manifest->files.size(), "file") << '\n';
    for (std::size_t i = 0; i < info.manifest->files.size(); ++i) {
      const snapshot::ManifestFile& file = info.manifest->files[i];
      *out << "  " << snapshot::snapshot_name(file.snapshot, file.soc) << ": "
           << count_of(file.pages, "page") << ", " << info.live_pages(i) << " live ("
           << percent_of(info.live_pages(i), file.pages) << " %)\n";
    }
  } else {
    *out << "no snapshot yet\n";
  }
  if (info.fill.has_value()) {
    *out << "tiers: " << count_of(info.fill->nvm_bytes / page::kPageBytes, "page") << " ("
         << size_of(info.fill->nvm_bytes) << ") on memory, "
         << count_of(info.fill->ssd_bytes / page::kPageBytes, "page") << " ("
         << size_of(info.fill->ssd_bytes) << ") on the SSD, in whole pieces of "
         << size_of(device::kExtentBytes) << '\n';
  }
  *out << "log: " << count_of(info.log.segments.size(), "segment") << ", "
       << count_of(info.log.all.records, "record") << '\n';
  for (std::size_t i = 0; i < info.log.segments.size(); ++i) {
    const log::FoundSegment& segment = info.log.found.segments[i];
    *out << "  " << segment.name() << ": " << state_of(segment) << ", "
         << size_of(segment.seal.valid_bytes) << ", epochs " << segment.seal.oldest_epoch << " to "
         << segment.seal.newest_epoch << ", " << count_of(info.log.segments[i].records, "record")
         << '\n';
  }
  *out << "in no snapshot yet: " << count_of(info.log.tail.records, "record") << ", "
       << size_of(info.log.tail.bytes) << " of log\n";
}

}  // namespace

Result<ExitStatus> run_info(const Command& command, std::ostream* out) {
  FOEDUS_TRY(const ClosedDatabase database, ClosedDatabase::open(command.directories));
  Info info;
  info.fill = database.fill;
  if (!database.manifests.empty()) {
    FOEDUS_TRY(info.manifest,
               snapshot::read_manifest(database.device.get(), database.manifests.back()));
  }
  FOEDUS_TRY(info.log, survey_log(database, info.manifest.has_value() ? &*info.manifest : nullptr));
  Findings findings = std::move(info.log.findings);
  std::string missing = database.problem_of(info.log.found, Epoch(info.covered()));
  if (!missing.empty()) findings.problem({}, std::move(missing));
  if (info.manifest.has_value() && !command.skips_pages) {
    info.counts =
        verify_snapshot(database.device.get(), *info.manifest, &findings, command.progress);
  }
  if (command.is_json) {
    write_json(command, info, findings, out);
  } else {
    write_text(command, info, findings, out);
  }
  return findings.problems() == 0 ? ExitStatus::kFine : ExitStatus::kDamaged;
}

}  // namespace foedus::cli
