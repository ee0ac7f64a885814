#pragma once
// Trees whose pages are snapshot pages: reading them, and making them volatile.
//
//   M19  A reader follows a pointer whose volatile half is null to the snapshot page and remembers
//        the pointer, once: all below it never changes, layers and missing keys included. That it
//        is the right page its fences say, as those of a volatile child do. Snapshot and volatile
//        half are two loads: while children are shifted they may be of two pages. So a pointer is
//        believed after a second look; what slips through that fails in verify, by M20. And that
//        there is no such page is believed under the lock of the pointer's page: one that is
//        volatile may keep the name of a page that has gone (M38).
//   M20  Children are shifted within their page, and children and layers go along when their page
//        moves (P5). So a followed pointer is remembered by the page that it was in and a slice:
//        the least one of the child, or that of the layer's record. Verify goes from that page
//        through its twins and looks there for the same snapshot page. No other pointer ever has
//        that, so it holds if some place of the page holds it; and it is not taken for unchanged
//        by mistake: see look_again().
//   M21  A writer makes each page on its way volatile: a copy, which is installed under the lock of
//        the page that holds the pointer, after that was found there again (O10). One of several
//        wins; the others give their copies back.
//   M22  If the transaction had followed the pointer, it takes over the page as the snapshot has
//        it: the pointers of an interior page; all records, layers and the version of a border
//        page. The entry of the pointer goes: it would see the own install.
//   M23  A dropped page has no twins. A search that comes to one starts again from the root; a
//        record that says moved while its page has no foster words is nowhere (M4): a read of it
//        conflicts, a write finds its key again. A copy is born in the epoch in which pages of the
//        storage were last dropped, by nobody (M9): an older transaction may have own writes in the
//        page that was there before. Where a search ends in a snapshot page there is no birth, and
//        the control's drop_epoch is asked itself. It is written when all records are marked,
//        before the pointer loses its volatile half.
//   M44  Whether a read's record was dropped is seen at the pages, not at the announcement, which
//        comes when all is marked. In a dropped page a record that is marked is as it was to the
//        end, and nobody makes its key again before the pointer changes, behind the announcement.
//        Of a record that had moved before, the end is in a successor: if that was dropped, the key
//        may have come there since, and what was left behind proves nothing. (To announce the drop
//        before the marks as well would not do: who begins between the two, in a newer epoch, is
//        not told.)
//   M24  Where interior pages of both kinds meet, levels do, too: a child, volatile or not, is one
//        level below its parent. Roots of layers may be of any.
//   M25  A cursor in snapshot pages keeps their ids, and copies of what it needs of them (M41). It
//        has remembered the pointer to all of them. If that is not seen to lead there any more, it
//        seeks its position again, by key: the transaction may have written where it is. So it does
//        if pages were dropped since: others may have made the page volatile, the transaction may
//        have written there, and after a drop the pointer is as it was.

#include <cstdint>
#include <optional>
#include <string_view>

#include "foedus-core/storage/masstree/masstree_change.h"
#include "foedus-core/storage/masstree/masstree_lines.h"
#include "foedus-core/storage/masstree/masstree_page_check.h"

namespace foedus::storage::masstree {

// What a scan needs first of a page that it begins.
inline constexpr page::PagePart kDirectoryAhead{.offset = 0, .bytes = 1024};

// ---- snapshot pages alone; no transaction's sets are asked or changed

// How much of a border page its reader looks at: a scan at all of it, a read of one row at little.
enum class Extent : std::uint8_t { kWhole, kPart };

// The page of this slice, below (or at) a page of that layer, which goes to *top. It is the page
// that was asked for last (O14), with kPart perhaps one that is there in part (O20). Null: a page
// cannot be read, or is not the one that a pointer is for; TxnContext::no_page() says why.
BorderPage* cold_border(occ::TxnContext& ctx, const occ::StorageControl* control, unsigned layer,
                        page::SnapshotPageId id, std::uint64_t slice, Extent extent, ColdTop* top);

// The page of the lowest level above it, if all on the way is cached; else null. REQUIRES: there is
// one.
InteriorPage* cold_parent(occ::TxnContext& ctx, const occ::StorageControl* control, unsigned layer,
                          page::SnapshotPageId id, std::uint64_t slice);

// What there is for the rest of a key in that layer, which page `id` is of; the page contains it.
// *top: that page, or the root of the deeper layer where the search ended. spot->at.page is the
// page that was asked for last. False: as cold_border().
bool find_in_snapshot(occ::TxnContext& ctx, const occ::StorageControl* control, unsigned layer,
                      page::SnapshotPageId id, std::string_view rest, Extent extent, Spot* spot,
                      ColdTop* top);

// Copies what `range` wants of a record that find_in_snapshot() found. False: as cold_border().
bool read_cold(occ::TxnContext& ctx, BorderPage* page, Slot slot, occ::ReadRange* range);

// ---- for transactions

// M19.
void remember_cold(occ::TxnContext& ctx, occ::StorageControl* control, const ColdPointer& cold);

// Where a key is, in pages of both kinds; to kRead a snapshot page may be the end of it. On success
// own writes are where they can be found.
// kPut: a write that a delta would take, but for a new row.
enum class Intent : std::uint8_t { kRead, kWrite, kPut };
[[gnu::noinline]] Status locate_slowly(occ::TxnContext& ctx, occ::StorageControl* control,
                                       std::string_view key, Intent intent, Spot* spot);
inline Status locate(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                     Intent intent, Spot* spot) {
  find(ctx, control, key, spot);
  if (!spot->is_cut_short() && !may_hide_own(ctx, spot->at.page)) [[likely]]
    return {};
  return locate_slowly(ctx, control, key, intent, spot);
}

// The same for readers, from the root, without the look at own writes. If spot->at.is_cold, *cold
// is the pointer that was remembered, and *top a page below it, of the layer where the search
// ended: that page or one above it.
[[gnu::noinline]] Status find_cold(occ::TxnContext& ctx, occ::StorageControl* control,
                                   std::string_view key, Extent extent, Spot* spot,
                                   ColdPointer* cold, ColdTop* top);

// The pointer to a snapshot page at which the search for `key` was cut short. False: it has a
// volatile page by now, or is elsewhere; look again.
bool cold_pointer_of(const Spot& spot, std::string_view key, ColdPointer* cold);
// Whether the search for a key ends at a pointer to a snapshot page, which is remembered; the page
// is not looked at.
Status remember_if_cold(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                        bool* is_cold);

// Begins what find_cold() of the key will wait for: up to the first page that is not cached.
[[gnu::noinline]] void prefetch_cold(occ::TxnContext& ctx, occ::StorageControl* control,
                                     std::string_view key);

// True if own writes may be in pages that were dropped, and be found in snapshot pages not at all.
bool may_hide_own_cold(occ::TxnContext& ctx, const occ::StorageControl* control);

// The storage is being dropped, or it has no root at all.
[[gnu::cold]] bool has_no_tree(const occ::StorageControl* control);
[[gnu::cold]] Status no_tree(occ::TxnContext& ctx, occ::StorageControl* control,
                             std::string_view key);

// ---- M21, M22 (masstree_copy.cc)

// kAgain: somebody else was there first. kNoPage: TxnContext::no_page() says why.
// The root of a layer.
[[gnu::noinline]] Change copy_root(occ::TxnContext& ctx, occ::StorageControl* control,
                                   const LayerRoot& layer);
// The child for `slice`.
[[gnu::noinline]] Change copy_child(occ::TxnContext& ctx, occ::StorageControl* control,
                                    InteriorPage* parent, std::uint64_t slice);

// The page of a snapshot as a volatile one that nobody else can reach. Null: out of pages.
TreePage* copy_page(page::PagePool& pool, page::SessionPages& pages, occ::StorageControl* control,
                    std::uint32_t soc, const page::PageHeader* cold);
// What the parent's pointer for the slice says of its page, if that still is `ids`: a page with
// other slices is no sign of a shift then, but the wrong page.
std::optional<ColdPlace> place_of(InteriorPage* parent, std::uint64_t slice,
                                  const page::DualPageIds& ids);
// Changes the pointer to the child whose slices begin with `low`, if it is as expected (O10).
bool exchange_child(InteriorPage* parent, std::uint64_t low, const page::DualPageIds& before,
                    const page::DualPageIds& after);

}  // namespace foedus::storage::masstree
