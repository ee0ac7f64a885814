#include "foedus-core/storage/masstree/operations/locate.h"

#include "foedus-core/storage/masstree/change/adopt.h"
#include "foedus-core/storage/masstree/change/own.h"
#include "foedus-core/storage/masstree/change/track.h"
#include "foedus-core/storage/masstree/operations/operations.h"
#include "foedus-core/storage/masstree/search/cold.h"
#include "foedus-core/storage/masstree/search/find.h"
#include "foedus-core/storage/masstree/search/snapshot_find.h"
#include "foedus-core/storage/moves/own_writes.h"

namespace foedus::storage::masstree {

Status relocate_own(occ::TxnContext& ctx, occ::StorageControl* control, Epoch birth, bool* moved) {
  return moves::relocate_own(ctx, control, birth, &track_moved, &relocate, moved);
}

// Continues a search with the result of find() in `position`.
Status locate_slowly(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                     Intent intent, KeyPosition* position) {
  for (;;) {
    if (position->is_cut_short() && intent != Intent::kRead) {
      if (intent == Intent::kPut) control->cold_puts.fetch_add_relaxed(1);  // order: a statistic
      FOEDUS_CHECK(find_adopting(ctx, control, key, position));
    } else if (position->is_cut_short()) {
      ColdPointer cold;
      ColdTop top;
      FOEDUS_CHECK(find_cold(ctx, control, key, Extent::kPart, position, &cold, &top));
    }
    const bool hides_own = position->at.is_cold ? may_hide_own_cold(ctx, control)
                                                : may_hide_own(ctx, position->at.page);
    if (!hides_own) return {};
    bool moved = false;
    FOEDUS_CHECK(relocate_own(ctx, control, birth_of(control, position->at), &moved));
    if (!moved) return {};
    *position = {};
    find(ctx, control, key, position);
  }
}

}  // namespace foedus::storage::masstree
