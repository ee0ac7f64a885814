#pragma once
// Takes away interior pages that have lost children.

#include "foedus-core/occ/txn_context.h"
#include "foedus-core/storage/masstree/search/find.h"

namespace foedus::storage::masstree {

// Tries to take away interior pages. `page`, which has lost a child, and the pages above it are
// each merged with a neighbour if both have few children. A root with a single child is replaced by
// the child.
void merge_interior(occ::TxnContext& ctx, occ::StorageControl* control, const LayerRoot& layer,
                    InteriorPage* page);

}  // namespace foedus::storage::masstree
