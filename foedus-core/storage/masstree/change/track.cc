// Finds a record again, and tells whether a page gained keys. This takes no lock and needs no key,
// because the old page still has the slice and the remainder of each record (M4).
#include "foedus-core/storage/masstree/change/track.h"

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/system/clock.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus-core/storage/masstree/search/find.h"

namespace foedus::storage::masstree {

namespace {

// Returns the record of `rest` in the layer below `pointer`. Null: there is none.
page::RecordHeader* record_below(page::PagePool& pool, page::DualPagePointer* pointer,
                                 BorderPage* owner, std::string_view rest, std::uint32_t* place) {
  const KeyPosition position = find_below(pool, {pointer, owner}, rest);
  if (position.is_cut_short() || !position.found()) return nullptr;
  *place = position.index;
  return position.record();
}

// Takes one step from a record that is moved, or that became a layer. Null: the record was purged
// or dropped (M23). *is_lost: the last state of the record cannot be found. That is so if the
// record was in a layer, because only the present pages of a layer are found, or in a successor
// that was dropped (Q4). Within this layer the successors are searched one after the other. So a
// record of the key that was made in one of them, and purged from there, is found too.
page::RecordHeader* next_home(page::PagePool& pool, page::RecordHeader* record, page::Tid tid,
                              std::uint32_t* place, bool* is_lost) {
  BorderPage* const page = BorderPage::of_record(record);
  const unsigned index = page->index_of(record, page->header.load_version().keys());
  FOEDUS_INVARIANT(index != BorderPage::kNone, record, page->header.page_id);
  Slot slot = page->slot(index);
  *is_lost = !tid.is_moved();
  // A record that was a layer when it moved has both flags, and is followed as a moved one.
  if (*is_lost) {
    slot = wait_for_layer(page, index);
    return record_below(pool, page->layer_pointer(slot), page, page->remainder(slot), place);
  }
  const std::uint64_t slice = page->slice(index);
  // order: acquire, as in twin_of(); the words are set before the flag that was seen.
  if (page->foster_minor.load_acquire() == 0) return nullptr;  // M23
  for (BorderPage* at = page;;) {
    at = BorderPage::of(twin_of(pool, at, slice));
    const page::PageVersion version = at->header.load_version();
    *is_lost = version.is_gone() && !version.is_moved();  // Q4
    if (*is_lost) return nullptr;
    const unsigned there = find_slot(at, 0, version.keys(), slice, slot.key_class());
    if (there != BorderPage::kNone) {
      const Slot found = at->slot(there);
      const std::string_view remainder = page->remainder(slot);
      *is_lost = found.is_layer();
      if (*is_lost) return record_below(pool, at->layer_pointer(found), at, remainder, place);
      *place = there;
      if (at->remainder(found) == remainder) return at->record(found);
    }
    if (!version.is_moved()) return nullptr;
  }
}

}  // namespace

bool track_moved(page::PagePool& pool, occ::StorageControl*, page::RecordHeader* record,
                 page::RecordHeader** to, std::uint32_t* place) {
  for (;;) {
    const page::Tid tid = record->load_tid();
    if (!tid.is_moved() && !tid.is_next_layer()) break;
    bool is_lost = false;
    page::RecordHeader* const next = next_home(pool, record, tid, place, &is_lost);
    if (next == nullptr) {
      *to = is_lost ? nullptr : record;
      return false;
    }
    record = next;
  }
  *to = record;
  return true;
}

BorderPage* layer_anchor_of(page::PagePool& pool, BorderPage* page, Slot slot) {
  TreePage* const root = root_page(pool, {page->layer_pointer(slot), page});
  if (root == nullptr || !root->is_border()) return nullptr;
  BorderPage* const border = BorderPage::of(root);
  return border->is_layer_anchor() ? border : nullptr;
}

bool is_unchanged(page::PagePool& pool, BorderPage* page, page::PageVersion observed) {
  const page::PageVersion now = page->header.load_version();
  if (now.keys() != observed.keys() || now.is_dropped()) return false;
  if (now.layers() != observed.layers()) {
    for (unsigned i = 0; i < now.keys(); ++i) {
      const Slot slot = page->slot(i);
      if (!slot.is_layer() || slot.layer_ordinal() <= observed.layers()) continue;
      BorderPage* const root = layer_anchor_of(pool, page, slot);
      if (root == nullptr || !is_unchanged(pool, root, root->birth())) return false;
    }
  }
  if (!now.is_moved()) return true;
  BorderPage* const minor = BorderPage::of(twin_of(pool, page, page->low));
  BorderPage* const major = BorderPage::of(twin_of(pool, page, page->last));
  return is_unchanged(pool, minor, minor->birth()) &&
         (major == minor || is_unchanged(pool, major, major->birth()));
}

namespace {

// Looks for the pointer of `entry` among those of a page that was seen neither moved nor dropped,
// with `keys` keys. kInstalled: it is not the same, or is not found while shifts hide it.
occ::PointerState look_in(TreePage* page, unsigned keys, const occ::PointerEntry& entry) {
  const auto is_same = [&entry](page::DualPagePointer* pointer) {
    return pointer->load() == entry.observed;
  };
  if (page->is_border()) {
    BorderPage* const border = BorderPage::of(page);
    const unsigned index = find_slot(border, 0, keys, entry.place, kRemainderClass);
    if (index == BorderPage::kNone) return occ::PointerState::kInstalled;
    const Slot slot = border->slot(index);
    const bool same = slot.is_layer() && is_same(border->layer_pointer(slot));
    return same ? occ::PointerState::kSame : occ::PointerState::kInstalled;
  }
  InteriorPage* const interior = InteriorPage::of(page);
  const unsigned at = interior->child_of(entry.place, keys);
  for (const unsigned i : {at, at + 1, at - 1}) {
    if (i <= keys && is_same(&interior->child(i))) return occ::PointerState::kSame;
  }
  return occ::PointerState::kInstalled;
}

// The number of looks for a pointer in a page where shifts may hide it, or seem to show it. Holders
// of an interior page's lock are quick, and wait for no session that commits. They may have no
// processor, so the last looks sleep in between. These are only a few, because the commit holds the
// epoch clock back meanwhile.
constexpr unsigned kShiftTries = occ::kTriesLong;

}  // namespace

// Looks for the followed pointer (M20). It never takes a changed pointer for unchanged, for this
// reason. Only an install matters that comes before this transaction in the serial order. It was
// made under the lock of the page that had the pointer then, and before this transaction's
// serialization point, so before the loads below. All moves before it were so, too. Let the page at
// which this look ends be unmoved. Then that page had the pointer at the install, or took it over
// afterwards with the new value. No session stores the old value into it again. A drop of the new
// page leaves another snapshot page in the pointer, or the same one if nothing in it has changed.
//
// Shifts leave copies of pointers behind, but this look cannot meet an old one. Each place up to
// the count that was seen was written after the install, or was right at it: the count is stored
// last when it grows, and a place beyond it is written before it is counted again.
//
// But a pointer is shifted in two stores, one for each half. So in the place of a snapshot-resident
// neighbour, the snapshot half of the installed pointer may stand beside the neighbour's null
// volatile half for a moment. Therefore a look at an interior page counts only if no shift was
// under way. Adoptions raise the number of keys, merges lower it and are counted themselves, and a
// session that shifts holds the lock.
occ::PointerState look_again(page::PagePool& pool, const occ::PointerEntry& entry) {
  if (entry.holder == nullptr) return occ::look_in_place(entry);
  base::SpinWait spin;
  TreePage* page = TreePage::of(entry.holder);
  for (unsigned tries = 0;;) {
    const page::PageVersion version = page->header.load_version();
    if (version.is_moved()) {
      page = twin_of(pool, page, entry.place);
      continue;
    }
    if (version.is_dropped()) return occ::PointerState::kDropped;
    // A root with one child has given way to that child, which is volatile.
    if (page->header.level != entry.holder->level) return occ::PointerState::kInstalled;
    const occ::PointerState look = look_in(page, version.keys(), entry);
    if (page->is_border()) return look;
    // order: acquire. A shifting session holds the lock, and counts before it releases it. So a
    // reader that has seen half of a shift here sees the lock held, or the new count.
    const bool is_quiet =
        !occ::is_held(page->header.lock.load_acquire()) && page->header.load_version() == version;
    if (is_quiet) return look;
    if (++tries == kShiftTries) return occ::PointerState::kInstalled;
    spin.once();
  }
}

bool page_still_holds(page::PagePool& pool, const occ::PageEntry& entry) {
  return is_unchanged(pool, BorderPage::of(entry.page), entry.observed);
}

}  // namespace foedus::storage::masstree
