#pragma once
// A record becomes a next layer.

#include "foedus-core/occ/txn_context.h"
#include "foedus-core/storage/masstree/change/change.h"
#include "foedus-core/storage/masstree/search/find.h"

namespace foedus::storage::masstree {

// Makes the record of `position`, whose remainder is not the key's, a next layer (M7).
Change add_layer(occ::TxnContext& ctx, occ::StorageControl* control, const KeyPosition& position);

}  // namespace foedus::storage::masstree
