// Finding a record again, and telling whether a page gained keys, without locks and without the
// key: from what the old page still says (M4).
#include "foedus-core/base/invariant.h"
#include "foedus-core/storage/masstree/masstree_change.h"
#include "foedus-core/storage/masstree/masstree_storage.h"

namespace foedus::storage::masstree {

namespace {

// The record of `rest` in the layer below `pointer`. Null: there is none.
page::RecordHeader* record_below(page::PagePool& pool, page::DualPagePointer* pointer,
                               BorderPage* owner, std::string_view rest, std::uint32_t* place) {
  const Spot spot = find_below(pool, {pointer, owner}, rest);
  if (!spot.found()) return nullptr;
  *place = spot.index;
  return spot.record();
}

// One step from a record that is moved or a layer. Null: it was purged.
page::RecordHeader* next_home(page::PagePool& pool, page::RecordHeader* record, page::Tid tid,
                              std::uint32_t* place) {
  BorderPage* const page = BorderPage::of_record(record);
  const unsigned index = page->index_of(record, page->header.load_version().keys());
  FOEDUS_INVARIANT(index != BorderPage::kNone, record, page->header.page_id);
  Slot slot = page->slot(index);
  // The flags are of one word: a record that was a layer when it moved has both.
  if (!tid.is_moved()) {
    slot = wait_for_layer(page, index);
    return record_below(pool, page->layer_pointer(slot), page, page->remainder(slot), place);
  }
  const std::uint64_t slice = page->slice(index);
  const Landing at = find_border(pool, twin_of(pool, page, slice), slice);
  const unsigned there = find_slot(at.page, 0, at.version.keys(), slice, slot.key_class());
  if (there == BorderPage::kNone) return nullptr;
  const Slot found = at.page->slot(there);
  if (slot.key_class() == kRemainderClass) {
    const std::string_view remainder = page->remainder(slot);
    if (found.is_layer()) {
      return record_below(pool, at.page->layer_pointer(found), at.page, remainder, place);
    }
    if (at.page->remainder(found) != remainder) return nullptr;
  }
  *place = there;
  return at.page->record(found);
}

}  // namespace

bool track_moved(page::PagePool& pool, occ::StorageControl*, page::RecordHeader* record,
                 page::RecordHeader** to, std::uint32_t* place) {
  for (;;) {
    const page::Tid tid = record->load_tid();
    if (!tid.is_moved() && !tid.is_next_layer()) break;
    record = next_home(pool, record, tid, place);
    if (record == nullptr) return false;
  }
  *to = record;
  return true;
}

BorderPage* founder_of(page::PagePool& pool, BorderPage* page, Slot slot) {
  TreePage* const root =
      TreePage::of(pool.resolve(page->layer_pointer(slot)->load_volatile()));
  if (!root->is_border()) return nullptr;
  BorderPage* const border = BorderPage::of(root);
  return border->is_founder() ? border : nullptr;
}

bool is_unchanged(page::PagePool& pool, BorderPage* page, page::PageVersion observed) {
  const page::PageVersion now = page->header.load_version();
  if (now.keys() != observed.keys()) return false;
  if (now.layers() != observed.layers()) {
    for (unsigned i = 0; i < now.keys(); ++i) {
      const Slot slot = page->slot(i);
      if (!slot.is_layer() || slot.layer_ordinal() <= observed.layers()) continue;
      BorderPage* const root = founder_of(pool, page, slot);
      if (root == nullptr || !is_unchanged(pool, root, root->birth())) return false;
    }
  }
  if (!now.is_moved()) return true;
  BorderPage* const minor = BorderPage::of(twin_of(pool, page, page->low));
  BorderPage* const major = BorderPage::of(twin_of(pool, page, page->last));
  return is_unchanged(pool, minor, minor->birth()) &&
         (major == minor || is_unchanged(pool, major, major->birth()));
}

bool page_still_holds(page::PagePool& pool, const occ::PageEntry& entry) {
  return is_unchanged(pool, BorderPage::of(entry.page), entry.observed);
}

}  // namespace foedus::storage::masstree
