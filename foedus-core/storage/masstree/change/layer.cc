// A second key with the same slice: the record becomes the root of the next layer (M7).
#include "foedus-core/storage/masstree/change/layer.h"

#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/occ/record_lock.h"
#include "foedus-core/storage/masstree/change/change.h"
#include "foedus-core/storage/masstree/change/make.h"
#include "foedus-core/storage/masstree/change/move.h"
#include "foedus-core/storage/masstree/change/own.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus-core/storage/masstree/search/find.h"
#include "foedus-core/storage/moves/after_marks.h"

namespace foedus::storage::masstree {

namespace {

// Makes the page of the new layer. It gets the old record alone, its remainder shortened by this
// layer's slice.
BorderPage* make_layer_page(occ::TxnContext& ctx, occ::StorageControl* control) {
  BorderPage* const page = make_border(ctx.pool(), ctx.pages(), control, 0);
  if (page != nullptr) page->header.flags = BorderPage::kLayerAnchor;
  return page;
}

void found_layer(BorderPage* from, Slot slot, page::Tid tid, BorderPage* to) {
  const std::string_view rest = from->remainder(slot);
  NewRecord record;
  record.slice = slice_of(rest);
  record.key_bytes = static_cast<std::uint32_t>(rest.size());
  if (rest.size() > 8) record.remainder = rest.substr(8);
  record.capacity = slot.capacity();
  record.tid = tid;
  record.payload_field = slot.payload_field();
  const Slot copied = lay_record(to, 0, record);
  copy_payload(from, slot, to, copied);
  to->header.layer = static_cast<std::uint8_t>(from->header.layer + 1);
  to->header.purged_tid = from->header.purged_tid;
  to->header.last_soc.store_relaxed(from->header.last_soc.load_relaxed());  // order: statistics
  const page::PageVersion birth(1, 0);
  to->header.birth_version = birth.word();
  to->header.store_version(birth);
}

// Turns the record into a layer (M7). REQUIRES: the locks of page and record.
void become_layer(BorderPage* page, unsigned index, Slot slot, page::Tid tid, BorderPage* root) {
  page::RecordHeader* const record = page->record(slot);
  const page::PageVersion version = page->header.load_version();
  give_birth(root, moves::kNotBorn);
  // order: release, then the writer's fence. A reader in the middle of its copy sees the flag in
  // its second look if it sees any of the bytes that follow.
  record->tid.store_release(tid.with(page::Tid::kNextLayer).word());
  base::fence_writer();
  FOEDUS_SYNC_POINT("masstree:layer_record_marked");
  page->layer_pointer(slot)->store({root->header.volatile_id(), page::SnapshotPageId()});
  const std::uint32_t ordinal = version.layers() + 1;
  // order: release, pairs with slot(): the pointer is there.
  page->slot_word(index).store_release(slot.with_payload(Slot::kLayer | ordinal).word());
}

}  // namespace

Change add_layer(occ::TxnContext& ctx, occ::StorageControl* control, const KeyPosition& position) {
  ctx.reserve_moves(1);
  BorderPage* const root = make_layer_page(ctx, control);
  if (root == nullptr) return Change::kNoPage;
  BorderPage* const page = position.at.page;
  occ::LockGuard guard(&page->header.lock);
  const page::PageVersion before = page->header.load_version();
  const Slot slot = page->slot(position.index);
  Change closed;
  if (is_closed(before, &closed) || slot.is_layer()) {
    discard(ctx, control, root);
    return closed;
  }
  page::RecordHeader* const record = page->record(slot);
  occ::LockWaiter waiter;
  const bool held = ctx.locks().holds(record);
  if (!held && !occ::try_lock_for(&record->lock, &waiter, occ::kTriesLong)) {
    discard(ctx, control, root);
    return Change::kBusy;
  }
  FOEDUS_SYNC_POINT("masstree:layer_locked");
  // The record's payload bytes are settled under its lock (M6).
  const Slot settled = page->slot(position.index);
  const page::Tid tid = record->load_tid();
  found_layer(page, settled, tid, root);
  occ::LockWaiter* const holder = move_own(ctx, record, root->record(0u), 0);
  {
    const occ::LockGuard uncounted(&root->header.lock);  // Q5
    become_layer(page, position.index, settled, tid, root);
    FOEDUS_SYNC_POINT("masstree:layer_marked");
    // Own entries of this page stay as they are: is_unchanged() finds the layer at its birth.
    page->header.store_version(before.plus_layer());
    // Q1: the slot says that it is a layer, and the count that it has come.
    give_birth(root, moves::birth_now(ctx, may_hide_own(ctx, page)));
  }
  occ::unlock(&record->lock, held ? holder : &waiter);
  control->layers.fetch_add_relaxed(1);  // order: a statistic
  return Change::kDone;
}

}  // namespace foedus::storage::masstree
