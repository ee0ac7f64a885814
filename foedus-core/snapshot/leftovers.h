#pragma once
// Leftovers: files of snapshots that a crash cut short, and of those that no manifest needs any
// more. They are known by name and number alone; nobody opens them.
//
//   F4  Nothing is removed before the newest manifest is durable, and a snapshot file only after
//       the removal of every manifest that named it is. So whatever a crash leaves of a removal,
//       each manifest that is found has its files.

#include <string>
#include <vector>

#include "foedus-core/device/device.h"
#include "foedus/status.h"

namespace foedus::snapshot {

// Names of the snapshot files that no manifest lists, and of a manifest that never got its name, in
// ascending order. Names that this folder does not give are none of its business.
// kCorruption, kWrongVersion: of a manifest; what it needs is not known.
// REQUIRES: no snapshot is being made, for its files are in no manifest yet.
Result<std::vector<std::string>> find_leftovers(device::Device* device);

// Removes all of them, durably. Without leftovers it changes nothing.
Status remove_leftovers(device::Device* device);

}  // namespace foedus::snapshot
