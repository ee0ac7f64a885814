#pragma once
// The births of pages and the announcement of drops, which follow the marks of records and pages
// (birth.h, Q1 to Q3).

#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/occ/txn_context.h"
#include "foedus-core/storage/base/installation.h"
#include "foedus-core/storage/moves/birth.h"

namespace foedus::storage::moves {

// Returns the birth for a page to which records move. `others`: they come from a page whose birth
// concerns the transaction (Q2). REQUIRES: the records, and the pages that they leave, have their
// marks (Q1).
inline Birth birth_now(occ::TxnContext& ctx, bool others) {
  const Birth birth(epoch_after_marks(ctx.clock()), others ? Birth::kSeveral : ctx.session());
  FOEDUS_SYNC_POINT("moves:birth_read");
  return birth;
}

// Announces a drop (Q3). REQUIRES: pages and records are marked, the pointers to them unchanged.
inline void announce_drop(const Installation& installation) {
  installation.control->announce_drop(epoch_after_marks(*installation.clock));
}

}  // namespace foedus::storage::moves
