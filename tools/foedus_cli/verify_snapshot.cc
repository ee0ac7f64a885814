#include "tools/foedus_cli/verify_snapshot.h"

#include <string>

#include "foedus-core/snapshot/snapshot_format.h"
#include "tools/foedus_cli/preview.h"

namespace foedus::cli {

namespace {

void compare_live_pages(const snapshot::Manifest& manifest, const SnapshotCounts& counts,
                        Findings* findings) {
  for (std::size_t i = 0; i < manifest.files.size(); ++i) {
    const snapshot::ManifestFile& file = manifest.files[i];
    if (file.live_pages == counts.live_pages[i]) continue;
    // Too small a count loses pages: a file of which none is counted is removed.
    findings->add({false,
                   snapshot::manifest_name(manifest.number),
                   {},
                   {},
                   snapshot::snapshot_name(file.snapshot, file.soc) + ": its roots lead to " +
                       count_of(counts.live_pages[i], "page") + ", the manifest says " +
                       std::to_string(file.live_pages)});
  }
}

}  // namespace

SnapshotCounts verify_snapshot(device::Device* device, const snapshot::Manifest& manifest,
                               Findings* findings, const Progress& progress) {
  SnapshotCounts counts;
  const std::uint64_t problems_before = findings->problems();
  PageWalk walk(device, manifest, findings, progress);
  for (const snapshot::ManifestStorage& storage : manifest.storages) {
    counts.storages.push_back(walk.run(storage));
  }
  for (std::size_t i = 0; i < manifest.files.size(); ++i) {
    counts.live_pages.push_back(walk.reached(i));
  }
  counts.is_whole = findings->problems() == problems_before;
  if (counts.is_whole) compare_live_pages(manifest, counts, findings);
  return counts;
}

}  // namespace foedus::cli
