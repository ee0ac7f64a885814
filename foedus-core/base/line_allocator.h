#pragma once
// LineAllocator: memory of a container on cache lines of its own. A small piece from the heap
// shares its line with neighbours, which may be another thread's. If one session writes its piece
// in every transaction, another that only reads something beside it fetches the line anew each
// time.

#include <algorithm>
#include <cstddef>
#include <new>
#include <vector>

#include "foedus-core/base/memory_source.h"

namespace foedus::base {

template <typename T>
class LineAllocator {
 public:
  static constexpr std::size_t kLineBytes = 64;
  static constexpr std::align_val_t kAlignment{alignof(T) > kLineBytes ? alignof(T) : kLineBytes};
  // Smaller pieces are not counted: a container has few, and grows by doubling.
  static constexpr std::size_t kCountedBytesMin = 32u << 10;

  using value_type = T;

  LineAllocator() = default;
  // Large pieces count against `source`, which outlives the container.
  explicit LineAllocator(MemorySource* source) : source_(source) {}
  template <typename Other>
  LineAllocator(const LineAllocator<Other>& other)  // NOLINT: implicit, as containers expect it
      : source_(other.source()) {}

  MemorySource* source() const { return source_; }

  T* allocate(std::size_t count) {
    const std::size_t bytes = bytes_of(count);
    if (!is_counted(bytes)) return static_cast<T*>(::operator new(bytes, kAlignment));
    if (!source_->try_take(bytes)) throw BudgetSpent();
    try {
      return static_cast<T*>(::operator new(bytes, kAlignment));
    } catch (const std::bad_alloc&) {
      source_->give_back(bytes);
      throw;
    }
  }
  void deallocate(T* at, std::size_t count) {
    if (const std::size_t bytes = bytes_of(count); is_counted(bytes)) source_->give_back(bytes);
    ::operator delete(at, kAlignment);
  }

  template <typename Other>
  bool operator==(const LineAllocator<Other>& other) const {
    return source_ == other.source();
  }

 private:
  static constexpr std::size_t bytes_of(std::size_t count) {
    return (count * sizeof(T) + kLineBytes - 1) / kLineBytes * kLineBytes;
  }
  bool is_counted(std::size_t bytes) const {
    return source_ != nullptr && bytes >= kCountedBytesMin;
  }

  MemorySource* source_ = nullptr;
};

template <typename T>
using LineVector = std::vector<T, LineAllocator<T>>;

// Makes room for `count` more elements, in steps that grow as those of push_back() do.
template <typename Vector>
void reserve_more(Vector* vector, std::size_t count) {
  if (vector->capacity() - vector->size() >= count) [[likely]]
    return;
  vector->reserve(std::max(vector->size() + count, 2 * vector->capacity()));
}

// Gives the memory of an empty vector back if it is more than `bytes_max`: room for one large
// transaction is not kept for ever.
template <typename T>
void trim(LineVector<T>* vector, std::size_t bytes_max) {
  if (vector->capacity() * sizeof(T) <= bytes_max) [[likely]]
    return;
  LineVector<T> none(vector->get_allocator());
  vector->swap(none);
}

}  // namespace foedus::base
