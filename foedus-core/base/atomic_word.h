#pragma once
// The one wrapper of shared memory words. The order of an access is part of its name; each use
// carries an `// order:` comment that argues it. Templated on the atomic type so that a model
// checker can run the same code over its own atomics.
//
//   B1  A word that two threads touch is an AtomicWord, or bytes copied by racy_read / racy_write.
//   B2  racy_read / racy_write copy payload bytes that the other side may be writing or reading at
//       the same time. What was read is used only after a sequence check (occ/optimistic_read.h)
//       says that nothing changed meanwhile.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SANITIZE_THREAD__) && !defined(FOEDUS_TSAN)
#define FOEDUS_TSAN 1
#endif
// Racy copies made of atomics, which instrumentation sees; inline assembly it does not.
// AddressSanitizer does not see what inline assembly reads.
#if (defined(FOEDUS_TSAN) || defined(__SANITIZE_ADDRESS__)) && !defined(FOEDUS_ATOMIC_COPIES)
#define FOEDUS_ATOMIC_COPIES 1
#endif

namespace foedus::base {

template <typename T, template <typename> class Atomic = std::atomic>
class AtomicWord {
  static_assert(sizeof(T) <= 8);

 public:
  constexpr AtomicWord() : word_(T{}) {}
  constexpr explicit AtomicWord(T value) : word_(value) {}
  AtomicWord(const AtomicWord&) = delete;
  AtomicWord& operator=(const AtomicWord&) = delete;

  T load_relaxed() const { return word_.load(std::memory_order_relaxed); }
  T load_acquire() const { return word_.load(std::memory_order_acquire); }
  T load_seq_cst() const { return word_.load(std::memory_order_seq_cst); }
  void store_relaxed(T value) { word_.store(value, std::memory_order_relaxed); }
  void store_release(T value) { word_.store(value, std::memory_order_release); }
  void store_seq_cst(T value) { word_.store(value, std::memory_order_seq_cst); }
  T exchange_acq_rel(T value) { return word_.exchange(value, std::memory_order_acq_rel); }
  T fetch_add_relaxed(T value) { return word_.fetch_add(value, std::memory_order_relaxed); }
  T fetch_add_seq_cst(T value) { return word_.fetch_add(value, std::memory_order_seq_cst); }
  T fetch_or_release(T value) { return word_.fetch_or(value, std::memory_order_release); }
  T fetch_and_release(T value) { return word_.fetch_and(value, std::memory_order_release); }
  // On failure `expected` becomes what was found, read with acquire order.
  bool compare_exchange_acq_rel(T& expected, T desired) {
    return word_.compare_exchange_strong(expected, desired, std::memory_order_acq_rel,
                                         std::memory_order_acquire);
  }

 private:
  Atomic<T> word_;
};

// Orders all accesses before it with all after it, in every thread that also uses it: the two sides
// of a store-then-look protocol (epoch/epoch_clock.h).
inline void fence_seq_cst() {
#if defined(FOEDUS_TSAN)
  // The sanitizer does not model fences. A read-modify-write of one word by all gives the same
  // order.
  static std::atomic<std::uint64_t> fence_word{0};
  fence_word.fetch_add(1, std::memory_order_seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

// The reader's fence of a sequence check: loads before it stay before loads after it. In the
// sanitizer's build racy_read uses acquire loads instead, which say the same in words that it
// understands.
inline void fence_reader() {
#if !defined(FOEDUS_TSAN)
  std::atomic_thread_fence(std::memory_order_acquire);
#endif
}

// The writer's fence of a sequence check: the store of the "being written" mark before it stays
// before payload stores after it. In the sanitizer's build racy_write uses release stores instead.
inline void fence_writer() {
#if !defined(FOEDUS_TSAN)
  std::atomic_thread_fence(std::memory_order_release);
#endif
}

// Tells the processor that this is a spin loop.
inline void cpu_pause() { __builtin_ia32_pause(); }

// Starts to load the cache line of `address`; any address is allowed. Not by __builtin_prefetch: a
// function that does nothing else is one without effects to gcc 12, which leaves its calls out.
inline void prefetch_line(const void* address) {
  asm volatile("prefetcht0 %0" : : "m"(*static_cast<const char*>(address)));
}
// Starts to load the line for a store. A store to a line that is not there does not wait, but the
// next atomic exchange does, for all stores before it. Does nothing on a processor without such an
// instruction.
inline void prefetch_line_to_write(const void* address) {
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
}
inline void prefetch_lines(const void* address, std::size_t bytes) {
  const char* const begin = static_cast<const char*>(address);
  for (std::size_t offset = 0; offset < bytes; offset += 64) prefetch_line(begin + offset);
}

// Starts to load lines into the second-level cache, for use after some hundred nanoseconds of other
// work. The first level has room for some twenty lines on their way, of which a record of 1 KB
// takes 16. Once that room is used up the other work waits.
inline void prefetch_lines_early(const void* address, std::size_t bytes) {
  const char* const begin = static_cast<const char*>(address);
  for (std::size_t offset = 0; offset < bytes; offset += 64) {
    asm volatile("prefetcht1 %0" : : "m"(begin[offset]));
  }
}

namespace internal {

#if defined(FOEDUS_ATOMIC_COPIES)

template <int kLoadOrder, int kStoreOrder>
inline void copy_racing(char* to, const char* from, std::size_t bytes) {
  std::size_t i = 0;
  const auto aligned = [&](std::size_t width) {
    return (reinterpret_cast<std::uintptr_t>(to + i) % width) == 0 &&
           (reinterpret_cast<std::uintptr_t>(from + i) % width) == 0 && i + width <= bytes;
  };
  while (i < bytes) {
    if (aligned(8)) {
      const auto word =
          __atomic_load_n(reinterpret_cast<const std::uint64_t*>(from + i), kLoadOrder);
      __atomic_store_n(reinterpret_cast<std::uint64_t*>(to + i), word, kStoreOrder);
      i += 8;
    } else {
      __atomic_store_n(to + i, __atomic_load_n(from + i, kLoadOrder), kStoreOrder);
      ++i;
    }
  }
}

#else

// Inline assembly, so that the compiler neither assumes that the bytes stay as they are nor splits
// the copy; sixteen bytes at a time, the last pieces overlapping.
inline void copy_16(char* to, const char* from) {
  asm volatile("movdqu (%1), %%xmm15\n\tmovdqu %%xmm15, (%0)"
               :
               : "r"(to), "r"(from)
               : "xmm15", "memory");
}
inline void copy_64(char* to, const char* from) {
  asm volatile(
      "movdqu (%1), %%xmm12\n\tmovdqu 16(%1), %%xmm13\n\tmovdqu 32(%1), %%xmm14\n\t"
      "movdqu 48(%1), %%xmm15\n\tmovdqu %%xmm12, (%0)\n\tmovdqu %%xmm13, 16(%0)\n\t"
      "movdqu %%xmm14, 32(%0)\n\tmovdqu %%xmm15, 48(%0)"
      :
      : "r"(to), "r"(from)
      : "xmm12", "xmm13", "xmm14", "xmm15", "memory");
}
template <typename Word>
inline void copy_word(char* to, const char* from) {
  Word word;
  asm volatile("mov (%1), %0" : "=r"(word) : "r"(from) : "memory");
  std::memcpy(to, &word, sizeof(word));
}

inline void copy_racing(char* to, const char* from, std::size_t bytes) {
  if (bytes > 64) {
    char* const to_last = to + bytes - 64;
    const char* const from_last = from + bytes - 64;
    do {
      copy_64(to, from);
      to += 64;
      from += 64;
    } while (from < from_last);
    copy_64(to_last, from_last);
  } else if (bytes >= 16) {
    if (bytes > 32) {
      copy_16(to + 16, from + 16);
      copy_16(to + bytes - 32, from + bytes - 32);
    }
    copy_16(to, from);
    copy_16(to + bytes - 16, from + bytes - 16);
  } else if (bytes >= 8) {
    copy_word<std::uint64_t>(to, from);
    copy_word<std::uint64_t>(to + bytes - 8, from + bytes - 8);
  } else if (bytes >= 4) {
    copy_word<std::uint32_t>(to, from);
    copy_word<std::uint32_t>(to + bytes - 4, from + bytes - 4);
  } else {
    for (std::size_t i = 0; i < bytes; ++i) {
      to[i] = *static_cast<const volatile char*>(from + i);
    }
  }
}

#endif

}  // namespace internal

// Copies bytes out of shared memory that a writer may be changing. See B2.
inline void racy_read(void* to, const void* from, std::size_t bytes) {
#if defined(FOEDUS_ATOMIC_COPIES)
  internal::copy_racing<__ATOMIC_ACQUIRE, __ATOMIC_RELAXED>(static_cast<char*>(to),
                                                            static_cast<const char*>(from), bytes);
#else
  internal::copy_racing(static_cast<char*>(to), static_cast<const char*>(from), bytes);
#endif
}

// Copies bytes into shared memory that readers may be copying. See B2.
inline void racy_write(void* to, const void* from, std::size_t bytes) {
#if defined(FOEDUS_ATOMIC_COPIES)
  internal::copy_racing<__ATOMIC_RELAXED, __ATOMIC_RELEASE>(static_cast<char*>(to),
                                                            static_cast<const char*>(from), bytes);
#else
  internal::copy_racing(static_cast<char*>(to), static_cast<const char*>(from), bytes);
#endif
}

}  // namespace foedus::base
