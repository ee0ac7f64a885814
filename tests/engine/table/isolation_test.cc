// Transactions of a table are serializable, through its indexes, too: two transactions are
// interleaved by hand, in sessions of one thread.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tests/engine/table/people.h"
#include "tests/testing/test_database.h"

namespace foedus::table_isolation_test {
namespace {

using testing::from;
using testing::keys_of;
using testing::must;
using testing::People;
using testing::Person;
using testing::TestDatabase;

class TableIsolationTest : public ::testing::Test {
 protected:
  // Runs `first` in a transaction that commits after one that has run `second`. Returns the code of
  // that commit.
  template <typename First, typename Second>
  ErrorCode commit_after(const First& first, const Second& second) {
    Txn txn = must(first_.begin());
    first(txn);
    Txn other = must(second_.begin());
    second(other);
    must(other.commit());
    return txn.commit().code();
  }

  TestDatabase db_;
  Session first_ = must(db_->new_session());
  Session second_ = must(db_->new_session());
  People people_ = must(People::open(*db_, "people"));
};

TEST_F(TableIsolationTest, two_inserts_of_one_unique_value_conflict) {
  const auto inserts = [&](int key, std::uint32_t passport) {
    return [this, key, passport](Txn& txn) {
      must(people_.insert(txn, static_cast<std::uint64_t>(key), from("", 0, passport)));
    };
  };
  EXPECT_EQ(commit_after(inserts(1, 7), inserts(2, 7)), ErrorCode::kConflict);
  EXPECT_EQ(commit_after(inserts(3, 8), inserts(4, 9)), ErrorCode::kOk);
  const auto erases = [&](Txn& txn) { must(people_.erase(txn, 2)); };
  const auto is_refused = [&](Txn& txn) {
    EXPECT_EQ(people_.insert(txn, 5, from("", 0, 7)).code(), ErrorCode::kAlreadyExists);
  };
  EXPECT_EQ(commit_after(is_refused, erases), ErrorCode::kConflict);
}

TEST_F(TableIsolationTest, a_new_entry_in_a_range_that_was_read_is_a_conflict) {
  const auto reads = [&](const char* city) {
    return [this, city](Txn& txn) { EXPECT_EQ(keys_of(people_.find<"by_city">(txn, city)), ""); };
  };
  const auto inserts = [&](Txn& txn) { must(people_.insert(txn, 1, from("Rome"))); };
  EXPECT_EQ(commit_after(reads("Rome"), inserts), ErrorCode::kConflict);
  const auto counts = [&](Txn& txn) {
    EXPECT_EQ(must(people_.count_range<"by_city">(txn, "Q", "S")), 1U);
  };
  const auto moves = [&](Txn& txn) { must(people_.put(txn, 1, from("Oslo"))); };
  EXPECT_EQ(commit_after(counts, moves), ErrorCode::kConflict);
}

// Goal: only entries that change are written. Method: a transaction that has read entries does not
// conflict with one that changes the row in another column.
TEST_F(TableIsolationTest, an_entry_that_stays_is_not_written) {
  must(db_->transact([&](Txn& txn) { return people_.insert(txn, 1, from("Rome", 1950, 7, {3})); }));
  const auto counts = [&](Txn& txn) {
    EXPECT_EQ(must(people_.count<"by_city">(txn, "Rome")), 1U);
    EXPECT_EQ(must(people_.count<"by_passport">(txn, 7u)), 1U);
  };
  const auto counts_members = [&](Txn& txn) {
    EXPECT_EQ(must(people_.count<"by_club">(txn, 3)), 1U);
  };
  const auto grows = [&](Txn& txn) {
    must(people_.modify(txn, 1, [](Person& person) { person.height += 1; }));
  };
  EXPECT_EQ(commit_after(counts, grows), ErrorCode::kOk);
  const auto joins = [&](Txn& txn) {
    must(people_.modify(txn, 1, [](Person& person) { person.clubs[1] = 4; }));
  };
  EXPECT_EQ(commit_after(counts, joins), ErrorCode::kOk);
  const auto leaves = [&](Txn& txn) {
    must(people_.modify(txn, 1, [](Person& person) { person.clubs[0] = 0; }));
  };
  EXPECT_EQ(commit_after(counts_members, leaves), ErrorCode::kConflict);
}

TEST_F(TableIsolationTest, two_changes_of_one_row_conflict) {
  must(db_->transact([&](Txn& txn) { return people_.insert(txn, 1, from("Rome")); }));
  const auto moves = [&](const char* city) {
    return [this, city](Txn& txn) { must(people_.put(txn, 1, from(city))); };
  };
  EXPECT_EQ(commit_after(moves("Oslo"), moves("Bern")), ErrorCode::kConflict);
  must(db_->transact([&](Txn& txn) { return people_.check(txn); }));
}

// A reader that is doomed may meet an entry without its row: that is its conflict, not damage. Here
// the row is erased past the table, which alone is sure to let the reader meet it.
TEST_F(TableIsolationTest, an_entry_without_its_row_is_a_conflict_of_a_doomed_reader) {
  must(db_->transact([&](Txn& txn) { return people_.insert(txn, 1, from("Rome", 1950, 7)); }));
  Txn txn = must(first_.begin());
  must(people_.get(txn, 1));
  const Masstree rows = must(db_->open_masstree("people"));
  must(db_->transact([&](Txn& other) { return other.erase(rows, key(1)); }));
  auto found = people_.find<"by_city">(txn, "Rome");
  EXPECT_TRUE(found.begin() == found.end());
  EXPECT_EQ(found.failure().value_or(Status()).code(), ErrorCode::kConflict);
  EXPECT_EQ(people_.find_unique<"by_passport">(txn, 7u).code(), ErrorCode::kConflict);
  EXPECT_EQ(txn.commit().code(), ErrorCode::kConflict);
}

TEST_F(TableIsolationTest, a_snapshot_shows_rows_and_indexes_of_one_time) {
  must(db_->transact([&](Txn& txn) { return people_.insert(txn, 1, from("Rome", 1950, 7)); }));
  must(db_->glean());
  must(db_->transact([&](Txn& txn) { return people_.put(txn, 1, from("Oslo", 1950, 8)); }));
  const auto reads = [&](Txn& txn) -> Status {
    EXPECT_EQ(keys_of(people_.find<"by_city">(txn, "Rome")), "1 ");
    EXPECT_EQ(must(people_.find_unique<"by_passport">(txn, 7u)).row.born, 1950);
    EXPECT_EQ(people_.put(txn, 1, from("Bern")).code(), ErrorCode::kInvalidArgument);
    return people_.check(txn);
  };
  must(db_->snapshot(reads, {.newest_existing = true}));
  must(db_->snapshot([&](Txn& txn) { return people_.check(txn); }));
}

// The snapshot has the rows, but not all entries: it was made before the index was complete.
TEST_F(TableIsolationTest, a_snapshot_without_the_index_is_refused_by_name) {
  using Before = Table<std::uint64_t, Person>;
  using After = Table<std::uint64_t, Person, testing::ByCity>;
  const Before before = must(Before::open(*db_, "crowd"));
  must(db_->transact([&](Txn& txn) { return before.insert(txn, 1, from("Rome")); }));
  must(db_->glean());
  const After after = must(After::open(*db_, "crowd"));
  const auto reads = [&](Txn& txn) -> Status {
    must(after.get(txn, 1));
    return after.count<"by_city">(txn, "Rome").status();
  };
  const Status refused = db_->snapshot(reads, {.newest_existing = true});
  EXPECT_EQ(refused.code(), ErrorCode::kNotSupported) << refused.message();
  EXPECT_NE(refused.message().find("'by_city'"), std::string::npos) << refused.message();
  must(db_->snapshot(reads));
}

}  // namespace
}  // namespace foedus::table_isolation_test
