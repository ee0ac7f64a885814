// ctest-labels: concurrency
// Databases that are closed, or destroyed, while they are in use.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "foedus-core/base/system/process.h"
#include "tests/testing/test_database.h"

namespace foedus::close_test {
namespace {

using testing::must;
using testing::TestDatabase;

void expect_busy(const Status& status, const std::string& part) {
  EXPECT_EQ(status.code(), ErrorCode::kBusy) << status.message();
  EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
}

// Goal: close() with open transactions names their number, threads and ages; all of them go on, new
// ones begin, and close() works once they have ended.
TEST(CloseMisuseTest, close_with_open_transactions_is_busy_and_names_them) {
  TestDatabase db;
  const Masstree tree = must(db->open_masstree("tree"));
  Session first_session = must(db->new_session());
  Session second_session = must(db->new_session());
  Session idle = must(db->new_session());
  std::optional<Txn> first(must(first_session.begin()));
  std::optional<Txn> second(must(second_session.begin({.isolation = Isolation::kDirtyRead})));
  std::optional<Scan> rows(second->scan(tree, "", ""));
  must(first->put(tree, "first", "row"));

  const std::string thread = "thread " + std::to_string(base::thread_id());
  Status closed = db->close();
  expect_busy(closed, "2 transactions are open: session ");
  expect_busy(closed, thread + ", for ");
  must(db->transact([&](Txn& txn) { return txn.put(tree, "between", "row"); }));
  must(must(idle.begin()).commit());
  must(first->commit());
  closed = db->close();
  expect_busy(closed, "1 transaction is open: session ");
  rows.reset();
  second->rollback();
  must(db->close());
  EXPECT_EQ(db->close().code(), ErrorCode::kClosed);
  db.open();
  const Masstree again = must(db->open_masstree("tree"));
  for (const char* const key : {"first", "between"}) {
    EXPECT_TRUE(must(db->transact([&](Txn& txn) { return txn.contains(again, key); }))) << key;
  }
}

TEST(CloseMisuseTest, close_within_transact_is_busy_and_the_transaction_commits) {
  TestDatabase db;
  const Masstree tree = must(db->open_masstree("tree"));
  must(db->transact([&](Txn& txn) -> Status {
    FOEDUS_CHECK(txn.put(tree, "k", "row"));
    expect_busy(db->close(), "1 transaction is open");
    return {};
  }));
  EXPECT_TRUE(must(db->transact([&](Txn& txn) { return txn.contains(tree, "k"); })));
  expect_busy(db->snapshot([&](Txn&) { return db->close(); }), "1 transaction is open");
}

// Goal: transactions that begin while close() checks for open ones go on if it is refused, and get
// kClosed if it is not; none is cut off. Method: threads run transactions all the time, with
// pauses; one calls close() until it succeeds because all others have paused.
TEST(CloseMisuseTest, close_beside_transactions_of_other_threads_is_busy_or_closes) {
  TestDatabase db;
  const Masstree tree = must(db->open_masstree("tree"));
  std::vector<std::thread> threads;
  std::atomic<std::uint64_t> committed{0};
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      for (std::int64_t n = 1;; ++n) {
        const Status status = db->transact([&](Txn& txn) -> Status {
          return txn.put(tree, key(static_cast<std::uint32_t>(i)), n);
        });
        if (status.code() == ErrorCode::kClosed) return;
        EXPECT_TRUE(status.is_ok()) << status.message();
        committed.fetch_add(1);
        if (n % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
      }
    });
  }
  std::uint64_t refusals = 0;
  for (;;) {
    const Status status = db->close();
    if (status.is_ok()) break;
    EXPECT_EQ(status.code(), ErrorCode::kBusy) << status.message();
    ++refusals;
  }
  for (std::thread& thread : threads) thread.join();
  RecordProperty("refusals", std::to_string(refusals));
  RecordProperty("committed", std::to_string(committed.load()));
}

void destroy_with_an_open_transaction() {
  TestDatabase db;
  Session session = must(db->new_session());
  std::optional<Txn> txn(must(session.begin()));
  Database* const database = new Database(std::move(*db));
  delete database;
}

// Goal: a destructor that meets an open transaction ends the program with a sentence that names the
// mistake.
TEST(CloseMisuseTest, a_destructor_with_an_open_transaction_ends_the_program_with_a_sentence) {
  EXPECT_DEATH(destroy_with_an_open_transaction(),
               "^foedus: a Database is destroyed while it is in use; .*1 transaction is open: "
               "session 0, thread [0-9]+, for [0-9]+ ms");
}

}  // namespace
}  // namespace foedus::close_test
