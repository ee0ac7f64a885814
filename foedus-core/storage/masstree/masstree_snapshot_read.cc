#include "foedus-core/storage/masstree/masstree_snapshot_read.h"

#include "foedus-core/storage/masstree/masstree_cold.h"

namespace foedus::storage::masstree {

Status get_in_snapshot(occ::TxnContext& ctx, occ::StorageControl* control,
                       page::SnapshotPageId root, std::string_view key, occ::ReadRange* range) {
  if (root.is_null()) return ErrorCode::kNotFound;
  const occ::ColdReads reads(&ctx.cold_pages());
  Spot spot;
  ColdTop top;
  if (!find_in_snapshot(ctx, control, 0, root, key, &spot, &top)) return ctx.no_page(control);
  if (!spot.found()) return ErrorCode::kNotFound;
  return read_cold(ctx, spot.at.page, spot.slot, range) ? Status() : ctx.no_page(control);
}

}  // namespace foedus::storage::masstree
