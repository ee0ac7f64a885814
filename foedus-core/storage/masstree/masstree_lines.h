#pragma once
// Searches in border pages of snapshots that are there in part (O20 of occ/cold_lines.h): each
// loads what it looks at, and no more lines than it needs.

#include "foedus-core/occ/txn_context.h"
#include "foedus-core/page/page_lines.h"
#include "foedus-core/storage/masstree/masstree_find.h"

namespace foedus::storage::masstree {

// A reader of one row looks first at all that comes before the keys; and in a whole page at keys.
inline constexpr page::PagePart kSearchedInPart{.offset = 0, .bytes = 1024, .lines = 0b11};
static_assert(BorderPage::kBodyBegin == 2 * page::kLineBytes);

// Adds the group where a page of slices low..last is likely to have this one: a search that has
// guessed right waits once less for the memory.
page::PagePart searched_in_part(occ::TxnContext& ctx, page::StorageId storage, std::uint64_t low,
                                std::uint64_t last, std::uint64_t slice);

// Does what find_in_page() does, whose result goes to *ends. REQUIRES: spot->at.page is in part.
// False: TxnContext::no_page() says why.
bool find_in_part(occ::TxnContext& ctx, Spot* spot, bool* ends);

}  // namespace foedus::storage::masstree
