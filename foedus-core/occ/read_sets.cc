#include "foedus-core/occ/read_sets.h"

#include <algorithm>

namespace foedus::occ {

void ReadSet::resize(std::size_t room) {
  const std::size_t used = size();
  room_.resize(room);
  next_ = room_.data() + used;
  room_end_ = room_.data() + room;
}

void ReadSet::grow() { resize(std::max(kEntriesMin, 2 * room_.size())); }

bool PointerSet::has(const page::DualPagePointer* pointer, const page::DualPageIds& ids) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const PointerEntry& entry) {
    return entry.pointer == pointer && entry.observed == ids;
  });
}

bool PointerSet::replace(const page::DualPagePointer* pointer, const page::DualPageIds& before,
                         const page::DualPageIds& after) {
  bool some = false;
  for (PointerEntry& entry : entries_) {
    if (entry.pointer != pointer || entry.observed != before) continue;
    entry.observed = after;
    some = true;
  }
  return some;
}

bool PointerSet::remove(const StorageControl* storage, const page::DualPageIds& ids) {
  return std::erase_if(entries_, [&](const PointerEntry& entry) {
           return entry.storage == storage && entry.observed == ids;
         }) != 0;
}

bool PointerSet::remove(const page::DualPagePointer* pointer, const page::DualPageIds& ids) {
  return std::erase_if(entries_, [&](const PointerEntry& entry) {
           return entry.pointer == pointer && entry.observed == ids;
         }) != 0;
}

void PageSet::add(page::PageHeader* page, page::PageVersion observed, StorageControl* storage) {
  if (!entries_.empty() && index_.find(page) != AddressIndex::kNone) return;
  reserve(1);
  index_.set(page, static_cast<std::uint32_t>(entries_.size()));
  entries_.push_back({page, observed.counts(), storage});
}

void PageSet::repoint(PageEntry* entry, page::PageHeader* page, page::PageVersion observed) {
  const auto number = static_cast<std::uint32_t>(entry - entries_.data());
  FOEDUS_INVARIANT(number < entries_.size(), number);
  entry->page = page;
  entry->observed = observed.counts();
  index_.set(page, number);
}

}  // namespace foedus::occ
