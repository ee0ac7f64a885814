#pragma once
// reclaim() puts the same snapshot into other files: live pages of victims move to a new file, so
// that no page of the victims is needed any more. It is a step of its own over finished files,
// because pages of a file that is being written cannot be read back.
//
//   G66 The new manifest covers the same epochs as the old one, has the same storages and
//       partitions, and has roots that lead to the same records. Both manifests may be read at the
//       same time. Files that the old one lists stay until it is removed (snapshot, F4). Until the
//       new manifest has its name, the files written so far are orphaned files, which a call that
//       fails removes as far as it can.

#include <cstdint>
#include <optional>
#include <vector>

#include "foedus-core/device/device.h"
#include "foedus-core/snapshot/files/file_in_making.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "foedus/database.h"
#include "foedus/status.h"
#include "gleaner/reclaim/reclaim_options.h"

namespace foedus::gleaner {

struct ReclaimCounts {
  std::uint64_t pages_read = 0;
  std::uint64_t pages_written = 0;
  std::uint64_t files_emptied = 0;  // victims, and files with only pages above theirs
};

// Returns the new manifest, which is durable; no victim is in it. All holders of page ids of the
// old manifest, volatile pages too, have to get those of the new one before victims are removed.
// kCorruption: a page or a count is not what the manifest says (names the storage). Returns errors
// of the device. The newest snapshot is then still the previous one.
// REQUIRES: `manifest` is the newest of the directory; no snapshot is being made meanwhile;
// `victims` are files of its list, at least one. `in_making`: F9; may be null.
Result<snapshot::Manifest> reclaim(device::Device* device, const snapshot::Manifest& manifest,
                                   const std::vector<snapshot::ManifestFile>& victims,
                                   ReclaimCounts* counts,
                                   const snapshot::FileInMaking* in_making = nullptr);

// Calls reclaim() with the victims that `options` choose, and counts the moved pages in `report`.
// Returns nothing if there are no victims. Otherwise as reclaim().
Result<std::optional<snapshot::Manifest>> reclaim_if_due(
    device::Device* device, const snapshot::Manifest& newest, const ReclaimOptions& options,
    GleanReport* report, const snapshot::FileInMaking* in_making = nullptr);

}  // namespace foedus::gleaner
