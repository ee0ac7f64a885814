#pragma once
// Finding the record of a key for a transaction.

#include <cstdint>
#include <string_view>

#include "foedus-core/occ/txn_context.h"
#include "foedus-core/storage/hash/hash_bin.h"

namespace foedus::storage::hash {

inline PageSource source_of(occ::TxnContext& ctx, occ::StorageControl* control) {
  return {&ctx.pool(), &ctx.pages(), control, ctx.soc()};
}

// What a find_bin() that failed means: kNotFound if the storage was dropped.
[[gnu::cold]] Status no_bin(occ::TxnContext& ctx, occ::StorageControl* control);

// Finds the live record of `key`, or the bin that it is missing from. On success what the
// transaction remembers of this storage is up to date with that bin (catch_up).
Status look_up(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
               std::uint64_t hash, Lookup* found);

// The same without catching up.
Status search(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
              std::uint64_t hash, Lookup* found);

// The same without the transaction: for the commit protocol. False: there is none.
bool look_up_live(page::PagePool& pool, const occ::StorageControl* control, std::string_view key,
                  std::uint64_t hash, Lookup* found);

// Writes of this transaction whose records others moved, and page-versions of bins that others
// replaced, follow to where they are now: else it would not find its own writes, and its own
// inserts would look like phantoms.
Status catch_up(occ::TxnContext& ctx, occ::StorageControl* control);

// Entry `i` of the page-version set, which was true to the end of its bin, becomes one of the bin's
// successors at their birth. If there is one of the first already, because a bin that was merged
// into it was remembered as well, they become one: the places of others behind `i` may change.
void follow_version(occ::TxnContext& ctx, std::size_t i, HashBinPage* first, HashBinPage* second);

// The payload of `found` as the transaction sees it.
occ::Found read_found(occ::TxnContext& ctx, occ::StorageControl* control, const Lookup& found,
                      occ::ReadRange* range);

}  // namespace foedus::storage::hash
