#pragma once
// Installs a new snapshot of a hash storage: pointers of volatile pages get the ids of snapshot
// pages of the same prefix, and lose their volatile halves where nothing changed since (O11).
//
//   H12  Volatile bins are filled to less than those of snapshots: shapes differ. Where a volatile
//        page and one of the snapshot have the same prefix, the pointer gets the snapshot half, and
//        the page goes if it is quiet. An interior page goes when all below it have. What is left
//        below it because of its shape goes with it, all at once, if all of it is quiet; until
//        then its pointers have no snapshot half, and what was cold there is made volatile (O16).
//        Owners are never changed for a snapshot.
//   H13  A bin is quiet if all its records are (O11) and what was purged from it is covered: an
//        erasure that the snapshot does not have must not be forgotten with its record. A deleted
//        record that waits for its commit is of the epoch of its insert; if that is covered, it may
//        go, and the write makes it again.
//   H14  All of a subtree is locked before any of it is marked: bins and records are tried,
//        interior pages are locked last, children first, and must have no other child by then. A
//        pointer to a locked bin that is not gone is not changed by others (H2), nor are those
//        above it.

#include "foedus-core/storage/base/installation.h"
#include "foedus/status.h"

namespace foedus::storage::hash {

// `root`: of the new snapshot; null: no record was ever written, nothing is done. kIoError,
// kCorruption, kOutOfMemory: a snapshot page could not be read; what was installed stays, the rest
// is as before and can be installed later. REQUIRES: one installation of a storage at a time; the
// caller is pinned; all pages of the snapshot are durable.
Result<InstallCounts> install(const Installation& installation, page::SnapshotPageId root);

}  // namespace foedus::storage::hash
