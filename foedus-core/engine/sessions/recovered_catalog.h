#pragma once
// Reads a log that no logger writes to, as open() finds it: makes the list of its storages, with
// samples of their records (RecoveredCatalog), and an order to glean all of it.

#include <cstddef>
#include <vector>

#include "foedus-core/base/system/task.h"
#include "foedus-core/engine/snapshot_driver.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "foedus-core/storage/base/page_sample.h"
#include "foedus-core/storage_meta/storage_meta.h"
#include "foedus/status.h"

namespace foedus::log {
class Log;
}

namespace foedus::engine {

struct RecoveredCatalog {
  std::vector<storage_meta::StorageMeta> storages;        // at the log's end (E14), ascending by id
  page::StorageId next_storage_id{};                      // above all ids that were ever used
  bool has_news = false;                                  // the snapshot lacks a record of the log
  std::vector<std::vector<storage::PageSample>> samples;  // one list for each of `storages`
};

// Returns the segments that `log` found and of which `previous` does not cover all records. Others
// stay for change streams only.
std::vector<std::size_t> uncovered_segments(const log::Log& log,
                                            const snapshot::Manifest* previous);

// Reads the storages of the found log. Tasks of `runtime` read several segments at the same time.
// `previous`: the manifest of the newest snapshot; null: there is none. kCorruption: the records of
// creation and drop contradict each other, or the log is damaged.
Result<RecoveredCatalog> recover_catalog(const log::Log& log, const snapshot::Manifest* previous,
                                         base::Runtime* runtime);

// Returns an order to glean the uncovered_segments() of `log`. The caller fills in storages and
// memory. REQUIRES: Log::make_cut_durable() was successful (E13).
GleanOrder order_of_found(const log::Log& log, const snapshot::Manifest* previous);

}  // namespace foedus::engine
