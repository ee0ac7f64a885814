#include "gleaner/compose/masstree/group.h"

#include <algorithm>
#include <bit>

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

void MasstreeGroup::Entry::set(const MasstreeEntry& entry) {
  FOEDUS_INVARIANT(entry.key_class == key_class, entry.key_class, key_class);
  tid = entry.record.tid;
  remainder.assign(entry.remainder);
  payload.assign(entry.record.payload);
  chain = entry.record.chain;
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

// Returns how many bytes the keys that may still come into this slice can take at most. A slice
// that ends with zeroes has shorter keys, too. A longer key may be replaced by the longest one; a
// layer stays.
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
  return bytes + kLongest - std::min(kLongest, longer.view().heap_bytes());
}

Status MasstreeGroup::settle(const Composition& composition) {
  FOEDUS_INVARIANT(count_ != 0, slice_);
  for (unsigned i = count_; i-- != 0 && heap_bytes() + heap_bytes_of_others() > kRoom;) {
    Entry& entry = entries_[i];
    if (entry.view().capacity() == kCapacityMin) continue;
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

void MasstreeGroup::lay_all(BorderPage* page) const {
  for (unsigned i = 0; i < count_; ++i) lay(slice_, entries_[i].view(), page);
}

}  // namespace foedus::gleaner
