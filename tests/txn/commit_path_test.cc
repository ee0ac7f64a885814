// ctest-program: own
// A transaction does not allocate and does not call the system. The program replaces operator new;
// a filter of the kernel traps the thread's system calls, which are counted and then done.
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <thread>

#include "foedus-core/base/atomic_word.h"
#include "tests/testing/test_database.h"

namespace {

thread_local bool counts_allocations = false;
std::atomic<std::uint64_t> allocations{0};
std::atomic<std::uint64_t> system_calls{0};
int first_system_calls[8] = {};  // their numbers; written by the counted thread

void count_allocation() {
  if (counts_allocations) allocations.fetch_add(1);
}

}  // namespace

void* operator new(std::size_t bytes) {
  count_allocation();
  void* const at = std::malloc(bytes == 0 ? 1 : bytes);
  if (at == nullptr) std::abort();
  return at;
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  count_allocation();
  const auto boundary = static_cast<std::size_t>(alignment);
  void* const at = std::aligned_alloc(boundary, (bytes + boundary - 1) / boundary * boundary);
  if (at == nullptr) std::abort();
  return at;
}
// Inlining would show the compiler a free() of memory from new.
[[gnu::noinline]] void operator delete(void* at) noexcept { std::free(at); }
[[gnu::noinline]] void operator delete(void* at, std::size_t) noexcept { std::free(at); }
[[gnu::noinline]] void operator delete(void* at, std::align_val_t) noexcept { std::free(at); }
[[gnu::noinline]] void operator delete(void* at, std::size_t, std::align_val_t) noexcept {
  std::free(at);
}

namespace foedus::commit_path_test {
namespace {

using testing::must;
using testing::TestDatabase;

// Calls the system as syscall() of libc does; the filter lets calls from here pass.
extern "C" long call_system(long number, ...);
extern "C" const char call_system_end[];
asm(R"(
.text
call_system:
  mov %rdi, %rax
  mov %rsi, %rdi
  mov %rdx, %rsi
  mov %rcx, %rdx
  mov %r8, %r10
  mov %r9, %r8
  mov 8(%rsp), %r9
  syscall
call_system_end:
  ret
)");

// Counts the call and does it: a wake that got lost would leave a thread of the engine asleep.
void count_system_call(int, siginfo_t* info, void* context) {
  const std::uint64_t before = system_calls.fetch_add(1);
  if (before < std::size(first_system_calls)) first_system_calls[before] = info->si_syscall;
  greg_t* const registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  registers[REG_RAX] =
      call_system(info->si_syscall, registers[REG_RDI], registers[REG_RSI], registers[REG_RDX],
                  registers[REG_R10], registers[REG_R8], registers[REG_R9]);
}

// Begins to count the system calls of this thread. Returns false if the kernel offers no filters.
bool trap_system_calls() {
  struct sigaction action = {};
  action.sa_flags = SA_SIGINFO;
  action.sa_sigaction = count_system_call;
  if (sigaction(SIGSYS, &action, nullptr) != 0) return false;
  const auto passed = reinterpret_cast<std::uint64_t>(call_system_end);
  constexpr std::uint32_t kAddress = offsetof(seccomp_data, instruction_pointer);
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 5, 0),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kAddress),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(passed), 0, 2),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kAddress + 4),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(passed >> 32), 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program = {static_cast<unsigned short>(std::size(filter)), filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

struct Tables {
  Masstree tree;
  Hash hash;
  Array array;
  Sequential log;
};

// Reads, a scan, overwrites, inserts, an append and an erase.
Status mixed_txn(Txn& txn, const Tables& tables, std::uint64_t i) {
  char row[100] = "row";
  const std::string_view payload(row, sizeof(row));
  const auto out = std::as_writable_bytes(std::span<char>(row));
  FOEDUS_CHECK(txn.get(tables.tree, key(i % 1000), out).status());
  FOEDUS_CHECK(txn.get(tables.array, i % 100, out.first(8)));
  FOEDUS_CHECK(txn.put(tables.tree, key(i % 1000), payload));
  FOEDUS_CHECK(txn.write_at(tables.hash, key(i % 1000), 10, "part"));
  FOEDUS_CHECK(txn.increment(tables.array, i % 100, 0, 1));
  FOEDUS_CHECK(txn.insert(tables.tree, key(i + 1'000'000), payload.substr(0, 20)));
  if (i % 2 == 1) FOEDUS_CHECK(txn.erase(tables.tree, key(i + 1'000'000 - 1)));
  FOEDUS_CHECK(txn.append(tables.log, payload.substr(0, 20)));
  Scan rows = txn.scan(tables.tree, key(i % 900), key(i % 900 + 20));
  std::uint64_t bytes = 0;
  for (const Row& found : rows) bytes += found.payload.size();
  if (auto failure = rows.failure()) return *failure;
  return bytes == 2000 ? Status() : Status::error(ErrorCode::kCorruption, "rows are missing");
}

Tables load(Database& database) {
  Tables tables{must(database.open_masstree("tree")), must(database.open_hash("hash")),
                must(database.open_array("array", 100, 8)), must(database.open_sequential("log"))};
  const std::string row(100, 'r');
  for (std::uint64_t i = 0; i < 1000; ++i) {
    must(database.transact([&](Txn& txn) -> Status {
      FOEDUS_CHECK(txn.insert(tables.tree, key(i), row));
      return txn.insert(tables.hash, key(i), row);
    }));
  }
  return tables;
}

// The transactions are few enough for the first 2 MiB of pages. A session that enters another
// extent wakes the task that backs the next one with memory: the only call left, once in 511 pages.
constexpr std::uint64_t kWarmUp = 500;
constexpr std::uint64_t kCounted = 2000;
// The log records of a batch fill a ninth of the ring. Then the thread lets the logger catch up: it
// polls the last ticket, without a system call, until that is durable.
constexpr std::uint64_t kBatch = 64;
constexpr std::uint64_t kRingBytes = 256u << 10;

// Runs transactions [begin, end) and returns the first failure.
Status run_txns(Database& database, const Tables& tables, std::uint64_t begin, std::uint64_t end) {
  Ticket ticket;
  for (std::uint64_t i = begin; i < end; ++i) {
    FOEDUS_CHECK(database.transact([&](Txn& txn) { return mixed_txn(txn, tables, i); },
                                   {.ticket = &ticket}));
    if (i % kBatch != 0) continue;
    while (!ticket.is_durable()) base::cpu_pause();
  }
  return {};
}

// Counts the allocations and system calls of a session's thread in kCounted transactions after a
// warm-up; the engine's threads do not count.
void expect_no_calls(const Options& options) {
  TestDatabase db(options);
  const Tables tables = load(*db);
  allocations = 0;
  system_calls = 0;
  bool trapped = false;
  std::uint64_t counted = 0;
  bool counts_one = false;
  long parent = 0;
  Status failure;
  std::thread([&] {
    failure = run_txns(*db, tables, 0, kWarmUp);
    trapped = trap_system_calls();
    counts_allocations = true;
    Status status = run_txns(*db, tables, kWarmUp, kWarmUp + kCounted);
    counts_allocations = false;
    counted = system_calls.load();  // before the end of the thread, which makes some
    parent = syscall(SYS_getppid);
    counts_one = system_calls.load() == counted + 1;
    if (failure.is_ok()) failure = std::move(status);
  }).join();
  EXPECT_EQ(parent, getppid());
  EXPECT_EQ(counts_one, trapped) << "of one call that was made";
  EXPECT_TRUE(failure.is_ok()) << failure.message();
  EXPECT_EQ(allocations.load(), 0u);
  const std::uint64_t log_bytes_min = options.log.kind == Logging::kFiles ? 4 * kRingBytes : 0;
  EXPECT_GE(db->stats().log_bytes, log_bytes_min);
  if (!trapped) GTEST_SKIP() << "no seccomp here: system calls were not counted";
  EXPECT_EQ(counted, 0u) << "their numbers: " << ::testing::PrintToString(first_system_calls);
}

TEST(CommitPathTest, transactions_without_a_log_allocate_nothing_and_call_no_system) {
  Options options = testing::small_options("");
  options.log.buffer_bytes = 16u << 20;
  options.log.kind = Logging::kNone;
  expect_no_calls(options);
}

// The ring goes round several times and epochs become durable, but the session wakes no thread: the
// clock and the loggers wake by themselves.
TEST(CommitPathTest, transactions_with_log_files_allocate_nothing_and_call_no_system) {
  Options options = testing::small_options("");
  options.log.buffer_bytes = kRingBytes;
  ASSERT_EQ(options.log.kind, Logging::kFiles);
  expect_no_calls(options);
}

}  // namespace
}  // namespace foedus::commit_path_test
