#pragma once
// BorrowedMemory: bytes off the bound of volatile pages, for as long as it lives (E29).

#include <algorithm>
#include <cstdint>
#include <utility>

#include "foedus-core/base/invariant.h"
#include "foedus-core/engine/session_memory.h"

namespace foedus::engine {

class BorrowedMemory {
 public:
  BorrowedMemory() = default;
  // All of `bytes` or, if pages have grown into it, none. `memory` outlives it.
  BorrowedMemory(SessionMemory* memory, std::uint64_t bytes)
      : memory_(memory), bytes_(memory->try_borrow(bytes) ? bytes : 0) {}
  BorrowedMemory(const BorrowedMemory&) = delete;
  BorrowedMemory& operator=(const BorrowedMemory&) = delete;
  ~BorrowedMemory() { keep(0); }

  // What `from` has. REQUIRES: it has none itself.
  void take(BorrowedMemory* from) noexcept {
    FOEDUS_INVARIANT(bytes_ == 0, bytes_);
    memory_ = from->memory_;
    bytes_ = std::exchange(from->bytes_, 0);
  }

  // Returns what is more.
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
