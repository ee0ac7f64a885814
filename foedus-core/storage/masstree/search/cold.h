#pragma once
// Reads trees whose pages are snapshot pages, and makes such pages volatile.
//
//   M19  A reader follows a pointer whose volatile half is null to the snapshot page and remembers
//        the pointer, once. Nothing below it changes, layers and missing keys included. The fences
//        of the page show that it is the right one, as those of a volatile child do. Snapshot and
//        volatile half are two loads: while children are shifted they may be of two pointers. So a
//        reader follows a pointer only after a second look. A mixture that slips through fails in
//        verify, by M20. If the page cannot be read, or is a wrong one, the reader believes that
//        only after a look under the lock of the page that has the pointer: a pointer with a
//        volatile half may keep the id of a snapshot page that has gone (M38).
//   M20  Children are shifted within their page, and the pointers to children and layers move with
//        their page (P5). So a followed pointer is remembered by the page that it was in and a
//        slice: the least slice of the child, or the slice of the layer's record. Verify goes from
//        that page through its twins and looks there for a pointer to the same snapshot page. No
//        other pointer ever leads to that, so the entry holds if any place of the page has it. A
//        changed pointer is never taken for unchanged: see look_again().
//   M21  A writer makes each page on its way volatile. It installs its copy under the lock of the
//        page that has the pointer, after it has found the pointer there again (O10). One of
//        several writers wins; the others give their copies back.
//   M22  If the transaction had followed the pointer before, it adds the page as the snapshot has
//        it to its access sets: the pointers of an interior page, or all records, layers and the
//        version of a border page. The entry of the pointer is removed, because verify would see
//        the transaction's own install there.
//   M23  A dropped page has no twins. A search that comes to one starts again from the root. A
//        record that is marked moved while its page has no foster words was dropped (M4): a read of
//        it conflicts, and a write finds its key again. Births of copies: Q3.
//   M24  A child is one level below its parent, also if one of them is volatile and the other is a
//        snapshot page. The root of a layer may be of any level.
//   M25  A cursor in snapshot pages keeps their ids, and copies of the parts that it needs (M41).
//        It has remembered the pointer that leads to all of them. It seeks its position again, by
//        key, in two cases. First, if the pointer is not seen to lead there any more, because the
//        transaction may have written where the cursor is. Second, if pages were dropped since:
//        other sessions may have made the page volatile, and the transaction may have written
//        there, and after the drop the pointer is as it was.

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
// volatile page by now, or has moved, so the caller searches again.
bool cold_pointer_of(const KeyPosition& position, std::string_view key, ColdPointer* cold);
// Finds out whether the search for a key ends at a pointer to a snapshot page, and remembers it
// then. Does not look at the page.
Status remember_if_cold(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                        bool* is_cold);

// Returns the place that the parent's pointer for the slice gives its page, if the pointer still is
// `ids`. This looks under the parent's lock. So if the page has other slices, it is a wrong page,
// and there is no shift.
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
