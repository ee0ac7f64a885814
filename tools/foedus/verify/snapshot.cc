#include "tools/foedus/verify/snapshot.h"

#include <string>

#include "foedus-core/snapshot/files/format.h"
#include "tools/foedus/preview.h"

namespace foedus::cli {

namespace {

// Compares the live pages that were counted with those of the manifest (F7).
void compare_live_pages(const snapshot::Manifest& manifest, const SnapshotCounts& counts,
                        Findings* findings) {
  for (std::size_t i = 0; i < manifest.files.size(); ++i) {
    const snapshot::ManifestFile& file = manifest.files[i];
    if (file.live_pages == counts.live_pages[i]) continue;
    findings->problem(snapshot::manifest_name(manifest.number),
                      snapshot::snapshot_name(file.snapshot, file.soc) + ": its roots lead to " +
                          count_of(counts.live_pages[i], "page") + ", the manifest says " +
                          std::to_string(file.live_pages));
  }
}

void compare_live_pages(const snapshot::Manifest& manifest,
                        const snapshot::ManifestStorage& storage,
                        const std::vector<snapshot::LivePages>& counted, Findings* findings) {
  if (storage.live == counted) return;
  const auto in_words = [](const std::vector<snapshot::LivePages>& live) {
    std::string words;
    for (const snapshot::LivePages& one : live) {
      words += (words.empty() ? "" : ", ") + snapshot::snapshot_name(one.snapshot, one.soc) + ": " +
               std::to_string(one.pages) + ", " + std::to_string(one.below_records) +
               " of them below records";
    }
    return words.empty() ? "none" : words;
  };
  findings->add({false,
                 snapshot::manifest_name(manifest.number),
                 {},
                 storage.name,
                 "its root leads to pages " + in_words(counted) + "; the manifest says " +
                     in_words(storage.live)});
}

}  // namespace

SnapshotCounts verify_snapshot(device::Device* device, const snapshot::Manifest& manifest,
                               Findings* findings, const Progress& progress) {
  SnapshotCounts counts;
  const std::uint64_t problems_before = findings->problems();
  PageWalk walk(device, manifest, findings, progress);
  for (const snapshot::ManifestStorage& storage : manifest.storages) {
    const std::uint64_t problems = findings->problems();
    counts.storages.push_back(walk.run(storage));
    if (findings->problems() == problems) {
      compare_live_pages(manifest, storage, walk.live(), findings);
    }
  }
  for (std::size_t i = 0; i < manifest.files.size(); ++i) {
    counts.live_pages.push_back(walk.reached(i));
  }
  counts.newest_record = walk.newest_record();
  counts.is_whole = findings->problems() == problems_before;
  if (counts.is_whole) compare_live_pages(manifest, counts, findings);
  return counts;
}

}  // namespace foedus::cli
