// ctest-labels: concurrency
// The session that a thread has, up to the thread's end.
#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "foedus-core/base/system/processor.h"
#include "foedus-core/numa/topology.h"
#include "tests/testing/test_database.h"

namespace foedus::thread_sessions_test {
namespace {

using testing::must;
using testing::small_options;
using testing::TestDatabase;

// An object of the program that runs an action in its destructor.
struct AtEnd {
  std::function<void()> action;
  ~AtEnd() {
    if (action) action();
  }
};

// Goal: a thread can run transactions at its end, in the destructor of an object that is older than
// its first use of the database, with a session that no other thread has. Method: there is only one
// session; another thread asks for it during the late transaction, and again when the late thread
// has ended.
TEST(ThreadSessionsTest, a_thread_runs_transactions_until_its_last_destructor) {
  Options options = small_options("");
  options.sessions_max = 1;
  TestDatabase db(options);
  const Masstree tree = must(db->open_masstree("tree"));
  const auto write = [&](const char* name) {
    return db->transact([&](Txn& txn) { return txn.put(tree, name, "row"); },
                        {.timeout_us = 1'000});
  };
  std::thread([&] {
    thread_local AtEnd at_end;
    at_end.action = [&] {
      for (const char* const name : {"late", "later"}) {
        must(db->transact([&](Txn& txn) -> Status {
          EXPECT_EQ(db->transact([](Txn&) { return Status(); }).code(),
                    ErrorCode::kInvalidArgument);
          std::thread([&] { EXPECT_EQ(write("other").code(), ErrorCode::kTimeout); }).join();
          return txn.put(tree, name, "row");
        }));
      }
    };
    must(write("early"));
  }).join();
  must(write("at last"));
  for (const char* const name : {"early", "late", "later", "at last"}) {
    EXPECT_TRUE(must(db->transact([&](Txn& txn) { return txn.contains(tree, name); }))) << name;
  }
}

// Goal: sessions of threads are on the SOC of their processor. Method: a thread is bound to a
// processor of one SOC, then of the other, and then of the first again.
TEST(ThreadSessionsTest, a_thread_uses_a_session_of_the_soc_that_it_is_bound_to) {
  cpu_set_t set;
  CPU_ZERO(&set);
  ASSERT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
  const Result<numa::Topology> topology = numa::Topology::make(2);
  std::vector<std::uint32_t> processors;  // one of each SOC
  for (std::uint32_t i = 0; i < CPU_SETSIZE && processors.size() < 2; ++i) {
    if (CPU_ISSET(i, &set) && topology->socs_of(i).begin == processors.size()) {
      processors.push_back(i);
    }
  }
  if (processors.size() < 2) GTEST_SKIP() << "there is one processor";
  Options options = small_options("");
  options.socs = 2;
  TestDatabase db(options);
  const Masstree tree = must(db->open_masstree("tree"));
  std::thread([&] {
    const std::uint64_t sessions[][2] = {{0, 1}, {1, 1}, {1, 1}};
    std::size_t round = 0;
    for (const std::uint32_t soc : {1u, 0u, 1u}) {
      ASSERT_TRUE(base::run_on(std::vector{processors[soc]}));
      must(db->transact([&](Txn& txn) { return txn.put(tree, key(soc), "row"); }));
      const std::vector<SocStats> socs = db->stats().socs;
      EXPECT_EQ(socs[0].sessions, sessions[round][0]);
      EXPECT_EQ(socs[1].sessions, sessions[round][1]);
      ++round;
    }
  }).join();
}

void end_with_a_transaction() {
  static TestDatabase db;
  static AtEnd at_end;
  static const Masstree tree = must(db->open_masstree("tree"));
  const auto write = [] { return db->transact([](Txn& txn) { return txn.put(tree, "k", "v"); }); };
  must(write());
  at_end.action = [write] {
    if (!write().is_ok() || !write().is_ok()) _exit(2);
  };
  exit(::testing::Test::HasFailure() ? 1 : 0);
}

// Objects of static duration are destroyed after those of the main thread, and can still run
// transactions.
TEST(ThreadSessionsTest, a_process_runs_transactions_until_its_last_destructor) {
  EXPECT_EXIT(end_with_a_transaction(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace foedus::thread_sessions_test
