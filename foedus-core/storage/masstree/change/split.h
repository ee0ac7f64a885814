#pragma once
// Makes room in a border page, by moving it alone or together with a neighbour.

#include <cstdint>

#include "foedus-core/occ/txn_context.h"
#include "foedus-core/storage/masstree/change/change.h"
#include "foedus-core/storage/masstree/search/find.h"

namespace foedus::storage::masstree {

// The new record, or the growth of one, that a border page has no room for.
struct Need {
  std::uint64_t slice = 0;
  std::uint32_t bytes = 0;                   // of a new record
  unsigned grown_index = BorderPage::kNone;  // or a record that needs a larger capacity
  std::uint32_t grown_capacity = 0;
  // For changes together with a neighbour (M16): the page above, as far as it is known, or null,
  // and the layer of both.
  InteriorPage* parent = nullptr;
  LayerRoot layer;
};
// Moves the page to foster twins or to one page in its place (M3), or together with a neighbour
// (M16).
Change reorganize(occ::TxnContext& ctx, occ::StorageControl* control, BorderPage* page,
                  const Need& need);

}  // namespace foedus::storage::masstree
