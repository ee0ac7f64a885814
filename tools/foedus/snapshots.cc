// The command snapshots: the manifests that a directory has.
#include <ostream>
#include <vector>

#include "foedus-core/snapshot/files/format.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "tools/foedus/closed_database.h"
#include "tools/foedus/commands.h"
#include "tools/foedus/describe.h"
#include "tools/foedus/preview.h"

namespace foedus::cli {

namespace {

struct Sizes {
  std::uint64_t pages = 0;
  std::uint64_t live_pages = 0;  // as the manifest says
  std::uint64_t bytes = 0;
  std::uint64_t own_pages = 0;  // written for this snapshot
};

Sizes sizes_of(const snapshot::Manifest& manifest) {
  Sizes sizes;
  for (const snapshot::ManifestFile& file : manifest.files) {
    sizes.pages += file.pages;
    sizes.live_pages += file.live_pages;
    sizes.bytes += (std::uint64_t{file.pages} + 1) * page::kPageBytes;
    if (file.snapshot == manifest.number) sizes.own_pages += file.pages;
  }
  return sizes;
}

void write_json(const Command& command, const std::vector<snapshot::Manifest>& manifests,
                const Findings& findings, std::ostream* out) {
  base::Json json(out);
  json.begin_object();
  json.text("directory", command.directories.dir);
  put(&json, findings);
  json.begin_array("snapshots");
  for (const snapshot::Manifest& manifest : manifests) {
    const Sizes sizes = sizes_of(manifest);
    json.begin_object();
    json.number("number", static_cast<std::uint32_t>(manifest.number));
    json.number("covered_epoch", manifest.covered.number());
    json.number("newest_epoch_seen", manifest.newest_seen.number());
    json.number("files", manifest.files.size());
    json.number("pages", sizes.pages);
    json.number("own_pages", sizes.own_pages);
    json.number("live_pages", sizes.live_pages);
    json.number("bytes", sizes.bytes);
    json.begin_array("storages");
    for (const snapshot::ManifestStorage& storage : manifest.storages) {
      json.begin_object();
      put(&json, meta_of(storage));
      json.boolean("has_pages", !storage.root.is_null());
      json.end_object();
    }
    json.end_array();
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

void write_text(const std::vector<snapshot::Manifest>& manifests, const Findings& findings,
                std::ostream* out) {
  findings.print(out);
  for (const snapshot::Manifest& manifest : manifests) {
    const Sizes sizes = sizes_of(manifest);
    *out << "snapshot " << static_cast<std::uint32_t>(manifest.number) << ": epochs up to "
         << manifest.covered.number() << "; " << count_of(manifest.files.size(), "file") << ", "
         << count_of(sizes.pages, "page") << " (" << sizes.own_pages << " its own), "
         << size_of(sizes.bytes) << ", " << percent_of(sizes.live_pages, sizes.pages) << " % live; "
         << count_of(manifest.storages.size(), "storage") << ":";
    for (const snapshot::ManifestStorage& storage : manifest.storages) {
      *out << ' ' << preview(storage.name);
    }
    *out << '\n';
  }
  if (manifests.empty() && findings.problems() == 0) *out << "no snapshot yet\n";
}

}  // namespace

Result<ExitStatus> run_snapshots(const Command& command, std::ostream* out) {
  FOEDUS_TRY(const ClosedDatabase database, ClosedDatabase::open(command.directories));
  std::vector<snapshot::Manifest> manifests;
  Findings findings;
  for (const page::SnapshotNumber number : database.manifests) {
    Result<snapshot::Manifest> read = snapshot::read_manifest(database.device.get(), number);
    if (read.code() == ErrorCode::kWrongVersion) return read.status();
    if (read.is_ok()) {
      manifests.push_back(std::move(read).value());
    } else {
      findings.problem(snapshot::manifest_name(number), read.status().message());
    }
  }
  if (command.is_json) {
    write_json(command, manifests, findings, out);
  } else {
    write_text(manifests, findings, out);
  }
  return findings.problems() == 0 ? ExitStatus::kFine : ExitStatus::kDamaged;
}

}  // namespace foedus::cli
