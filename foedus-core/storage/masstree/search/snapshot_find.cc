#include "foedus-core/storage/masstree/search/snapshot_find.h"

#include <cstring>

#include "foedus-core/storage/base/overflow.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus-core/storage/masstree/layout/page_check.h"
#include "foedus-core/storage/masstree/search/find.h"
#include "foedus-core/storage/masstree/search/lines.h"

namespace foedus::storage::masstree {

BorderPage* cold_border(occ::TxnContext& ctx, const occ::StorageControl* control, unsigned layer,
                        page::SnapshotPageId id, std::uint64_t slice, Extent extent, ColdTop* top) {
  // This may be a border page.
  const page::PagePart first = extent == Extent::kPart ? kSearchedInPart : kSearched;
  const page::PageHeader* read = ctx.cold_pages().page(id, first);
  if (read == nullptr) return nullptr;
  if (read->level != 0 && ctx.cold_pages().is_in_part(read)) {
    if (ctx.cold_pages().reads_interior_in_part()) {
      InteriorPage* const interior = InteriorPage::of(tree_page(read));
      if (!is_page_of(*read, control->id(), layer, read->level) || !interior->contains(slice)) {
        return ctx.cold_pages().refuse(id);
      }
      *top = {id, interior->low, interior->last};
      ctx.cold_pages().expect(id, kInteriorInPart.lines);  // the next search waits once less
      return border_in_part(ctx, control, interior, slice);
    }
    read = ctx.cold_pages().page(id, kSearched);
    if (read == nullptr) return nullptr;
  }
  TreePage* page = tree_page(read);
  // The caller checks the fences of this page by the pointer that led here.
  if (!is_page_of(*read, control->id(), layer, read->level) || !page->contains(slice)) {
    return ctx.cold_pages().refuse(id);
  }
  *top = {id, page->low, page->last};
  while (!page->is_border()) {
    InteriorPage* const above = InteriorPage::of(page);
    const unsigned keys = read->load_version().keys();
    const unsigned child = above->child_of(slice, keys);
    const ColdPlace place = ColdPlace::below(*above, child, keys);
    id = above->child(child).load().snapshot_page;
    const bool in_part = above->header.level == 1 && extent == Extent::kPart;
    const page::PagePart part =
        in_part ? searched_in_part(ctx, control->id(), place.low, place.last, slice) : kSearched;
    read = ctx.cold_pages().child(&above->child(child), part);
    if (read == nullptr) return nullptr;
    if (!place.is_of(*read)) return ctx.cold_pages().refuse(id);
    page = tree_page(read);
  }
  return BorderPage::of(page);
}

InteriorPage* cold_parent(occ::TxnContext& ctx, const occ::StorageControl* control, unsigned layer,
                          page::SnapshotPageId id, std::uint64_t slice) {
  constexpr unsigned kAnyLevel = ~0u;
  for (unsigned level = kAnyLevel;;) {
    const page::PageHeader* const read = ctx.cold_pages().cached(id);
    if (read == nullptr) return nullptr;
    // The page may have been read ahead alone, and be a wrong one: the search that comes to it
    // reports that.
    if (level == kAnyLevel) level = read->level;
    if (level == 0 || !is_page_of(*read, control->id(), layer, level)) return nullptr;
    InteriorPage* const interior = InteriorPage::of(tree_page(read));
    if (level == 1) return interior;
    id = interior->child(interior->child_of(slice, read->load_version().keys()))
             .load()
             .snapshot_page;
    --level;
  }
}

bool find_in_snapshot(occ::TxnContext& ctx, const occ::StorageControl* control, unsigned layer,
                      page::SnapshotPageId id, std::string_view rest, Extent extent,
                      KeyPosition* position, ColdTop* top) {
  position->rest = rest;
  for (;; ++layer) {
    position->slice = slice_of(position->rest);
    BorderPage* const page = cold_border(ctx, control, layer, id, position->slice, extent, top);
    if (page == nullptr) return false;
    position->at = {page, page->header.load_version()};
    position->at.is_cold = true;
    bool ends = true;
    if (!ctx.cold_pages().is_in_part(&page->header)) [[likely]] {
      ends = find_in_page(position);
    } else if (!find_in_part(ctx, position, &ends)) {
      return false;
    }
    if (ends) return true;
    id = position->layer.pointer->load().snapshot_page;
    position->rest.remove_prefix(8);
  }
}

bool read_cold(occ::TxnContext& ctx, BorderPage* page, Slot slot, occ::ReadRange* range) {
  const char* const body = page->payload(slot);
  const std::uint32_t begin = slot.payload_offset();
  if (slot.is_chain()) {
    if (!ctx.cold_pages().load(page, {.offset = begin, .bytes = page::kPayloadRoomBytesMin}))
      return false;
    const page::StorageId storage = page->header.storage_id;
    return read_cold_overflow(ctx, storage, load_overflow_id(body), range);
  }
  range->payload_bytes = slot.payload_bytes();
  const std::uint32_t wanted = range->wanted_of(slot.payload_bytes());
  if (wanted == 0) return true;
  if (!ctx.cold_pages().load(page, {.offset = begin + range->offset, .bytes = wanted}))
    return false;
  std::memcpy(range->out, body + range->offset, wanted);
  return true;
}

}  // namespace foedus::storage::masstree
