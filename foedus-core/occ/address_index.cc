#include "foedus-core/occ/address_index.h"

#include "foedus-core/base/invariant.h"

namespace foedus::occ {

void AddressIndex::set(const void* address, std::uint32_t number) {
  FOEDUS_INVARIANT(number != kNone);
  at(address) = number;
}

void AddressIndex::grow() {
  const auto begin = static_cast<std::size_t>(table_ - slots_.data());
  const std::size_t end = begin + table_mask_ + 1;
  const std::size_t mask = table_mask_ * 2 + 1;
  if (slots_.size() <= end) {
    slots_.resize(end + mask + 1);
    table_ = slots_.data() + begin;
  }
  table_mask_ = mask;
  table_ = slots_.data() + end;
  used_ = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const Slot slot = slots_[i];
    if (slot.generation == generation_) set(slot.address, slot.number);
  }
}

void AddressIndex::forget_all() {
  for (Slot& slot : slots_) slot.generation = 0;
  generation_ = 1;
}

}  // namespace foedus::occ
