#include "gleaner/compose/masstree_old_page.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "foedus-core/page/overflow_page.h"
#include "foedus/options.h"

namespace foedus::gleaner {

using page::SnapshotPageId;
using storage::masstree::BorderPage;
using storage::masstree::InteriorPage;
using storage::masstree::kCapacityMin;
using storage::masstree::Slot;
using storage::masstree::TreePage;

namespace {

// Whether the slot and all that it names lies in the page's heap.
bool is_slot_good(BorderPage* page, Slot slot) {
  if (slot.offset() < page->heap_begin || slot.offset() % 16 != 0) return false;
  if (slot.offset() + slot.record_bytes() > page::kPageBytes) return false;
  if (slot.capacity() < kCapacityMin) return false;
  const page::Tid tid = page->record(slot)->load_tid();
  if (tid.is_next_layer() != slot.is_layer()) return false;
  if (tid.without(page::Tid::kNextLayer).word() % (page::Tid::kFlags + 1) != 0) return false;
  if (slot.is_layer()) {
    return slot.key_bytes() == Slot::kLayerKeyBytes &&
           !page->layer_pointer(slot)->load().snapshot_page.is_null();
  }
  if (slot.key_bytes() > kMaxKeyBytes) return false;
  if (slot.is_snapshot_overflow()) return !old_record(page, slot).chain.is_null();
  return slot.payload_bytes() <= std::min(slot.capacity(), page::kInlinePayloadBytesMax);
}

bool is_border_good(BorderPage* page) {
  const page::PageVersion version = page->header.load_version();
  const unsigned keys = version.keys();
  if (keys > BorderPage::kKeysMax) return false;
  if (page->heap_begin > page::kPageBytes) return false;
  if (page->heap_begin < BorderPage::kBodyBegin + BorderPage::directory_bytes(keys)) return false;
  for (unsigned i = 0; i < keys; ++i) {
    const Slot slot = page->slot(i);
    if (!page->contains(page->slice(i)) || !is_slot_good(page, slot)) return false;
    if (i == 0 || page->slice(i - 1) < page->slice(i)) continue;
    if (page->slice(i - 1) > page->slice(i)) return false;
    if (page->slot(i - 1).key_class() >= slot.key_class()) return false;
  }
  return true;
}

bool is_interior_good(InteriorPage* page) {
  const unsigned keys = page->header.load_version().keys();
  if (keys > InteriorPage::kSeparatorsMax) return false;
  std::uint64_t low = page->low;
  for (unsigned i = 0; i <= keys; ++i) {
    if (page->child(i).load().snapshot_page.is_null()) return false;
    if (i == keys) break;
    if (page->separator(i) <= low || page->separator(i) > page->last) return false;
    low = page->separator(i);
  }
  return true;
}

bool is_page_good(const Composition& composition, const Subtree& expected, std::uint8_t layer,
                  PageBlock* block) {
  TreePage* const page = TreePage::of(block->header());
  const page::PageHeader& header = page->header;
  const page::PageKind kind = header.level == 0 ? page::PageKind::kMasstreeBorder
                                                : page::PageKind::kMasstreeInterior;
  if (header.kind != kind || header.storage_id != composition.meta->id) return false;
  if (expected.level != kAnyLevel && header.level != expected.level) return false;
  if (header.layer != layer) return false;
  if (page->low != expected.range.begin || page->last != expected.range.last) return false;
  return header.level == 0 ? is_border_good(BorderPage::of(page))
                           : is_interior_good(InteriorPage::of(page));
}

}  // namespace

MasstreeRecord old_record(BorderPage* page, Slot slot) {
  MasstreeRecord record;
  record.tid = page->record(slot)->load_tid();
  if (slot.is_snapshot_overflow()) {
    std::uint64_t id;
    std::memcpy(&id, page->payload(slot), sizeof(id));
    record.chain = SnapshotPageId(id);
  } else {
    record.payload = {page->payload(slot), slot.payload_bytes()};
  }
  return record;
}

Subtree child_of(InteriorPage* page, unsigned index) {
  const unsigned keys = page->header.load_version().keys();
  const std::uint64_t begin = index == 0 ? page->low : page->separator(index - 1);
  const std::uint64_t last = index == keys ? page->last : page->separator(index) - 1;
  return {{begin, last}, page->child(index).load().snapshot_page, page->header.level - 1u};
}

Status read_old_page(const Composition& composition, const Subtree& page, std::uint8_t layer,
                     PageBlock* to) {
  FOEDUS_CHECK(composition.previous->read(page.page, to->header()));
  if (is_page_good(composition, page, layer, to)) return {};
  return masstree_corruption(composition, {},
                             "snapshot page " + std::to_string(page.page.word()) +
                                 " is not the page that the pointer to it is for");
}

}  // namespace foedus::gleaner
