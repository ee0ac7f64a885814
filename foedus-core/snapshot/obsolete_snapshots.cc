#include "foedus-core/snapshot/obsolete_snapshots.h"

#include <algorithm>
#include <set>
#include <string>

#include "foedus-core/snapshot/files/format.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "foedus-core/snapshot/files/orphaned_files.h"

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

// Makes the cache forget snapshots of which no file is listed. If a file of a snapshot is listed,
// all cached pages of the snapshot stay. No search asks for those of its removed files, and they
// are evicted like other pages.
void forget(const ListedFiles& listed, const std::vector<std::string>& orphaned_files,
            PageCache* cache) {
  std::set<page::SnapshotNumber> forgotten;
  for (const std::string& name : orphaned_files) {
    const auto file = parse_snapshot_name(name);
    if (!file.has_value() || listed.snapshots.contains(file->snapshot)) continue;
    if (forgotten.insert(file->snapshot).second) cache->forget(file->snapshot);
  }
}

}  // namespace

Status remove_obsolete_snapshots(device::Device* device,
                                 const std::vector<page::SnapshotNumber>& keep,
                                 SnapshotFiles* files, PageCache* cache, device::OpenFiles* removed,
                                 const FileInMaking* spared) {
  FOEDUS_CHECK(remove_manifests(device, keep));
  FOEDUS_TRY(const ListedFiles listed, find_listed(device));
  FOEDUS_TRY(const auto orphaned_files, find_orphaned_files(device, spared));
  if (cache != nullptr) forget(listed, orphaned_files, cache);
  if (files != nullptr) {
    // All open files are looked at, not only those that still exist: after an attempt that failed
    // half-way, remove_orphaned_files() may have removed the rest, and it closes no files.
    for (const SnapshotName& file : files->open_files()) {
      if (!listed.may_have(file)) files->close(file.snapshot, file.soc);
    }
  }
  return remove_orphaned_files(device, nullptr, removed, spared);
}

}  // namespace foedus::snapshot
