#include "foedus-core/storage/masstree/masstree_find.h"

#include "foedus-core/base/clock.h"
#include "foedus-core/base/invariant.h"
#include "foedus-core/occ/overflow.h"

namespace foedus::storage::masstree {

namespace {

// Loads the lines of a child that a search needs, all at once: one after the other each would be a
// miss of its own. Of a border page that is all slices, of an interior one where the search begins.
void prefetch_child(const InteriorPage* parent, const TreePage* child) {
  if (parent->header.level == 1) {
    base::prefetch_lines(child, BorderPage::kHeapBegin);
  } else {
    base::prefetch_lines(child, 128);
    base::prefetch_line(reinterpret_cast<const char*>(child) + sizeof(InteriorPage) / 6);
  }
}

}  // namespace

TreePage* child_for(page::PagePool& pool, InteriorPage* page, unsigned keys, std::uint64_t slice) {
  const unsigned i = page->child_of(slice, keys);
  TreePage* child = TreePage::of(pool.resolve(page->children[i].load_volatile()));
  prefetch_child(page, child);
  if (child->contains(slice)) [[likely]] return child;
  // Separators shift to the right, so it is the next one, if an adoption was not faster still.
  // Behind the last one there is a child, too: else that one were where it was when it was counted.
  if (slice < child->low || i == InteriorPage::kSeparatorsMax) return nullptr;
  child = TreePage::of(pool.resolve(page->children[i + 1].load_volatile()));
  return child->contains(slice) ? child : nullptr;
}

Landing find_border(page::PagePool& pool, TreePage* from, std::uint64_t slice) {
  TreePage* page = from;
  InteriorPage* parent = nullptr;
  FOEDUS_INVARIANT(page->contains(slice), slice, page->low, page->last);
  for (;;) {
    const page::PageVersion version = page->header.load_version();
    if (version.is_moved()) [[unlikely]] {
      page = twin_of(pool, page, slice);
      continue;
    }
    if (page->is_border()) return {BorderPage::of(page), version, parent};
    InteriorPage* const interior = InteriorPage::of(page);
    TreePage* const child = child_for(pool, interior, version.keys(), slice);
    if (child == nullptr) [[unlikely]] continue;  // look again, in this page (M1)
    parent = interior;
    page = child;
  }
}

unsigned find_slot(BorderPage* page, unsigned begin, unsigned keys, std::uint64_t slice,
                   unsigned key_class) {
  const auto matches = [&](unsigned i) {
    return page->slices[i] == slice && page->slot(i).key_class() == key_class;
  };
  // order: relaxed, at least as new as the count, and it only grows.
  const unsigned sorted = std::min(keys, page->sorted_keys.load_relaxed());
  if (begin < sorted) {
    const std::uint64_t* low = page->slices + begin;
    for (unsigned count = sorted - begin; count > 1;) {
      const unsigned half = count / 2;
      low = low[half - 1] < slice ? low + half : low;
      count -= half;
    }
    auto i = static_cast<unsigned>(low - page->slices);
    if (*low < slice) ++i;
    for (; i < sorted && page->slices[i] == slice; ++i) {
      if (matches(i)) return i;
    }
    begin = sorted;
  }
  for (unsigned i = begin; i < keys; ++i) {
    if (page->slices[i] == slice && matches(i)) return i;
  }
  return BorderPage::kNone;
}

bool find_in_page(Spot* spot) {
  BorderPage* const page = spot->at.page;
  spot->differs = false;
  spot->index =
      find_slot(page, 0, spot->at.version.keys(), spot->slice, class_of(spot->rest.size()));
  if (spot->index == BorderPage::kNone) return true;
  spot->slot = page->slot(spot->index);
  if (spot->rest.size() <= 8) return true;
  if (spot->slot.is_layer()) {
    spot->layer = {page->layer_pointer(spot->slot), page};
    return false;
  }
  spot->differs = page->remainder(spot->slot) != spot->rest.substr(8);
  return true;
}

Spot find(page::PagePool& pool, occ::StorageControl* control, std::string_view key) {
  Spot spot;
  spot.layer = {&control->root, nullptr};
  spot.rest = key;
  for (;;) {
    spot.slice = slice_of(spot.rest);
    spot.at = find_border(pool, root_page(pool, spot.layer), spot.slice);
    base::prefetch_line(&spot.at.page->slot_word(0));
    if (find_in_page(&spot)) return spot;
    spot.rest.remove_prefix(8);
  }
}

occ::Found read_at(occ::TxnContext& ctx, occ::StorageControl* control, page::RecordHeader* record,
                   std::uint32_t place, occ::ReadRange* range) {
  BorderPage* const page = BorderPage::of_record(record);
  const Slot slot = page->slot(place);
  return occ::read_payload(ctx, control, record, page->payload(slot), range,
                           [page, place] { return page->slot(place).payload_bytes(); });
}

Slot wait_for_layer(BorderPage* page, unsigned index) {
  base::SpinWait spin;
  for (;;) {
    const Slot slot = page->slot(index);
    if (slot.is_layer()) return slot;
    spin.once();
  }
}

}  // namespace foedus::storage::masstree
