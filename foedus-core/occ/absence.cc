#include "foedus-core/occ/absence.h"

namespace foedus::occ {

Status keep_absence(TxnContext& ctx, StorageControl* control, Placed placed, std::string_view key,
                    Status status, TrackMoved* track) {
  Found found;
  do {
    found = ctx.look_at(control, placed.record, TxnContext::Remember::kAbsence);
  } while (found == Found::kMoved &&
           track(ctx.pool(), control, placed.record, &placed.record, &placed.place));
  if (found == Found::kAbsent) return status;
  return ctx.conflict(ConflictReason::kRecordChanged, control, key);
}

}  // namespace foedus::occ
