#include "foedus-core/snapshot/unneeded.h"

#include <algorithm>
#include <set>
#include <string>

#include "foedus-core/snapshot/leftovers.h"
#include "foedus-core/snapshot/manifest.h"
#include "foedus-core/snapshot/snapshot_format.h"

namespace foedus::snapshot {

namespace {

Status remove_manifests(device::Device* device, const std::vector<page::SnapshotNumber>& keep) {
  FOEDUS_TRY(const auto numbers, find_manifests(device));
  for (std::size_t i = 0; i + 1 < numbers.size(); ++i) {
    if (std::find(keep.begin(), keep.end(), numbers[i]) != keep.end()) continue;
    FOEDUS_CHECK(device::unless_gone(remove_manifest(device, numbers[i])));
  }
  return {};
}

// Snapshots of which no file is listed. One of which some are keeps its pages in the cache: those
// of the others are asked for by nobody, and their frames are used again as others are.
void forget(const ListedFiles& listed, const std::vector<std::string>& leftovers,
            PageCache* cache) {
  std::set<page::SnapshotNumber> forgotten;
  for (const std::string& name : leftovers) {
    const auto file = parse_snapshot_name(name);
    if (!file.has_value() || listed.snapshots.contains(file->snapshot)) continue;
    if (forgotten.insert(file->snapshot).second) cache->forget(file->snapshot);
  }
}

}  // namespace

Status remove_unneeded(device::Device* device, const std::vector<page::SnapshotNumber>& keep,
                       SnapshotFiles* files, PageCache* cache, device::OpenFiles* removed) {
  FOEDUS_CHECK(remove_manifests(device, keep));
  FOEDUS_TRY(const ListedFiles listed, find_listed(device));
  FOEDUS_TRY(const auto leftovers, find_leftovers(device));
  if (cache != nullptr) forget(listed, leftovers, cache);
  if (files != nullptr) {
    // Of those that are open, not of those that are there: an attempt that failed half-way may have
    // left it to others to remove the rest, who know of no open files.
    for (const SnapshotName& file : files->open_files()) {
      if (!listed.may_have(file)) files->close(file.snapshot, file.soc);
    }
  }
  return remove_leftovers(device, nullptr, removed);
}

}  // namespace foedus::snapshot
