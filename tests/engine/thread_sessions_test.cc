// ctest-labels: concurrency
// Which session a thread has, up to its very end.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "tests/testing/test_database.h"

namespace foedus {
namespace {

using testing::must;
using testing::small_options;
using testing::TestDatabase;

// What an object of the program does when it goes.
struct AtEnd {
  std::function<void()> action;
  ~AtEnd() {
    if (action) action();
  }
};

// Goal: at its end a thread writes what it has gathered, in the destructor of an object that is
// older than its use of the database: it has a session meanwhile that no other thread has. Method:
// there is one session only; in the midst of the late transaction another thread asks for it, and
// again when the late thread is gone.
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

// The same of the process: objects of static duration go behind those of the main thread.
TEST(ThreadSessionsTest, a_process_runs_transactions_until_its_last_destructor) {
  EXPECT_EXIT(end_with_a_transaction(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace foedus
