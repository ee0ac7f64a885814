// What a transaction must not do on its way: allocate, or call the system. Counts both: operator
// new is replaced in this program, and a filter of the kernel traps the system calls of the thread.
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <thread>

#include "foedus-core/base/clock.h"
#include "tests/testing/test_database.h"

namespace {

thread_local bool counts_allocations = false;
std::atomic<std::uint64_t> allocations{0};
std::atomic<std::uint64_t> system_calls{0};
std::atomic<int> last_system_call{-1};

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
void operator delete(void* at) noexcept { std::free(at); }
void operator delete(void* at, std::size_t) noexcept { std::free(at); }
void operator delete(void* at, std::align_val_t) noexcept { std::free(at); }
void operator delete(void* at, std::size_t, std::align_val_t) noexcept { std::free(at); }

namespace foedus {
namespace {

using testing::must;
using testing::TestDatabase;

// From now on every system call of this thread is counted and not done, but for those that end it.
// False: the kernel offers no filters here.
bool trap_system_calls() {
  struct sigaction action = {};
  action.sa_flags = SA_SIGINFO;
  action.sa_sigaction = [](int, siginfo_t* info, void*) {
    last_system_call = info->si_syscall;
    system_calls.fetch_add(1);
  };
  if (sigaction(SIGSYS, &action, nullptr) != 0) return false;
  constexpr auto kAllow = SECCOMP_RET_ALLOW;
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 1, 0),  // glibc, when the thread ends
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
      BPF_STMT(BPF_RET | BPF_K, kAllow),
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
  FOEDUS_CHECK(txn.insert(tables.tree, key(i + 1'000'000), payload));
  if (i % 2 == 1) FOEDUS_CHECK(txn.erase(tables.tree, key(i + 1'000'000 - 1)));
  FOEDUS_CHECK(txn.append(tables.log, payload));
  Scan rows = txn.scan(tables.tree, key(i % 900), key(i % 900 + 20));
  std::uint64_t bytes = 0;
  for (const Row& found : rows) bytes += found.payload.size();
  if (auto failure = rows.failure()) return *failure;
  return bytes == 2000 ? Status() : Status::error(ErrorCode::kCorruption, "rows are missing");
}

TEST(CommitPathTest, transactions_allocate_nothing_and_call_no_system) {
  Options options = testing::small_options("");
  options.log_buffer_bytes = 16u << 20;
  options.logging = Logging::kNone;
  TestDatabase db(options);
  Tables tables{must(db->open_masstree("tree")), must(db->open_hash("hash")),
                must(db->open_array("array", 100, 8)), must(db->open_sequential("log"))};
  must(db->transact([&](Txn& txn) -> Status {
    const std::string row(100, 'r');
    for (std::uint64_t i = 0; i < 1000; ++i) {
      FOEDUS_CHECK(txn.insert(tables.tree, key(i), row));
      FOEDUS_CHECK(txn.insert(tables.hash, key(i), row));
    }
    return {};
  }));
  constexpr std::uint64_t kWarmUp = 3000;
  constexpr std::uint64_t kCounted = 3000;
  bool trapped = false;
  std::uint64_t counted = 0;
  Status failure;
  std::thread([&] {
    const auto run = [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) {
        Status status = db->transact([&](Txn& txn) { return mixed_txn(txn, tables, i); });
        if (!status.is_ok() && failure.is_ok()) failure = status;
      }
    };
    run(0, kWarmUp);
    trapped = trap_system_calls();
    counts_allocations = true;
    run(kWarmUp, kWarmUp + kCounted);
    counts_allocations = false;
    counted = system_calls.load();  // before the end of the thread, which makes some
  }).join();
  EXPECT_TRUE(failure.is_ok()) << failure.message();
  EXPECT_EQ(allocations.load(), 0u);
  if (!trapped) GTEST_SKIP() << "no seccomp here: system calls were not counted";
  EXPECT_EQ(counted, 0u) << "the last one has number " << last_system_call.load();
}

}  // namespace
}  // namespace foedus
