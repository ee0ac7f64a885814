#pragma once
// Replaces the sources of memory and threads in this executable: operator new, mmap(), mprotect()
// and pthread_create(). Each call of the engine is counted, and the one that a test chooses fails,
// or all from it on. To be included by one file of an executable.
//
// Calls of a thread within a ForTest are those of the test: they are neither counted nor failed.

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "tests/faults/for_test.h"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define FOEDUS_FAULTS_OF_THE_SYSTEM 1
#include <dlfcn.h>
#else
#define FOEDUS_FAULTS_OF_THE_SYSTEM 0  // sanitizers have these functions themselves
#endif

namespace foedus::faults {

enum class Source : std::uint8_t { kHeap, kMapping, kProtection, kThread };
inline constexpr std::array kSources = {Source::kHeap, Source::kMapping, Source::kProtection,
                                        Source::kThread};
inline constexpr const char* kSourceNames[] = {"heap", "mmap", "mprotect", "thread"};

struct Counter {
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> fails_from{~std::uint64_t{0}};  // number of a call, from 0
  std::atomic<bool> is_sticky{false};
  std::atomic<std::uint64_t> failed{0};
};
inline Counter counters[kSources.size()];
inline std::atomic<std::int64_t> live{0};  // pieces of the heap
inline Counter& counter_of(Source source) { return counters[static_cast<std::size_t>(source)]; }

// Restarts the count, and lets the call of that number fail.
inline void arm(Source source, std::uint64_t call, bool is_sticky) {
  Counter& counter = counter_of(source);
  counter.calls = 0;
  counter.failed = 0;
  counter.is_sticky = is_sticky;
  counter.fails_from = call;
}
inline void disarm() {
  for (Counter& counter : counters) counter.fails_from = ~std::uint64_t{0};
}

inline bool must_fail(Source source) {
  if (for_test != 0) return false;
  Counter& counter = counter_of(source);
  const std::uint64_t number = counter.calls.fetch_add(1);
  const std::uint64_t from = counter.fails_from.load();
  const bool fails = number == from || (number > from && counter.is_sticky.load());
  if (fails) counter.failed.fetch_add(1);
  return fails;
}

inline void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (must_fail(Source::kHeap)) return nullptr;
  void* at = nullptr;
  if (alignment <= alignof(std::max_align_t)) {
    at = std::malloc(bytes == 0 ? 1 : bytes);
  } else if (posix_memalign(&at, alignment, bytes) != 0) {
    at = nullptr;
  }
  if (at != nullptr) live.fetch_add(1, std::memory_order_relaxed);
  return at;
}
inline void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  void* const at = allocate(bytes, alignment);
  if (at == nullptr) throw std::bad_alloc();
  return at;
}
inline void release(void* at) noexcept {
  if (at == nullptr) return;
  live.fetch_sub(1, std::memory_order_relaxed);
  std::free(at);
}

}  // namespace foedus::faults

// ---- the replacements ------------------------------------------------------------------------

void* operator new(std::size_t bytes) { return foedus::faults::allocate_or_throw(bytes, 1); }
void* operator new[](std::size_t bytes) { return foedus::faults::allocate_or_throw(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return foedus::faults::allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return foedus::faults::allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return foedus::faults::allocate(bytes, 1);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return foedus::faults::allocate(bytes, 1);
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return foedus::faults::allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* at) noexcept { foedus::faults::release(at); }
void operator delete[](void* at) noexcept { foedus::faults::release(at); }
void operator delete(void* at, std::size_t) noexcept { foedus::faults::release(at); }
void operator delete[](void* at, std::size_t) noexcept { foedus::faults::release(at); }
void operator delete(void* at, std::align_val_t) noexcept { foedus::faults::release(at); }
void operator delete[](void* at, std::align_val_t) noexcept { foedus::faults::release(at); }
void operator delete(void* at, std::size_t, std::align_val_t) noexcept {
  foedus::faults::release(at);
}
void operator delete[](void* at, std::size_t, std::align_val_t) noexcept {
  foedus::faults::release(at);
}
void operator delete(void* at, const std::nothrow_t&) noexcept { foedus::faults::release(at); }

#if FOEDUS_FAULTS_OF_THE_SYSTEM
extern "C" void* mmap(void* at, std::size_t bytes, int protection, int flags, int fd,
                      off_t offset) noexcept {
  if (foedus::faults::must_fail(foedus::faults::Source::kMapping)) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, bytes, protection, flags, fd, offset));
}

extern "C" int mprotect(void* at, std::size_t bytes, int protection) noexcept {
  if (foedus::faults::must_fail(foedus::faults::Source::kProtection)) {
    errno = ENOMEM;
    return -1;
  }
  return static_cast<int>(syscall(SYS_mprotect, at, bytes, protection));
}

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*function)(void*), void* argument) noexcept {
  if (foedus::faults::must_fail(foedus::faults::Source::kThread)) return EAGAIN;
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto next = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  return next(thread, attributes, function, argument);
}
#endif
