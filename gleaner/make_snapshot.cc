// What the engine calls and the gleaner defines (engine/snapshot_driver.h).
#include <memory>
#include <optional>
#include <utility>

#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/engine/snapshot_driver.h"
#include "gleaner/glean.h"
#include "gleaner/handoff/record_stream.h"
#include "gleaner/reclaim/reclaim.h"
#include "gleaner/sorted_tail.h"
#include "gleaner/tree_load.h"

namespace foedus::engine {

Result<snapshot::Manifest> make_snapshot(const GleanOrder& order, GleanReport* report) {
  gleaner::Glean glean(order);
  FOEDUS_CHECK(glean.sort());
  return glean.compose(report);
}

Result<std::unique_ptr<SortedTail>> sort_tail(GleanOrder order) {
  return base::catching([&] { return gleaner::sort_order(std::move(order)); });
}

Result<std::optional<snapshot::Manifest>> reclaim_pages(device::Device* device,
                                                        const snapshot::Manifest& newest,
                                                        ReclaimFrom from,
                                                        const snapshot::FileInMaking* in_making,
                                                        GleanReport* report) {
  gleaner::ReclaimOptions options;
  if (from == ReclaimFrom::kUrgent) {
    options.total_percent_max += options.total_percent_max / 2;
    options.files_max *= 4;
  }
  return gleaner::reclaim_if_due(device, newest, options, report, in_making);
}

Result<std::unique_ptr<TreeLoad>> begin_tree_load(device::Device* device,
                                                  const snapshot::SnapshotName& file,
                                                  const storage_meta::StorageMeta& meta,
                                                  page::Tid tid) {
  return gleaner::begin_tree_load(device, file, meta, tid);
}

// Returns 0 for a record that a storage of this kind cannot have; the mapper that reads the record
// refuses it.
std::uint64_t position_of(StorageKind kind, const log::LogRecord& record) {
  return gleaner::can_be_of(kind, record) ? gleaner::position_of(kind, record) : 0;
}

}  // namespace foedus::engine
