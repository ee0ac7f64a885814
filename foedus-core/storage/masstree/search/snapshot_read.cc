#include "foedus-core/storage/masstree/search/snapshot_read.h"

#include "foedus-core/occ/read_range.h"
#include "foedus-core/storage/masstree/search/find.h"
#include "foedus-core/storage/masstree/search/snapshot_find.h"

namespace foedus::storage::masstree {

void prefetch_in_snapshot(occ::TxnContext& ctx, occ::StorageControl* control,
                          page::SnapshotPageId root, std::string_view key) {
  if (root.is_null()) return;
  const occ::ColdPrefetch prefetch(&ctx.cold_pages());
  KeyPosition position;
  ColdTop top;
  static_cast<void>(find_in_snapshot(ctx, control, 0, root, key, Extent::kPart, &position, &top));
  ctx.cold_pages().forget_failure();
}

Status get_in_snapshot(occ::TxnContext& ctx, occ::StorageControl* control,
                       page::SnapshotPageId root, std::string_view key, occ::ReadRange* range) {
  if (root.is_null()) return ErrorCode::kNotFound;
  const occ::ColdReads reads(&ctx.cold_pages());
  KeyPosition position;
  ColdTop top;
  if (!find_in_snapshot(ctx, control, 0, root, key, Extent::kPart, &position, &top)) {
    return ctx.no_page(control);
  }
  if (!position.found()) return ErrorCode::kNotFound;
  return read_cold(ctx, position.at.page, position.slot, range) ? Status() : ctx.no_page(control);
}

}  // namespace foedus::storage::masstree
