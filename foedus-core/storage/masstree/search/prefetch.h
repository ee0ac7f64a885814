#pragma once
// Loads the lines that a key needs ahead of its use.

#include <string_view>

#include "foedus-core/occ/txn_context.h"

namespace foedus::storage::masstree {

// Loads ahead the lines that a lookup of `key` will touch. Changes and remembers nothing.
void prefetch(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key);

}  // namespace foedus::storage::masstree
