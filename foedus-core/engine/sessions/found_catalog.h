#pragma once
// The contents of a log without a writer: FoundCatalog, the storages that it tells of, and samples
// of its records; and an order to glean all of it.

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

struct FoundCatalog {
  std::vector<storage_meta::StorageMeta> storages;        // E14, ascending by id
  page::StorageId next_storage_id{};                      // above all that were ever given
  bool has_news = false;                                  // records after the snapshot before
  std::vector<std::vector<storage::PageSample>> samples;  // of the log's records, by storage
};

// Reads the found log for its storages, several segments in parallel, by tasks of `runtime`.
// `previous`: null: there is no snapshot.
Result<FoundCatalog> read_found_catalog(const log::Log& log, const snapshot::Manifest* previous,
                                        base::Runtime* runtime);

// Returns an order for all that `log` was found to hold; the caller fills in storages and memory.
// REQUIRES: Log::make_cut_durable() was successful (E13).
GleanOrder order_of_found(const log::Log& log, const snapshot::Manifest* previous);

}  // namespace foedus::engine
