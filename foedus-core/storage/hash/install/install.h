#pragma once
// Installs a new snapshot of a hash storage. Pointers of volatile pages get the ids of snapshot
// pages of the same prefix. They lose their volatile halves where nothing changed since (O11).
//
//   H12  Volatile bins are filled to less than those of snapshots, so shapes differ. Where a
//        volatile page and one of the snapshot have the same prefix, the pointer gets the snapshot
//        half. The page goes if it is quiet. An interior page goes when all below it have. Pages
//        that are left below it because of their shape go with it, all at once, if all of it is
//        quiet. Until then their pointers have no snapshot half, and snapshot pages there are
//        materialized (O16). Owners are never changed for a snapshot.
//   H13  A bin is quiet if all its records are (O11), and all that was purged from it is covered.
//        An erasure that the snapshot does not have must not be forgotten with its record. A
//        deleted record that waits for its commit is of the epoch of its insert. If that is
//        covered, it may go, and the write makes it again.
//   H14  All of a subtree is locked before any of it is marked. Bins and records are only tried.
//        Interior pages are locked last, children first, and must have no other child by then. A
//        pointer to a locked bin that is not gone is not changed by others (H2), nor are those
//        above it.

#include "foedus-core/storage/base/installation.h"
#include "foedus/status.h"

namespace foedus::storage::hash {

// Installs the snapshot. `root`: of the new snapshot; null: no record was ever written, nothing is
// done. kIoError, kCorruption, kOutOfMemory: a snapshot page could not be read; what was installed
// stays, the rest is as before and can be installed later. REQUIRES: one installation of a storage
// at a time; the caller is pinned; all pages of the snapshot are durable.
Result<InstallCounts> install(const Installation& installation, page::SnapshotPageId root);

}  // namespace foedus::storage::hash
