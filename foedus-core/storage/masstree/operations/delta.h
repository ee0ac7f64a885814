#pragma once
// The delta of a tree: a second tree, of volatile pages only. It takes rows that are put where the
// first one, the main tree, has snapshot pages. A put of a whole row needs nothing of the row that
// was there. So no page is read for it, and none is made volatile. Where a part of a row changes,
// the whole row is put there with the part changed. Its page is read, and stays a snapshot page.
// Rows from all over the key space lie side by side in pages of the delta, some 25 of 100 bytes in
// each. A materialized page of the main tree would hold one of them, and 4 KB that did not change.
//
//   begin ── install() ──► has a delta ── older transactions are over ──► takes puts
//     ▲                                                                       │ empty for long
//     └── is empty still ◄── older transactions are over ── takes no more ◄───┘
//
//   M46 The row of a key is the delta's record, if that is present, otherwise the main tree's.
//       Every operation looks into the delta first, and remembers what it saw there, as in any
//       tree. So a write to the main tree conflicts with a put into the delta that commits before
//       it, and the other way round.
//   M47 A row is put into the delta only if each open transaction began when there was a delta
//       already. So each has looked there (M46).
//   M48 A transaction that puts a row into the delta which is not there remembers the row's state
//       in the main tree: the pointer to a snapshot page, or a record or its absence. So its TID is
//       above that of the row in the main tree: for a record by C3, for a purged one by purged_tid
//       of its page (P7), for a row of a snapshot because the snapshot covers epochs that are over.
//       The same holds for a put into the main tree of a row that was in the delta. So the row with
//       the newest TID is the newest row, as replay takes it to be. A put to a row that is in the
//       delta commits only if the row is still there.
//   M49 An erasure of a row in the delta also erases the row in the main tree, even if it is not
//       there: a snapshot that is installed later may have the row, of an epoch before the erasure.
//       The deleted record in the main tree keeps its page volatile until a snapshot covers the
//       erasure.
//   M50 A row leaves the delta (purge) if a snapshot covers it, and the search for its key in the
//       main tree ends at a pointer to a page of that snapshot. A session that makes that page
//       volatile afterwards copies the row, too. Only the installer makes it a snapshot page again,
//       and the installer also purges. The record is marked deleted under its lock, so transactions
//       that saw it conflict.
//   M51 Layers stay in a delta until all its rows have left it; then a new root takes the place of
//       all its pages. So a key that would make a layer is put into the delta only while it has few
//       layers.
//   M52 If a row of the main tree is also in the delta, no transaction that reads the main tree's
//       row commits. That row may name a chain in an earlier snapshot. The installation of the
//       snapshot that has the newer row makes the payload of the main tree's row empty. It does not
//       wait until the file of the chain goes: that may be at a later installation, which passes
//       over the row's page if the snapshot's page is unchanged since (O18).
//   M53 Operations stop looking into a delta when it is empty after the end of all transactions
//       that may have put rows into it. It stays empty. A transaction that looked before saw that
//       the row is not there. A transaction that begins later finds the row of the main tree, whose
//       TID is newer than that of any row that has left the delta (M50, M49), and its commits are
//       of epochs that the snapshot does not cover. The delta may be taken up again, as if it were
//       new.

#include <cstdint>

#include "foedus-core/page/page_id.h"
#include "foedus-core/storage/base/installation.h"

namespace foedus::storage::masstree {

namespace delta {

// Gives the storage a delta, which takes no puts yet. False: there was no page for it.
bool make(const Installation& installation);
// Purges rows (M50). `root`: of the snapshot, which was installed. `is_settled`: no pointer leads
// to an earlier snapshot. Returns by how many pages the delta has shrunk. REQUIRES: the caller is
// pinned.
std::uint64_t purge(const Installation& installation, page::SnapshotPageId root, bool is_settled);
// Returns whether the delta is one page without a row. REQUIRES: the delta was made; the caller is
// pinned.
bool is_empty(const page::PagePool& pool, const occ::StorageControl& control);

}  // namespace delta

}  // namespace foedus::storage::masstree
