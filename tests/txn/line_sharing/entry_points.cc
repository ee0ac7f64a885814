// The functions that instrumented code calls: the entry points of -fsanitize=thread as GCC 12 emits
// them, and the functions of libc that the linker wraps. Each does its operation and records the
// lines that it touches. Atomics are sequentially consistent, whatever order is asked for: that
// changes no line.
#include <pthread.h>

#include <cstring>

#include "tests/txn/line_sharing/line_recorder.h"

namespace {

using foedus::testing::lines::record;

#define FOEDUS_CALLER __builtin_return_address(0)

__extension__ using Wide = unsigned __int128;

void read(const volatile void* at, std::size_t bytes, const void* code) {
  record(at, bytes, false, code);
}
void write(const volatile void* at, std::size_t bytes, const void* code) {
  record(at, bytes, true, code);
}

}  // namespace

extern "C" {

// ---- plain accesses --------------------------------------------------------------------------

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void** at, void*) { write(at, sizeof(*at), FOEDUS_CALLER); }
void __tsan_read_range(void* at, std::size_t bytes) { read(at, bytes, FOEDUS_CALLER); }
void __tsan_write_range(void* at, std::size_t bytes) { write(at, bytes, FOEDUS_CALLER); }

#define FOEDUS_PLAIN(kind, name, bytes) \
  void __tsan_##name(void* at) { kind(at, bytes, FOEDUS_CALLER); }
#define FOEDUS_PLAIN_OF_SIZE(bytes)                       \
  FOEDUS_PLAIN(read, read##bytes, bytes)                  \
  FOEDUS_PLAIN(write, write##bytes, bytes)                \
  FOEDUS_PLAIN(read, unaligned_read##bytes, bytes)        \
  FOEDUS_PLAIN(write, unaligned_write##bytes, bytes)      \
  FOEDUS_PLAIN(read, volatile_read##bytes, bytes)         \
  FOEDUS_PLAIN(write, volatile_write##bytes, bytes)

FOEDUS_PLAIN_OF_SIZE(1)
FOEDUS_PLAIN_OF_SIZE(2)
FOEDUS_PLAIN_OF_SIZE(4)
FOEDUS_PLAIN_OF_SIZE(8)
FOEDUS_PLAIN_OF_SIZE(16)

// ---- atomics ---------------------------------------------------------------------------------

void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

#define FOEDUS_FETCH(bits, Word, operation)                                             \
  Word __tsan_atomic##bits##_fetch_##operation(volatile Word* at, Word value, int) {    \
    write(at, sizeof(Word), FOEDUS_CALLER);                                             \
    return __atomic_fetch_##operation(at, value, __ATOMIC_SEQ_CST);                     \
  }
#define FOEDUS_EXCHANGE(bits, Word, strength)                                           \
  bool __tsan_atomic##bits##_compare_exchange_##strength(volatile Word* at,             \
                                                         Word* expected, Word desired,  \
                                                         int, int) {                    \
    write(at, sizeof(Word), FOEDUS_CALLER);                                             \
    return __atomic_compare_exchange_n(at, expected, desired, false, __ATOMIC_SEQ_CST,  \
                                       __ATOMIC_SEQ_CST);                               \
  }
#define FOEDUS_ATOMICS(bits, Word)                                                      \
  Word __tsan_atomic##bits##_load(const volatile Word* at, int) {                       \
    read(at, sizeof(Word), FOEDUS_CALLER);                                              \
    return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                       \
  }                                                                                     \
  void __tsan_atomic##bits##_store(volatile Word* at, Word value, int) {                \
    write(at, sizeof(Word), FOEDUS_CALLER);                                             \
    __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                      \
  }                                                                                     \
  Word __tsan_atomic##bits##_exchange(volatile Word* at, Word value, int) {             \
    write(at, sizeof(Word), FOEDUS_CALLER);                                             \
    return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                            \
  }                                                                                     \
  FOEDUS_FETCH(bits, Word, add)                                                         \
  FOEDUS_FETCH(bits, Word, sub)                                                         \
  FOEDUS_FETCH(bits, Word, and)                                                         \
  FOEDUS_FETCH(bits, Word, or)                                                          \
  FOEDUS_FETCH(bits, Word, xor)                                                         \
  FOEDUS_FETCH(bits, Word, nand)                                                        \
  FOEDUS_EXCHANGE(bits, Word, strong)                                                   \
  FOEDUS_EXCHANGE(bits, Word, weak)

FOEDUS_ATOMICS(8, std::uint8_t)
FOEDUS_ATOMICS(16, std::uint16_t)
FOEDUS_ATOMICS(32, std::uint32_t)
FOEDUS_ATOMICS(64, std::uint64_t)

// The only operation of 16 bytes that the engine has (page/dual_page_pointer.h).
bool __tsan_atomic128_compare_exchange_strong(volatile Wide* at, Wide* expected, Wide desired, int,
                                              int) {
  write(at, sizeof(Wide), FOEDUS_CALLER);
  const Wide found = __sync_val_compare_and_swap(at, *expected, desired);
  if (found == *expected) return true;
  *expected = found;
  return false;
}

// ---- libc ------------------------------------------------------------------------------------

void* __real_memcpy(void* to, const void* from, std::size_t bytes);
void* __real_memmove(void* to, const void* from, std::size_t bytes);
void* __real_memset(void* to, int value, std::size_t bytes);
int __real_memcmp(const void* left, const void* right, std::size_t bytes);
int __real_pthread_mutex_lock(pthread_mutex_t* mutex);
int __real_pthread_mutex_trylock(pthread_mutex_t* mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t* mutex);

void* __wrap_memcpy(void* to, const void* from, std::size_t bytes) {
  read(from, bytes, FOEDUS_CALLER);
  write(to, bytes, FOEDUS_CALLER);
  return __real_memcpy(to, from, bytes);
}
void* __wrap_memmove(void* to, const void* from, std::size_t bytes) {
  read(from, bytes, FOEDUS_CALLER);
  write(to, bytes, FOEDUS_CALLER);
  return __real_memmove(to, from, bytes);
}
void* __wrap_memset(void* to, int value, std::size_t bytes) {
  write(to, bytes, FOEDUS_CALLER);
  return __real_memset(to, value, bytes);
}
int __wrap_memcmp(const void* left, const void* right, std::size_t bytes) {
  read(left, bytes, FOEDUS_CALLER);
  read(right, bytes, FOEDUS_CALLER);
  return __real_memcmp(left, right, bytes);
}

int __wrap_pthread_mutex_lock(pthread_mutex_t* mutex) {
  write(mutex, sizeof(*mutex), FOEDUS_CALLER);
  return __real_pthread_mutex_lock(mutex);
}
int __wrap_pthread_mutex_trylock(pthread_mutex_t* mutex) {
  write(mutex, sizeof(*mutex), FOEDUS_CALLER);
  return __real_pthread_mutex_trylock(mutex);
}
int __wrap_pthread_mutex_unlock(pthread_mutex_t* mutex) {
  write(mutex, sizeof(*mutex), FOEDUS_CALLER);
  return __real_pthread_mutex_unlock(mutex);
}

}  // extern "C"
