#pragma once
// What the engine's bulk loads call (engine/snapshot_driver.h).

#include <memory>

#include "foedus-core/engine/snapshot_driver.h"

namespace foedus::gleaner {

// Does what engine::begin_tree_load() says. The thread that adds rows makes the pages: rows go
// straight to the page that is written, without a log record, a sort or another thread.
Result<std::unique_ptr<engine::TreeLoad>> begin_tree_load(device::Device* device,
                                                          const snapshot::SnapshotName& file,
                                                          const storage_meta::StorageMeta& meta,
                                                          page::Tid tid);

}  // namespace foedus::gleaner
