// ctest-labels: memory
// Objects of transactions that are used too late, moved away, or ended where transact() ends them.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tests/testing/test_database.h"

namespace foedus::transactions_test {
namespace {

using testing::must;
using testing::TestDatabase;

bool has(TestDatabase& db, const Masstree& tree, std::string_view key) {
  return must(db->transact([&](Txn& txn) { return txn.contains(tree, key); }));
}

// Goal: a Txn that outlives its Session was rolled back with it, and does not act on the next
// transaction of the internal session. Method: there is only one session.
TEST(TxnMisuseTest, a_txn_that_outlives_its_session_does_not_act_on_the_next_owner) {
  Options options = testing::small_options("");
  options.sessions_max = 1;
  TestDatabase db(options);
  const Masstree tree = must(db->open_masstree("tree"));
  std::optional<Session> first = must(db->new_session());
  std::optional<Txn> late(must(first->begin()));
  std::optional<Scan> late_scan(late->scan(tree, "", ""));
  must(late->put(tree, "early", "row"));
  first.reset();

  Session second = must(db->new_session());
  Txn txn = must(second.begin());
  must(txn.put(tree, "second", "row"));
  EXPECT_EQ(late->put(tree, "late", "row").code(), ErrorCode::kClosed);
  EXPECT_EQ(late->get(tree, "second").status().code(), ErrorCode::kClosed);
  EXPECT_EQ(late->verify().code(), ErrorCode::kClosed);
  EXPECT_EQ(late->commit().status().code(), ErrorCode::kClosed);
  EXPECT_TRUE(late_scan->begin() == late_scan->end());
  EXPECT_EQ(late_scan->failure()->code(), ErrorCode::kClosed);
  late->rollback();
  late.reset();
  late_scan.reset();
  must(txn.commit());

  Txn check = must(second.begin());
  EXPECT_TRUE(must(check.contains(tree, "second")));
  EXPECT_FALSE(must(check.contains(tree, "early")));
  EXPECT_FALSE(must(check.contains(tree, "late")));
}

// Goal: objects that outlive the database are refused, and their destructors do not touch it
// (AddressSanitizer checks).
TEST(TxnMisuseTest, objects_that_outlive_their_database_are_closed) {
  auto db = std::make_unique<TestDatabase>();
  const Masstree tree = must((*db)->open_masstree("tree"));
  std::optional<Session> session = must((*db)->new_session());
  std::optional<Session> closed_early = must((*db)->new_session());
  std::optional<Txn> txn(must(closed_early->begin()));
  std::optional<Scan> scan(txn->scan(tree, "", ""));
  closed_early.reset();
  db.reset();
  EXPECT_EQ(session->begin().status().code(), ErrorCode::kClosed);
  EXPECT_EQ(txn->get(tree, "k").status().code(), ErrorCode::kClosed);
  scan.reset();
  txn.reset();
  session.reset();
}

TEST(TxnMisuseTest, a_session_of_a_closed_database_begins_nothing) {
  TestDatabase db;
  Session session = must(db->new_session());
  must(db->close());
  EXPECT_EQ(session.begin().status().code(), ErrorCode::kClosed);
  EXPECT_EQ(db->new_session().status().code(), ErrorCode::kClosed);
}

// Goal: a session that was moved from is refused by name, also when its slot belongs to no database
// any more.
TEST(TxnMisuseTest, a_moved_session_begins_nothing) {
  std::optional<TestDatabase> db(std::in_place);
  Session session = must((*db)->new_session());
  const Session moved = std::move(session);
  const auto expect_refused = [&session] {
    const Status refused = session.begin().status();  // NOLINT: the mistake
    ASSERT_EQ(refused.code(), ErrorCode::kClosed);
    ASSERT_NE(refused.message().find("moved from"), std::string::npos) << refused.message();
  };
  ASSERT_NO_FATAL_FAILURE(expect_refused());
  must((*db)->close());
  ASSERT_NO_FATAL_FAILURE(expect_refused());
  db.reset();
  expect_refused();
}

TEST(TxnMisuseTest, a_database_without_a_log_commits_and_knows_that_it_is_closed) {
  Options options = testing::small_options("");
  options.log.kind = Logging::kNone;
  TestDatabase db(options);
  const Masstree tree = must(db->open_masstree("t"));
  Session session = must(db->new_session());
  Txn txn = must(session.begin());
  must(txn.put(tree, key(1u), 1u));
  must(txn.commit());
  must(db->close());
  EXPECT_EQ(db->wait_durable().code(), ErrorCode::kClosed);
}

TEST(TxnMisuseTest, a_session_has_one_transaction_at_a_time) {
  TestDatabase db;
  Session session = must(db->new_session());
  Txn txn = must(session.begin());
  EXPECT_EQ(session.begin().status().code(), ErrorCode::kInvalidArgument);
  txn.rollback();
  Txn next = must(session.begin());
  must(next.commit());
}

// Goal: rollback() inside transact() undoes the transaction; success afterwards is no commit.
TEST(TxnMisuseTest, a_rollback_within_transact_is_never_a_commit) {
  TestDatabase db;
  const Masstree tree = must(db->open_masstree("tree"));
  int calls = 0;
  const Status status = db->transact([&](Txn& txn) -> Status {
    ++calls;
    FOEDUS_CHECK(txn.put(tree, "k", "row"));
    txn.rollback();
    txn.rollback();
    EXPECT_EQ(txn.put(tree, "more", "row").code(), ErrorCode::kClosed);
    return {};
  });
  EXPECT_EQ(status.code(), ErrorCode::kRolledBack) << status.message();
  EXPECT_EQ(calls, 1);
  const Result<int> result = db->transact([&](Txn& txn) -> Result<int> {
    FOEDUS_CHECK(txn.put(tree, "k", "row"));
    txn.rollback();
    return 7;
  });
  EXPECT_EQ(result.code(), ErrorCode::kRolledBack);
  EXPECT_FALSE(has(db, tree, "k"));
}

// Goal: the reads before a rollback have to hold, as before any other error; otherwise it is a
// conflict, and the function runs again. Method: another transaction changes a row that was read.
TEST(TxnMisuseTest, a_rollback_that_rests_on_stale_reads_is_run_again) {
  TestDatabase db;
  const Masstree tree = must(db->open_masstree("tree"));
  Session other = must(db->new_session());
  int calls = 0;
  must(db->transact([&](Txn& txn) -> Status {
    FOEDUS_TRY(const bool is_there, txn.contains(tree, "k"));
    if (++calls == 1) {
      Txn writer = must(other.begin());
      must(writer.put(tree, "k", "row"));
      must(writer.commit());
    }
    if (!is_there) txn.rollback();
    return {};
  }));
  EXPECT_EQ(calls, 2);
}

// Goal: a Txn that is moved out of transact() is still ended by it.
TEST(TxnMisuseTest, a_txn_that_is_moved_out_of_transact_is_rolled_back) {
  TestDatabase db;
  const Masstree tree = must(db->open_masstree("tree"));
  std::optional<Txn> kept;
  Status status = db->transact([&](Txn& txn) -> Status {
    FOEDUS_CHECK(txn.put(tree, "kept", "row"));
    kept.emplace(std::move(txn));
    return {};
  });
  EXPECT_EQ(status.code(), ErrorCode::kInvalidArgument) << status.message();
  EXPECT_NE(status.message().find("moved out"), std::string::npos) << status.message();
  EXPECT_EQ(kept->put(tree, "late", "row").code(), ErrorCode::kClosed);
  EXPECT_EQ(kept->commit().status().code(), ErrorCode::kClosed);
  kept.reset();
  status = db->transact([&](Txn& txn) -> Status {
    FOEDUS_CHECK(txn.put(tree, "gone", "row"));
    const Txn moved = std::move(txn);
    return {};
  });
  EXPECT_EQ(status.code(), ErrorCode::kRolledBack) << status.message();
  for (const char* const key : {"kept", "late", "gone"}) EXPECT_FALSE(has(db, tree, key)) << key;
}

TEST(TxnMisuseTest, commit_within_transact_is_refused_and_the_transaction_goes_on) {
  TestDatabase db;
  const Masstree tree = must(db->open_masstree("tree"));
  must(db->transact([&](Txn& txn) -> Status {
    EXPECT_EQ(txn.commit().status().code(), ErrorCode::kInvalidArgument);
    return txn.put(tree, "k", "row");
  }));
  EXPECT_TRUE(has(db, tree, "k"));
}

// Mistake: a transaction drops a storage that it has read: each try would fail, and repeat the
// drop.
TEST(TxnMisuseTest, a_drop_within_transact_is_refused_at_once) {
  TestDatabase db;
  const Array array = must(db->open_array("array", 10, 8));
  int tries = 0;
  const Status status = db->transact([&](Txn& txn) -> Status {
    ++tries;
    FOEDUS_CHECK(txn.get_as<std::uint64_t>(array, 0).status());
    return db->drop_storage("array");
  });
  EXPECT_EQ(status.code(), ErrorCode::kInvalidArgument);
  EXPECT_NE(status.message().find("drop_storage() within transact()"), std::string::npos);
  EXPECT_EQ(tries, 1);
  must(db->drop_storage("array"));
}

}  // namespace
}  // namespace foedus::transactions_test
