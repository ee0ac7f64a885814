#include "foedus-core/snapshot/leftovers.h"

#include <algorithm>
#include <set>

#include "foedus-core/snapshot/manifest.h"
#include "foedus-core/snapshot/manifest_format.h"
#include "foedus-core/snapshot/snapshot_format.h"

namespace foedus::snapshot {

Result<std::vector<std::string>> find_leftovers(device::Device* device) {
  FOEDUS_TRY(const auto numbers, find_manifests(device));
  std::set<std::string> needed;
  for (const page::SnapshotNumber number : numbers) {
    FOEDUS_TRY(const Manifest manifest, read_manifest(device, number));
    for (const ManifestFile& file : manifest.files) {
      needed.insert(snapshot_name(file.snapshot, file.soc));
    }
  }
  FOEDUS_TRY(const auto names, device->list());
  std::vector<std::string> leftovers;
  for (const std::string& name : names) {
    const bool is_unneeded = parse_snapshot_name(name).has_value() && !needed.contains(name);
    if (is_unneeded || name == kNewManifestName) leftovers.push_back(name);
  }
  std::sort(leftovers.begin(), leftovers.end());
  return leftovers;
}

Status remove_leftovers(device::Device* device) {
  FOEDUS_TRY(const auto leftovers, find_leftovers(device));
  if (leftovers.empty()) return {};
  FOEDUS_CHECK(device->sync_directory());  // F4: else a removed manifest could lead to them again
  for (const std::string& name : leftovers) {
    const Status removed = device->remove(name);
    if (!removed.is_ok() && removed.code() != ErrorCode::kNotFound) return removed;
  }
  return device->sync_directory();
}

}  // namespace foedus::snapshot
