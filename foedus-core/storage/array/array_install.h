#pragma once
// Installs a new snapshot of an array. Where the snapshot has changed something below a pointer of
// a volatile page (O18), the pointer gets the id of the new snapshot page. The pointer loses its
// volatile half if the volatile page did not change since (O11). Volatile pages and those of the
// snapshot have one shape (A1), so each volatile page has its snapshot page, or a null id for zero
// records.

#include "foedus-core/storage/base/installation.h"
#include "foedus/status.h"

namespace foedus::storage::array {

// Installs the snapshot. `root`: of the new snapshot; null: no record was ever written. kIoError,
// kCorruption, kOutOfMemory: a snapshot page could not be read. What was installed stays, and the
// rest can be installed later. REQUIRES: one installation of a storage at a time; the caller is
// pinned; all pages of the snapshot are durable.
Result<InstallCounts> install(const Installation& installation, page::SnapshotPageId root);

}  // namespace foedus::storage::array
