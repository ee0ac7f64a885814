#pragma once
// reclaim(): the same snapshot in other files: what is live in victims is moved on, so that they
// are of no use any more. A step of its own over finished files, because pages of a file that is
// being written cannot be read back.
//
//   G66 The new manifest covers the epochs that the old one does, has the same storages and
//       partitions, and roots from which the same records are read. Old one and new one may be
//       read at the same time; what the old one lists stays until it goes (snapshot, F4). Before
//       the new manifest has its name, what was written is leftovers, which a call that fails
//       removes, as far as it can.

#include <cstdint>
#include <vector>

#include "foedus-core/device/device.h"
#include "foedus-core/snapshot/manifest.h"
#include "foedus/status.h"

namespace foedus::gleaner {

struct ReclaimCounts {
  std::uint64_t pages_read = 0;
  std::uint64_t pages_written = 0;
  std::uint64_t files_emptied = 0;  // victims, and others that had no more than what lay above
};

// Returns the new manifest, which is durable; no victim is in it. Whoever follows page ids of the
// old one, in volatile pages too, has to be given those of the new one before victims are removed.
// kCorruption: a page, or a count, is not what it should be (names the storage). Failures of the
// device: the newest snapshot is the one before.
// REQUIRES: `manifest` is the newest one of the directory; no snapshot is being made meanwhile;
// `victims` are files of its list, at least one.
Result<snapshot::Manifest> reclaim(device::Device* device, const snapshot::Manifest& manifest,
                                   const std::vector<snapshot::ManifestFile>& victims,
                                   ReclaimCounts* counts);

}  // namespace foedus::gleaner
