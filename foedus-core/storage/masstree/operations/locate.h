#pragma once
// Searches for a key for an operation, in volatile pages and snapshot pages. Own writes are moved
// to where their records are.

#include <cstdint>
#include <string_view>

#include "foedus-core/storage/masstree/change/own.h"
#include "foedus-core/storage/masstree/search/find.h"

namespace foedus::storage::masstree {

// The purpose of a search for a key. A kRead may end at a snapshot page, the others make their way
// volatile. kPut: a write that a delta would take, except for a new row; those that need a snapshot
// page are counted (cold_puts). After success own writes are where their records are.
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

// Moves own writes of this storage to where their records are now. `birth`: of the page to which a
// search has come, and to which records may have moved. *moved: some had moved, so the caller
// searches again.
Status relocate_own(occ::TxnContext& ctx, occ::StorageControl* control, Epoch birth, bool* moved);

}  // namespace foedus::storage::masstree
