#pragma once
// LineAllocator: memory of a container on cache lines of its own. A small piece from the heap lies
// on one line with its neighbours, which may be another thread's: what one session writes in every
// transaction would be fetched anew by another that only reads something beside it.

#include <algorithm>
#include <cstddef>
#include <new>
#include <vector>

namespace foedus::base {

template <typename T>
struct LineAllocator {
  static constexpr std::size_t kLineBytes = 64;
  static constexpr std::align_val_t kAlignment{alignof(T) > kLineBytes ? alignof(T) : kLineBytes};

  using value_type = T;

  LineAllocator() = default;
  template <typename Other>
  LineAllocator(const LineAllocator<Other>&) {}  // NOLINT: implicit, as containers expect it

  T* allocate(std::size_t count) {
    const std::size_t lines = (count * sizeof(T) + kLineBytes - 1) / kLineBytes;
    return static_cast<T*>(::operator new(lines * kLineBytes, kAlignment));
  }
  void deallocate(T* at, std::size_t) { ::operator delete(at, kAlignment); }

  template <typename Other>
  bool operator==(const LineAllocator<Other>&) const {
    return true;
  }
};

template <typename T>
using LineVector = std::vector<T, LineAllocator<T>>;

// Room for `count` more, in steps that grow as those of push_back() do.
template <typename Vector>
void reserve_more(Vector* vector, std::size_t count) {
  if (vector->capacity() - vector->size() >= count) [[likely]]
    return;
  vector->reserve(std::max(vector->size() + count, 2 * vector->capacity()));
}

}  // namespace foedus::base
