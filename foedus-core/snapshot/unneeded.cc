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
    FOEDUS_CHECK(remove_manifest(device, numbers[i]));
  }
  return {};
}

// Snapshots of which no file is listed. One of which some are keeps its pages in the cache: those
// of the others are asked for by nobody, and their frames are used again as others are.
Status forget(device::Device* device, const std::vector<SnapshotName>& unneeded, PageCache* cache) {
  std::set<page::SnapshotNumber> listed;
  FOEDUS_TRY(const auto numbers, find_manifests(device));
  for (const page::SnapshotNumber number : numbers) {
    FOEDUS_TRY(const Manifest manifest, read_manifest(device, number));
    for (const ManifestFile& file : manifest.files) listed.insert(file.snapshot);
  }
  std::set<page::SnapshotNumber> forgotten;
  for (const SnapshotName& file : unneeded) {
    const bool is_first = !listed.contains(file.snapshot) && forgotten.insert(file.snapshot).second;
    if (is_first) cache->forget(file.snapshot);
  }
  return {};
}

}  // namespace

Status remove_unneeded(device::Device* device, const std::vector<page::SnapshotNumber>& keep,
                       SnapshotFiles* files, PageCache* cache) {
  FOEDUS_CHECK(remove_manifests(device, keep));
  FOEDUS_TRY(const auto leftovers, find_leftovers(device));
  std::vector<SnapshotName> unneeded;
  for (const std::string& name : leftovers) {
    if (const auto file = parse_snapshot_name(name)) unneeded.push_back(*file);
  }
  if (cache != nullptr) FOEDUS_CHECK(forget(device, unneeded, cache));
  if (files != nullptr) {
    for (const SnapshotName& file : unneeded) files->close(file.snapshot, file.soc);
  }
  return remove_leftovers(device);
}

}  // namespace foedus::snapshot
