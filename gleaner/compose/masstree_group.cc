#include "gleaner/compose/masstree_group.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "foedus-core/base/invariant.h"
#include "foedus-core/page/overflow_page.h"
#include "foedus/options.h"

namespace foedus::gleaner {

using page::SnapshotPageId;
using storage::masstree::BorderPage;
using storage::masstree::kCapacityMin;
using storage::masstree::kRemainderClass;
using storage::masstree::Slot;

static_assert(Slot::kSnapshotOverflow == page::kSnapshotOverflowLength);
static_assert(Slot::kOverflow == page::kOverflowLength);

void MasstreeGroup::Entry::set(std::string_view rest, const MasstreeRecord& record) {
  FOEDUS_INVARIANT(storage::masstree::class_of(rest.size()) == key_class, rest, key_class);
  tid = record.tid;
  remainder.assign(rest.substr(std::min<std::size_t>(rest.size(), 8)));
  payload.assign(record.payload);
  chain = record.chain;
}

Slot MasstreeGroup::Entry::slot(std::uint32_t offset, std::uint32_t capacity) const {
  if (!layer.is_null()) return Slot(offset, Slot::kLayerKeyBytes, capacity, Slot::kLayer);
  const auto payload_bytes = static_cast<std::uint32_t>(payload.size());
  return Slot(offset, std::min(key_class, 8u) + static_cast<std::uint32_t>(remainder.size()),
              capacity, chain.is_null() ? payload_bytes : Slot::kSnapshotOverflow);
}

MasstreeGroup::Entry& MasstreeGroup::add(unsigned key_class) {
  FOEDUS_INVARIANT(count_ == 0 || last().key_class < key_class, slice_, key_class);
  Entry& entry = entries_[count_++];
  entry.key_class = key_class;
  entry.tid = page::Tid();
  entry.remainder.clear();
  entry.payload.clear();
  entry.chain = entry.layer = SnapshotPageId();
  return entry;
}

// Of the keys that could come: a slice that ends with zeroes is that of shorter keys, too; and what
// the longer one could have more. A layer stays.
std::uint32_t MasstreeGroup::heap_bytes_of_others() const {
  const auto zero_bytes = static_cast<unsigned>(std::countr_zero(slice_)) / 8;
  unsigned classes = 1u << kRemainderClass;
  for (unsigned c = 8 - zero_bytes; c <= 8; ++c) classes |= 1u << c;
  for (unsigned i = 0; i < count_; ++i) classes &= ~(1u << entries_[i].key_class);
  const unsigned shorter = classes & ~(1u << kRemainderClass);
  std::uint32_t bytes = static_cast<std::uint32_t>(std::popcount(shorter)) *
                        storage::masstree::footprint(0, kCapacityMin);
  if (classes != shorter) return bytes + kLongest;
  const Entry& longer = entries_[count_ - 1];
  if (!longer.layer.is_null()) return bytes;
  return bytes + kLongest - std::min(kLongest, longer.heap_bytes(longer.capacity()));
}

Status MasstreeGroup::settle(const Composition& composition) {
  FOEDUS_INVARIANT(count_ != 0, slice_);
  for (unsigned i = count_; i-- != 0 && heap_bytes() + heap_bytes_of_others() > kRoom;) {
    Entry& entry = entries_[i];
    if (entry.capacity() == kCapacityMin) continue;
    FOEDUS_TRY(entry.chain, write_chain(composition, entry.payload));
  }
  heap_bytes_ = heap_bytes();
  const std::uint32_t others = heap_bytes_of_others();
  FOEDUS_INVARIANT(heap_bytes_ + others <= kRoom, slice_, heap_bytes_, others);
  return {};
}

bool MasstreeGroup::fits(const BorderPage& page) const {
  const unsigned keys = page.header.load_version().keys() + count_;
  return keys <= BorderPage::kKeysMax &&
         BorderPage::kBodyBegin + BorderPage::directory_bytes(keys) + heap_bytes_ <=
             page.heap_begin;
}

void MasstreeGroup::lay(BorderPage* page) const {
  page::PageVersion version = page->header.load_version();
  for (unsigned i = 0; i < count_; ++i) {
    const Entry& entry = entries_[i];
    const bool is_layer = !entry.layer.is_null();
    const unsigned keys = version.keys();
    const std::uint32_t capacity = entry.capacity();
    page->heap_begin -= entry.heap_bytes(capacity);
    const Slot slot = entry.slot(page->heap_begin, capacity);
    FOEDUS_INVARIANT(slot.key_class() == entry.key_class, slot.word(), entry.key_class);
    page->group(keys).slices[keys % BorderPage::Group::kKeys] = slice_;
    page->slot_word(keys).store_relaxed(slot.word());  // order: relaxed, nobody else sees the page

    const page::Tid tid = is_layer ? entry.tid.with(page::Tid::kNextLayer) : entry.tid;
    page->record(slot)->tid.store_relaxed(tid.word());  // order: as above
    const std::string& rest = entry.remainder;
    if (slot.remainder_bytes() != 0) {
      std::memcpy(page->at(slot.offset()) + sizeof(page::RecordHeader), rest.data(), rest.size());
    }
    if (is_layer) {
      page->layer_pointer(slot)->store({page::VolatilePageId(), entry.layer});
      version = version.plus_layer();
    } else if (!entry.chain.is_null()) {
      const std::uint64_t id = entry.chain.word();
      std::memcpy(page->payload(slot), &id, sizeof(id));
    } else if (!entry.payload.empty()) {
      std::memcpy(page->payload(slot), entry.payload.data(), entry.payload.size());
    }
    version = version.plus_key();
  }
  page->header.store_version(version);
}

}  // namespace foedus::gleaner
