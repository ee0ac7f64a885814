#pragma once
// Installs a new snapshot of an array. Every pointer of a volatile page below which the snapshot
// has changed something (O18) gets the id of the new snapshot page. It loses its volatile half if
// that did not change since (O11). All shapes are equal (A1), so every volatile page has its
// snapshot page.

#include "foedus-core/storage/base/installation.h"
#include "foedus/status.h"

namespace foedus::storage::array {

// `root`: of the new snapshot; null: no record was ever written. kIoError, kCorruption,
// kOutOfMemory: a snapshot page could not be read. What was installed stays, and the rest can be
// installed later. REQUIRES: one installation of a storage at a time; the caller is pinned; all
// pages of the snapshot are durable.
Result<InstallCounts> install(const Installation& installation, page::SnapshotPageId root);

}  // namespace foedus::storage::array
