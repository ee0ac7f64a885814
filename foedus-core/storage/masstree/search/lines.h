#pragma once
// Searches in pages of snapshots that are there in part: only some of their lines are loaded (O20
// of occ/cold_lines.h). Each search loads the bytes that it looks at, and no more lines than it
// needs.
//
//   interior page   header and pivots | the group with the separators around the slice | the group
//                   before it, if the child's pointer is there
//   border page     header and range | groups of keys, the likely one first | remainder, payload

#include "foedus-core/occ/txn_context.h"
#include "foedus-core/page/page_lines.h"
#include "foedus-core/storage/masstree/search/find.h"

namespace foedus::storage::masstree {

// The part that a reader of one row looks at first: all that comes before the keys, and in a page
// that is there as a whole also keys.
inline constexpr page::PagePart kSearchedInPart{.offset = 0, .bytes = 1024, .lines = 0b11};
static_assert(BorderPage::kBodyBegin == 2 * page::kLineBytes);
// In an interior page that is there in part, a search looks first at all that comes before the
// groups.
inline constexpr page::PagePart kInteriorInPart{.offset = 0, .bytes = 256, .lines = 0b1111};
static_assert(InteriorPage::kGroupsBegin == 4 * page::kLineBytes);

// Returns kSearchedInPart and the group in which a page of slices low..last is likely to have
// `slice`. If the guess is right, the search waits for the memory once less.
page::PagePart searched_in_part(occ::TxnContext& ctx, page::StorageId storage, std::uint64_t low,
                                std::uint64_t last, std::uint64_t slice);

// Returns the border page of the slice below an interior page that has the slice. Null: a page
// cannot be read, or is another one than the pointer to it is for; TxnContext::no_page() says why.
// REQUIRES: the interior page is the page that was asked for last (O14). Afterwards the border page
// is.
BorderPage* border_in_part(occ::TxnContext& ctx, const occ::StorageControl* control,
                           InteriorPage* page, std::uint64_t slice);

// Does what find_in_page() does, with its result in *ends. False: TxnContext::no_page() says why.
// REQUIRES: position->at.page is there in part.
bool find_in_part(occ::TxnContext& ctx, KeyPosition* position, bool* ends);

}  // namespace foedus::storage::masstree
