#pragma once
// Finds the record of a key for a transaction.

#include <cstdint>
#include <string_view>

#include "foedus-core/occ/read_range.h"
#include "foedus-core/occ/txn_context.h"
#include "foedus-core/storage/hash/bin.h"
#include "foedus-core/storage/hash/cold.h"
#include "foedus-core/storage/moves/birth.h"

namespace foedus::storage::hash {

// Returns the status of a search that came to no bin: kNotFound if the storage was dropped,
// otherwise why a page could not be had (TxnContext::no_page()).
[[gnu::cold]] Status no_bin(occ::TxnContext& ctx, occ::StorageControl* control);

// Finds the live record of `key`, or the bin that it is missing from. With kRead they may be in a
// snapshot. Then the part that `range` wants is copied at once, because pages of snapshots are not
// kept (O14). On success the transaction's entries of this storage are up to date with that bin
// (relocate_own). REQUIRES: a range for kRead.
Status look_up(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
               std::uint64_t hash, Intent intent, KeyPosition* found,
               occ::ReadRange* range = nullptr);

// Does what look_up() does, without relocate_own().
Status search(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
              std::uint64_t hash, Intent intent, KeyPosition* found,
              occ::ReadRange* range = nullptr);

// Searches volatile pages without a transaction, for the commit protocol. False: there is no
// record; found->bin is null if its bin was dropped, or is being dropped.
bool look_up_live(page::PagePool& pool, const occ::StorageControl* control, std::string_view key,
                  std::uint64_t hash, KeyPosition* found);

// Updates the entries of this transaction: writes whose records other sessions moved or dropped,
// and page-versions of bins that were replaced. Otherwise the transaction would not find its own
// writes, and its own inserts would look like phantoms. `birth`: that of the bin that was found.
// *moved: writes were updated, so the caller searches again.
Status relocate_own(occ::TxnContext& ctx, occ::StorageControl* control, Epoch birth, bool* moved);

// Updates the page-versions alone. insert() calls it too, before the transaction inserts into a bin
// to which records came since it began. It may allocate memory.
void follow_pages(occ::TxnContext& ctx, occ::StorageControl* control);

}  // namespace foedus::storage::hash
