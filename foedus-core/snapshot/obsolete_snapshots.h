#pragma once
// Removal of the snapshots that no session reads by any more, once a newer one is durable.

#include <vector>

#include "foedus-core/device/device.h"
#include "foedus-core/device/file_closer.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/snapshot/cache/page_cache.h"
#include "foedus-core/snapshot/files/file_in_making.h"
#include "foedus-core/snapshot/snapshot_reader.h"
#include "foedus/status.h"

namespace foedus::snapshot {

// Removes all manifests but the newest one and those in `keep`. Then removes, durably, the snapshot
// files that no manifest lists any more, after `cache` has forgotten their pages and `files` has
// closed them; both may be null. Numbers in `keep` that have no manifest are passed over. Without
// anything to remove it changes nothing.
// On failure (of the device, or kCorruption of the newest manifest) a part of this may be done; the
// next call does the rest. If remove_orphaned_files() is called in between, the next call still
// closes the files that it has removed. `removed`, `spared`: as of
// remove_orphaned_files().
// REQUIRES: no snapshot is being made. Of a file that only the removed manifests list, no session
// reads a page, and no volatile page has the id of a page.
Status remove_obsolete_snapshots(device::Device* device,
                                 const std::vector<page::SnapshotNumber>& keep,
                                 SnapshotFiles* files, PageCache* cache,
                                 device::OpenFiles* removed = nullptr,
                                 const FileInMaking* spared = nullptr);

}  // namespace foedus::snapshot
