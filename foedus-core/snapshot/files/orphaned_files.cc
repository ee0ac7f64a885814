#include "foedus-core/snapshot/files/orphaned_files.h"

#include <algorithm>
#include <set>
#include <utility>

#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/snapshot/files/format.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "foedus-core/snapshot/files/manifest_format.h"

namespace foedus::snapshot {

Result<ListedFiles> find_listed(device::Device* device) {
  FOEDUS_TRY(const auto numbers, find_manifests(device));
  ListedFiles listed;
  for (const page::SnapshotNumber number : numbers) {
    const Result<Manifest> manifest = read_manifest(device, number);
    if (is_damage(manifest.code()) && number != numbers.back()) {
      listed.unknown_up_to = number;
      continue;
    }
    if (!manifest.is_ok()) return manifest.status();
    for (const ManifestFile& file : manifest->files) {
      listed.names.insert(snapshot_name(file.snapshot, file.soc));
      listed.snapshots.insert(file.snapshot);
    }
  }
  return listed;
}

Result<std::vector<std::string>> find_orphaned_files(device::Device* device,
                                                     const FileInMaking* spared) {
  FOEDUS_TRY(const ListedFiles listed, find_listed(device));
  FOEDUS_TRY(const auto names, device->list());
  std::vector<std::string> orphaned_files;
  for (const std::string& name : names) {
    const auto file = parse_snapshot_name(name);
    const bool is_spared = spared != nullptr && file.has_value() && spared->is(*file);
    const bool is_orphaned = file.has_value() && !listed.may_have(*file) && !is_spared;
    if (is_orphaned || name == kNewManifestName) orphaned_files.push_back(name);
  }
  std::sort(orphaned_files.begin(), orphaned_files.end());
  return orphaned_files;
}

namespace {

Status look_for(device::Device* device, const Manifest& known) {
  const Result<Manifest> newest = read_newest_manifest(device);
  if (!is_lost(newest, known)) return newest.status();
  return Status::error(ErrorCode::kCorruption, device->path() + "/" + manifest_name(known.number) +
                                                   " is damaged or gone: nothing is removed");
}

// Opens a file before its removal. If the open fails, for lack of descriptors or memory, the caller
// removes the file all the same.
void keep_open(device::Device* device, const std::string& name, device::OpenFiles* files) {
  base::trying([&] {
    auto file = device->open(name, device::Access::kRead);
    if (file.is_ok()) files->push_back(std::move(file).value());
  });
}

}  // namespace

Status remove_orphaned_files(device::Device* device, const Manifest* known,
                             device::OpenFiles* removed, const FileInMaking* spared) {
  if (known != nullptr) FOEDUS_CHECK(look_for(device, *known));
  FOEDUS_TRY(const auto orphaned_files, find_orphaned_files(device, spared));
  if (orphaned_files.empty()) return {};
  FOEDUS_CHECK(device->sync_directory());  // F4: else a removed manifest could lead to them again
  for (const std::string& name : orphaned_files) {
    if (removed != nullptr) keep_open(device, name, removed);
    FOEDUS_CHECK(device::unless_gone(device->remove(name)));
  }
  return device->sync_directory();
}

}  // namespace foedus::snapshot
