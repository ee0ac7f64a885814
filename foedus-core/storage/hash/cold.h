#pragma once
// Bins whose pages are snapshot pages: reading and materializing them.
//
//   H8   A reader follows a pointer whose volatile half is null to the snapshot page, and remembers
//        the pointer. All below it never changes, missing keys included. So no record and no
//        page-version there is remembered. A null pointer of a volatile page is no such one: the
//        bin is made at first touch, and then it has a page-version.
//   H9   A writer makes each page on its way volatile, a bin with all pages of its chain. If the
//        transaction had followed the pointer, it takes over the whole page, as the snapshot has
//        it. These are the pointers of an interior page, or all records of a bin, and its version.
//        It takes them from its copy, before other sessions can change that. The entry of the
//        pointer itself goes. It would notice spreads, rebuilds and gleans, and beyond these
//        nothing that the entries taken over do not notice.
//   H10  A null volatile half is believed only after a second look, at the pointer and at all
//        digits that it owns. They may be of earlier shapes. While it is null, only the holder of
//        the interior page's lock changes that page and the owners of the pointer's digits (O10).
//        Once a bin was made there they do change, and a drop may have left the pointer null again.
//        So the pointer is for the digits that it was seen to own at both looks, not for those that
//        the owners say later. A session that installs a page looks once more, under the lock.

#include <cstdint>
#include <string_view>

#include "foedus-core/occ/txn_context.h"
#include "foedus-core/storage/hash/bin.h"

namespace foedus::storage::hash {

enum class Intent : std::uint8_t {
  kRead,
  kWrite,
  kPrefetch,  // as kRead, but no page is made
};

inline PageSource source_of(occ::TxnContext& ctx, occ::StorageControl* control) {
  return {&ctx.pool(), &ctx.pages(), control, ctx.soc()};
}

struct BinPlace {
  HashBinPage* bin = nullptr;  // null: a snapshot's, and there is none; or failed
  bool is_cold = false;        // all of it is const; not kept (O14)
  bool is_failed = false;      // no_bin() of find.h says why
  bool has_exhausted_tries = false;  // it was being dropped or replaced at each of many looks
};

// Returns the bin of `hash`: a volatile one, not gone when it was looked at; for a reader also a
// snapshot's. REQUIRES: a ColdReads around this and all looks at the bin.
[[gnu::noinline]] BinPlace find_cold_bin(occ::TxnContext& ctx, occ::StorageControl* control,
                                         std::uint64_t hash, Intent intent);
// Begins the reads for which a reader of the bin will wait, up to the first page that is not
// cached.
[[gnu::noinline]] void prefetch_cold_bin(occ::TxnContext& ctx, occ::StorageControl* control,
                                         std::uint64_t hash);

}  // namespace foedus::storage::hash
