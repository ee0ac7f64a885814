#pragma once
// Lets parents adopt the twins of moved pages. Searches of writers do that on their way.

#include <cstdint>
#include <string_view>

#include "foedus-core/occ/txn_context.h"
#include "foedus-core/storage/masstree/change/change.h"
#include "foedus-core/storage/masstree/search/find.h"

namespace foedus::storage::masstree {

// Gives `parent` the twins of its moved child, and retires the child. kNoRoom: split it first.
Change adopt(occ::TxnContext& ctx, occ::StorageControl* control, InteriorPage* parent,
             TreePage* child);
// Moves a full interior page to foster twins. `slice`: where it will gain a child.
Change split_interior(occ::TxnContext& ctx, occ::StorageControl* control, InteriorPage* page,
                      std::uint64_t slice);
// Puts an interior page above the twins of a layer's moved root, or one successor in its place.
Change grow(occ::TxnContext& ctx, occ::StorageControl* control, const LayerRoot& layer,
            TreePage* root);

// Does what find() does, but adopts and grows pages on the way that have moved, and materializes
// snapshot pages (M21). So it is never cut short.
Status find_adopting(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                     KeyPosition* position);

}  // namespace foedus::storage::masstree
