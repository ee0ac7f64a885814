#pragma once
// Installs a new snapshot of a sequential storage: the root pointer gets the new snapshot root.
// Volatile pages that are not needed any more are dropped (S8 to S11 of sequential_page.h). No page
// of the snapshot is read.

#include "foedus-core/storage/base/installation.h"
#include "foedus/status.h"

namespace foedus::storage::sequential {

// Installs the snapshot and never fails. `root`: of the new snapshot; null: no record was ever
// committed. pages_kept counts the volatile pages that are left. Two kinds of pages stay for the
// next installation: the last page of a chain while its session is in a transaction, and pages with
// deleted records while it is in the transaction that linked the next page. REQUIRES: one
// installation of a storage at a time; the caller is pinned, not by a session that appends; all
// pages of the snapshot are durable.
Result<InstallCounts> install(const Installation& installation, page::SnapshotPageId root);

}  // namespace foedus::storage::sequential
