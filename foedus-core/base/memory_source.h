#pragma once
// MemorySource: accounts for large pieces of memory from the heap, so that they count against
// Options::memory_bytes.

#include <cstdint>
#include <new>

namespace foedus::base {

class MemorySource {
 public:
  virtual ~MemorySource() = default;
  // True if `bytes` are the caller's now, until give_back(). Any thread.
  virtual bool try_take(std::uint64_t bytes) = 0;
  virtual void give_back(std::uint64_t bytes) noexcept = 0;
};

// BudgetSpent: thrown by an allocation that its source refuses.
class BudgetSpent : public std::bad_alloc {
 public:
  const char* what() const noexcept override {
    return "memory_bytes is spent: there is none for what the transaction has to remember of its "
           "reads and writes";
  }
};

}  // namespace foedus::base
