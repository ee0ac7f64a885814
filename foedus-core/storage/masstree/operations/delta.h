#pragma once
// The delta of a tree: a second tree, of volatile pages only. It takes rows that are put where the
// first one, the main tree, has snapshot pages. A put of a whole row needs nothing of the row that
// was there. So no page is read for it, and none is made volatile. Where a part of a row changes,
// the whole row is put there, as the change leaves it. Its page is read, and stays a snapshot page.
// Rows of all over the key space lie side by side in pages of the delta, some 25 of 100 bytes in
// each. A materialized page of the main tree would hold one of them, and 4 KB that did not change.
//
//   begin ── install() ──► has a delta ── older transactions are over ──► takes puts
//     ▲                                                                       │ empty for long
//     └── is empty still ◄── older transactions are over ── takes no more ◄───┘
//
//   M46 The row of a key is the delta's record, if that is present; else it is the main tree's.
//       Every operation looks into the delta first, and remembers what it saw there, as in any
//       tree. So a write to the main tree conflicts with a put into the delta, before and after.
//   M47 A row is put into the delta only if each transaction that is open began when there was a
//       delta. So each has looked there (M46).
//   M48 A row that is not in the delta is put there by a transaction that remembers the state of
//       the main tree. That is the pointer to a snapshot page, or a record or its absence. So its
//       TID is above that of the row in the main tree. For a record that is by C3. For a purged one
//       it is by the TID that its page has of such (P7). For a snapshot it is because that covers
//       epochs that are over. The same holds the other way round. Replay takes the newest TID for
//       the newest row. A put to a row that is in the delta commits only if the row is there still.
//   M49 An erasure of a row in the delta erases it in the main tree as well, also if it is not
//       there. A snapshot that is installed later may have it, of an epoch before the erasure. The
//       deleted record keeps its page volatile until a snapshot covers the erasure.
//   M50 A row leaves the delta (purge) on two conditions. A snapshot covers it, and the search for
//       its key in the main tree ends at a pointer to a page of that snapshot. A session that makes
//       that page volatile from then on copies the row, too. Only the installer, which purges,
//       makes it a snapshot page again. The record is marked deleted under its lock; transactions
//       that saw it conflict.
//   M51 Layers stay in a delta until all its rows have left it, when a new root takes the place of
//       all pages. So a key that would make a layer is put there only as long as layers are few.
//   M52 A row of the main tree that one of the delta supersedes is read by no transaction that
//       commits. It may name a chain in an earlier snapshot. If the new snapshot has the newer row,
//       it loses its payload: the chain goes with its file.
//   M53 Operations look into a delta no more once it is empty after the end of all transactions
//       that may have put rows into it. It stays empty. A transaction that looked before saw that
//       no row is there. One that begins later finds what the main tree says, of a newer TID than
//       any row that has left (M50, M49). Its commits are of epochs that the snapshot does not
//       cover. The delta may be taken up again, as from the beginning.

#include <cstdint>

#include "foedus-core/page/page_id.h"
#include "foedus-core/storage/base/installation.h"

namespace foedus::storage::masstree {

namespace delta {

// Gives the storage a delta, which takes no puts yet. False: there was no page for it.
bool make(const Installation& installation);
// Purges rows (M50). `root`: of the snapshot, which was installed. `is_settled`: nothing may need
// an earlier one. Returns by how many pages the delta has shrunk. REQUIRES: the caller is pinned.
std::uint64_t purge(const Installation& installation, page::SnapshotPageId root, bool is_settled);
// Returns whether it is one page without a row. REQUIRES: it was made; the caller is pinned.
bool is_empty(const page::PagePool& pool, const occ::StorageControl& control);

}  // namespace delta

}  // namespace foedus::storage::masstree
