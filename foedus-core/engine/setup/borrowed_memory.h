#pragma once
// BorrowedMemory: bytes that are taken off the bound of volatile pages until the object is
// destroyed or gives them back (E29).

#include <algorithm>
#include <cstdint>
#include <utility>

#include "foedus-core/base/invariant.h"
#include "foedus-core/engine/setup/session_memory.h"

namespace foedus::engine {

class BorrowedMemory {
 public:
  BorrowedMemory() = default;
  // Borrows `bytes`. If SessionMemory::try_borrow() refuses them, borrows nothing: bytes() is 0.
  // `memory` must outlive the object.
  BorrowedMemory(SessionMemory* memory, std::uint64_t bytes)
      : memory_(memory), bytes_(memory->try_borrow(bytes) ? bytes : 0) {}
  BorrowedMemory(const BorrowedMemory&) = delete;
  BorrowedMemory& operator=(const BorrowedMemory&) = delete;
  ~BorrowedMemory() { keep(0); }

  // Moves the borrowed bytes of `from` to this object. REQUIRES: this object has none.
  void take(BorrowedMemory* from) noexcept {
    FOEDUS_INVARIANT(bytes_ == 0, bytes_);
    memory_ = from->memory_;
    bytes_ = std::exchange(from->bytes_, 0);
  }

  // Gives back all borrowed bytes but `bytes`.
  void keep(std::uint64_t bytes) noexcept {
    const std::uint64_t rest = bytes_ - std::min(bytes_, bytes);
    if (rest != 0) memory_->return_borrowed(rest);
    bytes_ -= rest;
  }
  std::uint64_t bytes() const { return bytes_; }

 private:
  SessionMemory* memory_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace foedus::engine
