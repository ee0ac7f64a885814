// ctest-labels: concurrency crash
// Mistake: a transaction is begun and forgotten. It keeps locks, a snapshot and retired pages.
#include <chrono>
#include <string>
#include <thread>

#include "foedus-core/base/system/sync_point.h"
#include "tests/testing/hold.h"
#include "tests/testing/nap.h"
#include "tests/testing/test_database.h"

namespace foedus::forgotten_transactions_test {
namespace {

using testing::Hold;
using testing::must;
using testing::small_options;
using testing::TestDatabase;

constexpr std::uint64_t kTimeoutUs = 20'000;

Options with_timeout() {
  Options options = small_options("");
  options.transaction_timeout_us = kTimeoutUs;
  return options;
}

// Returns once no transaction is open in `database`.
void wait_until_idle(const Database& database) {
  while (database.stats().open_transactions != 0) testing::nap();
}
// Returns once the watch has rolled the transaction back, which is then no longer open.
void wait_until_revoked(Txn* txn, const Array& array) {
  while (txn->get_as<std::uint64_t>(array, 9).code() != ErrorCode::kTimeout) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

// Method: one transaction locks a record and is left alone; another thread writes that record.
TEST(ForgottenTxnMisuseTest, a_lock_is_given_up_at_the_timeout) {
  TestDatabase db(with_timeout());
  const Array array = must(db->open_array("array", 10, 8));
  Session session = must(db->new_session());
  Txn forgotten = must(session.begin());
  std::uint64_t value = 7;
  must(forgotten.get_for_update(array, 0, std::as_writable_bytes(std::span(&value, 1))));
  must(forgotten.put(array, 1, std::uint64_t{5}));
  must(db->transact([&](Txn& txn) { return txn.increment(array, 0, 0, 1); }));

  const auto read = forgotten.get_as<std::uint64_t>(array, 1);
  EXPECT_EQ(read.code(), ErrorCode::kTimeout);
  EXPECT_NE(read.status().message().find("transaction_timeout_us"), std::string::npos);
  EXPECT_EQ(forgotten.put(array, 1, std::uint64_t{5}).code(), ErrorCode::kTimeout);
  EXPECT_EQ(forgotten.commit().code(), ErrorCode::kTimeout);
  Txn next = must(session.begin());
  EXPECT_EQ(must(next.get_as<std::uint64_t>(array, 0)), 1u);
  EXPECT_EQ(must(next.get_as<std::uint64_t>(array, 1)), 0u);
  must(next.put(array, 1, std::uint64_t{6}));
  must(next.commit());
}

// Method: the function that transact() runs takes longer than the timeout.
TEST(ForgottenTxnMisuseTest, transact_reports_the_timeout_and_commits_nothing) {
  TestDatabase db(with_timeout());
  const Array array = must(db->open_array("array", 10, 8));
  const Status status = db->transact([&](Txn& txn) -> Status {
    FOEDUS_CHECK(txn.put(array, 1, std::uint64_t{5}));
    wait_until_revoked(&txn, array);
    return {};
  });
  EXPECT_EQ(status.code(), ErrorCode::kTimeout) << status.message();
  const auto value = [&](Txn& txn) { return txn.get_as<std::uint64_t>(array, 1); };
  EXPECT_EQ(must(db->transact(value)), 0u);
}

// Method: the watch has decided, and the owner commits before it acts. Either may roll back.
TEST(ForgottenTxnMisuseTest, a_commit_beside_the_watch_reports_what_happened) {
  TestDatabase db(with_timeout());
  const Array array = must(db->open_array("array", 10, 8));
  Session session = must(db->new_session());
  Hold revoked("txn_watch:revoked");
  Txn txn = must(session.begin());
  must(txn.put(array, 1, std::uint64_t{5}));
  revoked.wait_until_held();
  EXPECT_EQ(txn.commit().code(), ErrorCode::kTimeout);
  Txn next = must(session.begin());
  must(next.put(array, 2, std::uint64_t{6}));
  revoked.release();
  EXPECT_EQ(must(next.get_as<std::uint64_t>(array, 1)), 0u);
}

// Method: many short transactions beside a timeout that none of them reaches.
TEST(ForgottenTxnMisuseTest, short_transactions_do_not_meet_the_timeout) {
  Options options = small_options("");
  options.transaction_timeout_us = 60'000'000;
  TestDatabase db(options);
  const Array array = must(db->open_array("array", 10, 8));
  for (int i = 0; i < 1'000; ++i) {
    must(db->transact([&](Txn& txn) { return txn.increment(array, 0, 0, 1); }));
  }
  const auto value = [&](Txn& txn) { return txn.get_as<std::uint64_t>(array, 0); };
  EXPECT_EQ(must(db->transact(value)), 1'000u);
  wait_until_idle(*db);
}

// Goal: the error names the forgotten transaction. Method: no timeout; one transaction is left
// open, and others write until there is no memory left.
TEST(ForgottenTxnMisuseTest, are_named_where_memory_runs_out) {
  Options options = small_options("");
  options.memory_bytes = 64u << 20;
  options.glean.memory_bytes = 16u << 20;
  TestDatabase db(options);
  const Masstree tree = must(db->open_masstree("tree"));
  Session session = must(db->new_session());
  Txn forgotten = must(session.begin());
  EXPECT_FALSE(must(forgotten.contains(tree, "row")));
  while (db->stats().oldest_transaction_us < 1'500'000) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_EQ(db->stats().open_transactions, 1u);
  const std::string row(1'000, 'r');
  Status status;
  for (std::uint32_t i = 0; status.is_ok() && i < 1'000'000; ++i) {
    status = db->transact([&](Txn& txn) { return txn.put(tree, key(i), row); });
  }
  ASSERT_EQ(status.code(), ErrorCode::kOutOfMemory) << status.message();
  EXPECT_NE(status.message().find("waits for the end of a transaction: session 0, thread "),
            std::string::npos)
      << status.message();
  EXPECT_GT(db->stats().waiting_page_bytes, 0u);
  forgotten.rollback();
  must(db->transact([&](Txn& txn) { return txn.put(tree, "one more", row); }));
}

}  // namespace
}  // namespace foedus::forgotten_transactions_test
