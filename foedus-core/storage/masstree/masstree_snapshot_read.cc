#include "foedus-core/storage/masstree/masstree_snapshot_read.h"

#include <cstring>

#include "foedus-core/base/invariant.h"
#include "foedus-core/occ/overflow.h"
#include "foedus-core/storage/masstree/masstree_find.h"

namespace foedus::storage::masstree {

TreePage* tree_page_in_snapshot(occ::TxnContext& ctx, const occ::StorageControl* control,
                                page::SnapshotPageId id) {
  auto* const header = const_cast<page::PageHeader*>(ctx.cold_page(id));
  if (header == nullptr) return nullptr;
  FOEDUS_INVARIANT(header->storage_id == control->id(), id.word());
  const page::PageKind kind =
      header->level == 0 ? page::PageKind::kMasstreeBorder : page::PageKind::kMasstreeInterior;
  FOEDUS_INVARIANT(header->kind == kind, header->kind, id.word());
  return TreePage::of(header);
}

bool find_in_snapshot(occ::TxnContext& ctx, const occ::StorageControl* control,
                      page::SnapshotPageId id, std::string_view rest, ColdSpot* spot) {
  *spot = {};
  while (!id.is_null()) {
    TreePage* const page = tree_page_in_snapshot(ctx, control, id);
    if (page == nullptr) return false;
    const std::uint64_t slice = slice_of(rest);
    FOEDUS_INVARIANT(page->contains(slice), slice, id.word());
    const unsigned keys = page->header.load_version().keys();
    if (!page->is_border()) {
      InteriorPage* const interior = InteriorPage::of(page);
      id = interior->child(interior->child_of(slice, keys)).load().snapshot_page;
      continue;
    }
    BorderPage* const border = BorderPage::of(page);
    const unsigned index = find_slot(border, 0, keys, slice, class_of(rest.size()));
    if (index == BorderPage::kNone) return true;
    const Slot slot = border->slot(index);
    if (rest.size() > 8 && slot.is_layer()) {
      id = border->layer_pointer(slot)->load().snapshot_page;
      rest.remove_prefix(8);
      continue;
    }
    const bool differs = rest.size() > 8 && border->remainder(slot) != rest.substr(8);
    if (!differs) *spot = {border, index, slot};
    return true;
  }
  return true;
}

bool read_in_snapshot(occ::TxnContext& ctx, BorderPage* page, Slot slot, occ::ReadRange* range) {
  const char* const body = page->payload(slot);
  if (slot.is_snapshot_overflow()) {
    return occ::read_cold_overflow(ctx, occ::load_overflow_id(body), range);
  }
  range->payload_bytes = slot.payload_bytes();
  const std::uint32_t wanted = range->wanted_of(range->payload_bytes);
  if (wanted != 0) std::memcpy(range->out, body + range->offset, wanted);
  return true;
}

Status get_in_snapshot(occ::TxnContext& ctx, occ::StorageControl* control,
                       page::SnapshotPageId root, std::string_view key, occ::ReadRange* range) {
  ColdSpot spot;
  if (!find_in_snapshot(ctx, control, root, key, &spot)) return ctx.no_page(control);
  if (spot.index == BorderPage::kNone) return ErrorCode::kNotFound;
  return read_in_snapshot(ctx, spot.page, spot.slot, range) ? Status() : ctx.no_page(control);
}

}  // namespace foedus::storage::masstree
