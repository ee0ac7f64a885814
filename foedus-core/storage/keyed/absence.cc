#include "foedus-core/storage/keyed/absence.h"
#include "foedus-core/occ/read_range.h"
#include "foedus-core/occ/read_record.h"

#include <utility>

namespace foedus::storage::keyed {

Status keep_absence(occ::TxnContext& ctx, occ::StorageControl* control, page::RecordHeader* placed,
                    std::string_view key, Status status, moves::TrackMoved* track) {
  occ::ReadOutcome found;
  std::uint32_t place = 0;
  do {
    found = occ::read_presence(ctx, control, placed, occ::Remember::kAbsence);
  } while (found == occ::ReadOutcome::kMoved &&
           track(ctx.pool(), control, placed, &placed, &place));
  if (found == occ::ReadOutcome::kAbsent) return status;
  return ctx.conflict(ConflictReason::kRecordChanged, control, key);
}

}  // namespace foedus::storage::keyed
