#pragma once
// Reads bins whose pages are snapshot pages, and makes such pages volatile.
//
//   H8   A reader follows a pointer whose volatile half is null to the snapshot page, and remembers
//        the pointer. While the pointer stays as it is, nothing below it changes, so the entry
//        covers keys that are there and keys that are missing. No record and no page-version below
//        it is remembered. Where both halves are null, a reader makes the bin (first touch), and
//        remembers its page-version like that of any volatile bin.
//   H9   A writer makes each page on its way volatile, a bin with all pages of its chain. If the
//        transaction has followed the pointer as a reader before, it adds all that the snapshot
//        page has to its access sets: the pointers of an interior page, or all records of a bin,
//        and its version. It takes them from its copy before other sessions can reach that. Then
//        the entry of the pointer is removed. It would conflict with spreads, rebuilds and gleans,
//        and all other changes are noticed by the entries that were added.
//   H10  A session trusts a null volatile half only after a second look, at the pointer and at all
//        digits that it owns, because the two may have been read from different shapes of the page.
//        While the half is null, only the holder of the interior page's lock changes that half and
//        the owners of the pointer's digits (O10). Once a bin was made there the owners do change,
//        and a drop may have made the half null again. So the pointer is for the digits that it
//        owned at both looks, not for those that owners[] says later. A session that installs a
//        page looks once more, under the lock.

#include <cstdint>
#include <string_view>

#include "foedus-core/occ/txn_context.h"
#include "foedus-core/storage/hash/bin.h"

namespace foedus::storage::hash {

enum class Intent : std::uint8_t {
  kRead,
  kWrite,
  kPrefetch,  // as kRead, but no page is made
  kScan,      // as kPrefetch, but no page of a snapshot is read (find_cold_range())
};

inline PageSource source_of(occ::TxnContext& ctx, occ::StorageControl* control) {
  return {&ctx.pool(), &ctx.pages(), control, ctx.soc()};
}

struct BinPlace {
  HashBinPage* bin = nullptr;  // null: failed, or the snapshot has none
  bool is_cold = false;        // of a snapshot: const, and not kept (O14)
  bool is_failed = false;      // no_bin() of find.h says why
  bool has_exhausted_tries = false;  // each of kReadTries searches met a drop or a move
};

// Returns the bin of `hash`. If it is volatile, it was neither moved nor dropped when it was looked
// at. With kRead it may be a bin of a snapshot. REQUIRES: a ColdReads around this call and all
// looks at the bin.
[[gnu::noinline]] BinPlace find_cold_bin(occ::TxnContext& ctx, occ::StorageControl* control,
                                         std::uint64_t hash, Intent intent);
// The hashes that begin with the first `bits` bits of one hash, and the page that a snapshot has
// for them.
struct ColdRange {
  page::SnapshotPageId page;  // null: there is no row
  unsigned bits = 0;
};
// Does what find_cold_bin() does for a scan. If the search comes to a pointer without a volatile
// page, sets *range to what it stands for and remembers the pointer, also if both halves are null
// (H18). Then the result has only is_cold set. REQUIRES: a ColdReads around this call.
[[gnu::noinline]] BinPlace find_cold_range(occ::TxnContext& ctx, occ::StorageControl* control,
                                           std::uint64_t hash, ColdRange* range);
// Begins the reads for which a reader of the bin will wait, up to the first page that is not
// cached.
[[gnu::noinline]] void prefetch_cold_bin(occ::TxnContext& ctx, occ::StorageControl* control,
                                         std::uint64_t hash);

}  // namespace foedus::storage::hash
