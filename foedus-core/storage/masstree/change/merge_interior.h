#pragma once
// Interior pages that have lost children go.

#include "foedus-core/occ/txn_context.h"
#include "foedus-core/storage/masstree/search/find.h"

namespace foedus::storage::masstree {

// Attempts to take away interior pages. `page`, which has lost a child, and those above it become
// one with a neighbour if both have few children. A root with a single child gives way to it.
void merge_interior(occ::TxnContext& ctx, occ::StorageControl* control, const LayerRoot& layer,
                    InteriorPage* page);

}  // namespace foedus::storage::masstree
