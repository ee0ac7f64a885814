#pragma once
// The delta of a tree: a second tree, of volatile pages only, for rows that are put where the first
// one, the main tree, has snapshot pages. A put of a whole row needs nothing of the row that was
// there: so no page is read for it, and none is made volatile. Rows of all over the key space lie
// side by side in pages of the delta, some 25 of 100 bytes in each; made volatile, each page of the
// main tree would hold one of them and 4 KB that did not change.
//
//   begin ── install() ──► has a delta ── older transactions are over ──► takes puts
//
//   M46 The row of a key is the delta's record, if that is present; else it is what the main tree
//       says. Every operation looks into the delta first, and remembers what it saw there, as in
//       any tree. So what is written to the main tree conflicts with a put into the delta, before
//       and after.
//   M47 A row is put into the delta only if each transaction that is open began when there was a
//       delta: it has looked (M46).
//   M48 A row that is not in the delta is put there by a transaction that remembers what the main
//       tree has: the pointer to a snapshot page, or a record or its absence. So its TID is above
//       that of the row in the main tree: of a record by C3, of a snapshot because the snapshot
//       covers epochs that are over. Replay takes the newest TID for the newest row. A put to a
//       row that is in the delta commits only if the row is there still.
//   M49 An erasure erases in both.
//   M50 A row leaves the delta (purge) when a snapshot covers it and the search for its key in the
//       main tree ends at a pointer to a page of that snapshot. Who makes that page volatile from
//       then on copies the row, too; only the installer, which purges, makes it a snapshot page
//       again. The record is marked deleted under its lock; transactions that saw it conflict.
//   M51 Layers stay in a delta until all its rows have left it, when a new root takes the place of
//       all pages. So a key that would make a layer is put there only as long as layers are few.

#include <cstdint>
#include <string_view>

#include "foedus-core/occ/installation.h"
#include "foedus-core/storage/masstree/masstree_storage.h"

namespace foedus::storage::masstree {

// The operations on one tree alone (masstree_write.cc): on a delta, or on the main tree without a
// look at its delta.
namespace one_tree {
Status get(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
           occ::ReadRange* range);
Status get_for_update(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                      occ::ReadRange* range);
Status write_whole(occ::TxnContext& ctx, occ::StorageControl* control, WriteMode mode,
                   std::string_view key, std::string_view payload);
Status write_at(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                std::uint32_t offset, std::string_view part);
Status increment(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                 std::uint32_t offset, std::int64_t delta);
Status erase(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key);
}  // namespace one_tree

// The operations of masstree_storage.h in a storage that has a delta.
namespace delta {
[[gnu::noinline]] Status get(occ::TxnContext& ctx, occ::StorageControl* control,
                             std::string_view key, occ::ReadRange* range);
[[gnu::noinline]] Status get_for_update(occ::TxnContext& ctx, occ::StorageControl* control,
                                        std::string_view key, occ::ReadRange* range);
[[gnu::noinline]] Status write_whole(occ::TxnContext& ctx, occ::StorageControl* control,
                                     WriteMode mode, std::string_view key,
                                     std::string_view payload);
[[gnu::noinline]] Status write_at(occ::TxnContext& ctx, occ::StorageControl* control,
                                  std::string_view key, std::uint32_t offset,
                                  std::string_view part);
[[gnu::noinline]] Status increment(occ::TxnContext& ctx, occ::StorageControl* control,
                                   std::string_view key, std::uint32_t offset,
                                   std::int64_t added);
[[gnu::noinline]] Status erase(occ::TxnContext& ctx, occ::StorageControl* control,
                               std::string_view key);
[[gnu::noinline]] void prefetch(occ::TxnContext& ctx, occ::StorageControl* control,
                                std::string_view key);

// Gives the storage a delta, which takes no puts yet. False: there was no page for it.
bool make(const occ::Installation& installation);
// M50. `root`: of the snapshot, which was installed; `is_settled`: nothing may need an earlier one.
// Returns how many pages fewer there are. REQUIRES: the caller is pinned.
std::uint64_t purge(const occ::Installation& installation, page::SnapshotPageId root,
                    bool is_settled);
}  // namespace delta

}  // namespace foedus::storage::masstree
