#pragma once
// AddressIndex: the numbers that the sets of a transaction give to records and pages.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "foedus-core/base/line_allocator.h"

namespace foedus::occ {

inline constexpr std::size_t kEntriesMin = 64;  // least entries to which an array of a set grows

// Bytes that an array may keep between two transactions.
inline constexpr std::size_t kKeptBytesMax = 1u << 20;

// Maps the address of a record or page to the number of its entry, below 2^32. Lookup and clear are
// O(1). After each clear() the index begins with its smallest table. It grows by a table of twice
// the size, which follows the last one in slots_. So a small transaction after a large one uses
// little memory again, which stays in the processor's cache.
class AddressIndex {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  explicit AddressIndex(base::MemorySource* source = nullptr)
      : slots_(kSlotsMin, base::LineAllocator<Slot>(source)), table_(slots_.data()) {}
  AddressIndex(const AddressIndex&) = delete;
  AddressIndex& operator=(const AddressIndex&) = delete;

  // Returns the number of `address`, or kNone.
  std::uint32_t find(const void* address) const {
    for (std::size_t i = home_of(address);; i = (i + 1) & table_mask_) {
      const Slot& slot = table_[i];
      if (slot.generation != generation_) return kNone;
      if (slot.address == address) return slot.number;
    }
  }
  // Returns a reference to the number of `address`. If the number is kNone, `address` had none, and
  // the caller has to store one by the reference.
  std::uint32_t& at(const void* address) {
    if ((used_ + 1) * 2 > table_mask_ + 1) [[unlikely]]
      grow();
    for (std::size_t i = home_of(address);; i = (i + 1) & table_mask_) {
      Slot& slot = table_[i];
      if (slot.generation != generation_) {
        slot = {address, kNone, generation_};
        ++used_;
        return slot.number;
      }
      if (slot.address == address) return slot.number;
    }
  }
  // Sets the number of `address`, and replaces an earlier one.
  void set(const void* address, std::uint32_t number);
  // Returns how many more addresses can be set without allocation.
  std::size_t room() const { return (table_mask_ + 1) / 2 - used_; }
  // Makes room: `count` more addresses can be set without allocation.
  void reserve(std::size_t count) {
    while ((used_ + count) * 2 > table_mask_ + 1) grow();
  }
  void clear() {
    if (used_ == 0 && table_mask_ == kSlotsMin - 1) return;
    used_ = 0;
    if (slots_.size() * sizeof(Slot) > kKeptBytesMax) [[unlikely]] {
      slots_.resize(kSlotsMin);
      slots_.shrink_to_fit();
    }
    table_ = slots_.data();
    table_mask_ = kSlotsMin - 1;
    if (++generation_ == 0) forget_all();
  }
  bool is_empty() const { return used_ == 0; }

 private:
  static constexpr std::size_t kSlotsMin = 512;
  struct Slot {
    const void* address = nullptr;
    std::uint32_t number = 0;
    std::uint32_t generation = 0;
  };

  std::size_t home_of(const void* address) const {
    // Records are at least 16 bytes apart; the multiplication spreads the remaining bits.
    const std::uint64_t word = reinterpret_cast<std::uint64_t>(address) >> 4;
    return (word * 0x9e3779b97f4a7c15u) >> 32 & table_mask_;
  }
  void grow();
  void forget_all();

  base::LineVector<Slot> slots_;
  Slot* table_;                             // the table in use: part of slots_, at most half full
  std::size_t table_mask_ = kSlotsMin - 1;  // number of its slots, a power of two, less 1
  std::uint32_t generation_ = 1;
  std::size_t used_ = 0;
};

}  // namespace foedus::occ
