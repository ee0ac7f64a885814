#include "tests/txn/line_sharing/line_recorder.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <cstdio>
#include <cstdlib>

namespace foedus::testing::lines {

std::atomic<bool> is_recording{false};

namespace {

constexpr std::uint32_t kPlaces = 1u << 17;  // lines of one thread; a power of two
constexpr std::uint32_t kPlacesUsed = kPlaces / 4 * 3;

// The table of one thread. It is mapped, not allocated, because a thread's first recorded access
// may be anywhere. It is never unmapped: a test program has few threads.
struct Table {
  std::atomic<bool> is_busy;
  std::atomic<Table*> next;
  std::atomic<std::uint32_t> run;  // the start() that `uses` belong to
  std::uint32_t txn;
  std::uint32_t used;
  char name[16];
  std::uintptr_t stack_begin;
  std::uintptr_t stack_end;
  LineUse uses[kPlaces];
};

std::atomic<Table*> tables{nullptr};
std::atomic<std::uint32_t> run{0};
__thread Table* own_table = nullptr;
__thread bool is_making = false;

[[noreturn]] void give_up(const char* why) {
  std::fprintf(stderr, "line_recorder: %s\n", why);
  std::abort();
}

void find_stack(Table* table) {
  pthread_attr_t attributes;
  void* begin = nullptr;
  std::size_t bytes = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) give_up("no stack");
  pthread_attr_getstack(&attributes, &begin, &bytes);
  pthread_attr_destroy(&attributes);
  table->stack_begin = reinterpret_cast<std::uintptr_t>(begin);
  table->stack_end = table->stack_begin + bytes;
}

// Returns the thread's table, or null while an access further up in this thread makes it.
Table* table_of_thread() {
  if (own_table != nullptr) return own_table;
  if (is_making) return nullptr;
  is_making = true;
  void* const at = mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) give_up("no memory");
  Table* const table = static_cast<Table*>(at);
  table->txn = 1;
  find_stack(table);
  // order: release, pairs with the acquire of the list's readers: the table is complete.
  Table* first = tables.load(std::memory_order_relaxed);
  do {
    table->next.store(first, std::memory_order_relaxed);
  } while (!tables.compare_exchange_weak(first, table, std::memory_order_release));
  own_table = table;
  is_making = false;
  return table;
}

void forget(Table* table) {
  for (LineUse& use : table->uses) {
    if (use.line != 0) use = LineUse();
  }
  table->used = 0;
  table->txn = 1;
  prctl(PR_GET_NAME, table->name);
}

LineUse* use_of(Table* table, std::uintptr_t line) {
  std::uint64_t place = (line / kLineBytes * 0x9e3779b97f4a7c15u) >> 47;
  static_assert(kPlaces == 1u << (64 - 47));
  for (;; place = (place + 1) % kPlaces) {
    LineUse* const use = &table->uses[place];
    if (use->line == line) return use;
    if (use->line != 0) continue;
    if (++table->used > kPlacesUsed) give_up("a thread touches more lines than fit its table");
    use->line = line;
    return use;
  }
}

void note(Table* table, std::uintptr_t line, bool is_write, const void* code) {
  LineUse* const use = use_of(table, line);
  std::uint32_t& last = is_write ? use->last_written : use->last_read;
  std::uint32_t& count = is_write ? use->txns_written : use->txns_read;
  const void*& first = is_write ? use->writer : use->reader;
  if (first == nullptr) first = code;
  if (last == table->txn) return;
  last = table->txn;
  ++count;
}

}  // namespace

void record_slowly(const volatile void* at, std::size_t bytes, bool is_write, const void* code) {
  if (bytes == 0) return;
  Table* const table = table_of_thread();
  if (table == nullptr) return;
  // order: seq_cst twice. Here busy is set before the recording flag is read; in stop() that flag
  // is cleared before busy is read. So one of the two sees the other.
  table->is_busy.store(true, std::memory_order_seq_cst);
  if (is_recording.load(std::memory_order_seq_cst)) {
    const std::uint32_t now = run.load(std::memory_order_relaxed);  // order: start()'s release
    if (table->run.load(std::memory_order_relaxed) != now) {
      forget(table);
      table->run.store(now, std::memory_order_relaxed);
    }
    const auto begin = reinterpret_cast<std::uintptr_t>(at);
    for (std::uintptr_t line = begin / kLineBytes * kLineBytes; line < begin + bytes;
         line += kLineBytes) {
      note(table, line, is_write, code);
    }
  }
  table->is_busy.store(false, std::memory_order_release);  // order: pairs with stop()
}

void start() {
  run.fetch_add(1, std::memory_order_relaxed);
  is_recording.store(true, std::memory_order_seq_cst);
}

void stop() {
  is_recording.store(false, std::memory_order_seq_cst);
  for (Table* table = tables.load(std::memory_order_acquire); table != nullptr;
       table = table->next.load(std::memory_order_relaxed)) {
    while (table->is_busy.load(std::memory_order_seq_cst)) sched_yield();
  }
}

void next_txn() {
  if (own_table != nullptr) ++own_table->txn;
}

std::vector<ThreadUse> recorded() {
  std::vector<ThreadUse> threads;
  for (Table* table = tables.load(std::memory_order_acquire); table != nullptr;
       table = table->next.load(std::memory_order_relaxed)) {
    if (table->run.load(std::memory_order_relaxed) != run.load(std::memory_order_relaxed)) continue;
    ThreadUse thread{table->name, table->stack_begin, table->stack_end, table->txn, {}};
    for (const LineUse& use : table->uses) {
      if (use.line != 0) thread.uses.push_back(use);
    }
    threads.push_back(std::move(thread));
  }
  return threads;
}

}  // namespace foedus::testing::lines
