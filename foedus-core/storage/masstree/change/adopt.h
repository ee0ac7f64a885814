#pragma once
// Parents get the twins of moved pages; searches of writers, which adopt on their way.

#include <cstdint>
#include <string_view>

#include "foedus-core/occ/txn_context.h"
#include "foedus-core/storage/masstree/change/change.h"
#include "foedus-core/storage/masstree/search/find.h"

namespace foedus::storage::masstree {

// `parent` gets the twins of its moved child; the child is retired. kNoRoom: split it first.
Change adopt(occ::TxnContext& ctx, occ::StorageControl* control, InteriorPage* parent,
             TreePage* child);
// A full interior page moves to foster twins. `slice`: where it will gain a child.
Change split_interior(occ::TxnContext& ctx, occ::StorageControl* control, InteriorPage* page,
                      std::uint64_t slice);
// The moved root of a layer gets an interior page above its twins.
Change grow(occ::TxnContext& ctx, occ::StorageControl* control, const LayerRoot& layer,
            TreePage* root);

// find(), adopting and growing on the way whatever has moved, and making volatile what is not
// (M21): it is never cut short.
Status find_adopting(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                     Spot* spot);

}  // namespace foedus::storage::masstree
