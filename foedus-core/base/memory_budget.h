#pragma once
// MemoryBudget: the bound of all volatile pages and log buffers of one database together. One word
// that all share, so it is touched for large pieces only: a chunk of pages, a ring.

#include <cstdint>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/invariant.h"

namespace foedus::base {

class MemoryBudget {
 public:
  explicit MemoryBudget(std::uint64_t bytes_limit) : bytes_limit_(bytes_limit) {}

  // Takes `bytes` from the budget, until give_back(). Returns false and changes nothing if it has
  // fewer.
  bool try_take(std::uint64_t bytes) {
    // order: relaxed, a guess that the exchange checks.
    std::uint64_t taken = bytes_taken_.load_relaxed();
    do {
      if (bytes > bytes_limit_ - taken) return false;
      // order: the exchange decides; the word guards no other memory.
    } while (!bytes_taken_.compare_exchange_acq_rel(taken, taken + bytes));
    return true;
  }

  void give_back(std::uint64_t bytes) {
    // order: relaxed, only the sum matters.
    const std::uint64_t before = bytes_taken_.fetch_add_relaxed(std::uint64_t{0} - bytes);
    FOEDUS_INVARIANT(before >= bytes, before, bytes);
  }

  std::uint64_t limit() const { return bytes_limit_; }
  // order: relaxed twice, numbers that are old as soon as they are read.
  std::uint64_t taken() const { return bytes_taken_.load_relaxed(); }
  std::uint64_t remaining() const { return bytes_limit_ - bytes_taken_.load_relaxed(); }

 private:
  const std::uint64_t bytes_limit_;
  alignas(64) AtomicWord<std::uint64_t> bytes_taken_;
};

}  // namespace foedus::base
