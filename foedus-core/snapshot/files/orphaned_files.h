#pragma once
// Orphaned files: those of snapshots that a crash or an error cut short, and those that no manifest
// lists any more. They are known by name and number alone; their bytes are never read.
//
//   F4  Nothing is removed before the newest manifest is durable. A snapshot file is removed only
//       after the removal of every manifest that named it is durable. So whatever a crash leaves of
//       a removal, each manifest that is found has its files.

#include <set>
#include <string>
#include <vector>

#include "foedus-core/device/device.h"
#include "foedus-core/device/file_closer.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/snapshot/files/file_in_making.h"
#include "foedus-core/snapshot/files/format.h"
#include "foedus/status.h"

namespace foedus::snapshot {

struct Manifest;

// Returns the names of the snapshot files that no manifest lists, and of a manifest that never got
// its name, in ascending order. Names that this folder does not give are ignored.
// If a manifest that is not the newest is damaged, or of another version, its files are not known.
// Until it is removed, no file of its snapshot or an older one is among the orphaned files.
// kCorruption, kWrongVersion: of the newest manifest.
// `spared`: is no orphaned file (F9); may be null.
// REQUIRES: no snapshot is being made, for its files are in no manifest yet.
Result<std::vector<std::string>> find_orphaned_files(device::Device* device,
                                                     const FileInMaking* spared = nullptr);

// The files that the manifests of a directory list.
struct ListedFiles {
  std::set<std::string> names;
  std::set<page::SnapshotNumber> snapshots;  // the snapshots of these files
  page::SnapshotNumber unknown_up_to{};      // the newest manifest that is damaged; 0: none

  bool may_have(const SnapshotName& file) const {
    return file.snapshot <= unknown_up_to || names.contains(snapshot_name(file.snapshot, file.soc));
  }
};
// Reads all manifests. Errors as of find_orphaned_files().
Result<ListedFiles> find_listed(device::Device* device);

// Removes all orphaned files, durably. Without orphaned files it changes nothing. `known`: the
// newest manifest, if the caller knows it, else null. kCorruption, and nothing is removed: that
// manifest is lost. No other manifest lists its files, and while they exist it can be written
// again. `removed`: receives the files, open; their space is free when they are closed. Null: their
// space is free at once. `spared`: as of find_orphaned_files().
Status remove_orphaned_files(device::Device* device, const Manifest* known = nullptr,
                             device::OpenFiles* removed = nullptr,
                             const FileInMaking* spared = nullptr);

}  // namespace foedus::snapshot
