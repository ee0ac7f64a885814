#pragma once
// Searches in pages of snapshots that are there in part (O20 of occ/cold_lines.h). Each loads the
// bytes that it looks at, and no more lines than it needs.
//
//   interior page   header and pivots | the group with the separators around the slice | the group
//                   before it, if the child's pointer is there
//   border page     header and range | groups of keys, the likely one first | remainder, payload

#include "foedus-core/occ/txn_context.h"
#include "foedus-core/page/page_lines.h"
#include "foedus-core/storage/masstree/search/find.h"

namespace foedus::storage::masstree {

// A reader of one row looks first at all that comes before the keys, and in a whole page at keys.
inline constexpr page::PagePart kSearchedInPart{.offset = 0, .bytes = 1024, .lines = 0b11};
static_assert(BorderPage::kBodyBegin == 2 * page::kLineBytes);
// In an interior page that is there in part, a search looks first at all that comes before the
// groups.
inline constexpr page::PagePart kInteriorInPart{.offset = 0, .bytes = 256, .lines = 0b1111};
static_assert(InteriorPage::kGroupsBegin == 4 * page::kLineBytes);

// Returns kSearchedInPart and the group where a page of slices low..last is likely to have this
// one. A search that has guessed right waits once less for the memory.
page::PagePart searched_in_part(occ::TxnContext& ctx, page::StorageId storage, std::uint64_t low,
                                std::uint64_t last, std::uint64_t slice);

// Returns the border page of the slice below an interior page that has the slice. The interior page
// is the page that was asked for last, whole or in part; then the border page is. Null: a page
// cannot be read, or is not the one that a pointer is for; TxnContext::no_page() says why.
BorderPage* border_in_part(occ::TxnContext& ctx, const occ::StorageControl* control,
                           InteriorPage* page, std::uint64_t slice);

// Does what find_in_page() does, with its result in *ends. False: TxnContext::no_page() says why.
// REQUIRES: position->at.page is in part.
bool find_in_part(occ::TxnContext& ctx, KeyPosition* position, bool* ends);

}  // namespace foedus::storage::masstree
