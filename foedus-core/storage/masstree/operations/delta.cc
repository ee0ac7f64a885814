#include "foedus-core/storage/masstree/operations/delta.h"

#include <algorithm>
#include <cstring>

#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/storage/base/overflow.h"
#include "foedus-core/storage/keyed/operations.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus-core/storage/masstree/operations/operations.h"
#include "foedus-core/storage/masstree/search/cold.h"
#include "foedus-core/storage/masstree/search/find.h"

#include "foedus-core/occ/read_range.h"
#include "foedus-core/storage/masstree/change/make.h"

namespace foedus::storage::masstree {

namespace {

bool is_absent(const Status& status) { return status.code() == ErrorCode::kNotFound; }

// The limit of a delta's layers, as a number and as a part of the pool's pages. Layers stay until
// the delta gets a new root, which a delta of many pages does not get (M51).
constexpr std::uint64_t kLayersMax = 2'048;
constexpr std::uint64_t kLayersPart = 16;

// Returns whether a record of the key may be made in the delta. It may not if it would make one
// more layer, and there are many.
bool has_place(occ::TxnContext& ctx, occ::StorageControl* delta, std::string_view key) {
  if (key.size() <= 8) [[likely]]
    return true;
  KeyPosition position;
  find(ctx, delta, key, &position);
  const std::uint64_t pages = ctx.pool().bytes_max() / page::kPageBytes;
  // order: relaxed, a few more are no harm.
  return !position.differs ||
         delta->layers.load_relaxed() < std::min(pages / kLayersPart, kLayersMax);
}

// Returns whether a row that is not in the delta may be put there. It may not while there are
// unapplied rows of the log's tail, which are applied to pages (E39). A row with a chain may not
// either: the chain has pages of its own, so the delta would save none.
bool takes(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
           std::string_view payload) {
  return control->delta_takes_puts() && !control->has_unapplied() && !is_overflow(payload.size()) &&
         has_place(ctx, control->delta.get(), key);
}

// Remembers the row's state in the main tree (M48), and returns whether it permits a write of that
// mode: kAlreadyExists for an insert, kNotFound for an update. *is_row_cold: the row has no
// volatile page.
Status look_in_main(occ::TxnContext& ctx, occ::StorageControl* control, WriteMode mode,
                    std::string_view key, bool* is_row_cold) {
  FOEDUS_CHECK(remember_if_cold(ctx, control, key, is_row_cold));
  if (*is_row_cold && mode == WriteMode::kPut) return {};
  occ::ReadRange nothing;
  Status status = one_tree::get(ctx, control, key, &nothing);
  if (mode == WriteMode::kUpdate) return status;
  if (status.is_ok() && mode == WriteMode::kInsert) return ErrorCode::kAlreadyExists;
  return is_absent(status) ? Status() : status;
}

// Changes a part of a row (M48): if the delta may take it, puts the row there whole, with the part
// changed. Returns whether it did.
Result<bool> put_changed(occ::TxnContext& ctx, occ::StorageControl* control,
                         log::LogRecordType type, std::string_view key, std::uint32_t offset,
                         const std::string_view& part) {
  if (!takes(ctx, control, key, {})) return false;
  bool is_row_cold = false;
  FOEDUS_CHECK(remember_if_cold(ctx, control, key, &is_row_cold));
  if (!is_row_cold) return false;
  char row[kInlinePayloadBytesMax];
  occ::ReadRange range{.out = row, .out_bytes = sizeof(row)};
  FOEDUS_CHECK(one_tree::get(ctx, control, key, &range));
  const bool is_part = std::uint64_t{offset} + part.size() <= range.payload_bytes;
  if (!is_part || is_overflow(range.payload_bytes)) return false;
  keyed::change_part(type, row + offset, part);
  FOEDUS_SYNC_POINT("masstree:delta_put");
  FOEDUS_CHECK(one_tree::write_whole(ctx, control->delta.get(), WriteMode::kPut, key,
                                     {row, range.payload_bytes}));
  return true;
}

// Ends an operation that writes twice and failed after the first write: the transaction has to
// abort.
[[gnu::cold]] Status half_written(occ::TxnContext& ctx, occ::StorageControl* control,
                                  std::string_view key, Status status) {
  if (status.code() == ErrorCode::kOutOfMemory) ctx.set_out_of_memory();
  return ctx.is_doomed() ? std::move(status)
                         : ctx.conflict(ConflictReason::kRetryBound, control, key);
}

}  // namespace

namespace with_delta {

Status get(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
           occ::ReadRange* range) {
  Status status = one_tree::get(ctx, control->delta.get(), key, range);
  return is_absent(status) ? one_tree::get(ctx, control, key, range) : status;
}

Status get_for_update(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                      occ::ReadRange* range) {
  // The lock keeps other sessions from putting the row there meanwhile.
  if (control->delta_takes_puts() && has_place(ctx, control->delta.get(), key)) {
    FOEDUS_CHECK(one_tree::hold_any(ctx, control->delta.get(), key));
  }
  Status status = one_tree::get_for_update(ctx, control->delta.get(), key, range);
  return is_absent(status) ? one_tree::get_for_update(ctx, control, key, range) : status;
}

// Writes a row that is in the delta there. An update of another row goes to the main tree if the
// row is volatile there, because it was wanted before. All other rows are put into the delta: they
// may be anywhere, and pages of the main tree that get such rows would never be dropped.
Status write_whole(occ::TxnContext& ctx, occ::StorageControl* control, WriteMode mode,
                   std::string_view key, const std::string_view& payload) {
  occ::StorageControl* const delta = control->delta.get();
  occ::ReadRange nothing;
  Status status = mode == WriteMode::kInsert
                      ? one_tree::get(ctx, delta, key, &nothing)
                      : one_tree::write_whole(ctx, delta, WriteMode::kUpdate, key, payload);
  if (status.is_ok() && mode == WriteMode::kInsert) return ErrorCode::kAlreadyExists;
  if (!is_absent(status)) return status;
  if (!takes(ctx, control, key, payload)) {
    return one_tree::write_whole(ctx, control, mode, key, payload);
  }
  bool is_row_cold = false;
  FOEDUS_CHECK(look_in_main(ctx, control, mode, key, &is_row_cold));
  if (mode == WriteMode::kUpdate && !is_row_cold) {
    return one_tree::write_whole(ctx, control, mode, key, payload);
  }
  FOEDUS_SYNC_POINT("masstree:delta_put");
  return one_tree::write_whole(ctx, delta, mode == WriteMode::kUpdate ? WriteMode::kPut : mode, key,
                               payload);
}

Status write_part(occ::TxnContext& ctx, occ::StorageControl* control, log::LogRecordType type,
                  std::string_view key, std::uint32_t offset, const std::string_view& part) {
  Status status = one_tree::write_part(ctx, control->delta.get(), type, key, offset, part);
  if (!is_absent(status)) return status;
  FOEDUS_TRY(const bool is_put, put_changed(ctx, control, type, key, offset, part));
  return is_put ? Status() : one_tree::write_part(ctx, control, type, key, offset, part);
}

// Erases the row in both trees (M49). A step that may fail for want of a page comes first: an
// erasure in the delta alone would bring the older row back. The log gets an empty row before the
// second erasure, because replay refuses an erasure of nothing.
Status erase(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key) {
  occ::StorageControl* const delta = control->delta.get();
  occ::ReadRange nothing;
  Status status = one_tree::get(ctx, delta, key, &nothing);
  if (is_absent(status)) return one_tree::erase(ctx, control, key);
  FOEDUS_CHECK(std::move(status));
  one_tree::Made in_main;
  FOEDUS_CHECK(one_tree::materialize(ctx, control, key, &in_main));
  using log::LogRecordType;
  FOEDUS_CHECK(one_tree::erase(ctx, delta, key));
  status = ctx.write(LogRecordType::kPut, control, in_main.record, in_main.place, key, 0, "",
                     occ::Precondition::kNone);
  if (status.is_ok()) {
    status = ctx.write(LogRecordType::kErase, control, in_main.record, in_main.place, key, 0, "",
                       occ::Precondition::kPresent);
  }
  if (status.is_ok() || status.code() == ErrorCode::kConflict) return status;
  return half_written(ctx, control, key, std::move(status));
}

}  // namespace with_delta

bool delta::make(const Installation& installation) {
  occ::StorageControl* const control = installation.control;
  if (control->made_delta()) {
    control->set_has_delta();
    return true;
  }
  auto delta = std::make_unique<occ::StorageControl>(control->meta, control->database);
  if (!create(installation.pool, installation.pages, delta.get()).is_ok()) return false;
  control->set_delta(std::move(delta));
  control->set_has_delta();
  return true;
}

bool delta::is_empty(const page::PagePool& pool, const occ::StorageControl& control) {
  const page::VolatilePageId root = control.delta->root.load_volatile();
  TreePage* const page = TreePage::of(pool.resolve(root));
  const page::PageVersion version = page->header.load_version();
  if (!page->is_border() || version.is_moved()) return false;
  BorderPage* const border = BorderPage::of(page);
  for (unsigned i = 0; i < version.keys(); ++i) {
    const Slot slot = border->slot(i);
    if (slot.is_layer() || !border->record(slot)->load_tid().is_deleted()) return false;
  }
  return true;
}

}  // namespace foedus::storage::masstree
