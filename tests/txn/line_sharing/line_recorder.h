#pragma once
// Counts the 64-byte lines that each thread writes and reads, and in how many of its transactions.
// They are counted because a machine without hardware events cannot sample them.
//
// The engine is compiled with the instrumentation of -fsanitize=thread and linked with
// entry_points.cc instead of the sanitizer's run time. That does the operation of each call and
// calls record().
//
//   seen       loads and stores of instrumented code, atomics, memcpy, memmove, memset and memcmp,
//              racy copies (compiled as atomics, FOEDUS_ATOMIC_COPIES), mutexes
//   not seen   stores within libc and libstdc++ themselves, above all of malloc: that sessions do
//              not call it per transaction is commit_path_test's to say; stack slots that the
//              compiler itself spills to; prefetches, which are hints
//
// A thread's table is written by that thread only, until stop() has returned, so recording makes no
// thread wait for another one.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace foedus::testing::lines {

inline constexpr std::uintptr_t kLineBytes = 64;

// The accesses of one thread to one line.
struct LineUse {
  std::uintptr_t line = 0;         // address of its first byte; 0: a free place of the table
  std::uint32_t txns_written = 0;  // transactions that wrote to it
  std::uint32_t txns_read = 0;
  std::uint32_t last_written = 0;  // number of the last transaction that did
  std::uint32_t last_read = 0;
  const void* writer = nullptr;  // code address of the first write
  const void* reader = nullptr;
};

struct ThreadUse {
  std::string name;
  std::uintptr_t stack_begin = 0;  // with the thread's own variables
  std::uintptr_t stack_end = 0;
  std::uint32_t txns = 0;
  std::vector<LineUse> uses;
};

// Begins to record the accesses of all threads; forgets earlier ones.
void start();
// Ends recording. When it returns no thread records any more.
void stop();
// Begins the next transaction of the calling thread.
void next_txn();
// Returns the uses of all threads that ran between start() and stop(). REQUIRES: stopped.
std::vector<ThreadUse> recorded();

extern std::atomic<bool> is_recording;
void record_slowly(const volatile void* at, std::size_t bytes, bool is_write, const void* code);

inline void record(const volatile void* at, std::size_t bytes, bool is_write, const void* code) {
  // order: relaxed, record_slowly() looks again.
  if (is_recording.load(std::memory_order_relaxed)) record_slowly(at, bytes, is_write, code);
}

}  // namespace foedus::testing::lines
