#pragma once
// Two neighbours become one page.

#include "foedus-core/occ/txn_context.h"
#include "foedus-core/storage/masstree/search/find.h"

namespace foedus::storage::masstree {

// Tries to merge the page of `position` with a neighbour, if nearly all of its records are deleted.
void merge_emptied(occ::TxnContext& ctx, occ::StorageControl* control, const KeyPosition& position);

}  // namespace foedus::storage::masstree
