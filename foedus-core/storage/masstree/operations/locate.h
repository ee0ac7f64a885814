#pragma once
// Where a key is, for an operation of a transaction: in pages of both kinds, with own writes where
// a search finds them.

#include <cstdint>
#include <string_view>

#include "foedus-core/storage/masstree/change/own.h"
#include "foedus-core/storage/masstree/search/find.h"

namespace foedus::storage::masstree {

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

// Leads the own writes of this storage whose records have moved, to a page that was born in `birth`
// perhaps, to where the records are now. *moved: some have, so the spot that a search has found may
// not hold.
Status settle_own(occ::TxnContext& ctx, occ::StorageControl* control, Epoch birth, bool* moved);

}  // namespace foedus::storage::masstree
