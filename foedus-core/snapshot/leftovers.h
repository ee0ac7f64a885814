#pragma once
// Leftovers: files of snapshots that a crash cut short, and of those that no manifest needs any
// more. They are known by name and number alone; nobody opens them.
//
//   F4  Nothing is removed before the newest manifest is durable, and a snapshot file only after
//       the removal of every manifest that named it is. So whatever a crash leaves of a removal,
//       each manifest that is found has its files.

#include <set>
#include <string>
#include <vector>

#include "foedus-core/device/device.h"
#include "foedus-core/device/file_closer.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/snapshot/snapshot_format.h"
#include "foedus/status.h"

namespace foedus::snapshot {

struct Manifest;

// Names of the snapshot files that no manifest lists, and of a manifest that never got its name, in
// ascending order. Names that this folder does not give are none of its business.
// What a manifest needs that is damaged, or of another version, and not the newest, is not known:
// no file of its snapshot or an older one is among them, until it is removed.
// kCorruption, kWrongVersion: of the newest manifest.
// REQUIRES: no snapshot is being made, for its files are in no manifest yet.
Result<std::vector<std::string>> find_leftovers(device::Device* device);

// What the manifests of a directory list.
struct ListedFiles {
  std::set<std::string> names;
  std::set<page::SnapshotNumber> snapshots;  // of these
  page::SnapshotNumber unknown_up_to{};      // the newest manifest that is damaged; 0: none

  bool may_have(const SnapshotName& file) const {
    return file.snapshot <= unknown_up_to || names.contains(snapshot_name(file.snapshot, file.soc));
  }
};
// Errors as of find_leftovers().
Result<ListedFiles> find_listed(device::Device* device);

// Removes all of them, durably. Without leftovers it changes nothing. `known`: the newest manifest,
// of who knows it; null: nobody does. kCorruption, and nothing is removed, if it is lost: its files
// are in no other manifest, and it can be written again as long as they are there.
// `removed`: takes the files, open, whose room is free when they are closed; null: it is at once.
Status remove_leftovers(device::Device* device, const Manifest* known = nullptr,
                        device::OpenFiles* removed = nullptr);

}  // namespace foedus::snapshot
