#include "foedus-core/storage/masstree/layout/page_check.h"

#include <cstring>

#include "foedus-core/page/overflow_page.h"
#include "foedus-core/storage/masstree/layout/page.h"

namespace foedus::storage::masstree {

namespace {

using page::BrokenRule;
using page::SnapshotPageId;

BrokenRule broken_identity(const TreePage& page) {
  if (page.header.layer >= kLayersMax) return "it is of a layer that no key has";
  if (page.header.flags != 0) return "it has flags";
  if (page.low > page.last) return "its range of slices is none";
  // order: relaxed, a page is checked by its only reader, before others can have it.
  const bool has_twins =
      page.foster_minor.load_relaxed() != 0 || page.foster_major.load_relaxed() != 0;
  return has_twins ? "it has foster twins" : nullptr;
}

BrokenRule broken_key(BorderPage& page, unsigned index) {
  const std::uint64_t slice = page.slice(index);
  const unsigned key_class = page.slot(index).key_class();
  if (!page.contains(slice)) return "a key outside of its range";
  if (key_class < 8 && (slice << (8 * key_class)) != 0) return "a key that is longer than it says";
  if (index == 0) return nullptr;
  const std::uint64_t before = page.slice(index - 1);
  const bool is_behind =
      before < slice || (before == slice && page.slot(index - 1).key_class() < key_class);
  return is_behind ? nullptr : "keys that are not in order";
}

BrokenRule broken_layer(BorderPage& page, Slot slot, Epoch newest) {
  const bool can_be = slot.payload_field() == Slot::kLayer && slot.capacity() == kCapacityMin &&
                      page.header.layer + 1u < kLayersMax;
  if (!can_be) return "a next layer that cannot be";
  if (!page::is_quiet(*page.record(slot), page::Tid::kNextLayer, newest)) {
    return "a next layer with an impossible lock or TID";
  }
  const bool leads_on = page::does_lead_on(page.header, *page.layer_pointer(slot));
  return leads_on ? nullptr : "a next layer that is nowhere";
}

BrokenRule broken_record(BorderPage& page, Slot slot, Epoch newest) {
  if (page.header.layer * std::size_t{8} + slot.key_bytes() > kMaxKeyBytes) {
    return "a key that is longer than a key can be";
  }
  if (slot.is_layer()) return "a next layer that keeps a key";
  if (!page::is_quiet(*page.record(slot), 0, newest)) {
    return "a record with an impossible lock or TID";
  }
  if (!slot.is_snapshot_overflow()) {
    const bool fits = !page::is_overflow(slot.payload_bytes()) &&
                      slot.capacity() == capacity_for(slot.payload_bytes());
    return fits ? nullptr : "a payload that is not of its room";
  }
  if (slot.capacity() != kCapacityMin) return "a payload that is not of its room";
  std::uint64_t chain;
  std::memcpy(&chain, page.payload(slot), sizeof(chain));
  return page::may_lead_to(page.header, SnapshotPageId(chain)) ? nullptr
                                                               : "a payload that is nowhere";
}

}  // namespace

BrokenRule broken_rule(BorderPage& page, Epoch newest) {
  if (page.header.level != 0) return "records above the lowest level";
  if (const BrokenRule rule = broken_identity(page); rule != nullptr) return rule;
  const page::PageVersion version = page.header.load_version();
  const unsigned keys = version.keys();
  if (keys > BorderPage::kKeysMax) return "more keys than a page can have";
  // order: relaxed, a page is checked by its only reader.
  if (page.sorted_keys.load_relaxed() != keys) return "it says that not all keys are sorted";
  const std::uint32_t directory_end = BorderPage::kBodyBegin + BorderPage::directory_bytes(keys);
  std::uint32_t begin = page::kPageBytes;  // of the record before: M42
  unsigned layers = 0;
  for (unsigned i = 0; i < keys; ++i) {
    const Slot slot = page.slot(i);
    const bool is_laid = slot.offset() >= directory_end && slot.offset() % 16 == 0 &&
                         slot.offset() + slot.record_bytes() == begin;
    if (!is_laid) return "a record of an impossible place or length";
    begin = slot.offset();
    if (const BrokenRule rule = broken_key(page, i); rule != nullptr) return rule;
    const bool is_layer = slot.key_bytes() == Slot::kLayerKeyBytes;
    layers += is_layer ? 1 : 0;
    const BrokenRule rule =
        is_layer ? broken_layer(page, slot, newest) : broken_record(page, slot, newest);
    if (rule != nullptr) return rule;
  }
  if (layers != version.layers()) return "it counts other layers than it has";
  return begin == page.heap_begin ? nullptr : "its records do not begin where it says";
}

BrokenRule broken_rule(InteriorPage& page) {
  const unsigned level = page.header.level;
  if (level == 0 || level > kLevelMax) return "a level of no tree";
  if (const BrokenRule rule = broken_identity(page); rule != nullptr) return rule;
  const page::PageVersion version = page.header.load_version();
  const unsigned keys = version.keys();
  if (keys > InteriorPage::kSeparatorsMax || version.layers() != 0) return "too many children";
  std::uint64_t before = page.low;
  for (unsigned i = 0; i <= keys; ++i) {
    if (!page::does_lead_on(page.header, page.child(i))) return "a pointer that leads nowhere";
    if (i == keys) break;
    const std::uint64_t separator = page.separator(i);
    if (separator <= before || separator > page.last) return "separators that are not in order";
    before = separator;
    const bool is_pivot = i % InteriorPage::kGroupSize == InteriorPage::kGroupSize - 1;
    // order: relaxed, a page is checked by its only reader.
    if (is_pivot && page.pivots[i / InteriorPage::kGroupSize].load_relaxed() != separator) {
      return "a pivot that is no separator";
    }
  }
  return nullptr;
}

}  // namespace foedus::storage::masstree
