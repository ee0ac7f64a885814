#pragma once
// Trees whose pages are snapshot pages: reading and materializing them.
//
//   M19  A reader follows a pointer whose volatile half is null to the snapshot page and remembers
//        the pointer, once. All below it never changes, layers and missing keys included. Its
//        fences show that it is the right page, as those of a volatile child do. Snapshot and
//        volatile half are two loads: while children are shifted they may be of two pages. So a
//        pointer is believed after a second look. A mixture that slips through fails in verify, by
//        M20. That there is no such page is believed only under the lock of the pointer's page. A
//        page that is volatile may keep the name of a page that has gone (M38).
//   M20  Children are shifted within their page, and children and layers go along when their page
//        moves (P5). So a followed pointer is remembered by the page that it was in and a slice.
//        That is the least one of the child, or that of the layer's record. Verify goes from that
//        page through its twins and looks there for the same snapshot page. No other pointer ever
//        has that, so the entry holds if some place of the page holds it. And it is not taken for
//        unchanged by mistake: see look_again().
//   M21  A writer makes each page on its way volatile. The copy is installed under the lock of the
//        page that holds the pointer, after that was found there again (O10). One of several
//        writers wins; the others give their copies back.
//   M22  If the transaction had followed the pointer, it takes over the page as the snapshot has
//        it. These are the pointers of an interior page, or all records, layers and the version of
//        a border page. The entry of the pointer goes: verify would see the own install there.
//   M23  A dropped page has no twins. A search that comes to one starts again from the root. A
//        record that says moved while its page has no foster words is nowhere (M4). A read of it
//        conflicts, a write finds its key again. Births of copies: Q3.
//   M24  Where interior pages of both kinds meet, levels do, too: a child, volatile or not, is one
//        level below its parent. Roots of layers may be of any.
//   M25  A cursor in snapshot pages keeps their ids, and copies of the parts that it needs (M41).
//        It has remembered the pointer to all of them. If that is not seen to lead there any more,
//        it seeks its position again, by key. The transaction may have written where the cursor is.
//        It also does so if pages were dropped since. Other sessions may have made the page
//        volatile, and the transaction may have written there; after a drop the pointer is as it
//        was.

#include <cstdint>
#include <optional>
#include <string_view>

#include "foedus-core/storage/masstree/layout/page_check.h"
#include "foedus-core/storage/masstree/search/find.h"
#include "foedus-core/storage/masstree/search/snapshot_find.h"

namespace foedus::storage::masstree {

// Remembers the pointer, once (M19).
void remember_cold(occ::TxnContext& ctx, occ::StorageControl* control, const ColdPointer& cold);

// Finds the key for a reader, from the root, without the look at own writes. If
// position->at.is_cold, *cold is the pointer that was remembered. *top is then a page below it, of
// the layer where the search ended: the border page or one above it.
[[gnu::noinline]] Status find_cold(occ::TxnContext& ctx, occ::StorageControl* control,
                                   std::string_view key, Extent extent, KeyPosition* position,
                                   ColdPointer* cold, ColdTop* top);

// Gives the pointer to a snapshot page at which the search for `key` was cut short. False: it has a
// volatile page by now, or is elsewhere; look again.
bool cold_pointer_of(const KeyPosition& position, std::string_view key, ColdPointer* cold);
// Finds out whether the search for a key ends at a pointer to a snapshot page, and remembers it
// then. Does not look at the page.
Status remember_if_cold(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                        bool* is_cold);

// Returns the place that the parent's pointer for the slice gives its page, if the pointer still is
// `ids`. Then a page with other slices is no sign of a shift, but the wrong page.
std::optional<ColdPlace> place_of(InteriorPage* parent, std::uint64_t slice,
                                  const page::DualPageIds& ids);
// Begins the reads for which find_cold() of the key will wait, up to the first page that is not
// cached.
[[gnu::noinline]] void prefetch_cold(occ::TxnContext& ctx, occ::StorageControl* control,
                                     std::string_view key);

// Returns whether the storage is being dropped, or has no root at all.
[[gnu::cold]] bool has_no_tree(const occ::StorageControl* control);
[[gnu::cold]] Status no_tree(occ::TxnContext& ctx, occ::StorageControl* control,
                             std::string_view key);

}  // namespace foedus::storage::masstree
