#pragma once
// Appends one key to a border page that is being made.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "foedus-core/base/invariant.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "gleaner/compose/masstree/record.h"

namespace foedus::gleaner {

// A key of a page without its slice, and its record or next layer. The entry points to bytes of
// others.
struct MasstreeEntry {
  unsigned key_class = 0;
  std::string_view remainder;  // of the key, after the slice
  MasstreeRecord record;       // for a layer only the TID
  page::SnapshotPageId layer;  // instead of a payload

  // Returns the entry of a record. `rest`: the key from this layer on.
  static MasstreeEntry of(std::string_view rest, const MasstreeRecord& record) {
    return {storage::masstree::class_of(rest.size()),
            rest.substr(std::min<std::size_t>(rest.size(), 8)),
            record,
            {}};
  }

  bool is_layer() const { return !layer.is_null(); }
  std::uint32_t capacity() const {
    return record.chain.is_null() && !is_layer()
               ? storage::masstree::capacity_for(record.payload.size())
               : storage::masstree::kCapacityMin;
  }
  std::uint32_t heap_bytes() const {
    return storage::masstree::footprint(is_layer() ? 0 : remainder.size(), capacity());
  }
  storage::masstree::Slot slot(std::uint32_t offset) const {
    using storage::masstree::Slot;
    if (is_layer()) return Slot(offset, Slot::kLayerKeyBytes, capacity(), Slot::kLayer);
    return Slot(offset, std::min(key_class, 8u) + static_cast<std::uint32_t>(remainder.size()),
                capacity(),
                record.chain.is_null() ? static_cast<std::uint32_t>(record.payload.size())
                                       : Slot::kSnapshotOverflow);
  }
};

// Appends the entry to the page, and counts it. REQUIRES: the page has room, its keys are below
// this one, and it is not shared.
inline void lay(std::uint64_t slice, const MasstreeEntry& entry,
                storage::masstree::BorderPage* page) {
  using Group = storage::masstree::BorderPage::Group;
  const page::PageVersion version = page->header.load_version();
  const unsigned keys = version.keys();
  page->heap_begin -= entry.heap_bytes();
  const storage::masstree::Slot slot = entry.slot(page->heap_begin);
  FOEDUS_INVARIANT(slot.key_class() == entry.key_class, slot.word(), entry.key_class);
  page->group(keys).slices[keys % Group::kKeys] = slice;
  page->slot_word(keys).store_relaxed(slot.word());  // order: relaxed, not shared

  const page::Tid tid = entry.record.tid;
  // order: relaxed, not shared
  page->record(slot)->tid.store_relaxed(
      (entry.is_layer() ? tid.with(page::Tid::kNextLayer) : tid).word());
  if (slot.remainder_bytes() != 0) {
    std::memcpy(page->at(slot.offset()) + sizeof(page::RecordHeader), entry.remainder.data(),
                entry.remainder.size());
  }
  if (entry.is_layer()) {
    page->layer_pointer(slot)->store({page::VolatilePageId(), entry.layer});
    page->header.store_version(version.plus_key().plus_layer());
    return;
  }
  if (!entry.record.chain.is_null()) {
    const std::uint64_t id = entry.record.chain.word();
    std::memcpy(page->payload(slot), &id, sizeof(id));
  } else if (!entry.record.payload.empty()) {
    std::memcpy(page->payload(slot), entry.record.payload.data(), entry.record.payload.size());
  }
  page->header.store_version(version.plus_key());
}

}  // namespace foedus::gleaner
