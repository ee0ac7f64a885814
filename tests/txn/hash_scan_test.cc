// Scans of hash storages through the public interface: limits, errors, isolation levels, restarts,
// and interleavings that would break serializability.
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/testing/at_sync_point.h"
#include "tests/testing/test_database.h"
#include "tests/txn/two_sessions.h"

namespace foedus::hash_scan_test {
namespace {

using testing::must;
using testing::TestDatabase;
using Rows = std::map<std::string, std::string>;

class HashScansTest : public testing::TwoSessionsTest {
 protected:
  HashScansTest() : hash_(must(db_->open_hash("hash"))), tree_(must(db_->open_masstree("tree"))) {}

  Rows load(unsigned rows) {
    Rows loaded;
    for (unsigned i = 0; i < rows; ++i) {
      loaded["key" + std::to_string(i)] = std::string(i % 100, static_cast<char>('a' + i % 26));
    }
    must(db_->transact([&](Txn& txn) -> Status {
      for (const auto& [key, value] : loaded) FOEDUS_CHECK(txn.put(hash_, key, value));
      return {};
    }));
    return loaded;
  }
  static Rows rows_of(Scan rows) {
    Rows found;
    for (const Row& row : rows) {
      EXPECT_TRUE(found.emplace(row.key, row.payload).second) << row.key << " comes twice";
    }
    EXPECT_FALSE(rows.failure().has_value()) << rows.failure()->message();
    return found;
  }

  Hash hash_;
  Masstree tree_;
};

TEST_F(HashScansTest, all_rows_in_each_isolation_also_after_a_restart) {
  const Rows rows = load(3'000);
  const auto check = [&] {
    must(db_->transact([&](Txn& txn) -> Status {
      EXPECT_EQ(rows_of(txn.scan(hash_)), rows);
      return {};
    }));
    must(db_->snapshot([&](Txn& txn) -> Status {
      EXPECT_EQ(rows_of(txn.scan(hash_)), rows);
      return {};
    }));
    Session session = must(db_->new_session());
    Txn dirty = must(session.begin({.isolation = Isolation::kDirtyRead}));
    EXPECT_EQ(rows_of(dirty.scan(hash_)), rows);
    EXPECT_TRUE(dirty.commit().is_ok());
  };
  check();
  db_.reopen();
  hash_ = must(db_->open_hash("hash"));
  check();
}

// Goal: a snapshot is the state at its epoch, whatever is written during the scan.
TEST_F(HashScansTest, a_snapshot_scan_sees_no_later_write_and_never_conflicts) {
  const Rows rows = load(500);
  Txn reader = must(first_.begin({.isolation = Isolation::kSnapshot}));
  Scan scan = reader.scan(hash_);
  Rows found;
  for (const Row& row : scan) {
    found.emplace(row.key, row.payload);
    if (found.size() % 100 != 0) continue;
    commit_second([&](Txn& txn) { return txn.put(hash_, "key1", "later"); });
    commit_second([&](Txn& txn) { return txn.put(hash_, std::to_string(found.size()), "later"); });
    if (found.size() == 200) must(db_->glean());
  }
  EXPECT_FALSE(scan.failure().has_value());
  EXPECT_EQ(found, rows);
  EXPECT_TRUE(reader.commit().is_ok());
}

TEST_F(HashScansTest, a_limit_ends_the_scan) {
  const Rows rows = load(300);
  for (const std::uint64_t limit : {0u, 1u, 7u, 299u, 300u, 301u}) {
    Txn txn = must(first_.begin());
    const Rows found = rows_of(txn.scan(hash_, {.limit = limit}));
    EXPECT_EQ(found.size(), std::min<std::uint64_t>(limit, 300));
    for (const auto& [key, value] : found) EXPECT_EQ(rows.at(key), value);
    EXPECT_TRUE(txn.commit().is_ok());
  }
}

// Goal: a scan reads what it returns, so rows that it did not come to are no conflict.
TEST_F(HashScansTest, a_scan_that_stops_early_conflicts_less) {
  load(3'000);
  std::string last;
  Txn all = must(first_.begin());
  for (const auto& row : all.scan(hash_)) last = row.key;
  EXPECT_TRUE(all.commit().is_ok());
  Txn txn = must(first_.begin());
  EXPECT_EQ(rows_of(txn.scan(hash_, {.limit = 5})).size(), 5u);
  commit_second([&](Txn& other) { return other.put(hash_, last, "changed"); });
  EXPECT_TRUE(txn.commit().is_ok());
}

TEST_F(HashScansTest, errors_are_those_of_other_scans) {
  load(10);
  const auto code_of = [](Scan rows) {
    EXPECT_TRUE(rows.begin() == rows.end());
    return rows.failure().value_or(Status()).code();
  };
  Txn txn = must(first_.begin());
  EXPECT_EQ(code_of(txn.scan(Hash())), ErrorCode::kInvalidArgument);
  TestDatabase other;
  EXPECT_EQ(code_of(txn.scan(must(other->open_hash("hash")))), ErrorCode::kInvalidArgument);
  Scan late = txn.scan(hash_);
  auto row = late.begin();
  EXPECT_TRUE(row != late.end());
  EXPECT_TRUE(txn.commit().is_ok());
  EXPECT_TRUE(++row == late.end());
  EXPECT_EQ(late.failure()->code(), ErrorCode::kClosed);
  EXPECT_EQ(code_of(txn.scan(hash_)), ErrorCode::kClosed);
  must(db_->drop_storage("hash"));
  Txn after = must(first_.begin());
  EXPECT_EQ(code_of(after.scan(hash_)), ErrorCode::kNotFound);
}

// A scan that outlives its transaction, or is moved, gives its cursor back once.
TEST_F(HashScansTest, scans_nest_and_outlive_their_transaction) {
  const Rows rows = load(30);
  for (int round = 0; round < 3; ++round) {
    Txn txn = must(first_.begin());
    Scan outer = txn.scan(hash_);
    std::size_t pairs = 0;
    for (const Row& one : outer) {
      EXPECT_EQ(rows.at(std::string(one.key)), one.payload);
      Scan moved = txn.scan(hash_);
      Scan inner = std::move(moved);
      for ([[maybe_unused]] const Row& two : inner) ++pairs;
    }
    EXPECT_EQ(pairs, rows.size() * rows.size());
    EXPECT_TRUE(txn.commit().is_ok());
  }
}

TEST_F(HashScansTest, own_writes_are_rows) {
  Rows rows = load(100);
  Txn txn = must(first_.begin());
  must(txn.erase(hash_, "key3"));
  rows.erase("key3");
  must(txn.put(hash_, "mine", "new"));
  rows["mine"] = "new";
  must(txn.put(hash_, "key4", std::string(50'000, 'l')));
  rows["key4"] = std::string(50'000, 'l');
  EXPECT_EQ(rows_of(txn.scan(hash_)), rows);
  EXPECT_TRUE(txn.commit().is_ok());
}

// ---- serializability ----------------------------------------------------------------------------

TEST_F(HashScansTest, a_phantom_by_an_insert_is_a_conflict) {
  load(100);
  Txn one = must(first_.begin());
  EXPECT_EQ(rows_of(one.scan(hash_)).size(), 100u);
  commit_second([&](Txn& two) { return two.insert(hash_, "phantom", "x"); });
  must(one.put(tree_, "count", "100"));
  expect_conflict(one.commit(), ConflictReason::kPageGained);
}

TEST_F(HashScansTest, a_phantom_in_an_empty_storage_is_a_conflict) {
  Txn one = must(first_.begin());
  EXPECT_EQ(rows_of(one.scan(hash_)).size(), 0u);
  commit_second([&](Txn& two) { return two.insert(hash_, "phantom", "x"); });
  must(one.put(tree_, "count", "0"));
  expect_conflict(one.commit(), ConflictReason::kPageInstalled);
}

TEST_F(HashScansTest, an_erased_row_is_a_conflict) {
  load(100);
  Txn one = must(first_.begin());
  EXPECT_EQ(rows_of(one.scan(hash_)).size(), 100u);
  commit_second([&](Txn& two) { return two.erase(hash_, "key7"); });
  must(one.put(tree_, "count", "100"));
  expect_conflict(one.commit(), ConflictReason::kRecordChanged);
}

TEST_F(HashScansTest, a_phantom_by_a_spread_is_a_conflict) {
  load(500);
  Txn one = must(first_.begin());
  EXPECT_EQ(rows_of(one.scan(hash_)).size(), 500u);
  commit_second([&](Txn& two) -> Status {
    for (int i = 0; i < 400; ++i) {
      FOEDUS_CHECK(two.insert(hash_, "new" + std::to_string(i), std::string(100, 'n')));
    }
    return {};
  });
  must(one.put(tree_, "count", "500"));
  expect_conflict(one.commit(), ConflictReason::kPageGained);
}

// Rows that grow and are rolled back spread bins, and change no record.
TEST_F(HashScansTest, a_spread_alone_is_no_conflict) {
  const Rows rows = load(200);
  Txn one = must(first_.begin());
  EXPECT_EQ(rows_of(one.scan(hash_)), rows);
  Txn two = must(second_.begin());
  for (const auto& [key, value] : rows) must(two.put(hash_, key, std::string(1'000, 'g')));
  two.rollback();
  must(one.put(tree_, "count", "200"));
  const Result<Ticket> ticket = one.commit();
  EXPECT_TRUE(ticket.is_ok()) << ticket.status().message();
}

// Two transactions count the rows, and insert one each: the second count must not be of the same
// rows. Method: the second one commits while the first one is between lock and verify.
TEST_F(HashScansTest, write_skew_of_two_counts_is_a_conflict) {
  load(50);
  Txn one = must(first_.begin());
  Txn two = must(second_.begin());
  const std::string of_one = std::to_string(rows_of(one.scan(hash_)).size());
  must(one.insert(hash_, "one", of_one));
  const std::string of_two = std::to_string(rows_of(two.scan(hash_)).size());
  must(two.insert(hash_, "two", of_two));
  unsigned commits = 0;
  {
    const testing::AtSyncPoint at("commit:serialized",
                                  [&] { commits += two.commit().is_ok() ? 1 : 0; });
    commits += one.commit().is_ok() ? 1 : 0;
  }
  EXPECT_LE(commits, 1u);
}

}  // namespace
}  // namespace foedus::hash_scan_test
