#pragma once
// Searches in snapshot pages alone: no set of a transaction is asked or changed.

#include <string_view>

#include "foedus-core/occ/read_range.h"
#include "foedus-core/occ/txn_context.h"
#include "foedus-core/storage/masstree/layout/page_check.h"
#include "foedus-core/storage/masstree/search/find.h"

namespace foedus::storage::masstree {

inline TreePage* tree_page(const page::PageHeader* cold) {
  return TreePage::of(const_cast<page::PageHeader*>(cold));
}

// Header and directory of a page of snapshots, which are full: some sixty keys.
inline constexpr page::PagePart kSearched{.offset = 0, .bytes = 1024};
// The part that a scan needs first of a page that it begins.
inline constexpr page::PagePart kDirectoryAhead{.offset = 0, .bytes = 1024};

// The part of a border page that its reader looks at: a scan at all of it, a read of one row at
// little.
enum class Extent : std::uint8_t { kWhole, kPart };

// Returns the border page of `slice`, at or below page `id` of that layer, and describes page `id`
// in *top. The border page is the page that was asked for last (O14), with kPart perhaps one that
// is there in part (O20). Null: a page cannot be read, or is another one than the pointer to it is
// for. TxnContext::no_page() says why then.
BorderPage* cold_border(occ::TxnContext& ctx, const occ::StorageControl* control, unsigned layer,
                        page::SnapshotPageId id, std::uint64_t slice, Extent extent, ColdTop* top);

// Returns the interior page above the border page of `slice`. Null: a page on the way is not
// cached, or page `id` is a border page.
InteriorPage* cold_parent(occ::TxnContext& ctx, const occ::StorageControl* control, unsigned layer,
                          page::SnapshotPageId id, std::uint64_t slice);

// Finds the rest of a key in that layer, from page `id` of it, which contains the key. *top: that
// page, or the root of the deeper layer where the search ended. position->at.page is the page that
// was asked for last. False: as cold_border() returns null.
bool find_in_snapshot(occ::TxnContext& ctx, const occ::StorageControl* control, unsigned layer,
                      page::SnapshotPageId id, std::string_view rest, Extent extent,
                      KeyPosition* position, ColdTop* top);

// Copies the part that `range` wants of a record that find_in_snapshot() found. False:
// TxnContext::no_page() says why.
bool read_cold(occ::TxnContext& ctx, BorderPage* page, Slot slot, occ::ReadRange* range);

}  // namespace foedus::storage::masstree
