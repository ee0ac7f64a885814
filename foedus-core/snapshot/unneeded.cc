#include "foedus-core/snapshot/unneeded.h"

#include <algorithm>
#include <set>
#include <string>

#include "foedus-core/snapshot/files/format.h"
#include "foedus-core/snapshot/files/leftovers.h"
#include "foedus-core/snapshot/files/manifest.h"

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

// Makes the cache forget snapshots of which no file is listed. If some files of a snapshot are
// listed, its pages stay: no search asks for those of the others, and their frames are used again
// as others are.
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
    // Files that are open count here, not those that exist: after an attempt that failed half-way,
    // remove_leftovers(), which knows of no open files, may have removed the rest.
    for (const SnapshotName& file : files->open_files()) {
      if (!listed.may_have(file)) files->close(file.snapshot, file.soc);
    }
  }
  return remove_leftovers(device, nullptr, removed);
}

}  // namespace foedus::snapshot
