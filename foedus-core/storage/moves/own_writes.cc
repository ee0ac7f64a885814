#include "foedus-core/storage/moves/own_writes.h"

namespace foedus::storage::moves {

Status relocate_own(occ::TxnContext& ctx, occ::StorageControl* control, Epoch birth,
                    TrackMoved* track_moved, Relocate* relocate, bool* moved) {
  *moved = false;
  occ::WriteSet& set = ctx.sets().writes();
  const auto settled = ctx.located_writes().begin(control->id(), birth);
  for (std::uint32_t i = settled.count; i < set.size(); ++i) {
    occ::WriteEntry& entry = set[i];
    // A delta has the id of its storage: LocatedWrites counts the own writes of both trees.
    if (entry.storage->id() != control->id()) continue;
    const page::Tid tid = entry.record->load_tid();
    if (!tid.is_moved() && !tid.is_next_layer()) continue;
    *moved = true;
    page::RecordHeader* to = nullptr;
    std::uint32_t place = 0;
    if (track_moved(ctx.pool(), entry.storage, entry.record, &to, &place)) {
      set.move(entry.record, to, place);
    } else {
      FOEDUS_CHECK(relocate(ctx, &entry));
    }
  }
  if (!*moved) ctx.located_writes().end(settled);
  return {};
}

}  // namespace foedus::storage::moves
