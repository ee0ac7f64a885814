#pragma once
// The search of an operation of a transaction, in pages of both kinds, with own writes in place.

#include <cstdint>
#include <string_view>

#include "foedus-core/storage/masstree/change/own.h"
#include "foedus-core/storage/masstree/search/find.h"

namespace foedus::storage::masstree {

// The purpose of a search for a key in pages of both kinds. For kRead it may end at a snapshot
// page. kPut: a write that a delta would take, but for a new row. After success own writes are in
// place.
enum class Intent : std::uint8_t { kRead, kWrite, kPut };
[[gnu::noinline]] Status locate_slowly(occ::TxnContext& ctx, occ::StorageControl* control,
                                       std::string_view key, Intent intent, KeyPosition* position);
inline Status locate(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                     Intent intent, KeyPosition* position) {
  find(ctx, control, key, position);
  if (!position->is_cut_short() && !may_hide_own(ctx, position->at.page)) [[likely]]
    return {};
  return locate_slowly(ctx, control, key, intent, position);
}

// Moves own writes of this storage to where their records are now, if these have moved, perhaps to
// a page that was born in `birth`. *moved: some have, so the position that a search has found may
// not hold.
Status relocate_own(occ::TxnContext& ctx, occ::StorageControl* control, Epoch birth, bool* moved);

}  // namespace foedus::storage::masstree
