#pragma once
// Verifies one snapshot, from the roots of its manifest on.

#include <cstdint>
#include <vector>

#include "foedus-core/device/device.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "foedus/epoch.h"
#include "tools/foedus/finding.h"
#include "tools/foedus/verify/page_walk.h"

namespace foedus::cli {

struct SnapshotCounts {
  std::vector<StorageCounts> storages;    // as in the manifest
  std::vector<std::uint64_t> live_pages;  // of the files, as in the manifest
  Epoch newest_record;                    // of all records in the pages; invalid if there is none
  bool is_whole = true;                   // no page was left out because of a problem
};

SnapshotCounts verify_snapshot(device::Device* device, const snapshot::Manifest& manifest,
                               Findings* findings, const Progress& progress);

}  // namespace foedus::cli
