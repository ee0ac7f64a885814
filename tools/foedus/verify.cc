// The command verify: all pages of the newest manifest, or of every one, and all of the log.
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foedus-core/snapshot/files/format.h"
#include "foedus-core/snapshot/files/orphaned_files.h"
#include "tools/foedus/closed_database.h"
#include "tools/foedus/commands.h"
#include "tools/foedus/describe.h"
#include "tools/foedus/preview.h"
#include "tools/foedus/verify/log.h"
#include "tools/foedus/verify/snapshot.h"

namespace foedus::cli {

namespace {

struct Verified {
  std::vector<std::pair<snapshot::Manifest, SnapshotCounts>> snapshots;
  LogVerified log;
};

// Verifies the snapshot of the newest manifest, or of every one. kWrongVersion is returned; another
// fault of a manifest is a finding.
Status verify_snapshots(const ClosedDatabase& database, const Command& command, Findings* findings,
                        Verified* verified) {
  const std::vector<page::SnapshotNumber>& numbers = database.manifests;
  const std::size_t first = command.is_of_all || numbers.empty() ? 0 : numbers.size() - 1;
  for (std::size_t i = first; i < numbers.size(); ++i) {
    const std::string name = snapshot::manifest_name(numbers[i]);
    Result<snapshot::Manifest> read = snapshot::read_manifest(database.device.get(), numbers[i]);
    if (read.code() == ErrorCode::kWrongVersion) return read.status();
    if (!read.is_ok()) {
      findings->problem(name, read.status().message());
      continue;
    }
    snapshot::Manifest manifest = std::move(read).value();
    SnapshotCounts counts =
        verify_snapshot(database.device.get(), manifest, findings, command.progress);
    verified->snapshots.emplace_back(std::move(manifest), std::move(counts));
  }
  return {};
}

// A snapshot is made of the durable log, so it covers no epoch beyond that. A log that was not
// closed cleanly does not tell of epochs without commits at its end; the snapshot's newest record
// is compared then.
void compare_durable(const LogVerified& log, const snapshot::Manifest& manifest,
                     const SnapshotCounts& counts, Findings* findings) {
  const Epoch covered = log.was_closed_cleanly ? manifest.covered : counts.newest_record;
  if (covered.number() <= log.durable_epoch) return;
  const std::string_view what =
      log.was_closed_cleanly ? "it covers epochs up to " : "it has a record of epoch ";
  findings->problem(snapshot::manifest_name(manifest.number),
                    std::string(what) + std::to_string(covered.number()) +
                        ", the log is durable up to epoch " + std::to_string(log.durable_epoch));
}

void compare(const ClosedDatabase& database, const Verified& verified, Findings* findings) {
  if (!verified.log.found.has_value()) return;
  Epoch covered;
  bool is_newest_known = database.manifests.empty();
  for (const auto& [manifest, counts] : verified.snapshots) {
    if (!verified.log.found->is_fresh) compare_durable(verified.log, manifest, counts, findings);
    covered = manifest.covered;
    is_newest_known = manifest.number == database.manifests.back();
  }
  if (!is_newest_known) return;
  std::string what = database.problem_of(*verified.log.found, covered);
  if (!what.empty()) findings->problem({}, std::move(what));
}

// Names the orphaned files that a crash leaves; the next glean removes them.
void name_leftovers(const ClosedDatabase& database, Findings* findings) {
  const auto names = snapshot::find_orphaned_files(database.device.get());
  if (!names.is_ok()) return;  // a manifest cannot be read, which is a finding if it was asked for
  for (const std::string& name : *names) findings->warning(name, "no manifest lists it");
}

void put_snapshot(base::Json* json, const snapshot::Manifest& manifest,
                  const SnapshotCounts& counts) {
  json->begin_object();
  json->number("number", static_cast<std::uint32_t>(manifest.number));
  json->number("covered_epoch", manifest.covered.number());
  json->boolean("whole", counts.is_whole);
  json->begin_array("files");
  for (std::size_t i = 0; i < manifest.files.size(); ++i) {
    const snapshot::ManifestFile& file = manifest.files[i];
    json->begin_object();
    json->text("name", snapshot::snapshot_name(file.snapshot, file.soc));
    json->number("pages", file.pages);
    json->number("live_pages_counted", counts.live_pages[i]);
    json->number("live_pages_in_manifest", file.live_pages);
    json->end_object();
  }
  json->end_array();
  json->begin_array("storages");
  for (std::size_t i = 0; i < manifest.storages.size(); ++i) {
    json->begin_object();
    put(json, meta_of(manifest.storages[i]));
    put(json, counts.storages[i]);
    json->end_object();
  }
  json->end_array();
  json->end_object();
}

void write_json(const Command& command, const Verified& verified, const Findings& findings,
                std::ostream* out) {
  base::Json json(out);
  json.begin_object();
  json.text("directory", command.directories.dir);
  put(&json, findings);
  json.begin_array("snapshots");
  for (const auto& [manifest, counts] : verified.snapshots) put_snapshot(&json, manifest, counts);
  json.end_array();
  json.begin_object("log");
  json.boolean("closed_cleanly", verified.log.was_closed_cleanly);
  json.number("durable_epoch", verified.log.durable_epoch);
  json.number("segments", verified.log.segments);
  json.number("frames", verified.log.frames);
  json.number("frame_bytes", verified.log.bytes);
  json.number("records", verified.log.records);
  json.end_object();
  json.end_object();
}

void write_text(const Verified& verified, const Findings& findings, std::ostream* out) {
  for (const auto& [manifest, counts] : verified.snapshots) {
    std::uint64_t pages = 0;
    for (const std::uint64_t live : counts.live_pages) pages += live;
    *out << "snapshot " << static_cast<std::uint32_t>(manifest.number) << ": epochs up to "
         << manifest.covered.number() << ", " << count_of(pages, "live page")
         << (counts.is_whole ? "\n" : ", and what the problems hide\n");
    for (std::size_t i = 0; i < manifest.storages.size(); ++i) {
      const snapshot::ManifestStorage& storage = manifest.storages[i];
      *out << "  " << line_of(meta_of(storage)) << "; " << line_of(counts.storages[i], storage.kind)
           << '\n';
    }
  }
  *out << "log: " << count_of(verified.log.segments, "segment") << ", "
       << count_of(verified.log.frames, "frame") << ", " << count_of(verified.log.records, "record")
       << ", durable up to epoch " << verified.log.durable_epoch << '\n';
  *out << (findings.problems() == 0 ? "fine: " : "damaged: ")
       << count_of(findings.problems(), "problem") << ", "
       << count_of(findings.warnings(), "warning") << '\n';
}

}  // namespace

Result<ExitStatus> run_verify(const Command& command, std::ostream* out) {
  FOEDUS_TRY(const ClosedDatabase database, ClosedDatabase::open(command.directories));
  // Text output prints each finding at once, because the whole walk may take hours.
  Findings findings(command.is_json ? std::function<void(const Finding&)>()
                                    : [out](const Finding& one) { *out << line_of(one) << '\n'; });
  Verified verified;
  FOEDUS_TRY(verified.log, verify_log(database, &findings));
  FOEDUS_CHECK(verify_snapshots(database, command, &findings, &verified));
  compare(database, verified, &findings);
  name_leftovers(database, &findings);
  if (command.is_json) {
    write_json(command, verified, findings, out);
  } else {
    write_text(verified, findings, out);
  }
  return findings.problems() == 0 ? ExitStatus::kFine : ExitStatus::kDamaged;
}

}  // namespace foedus::cli
