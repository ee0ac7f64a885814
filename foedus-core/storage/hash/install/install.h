#pragma once
// Installs a new snapshot of a hash storage. Pointers of volatile pages get the ids of snapshot
// pages of the same prefix. They lose their volatile halves where nothing changed since (O11).
//
//   H12  Volatile bins are filled to less than those of snapshots, so the two trees differ in
//        shape. Where a volatile page and a snapshot page have the same prefix, the pointer gets
//        the snapshot half, and the volatile page is dropped if it is quiet. An interior page is
//        dropped when all pages below it have been. Pages below it that match no snapshot page are
//        dropped together with it, all at once, if the whole subtree is quiet. Until then their
//        pointers have no snapshot half, and snapshot pages that they still lead to are made
//        volatile (O16). owners[] is never changed for a snapshot.
//   H13  A bin is quiet if the snapshot covers the epochs of all its records (O11) and of all
//        records that were purged from it. Otherwise an erasure that the snapshot does not have
//        would be forgotten with the bin. The new record of an open transaction is marked deleted,
//        in the epoch of its insert. If that epoch is covered, the record may be dropped, and the
//        write makes it again.
//   H14  All pages and records of a subtree are locked before any of them is marked. The locks of
//        bins and records are only tried. Interior pages are locked last, children before parents,
//        and must have no other children by then. While a bin is locked and not gone, no other
//        session changes the pointer to it (H2), nor the pointers above it.

#include "foedus-core/storage/base/installation.h"
#include "foedus/status.h"

namespace foedus::storage::hash {

// Installs the snapshot. `root`: of the new snapshot; null: no record was ever written, nothing is
// done. kIoError, kCorruption, kOutOfMemory: a snapshot page could not be read; what was installed
// stays, the rest is as before and can be installed later. REQUIRES: one installation of a storage
// at a time; the caller is pinned; all pages of the snapshot are durable.
Result<InstallCounts> install(const Installation& installation, page::SnapshotPageId root);

}  // namespace foedus::storage::hash
