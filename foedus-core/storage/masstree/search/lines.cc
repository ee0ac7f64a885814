#include "foedus-core/storage/masstree/search/lines.h"

#include <algorithm>
#include <utility>

#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus-core/storage/masstree/layout/page_check.h"
#include "foedus-core/storage/masstree/search/find.h"

namespace foedus::storage::masstree {

namespace {

using Group = BorderPage::Group;

// Slice and length class of a key, by which the keys of a directory ascend.
using Place = std::pair<std::uint64_t, unsigned>;

Place place_at(BorderPage* page, unsigned index) {
  return {page->slice(index), page->slot(index).key_class()};
}

page::PagePart part_of_group(unsigned group) {
  return {.offset = BorderPage::kBodyBegin + group * static_cast<std::uint32_t>(sizeof(Group)),
          .bytes = sizeof(Group)};
}

unsigned groups_of(unsigned keys) { return (keys + Group::kKeys - 1) / Group::kKeys; }

// Returns the group in which a page of slices low..last has `slice` if its keys are spread evenly.
// REQUIRES: keys != 0.
unsigned likely_group(std::uint64_t low, std::uint64_t last, std::uint64_t slice, unsigned keys) {
  const std::uint64_t span = std::max<std::uint64_t>((last - low) / keys, 1);
  return std::min(static_cast<unsigned>((slice - low) / span), keys - 1) / Group::kKeys;
}

// Looks for a key in the directory, a group at a time. False: a group cannot be loaded.
bool find_slot_in_part(occ::TxnContext& ctx, BorderPage* page, unsigned keys, const Place& wanted,
                       unsigned* index) {
  *index = BorderPage::kNone;
  unsigned begin = 0;
  unsigned end = groups_of(keys);
  if (end == 0) return true;
  unsigned group = likely_group(page->low, page->last, wanted.first, keys);
  for (; begin < end; group = (begin + end) / 2) {
    if (!ctx.cold_pages().load(page, part_of_group(group))) return false;
    const unsigned first = group * Group::kKeys;
    const unsigned last = std::min(first + Group::kKeys, keys) - 1;
    if (wanted < place_at(page, first)) {
      end = group;
    } else if (place_at(page, last) < wanted) {
      begin = group + 1;
    } else {
      for (unsigned i = first; i <= last; ++i) {
        if (place_at(page, i) == wanted) *index = i;
      }
      return true;
    }
  }
  return true;
}

page::PagePart part_of_interior_group(unsigned group) {
  constexpr std::uint32_t kBytes = sizeof(InteriorPage::Group);
  return {.offset = InteriorPage::kGroupsBegin + group * kBytes, .bytes = kBytes};
}

// Finds the child for the slice, and loads its pointer and the separators beside it. The numbers in
// the page may be wrong (O20): a page of more separators than it has room for is refused. False:
// TxnContext::no_page() says why.
bool find_child_in_part(occ::TxnContext& ctx, InteriorPage* page, std::uint64_t slice,
                        unsigned keys, unsigned* child) {
  if (keys > InteriorPage::kSeparatorsMax) {
    ctx.cold_pages().refuse(page::SnapshotPageId(page->header.page_id));
    return false;
  }
  const auto load_group = [&](unsigned index) {
    return ctx.cold_pages().load(page, part_of_interior_group(index / InteriorPage::kGroupSize));
  };
  if (!ctx.cold_pages().load(page, kInteriorInPart)) return false;
  if (!load_group(page->group_of(slice, keys) * InteriorPage::kGroupSize)) return false;
  *child = page->child_of(slice, keys);
  if (*child < keys && !load_group(*child)) return false;
  if (*child != 0) return load_group(*child - 1);
  const auto offset = static_cast<std::uint32_t>(reinterpret_cast<const char*>(&page->child(0)) -
                                                 reinterpret_cast<const char*>(page));
  return ctx.cold_pages().load(page, {.offset = offset, .bytes = sizeof(page::DualPagePointer)});
}

}  // namespace

BorderPage* border_in_part(occ::TxnContext& ctx, const occ::StorageControl* control,
                           InteriorPage* page, std::uint64_t slice) {
  for (;;) {
    const unsigned keys = page->header.load_version().keys();
    unsigned child = 0;
    if (!find_child_in_part(ctx, page, slice, keys, &child)) return nullptr;
    // O14: this page is not looked at any more once the child is asked for.
    const ColdPlace place = ColdPlace::below(*page, child, keys);
    const page::SnapshotPageId id = page->child(child).load().snapshot_page;
    const page::PagePart part =
        page->header.level == 1 ? searched_in_part(ctx, control->id(), place.low, place.last, slice)
                                : kInteriorInPart;
    const page::PageHeader* const read = ctx.cold_pages().page(id, part);
    if (read == nullptr) return nullptr;
    // The child is one level lower: the loop ends.
    if (!place.is_of(*read)) return ctx.cold_pages().refuse(id);
    TreePage* const below = TreePage::of(const_cast<page::PageHeader*>(read));
    if (below->is_border()) return BorderPage::of(below);
    page = InteriorPage::of(below);
  }
}

page::PagePart searched_in_part(occ::TxnContext& ctx, page::StorageId storage, std::uint64_t low,
                                std::uint64_t last, std::uint64_t slice) {
  page::PagePart part = kSearchedInPart;
  const unsigned keys = ctx.cold_pages().keys_guess(storage);
  if (keys != 0) part.lines |= page::lines_of(part_of_group(likely_group(low, last, slice, keys)));
  return part;
}

bool find_in_part(occ::TxnContext& ctx, KeyPosition* position, bool* ends) {
  BorderPage* const page = position->at.page;
  const unsigned keys = position->at.version.keys();
  *ends = true;
  position->differs = false;
  // order: relaxed, all of the page is const.
  if (keys > BorderPage::kKeysMax || page->sorted_keys.load_relaxed() != keys) {
    ctx.cold_pages().refuse(page::SnapshotPageId(page->header.page_id));
    return false;
  }
  ctx.cold_pages().keys_guess(page->header.storage_id) = static_cast<std::uint8_t>(keys);
  const Place wanted(position->slice, class_of(position->rest.size()));
  if (!find_slot_in_part(ctx, page, keys, wanted, &position->index)) return false;
  if (position->index == BorderPage::kNone) return true;
  position->slot = page->slot(position->index);
  if (position->rest.size() <= 8) return true;
  const std::uint32_t payload = position->slot.payload_offset();
  if (position->slot.is_layer()) {
    constexpr std::uint32_t kPointerBytes = sizeof(page::DualPagePointer);
    if (!ctx.cold_pages().load(page, {.offset = payload, .bytes = kPointerBytes})) return false;
    if (payload % alignof(page::DualPagePointer) != 0) {
      ctx.cold_pages().refuse(page::SnapshotPageId(page->header.page_id));
      return false;
    }
    position->layer = {page->layer_pointer(position->slot), page};
    *ends = false;
    return true;
  }
  const std::uint32_t record = position->slot.offset();
  if (!ctx.cold_pages().load(page, {.offset = record, .bytes = payload - record})) return false;
  position->differs = page->remainder(position->slot) != position->rest.substr(8);
  return true;
}

}  // namespace foedus::storage::masstree
