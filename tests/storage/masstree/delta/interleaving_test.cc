// Transactions that meet in a Master-Tree with a delta, and installations that take rows out of it
// while they are open: each of them ends as if it had been alone, or conflicts.
// ctest-labels: memory

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/storage/masstree/delta/fixture.h"

namespace foedus::storage::masstree::interleaving_test {
namespace {

class DeltaInterleavingTest : public MasstreeDeltaTest {
 protected:
  // Writes in a session that otherwise only reads, so that its commit has a write set.
  void write_elsewhere(std::uint32_t session) {
    ASSERT_TRUE(put(session, key_of(1'900 + session), "elsewhere").is_ok());
  }
  std::optional<std::string> row(const std::string& key) const {
    const auto found = rows_.find(key);
    return found == rows_.end() ? std::nullopt : std::optional(found->second);
  }
  // Ends the session's transaction, which has read `seen` of the key: it conflicts, or `seen` is
  // the present row.
  void expect_right_or_conflict(std::uint32_t session, const std::string& key,
                                const std::optional<std::string>& seen) {
    const Status status = commit(session);
    if (status.is_ok()) {
      EXPECT_EQ(seen, row(key));
    } else {
      EXPECT_EQ(status.code(), ErrorCode::kConflict) << status.message();
    }
  }
};

// ---- puts against changes of the main tree

// Goal: a put relies on the row of the main tree from its search until its commit (M48). Method:
// another session makes the page volatile and changes the row there.
TEST_F(DeltaInterleavingTest, a_put_conflicts_with_a_change_of_the_row_in_the_main_tree) {
  load_and_open();
  for (const bool is_hot : {false, true}) {
    for (const WriteMode mode : {WriteMode::kPut, WriteMode::kUpdate}) {
      const std::string key = key_of(is_hot ? 300 : mode == WriteMode::kPut ? 600 : 900);
      if (is_hot && is_cold_in_main(key)) heat(key);
      begin(0);
      {
        const testing::AtSyncPoint other("masstree:delta_put", [&] { heat(key, 1); });
        ASSERT_TRUE(put(0, key, "put", mode).is_ok());
        if (other.runs() == 0) {  // the row is updated in place
          ASSERT_TRUE(is_hot && mode == WriteMode::kUpdate);
          expect_commit(0);
          rows_[key] = "put";
          continue;
        }
      }
      expect_any_conflict(0);
      check_rows();
    }
  }
  expect_all_goes();
}

// Goal: a put that finds another session's change in the main tree gets a higher TID. Method: all
// in one epoch; the session that puts has made no commit yet.
TEST_F(DeltaInterleavingTest, a_put_over_a_change_of_the_main_tree_is_newer) {
  load_and_open();
  for (unsigned i = 0; i < 40; ++i) put_row(key_of(1'000 + i), "x", 1);
  for (unsigned i = 0; i < 10; ++i) heat(key_of(200 + i), 1);
  for (unsigned i = 0; i < 10; ++i) put_row(key_of(200 + i), "put", 0);
  for (unsigned i = 0; i < 10; ++i) {
    const KeyPosition in_main =
        find_below(all_.all().pool(), {&control()->root, nullptr}, key_of(200 + i));
    const KeyPosition in_delta =
        find_below(all_.all().pool(), {&delta()->root, nullptr}, key_of(200 + i));
    EXPECT_GT(in_delta.record()->load_tid().word(), in_main.record()->load_tid().word());
  }
  expect_all_goes();
}

// Goal: a change in the main tree conflicts with a put into the delta that commits while the page
// is being copied. Method: a chain and an erasure need the copy. Before it is installed the other
// session puts the row and commits.
TEST_F(DeltaInterleavingTest, a_change_in_the_main_tree_conflicts_with_a_put_under_way) {
  load_and_open();
  const std::string key = key_of(400);
  begin(1);
  {
    const testing::AtSyncPoint other("masstree:before_install", [&] { put_row(key, "put", 0); });
    ASSERT_TRUE(put(1, key, kChain).is_ok());
    ASSERT_EQ(other.runs(), 1u);
  }
  expect_any_conflict(1);
  const std::string erased = key_of(800);
  begin(1);
  {
    const testing::AtSyncPoint other("masstree:before_install", [&] { put_row(erased, "put", 0); });
    ASSERT_TRUE(erase(1, erased).is_ok());
    ASSERT_EQ(other.runs(), 1u);
  }
  expect_any_conflict(1);
  check_rows();
  expect_all_goes();
}

// Goal: inserts of one key into both trees conflict. Method: a chain is inserted into the main
// tree, a small row is put into the delta; both orders of operations and of commits.
TEST_F(DeltaInterleavingTest, inserts_into_the_two_trees_conflict) {
  load_and_open();
  for (unsigned i = 0; i < 16; ++i) {
    const std::string key = i % 8 < 4 ? key_between(100 + i) : key_of(100 + i);
    const bool chain_first = i % 2 == 0;
    const bool chain_commits_first = i / 2 % 2 == 0;
    if (i >= 8) heat(key_of(300 + 30 * i));
    const std::string name = i >= 8 ? key_between(300 + 30 * i) : key;
    const WriteMode mode = rows_.contains(name) ? WriteMode::kPut : WriteMode::kInsert;
    begin_impatient(0);
    begin_impatient(1);
    for (const bool chain : {chain_first, !chain_first}) {
      const Status status = chain ? put(0, name, kChain, mode) : put(1, name, "small", mode);
      ASSERT_TRUE(status.is_ok()) << status.message();
    }
    unsigned commits = 0;
    for (const bool chain : {chain_commits_first, !chain_commits_first}) {
      const Status status = commit(chain ? 0 : 1);
      if (!status.is_ok()) continue;
      ++commits;
      rows_[name] = chain ? kChain : "small";
    }
    EXPECT_LE(commits, 1u) << i;
    check_rows();
  }
  expect_all_goes();
}

// ---- puts against puts and erasures

TEST_F(DeltaInterleavingTest, two_puts_of_one_row) {
  load_and_open();
  put_row(key_of(50), "in the delta");
  for (const std::string& key : {key_between(50), key_of(51), key_of(50)}) {
    for (const WriteMode mode : {WriteMode::kPut, WriteMode::kInsert}) {
      if (mode == WriteMode::kInsert && rows_.contains(key)) erase_row(key);
      begin_impatient(0);
      begin_impatient(1);
      ASSERT_TRUE(put(0, key, "zero", mode).is_ok());
      ASSERT_TRUE(put(1, key, "one", mode).is_ok());
      const bool zero = commit(0).is_ok();
      if (zero) rows_[key] = "zero";
      const bool one = commit(1).is_ok();
      if (one) rows_[key] = "one";
      EXPECT_TRUE(zero || one);
      EXPECT_FALSE(mode == WriteMode::kInsert && zero && one);
      check_rows();
    }
  }
  expect_all_goes();
}

// Goal: a put of a whole row does not rely on the row in the delta: both transactions commit.
TEST_F(DeltaInterleavingTest, two_puts_of_a_row_that_is_in_the_delta_do_not_conflict) {
  load_and_open();
  const std::string key = key_of(50);
  put_row(key, "in the delta");
  for (const WriteMode mode : {WriteMode::kPut, WriteMode::kUpdate}) {
    begin(0);
    ASSERT_TRUE(put(0, key, "zero", mode).is_ok());
    put_row(key, "one", 1);
    expect_commit(0);
    rows_[key] = "zero";
    check_rows();
  }
}

TEST_F(DeltaInterleavingTest, an_erasure_in_both_trees_against_a_put) {
  load_and_open();
  for (unsigned i = 0; i < 12; ++i) {
    const std::string key = i % 3 == 2 ? key_between(100 * i) : key_of(100 * i);
    if (i % 3 != 0) put_row(key, "in the delta");
    const bool erase_first = i % 2 == 0;
    const bool erase_commits_first = i / 2 % 2 == 0;
    begin_impatient(0);
    begin_impatient(1);
    for (const bool erases : {erase_first, !erase_first}) {
      const Status status = erases ? erase(0, key) : put(1, key, "put");
      ASSERT_TRUE(status.is_ok()) << status.message();
    }
    for (const bool erases : {erase_commits_first, !erase_commits_first}) {
      if (!commit(erases ? 0 : 1).is_ok()) continue;
      if (erases) {
        rows_.erase(key);
      } else {
        rows_[key] = "put";
      }
    }
    EXPECT_EQ(get_alone(2, key), row(key)) << i;
  }
  check_rows();
  expect_all_goes();
}

// Goal: a lock of get_for_update() in the main tree keeps other sessions from changing the row, so
// the holder commits. Method: another session puts the row meanwhile.
TEST_F(DeltaInterleavingTest, a_locked_row_of_the_main_tree_is_not_put_into_the_delta) {
  load_and_open();
  for (const std::string& key : {key_of(100), key_between(100)}) {
    begin(0);
    const WholeRead locked = lock(0, key);
    begin_impatient(1);
    const Status put_status = put(1, key, "theirs");
    const Status other = put_status.is_ok() ? commit(1) : put_status;
    if (ctx(1).is_open()) all_.session(1).rollback();
    if (other.is_ok()) rows_[key] = "theirs";
    ASSERT_TRUE(put(0, key, "mine").is_ok());
    const Status mine = commit(0);
    if (mine.is_ok()) rows_[key] = "mine";
    EXPECT_FALSE(mine.is_ok() && other.is_ok()) << "a lost update";
    if (locked.status.is_ok()) {
      EXPECT_TRUE(mine.is_ok()) << "the holder of the lock conflicts: " << mine.message();
    }
    check_rows();
  }
}

// Goal: the absence of a row in the delta is still verified when a lock makes a record of it.
// Method: between the record and the lock another session puts the row.
TEST_F(DeltaInterleavingTest, a_row_that_was_read_and_then_locked_is_the_same_row) {
  load_and_open();
  for (const std::string& key : {key_of(100), key_between(100)}) {
    begin(0);
    EXPECT_EQ(get(0, key), row(key));
    const testing::AtSyncPoint other("masstree:lock_placed", [&] { put_row(key, "theirs", 1); });
    const WholeRead locked = lock(0, key);
    if (ctx(0).is_doomed()) {
      all_.session(0).rollback();
      continue;
    }
    write_elsewhere(0);
    expect_any_conflict(0);
  }
  check_rows();
}

// ---- readers

TEST_F(DeltaInterleavingTest, a_read_of_a_row_conflicts_with_a_put_of_it) {
  load_and_open();
  heat(key_of(300));
  put_row(key_of(100), "in the delta");
  for (const std::string& key : {key_of(100), key_of(101), key_between(101), key_of(300),
                                 key_between(300), std::string("long keys too")}) {
    begin(0);
    EXPECT_EQ(get(0, key), row(key));
    write_elsewhere(0);
    put_row(key, "newer", 1);
    expect_any_conflict(0);
    begin(0);
    EXPECT_EQ(get(0, key), "newer");
    write_elsewhere(0);
    erase_row(key, 1);
    expect_any_conflict(0);
  }
}

TEST_F(DeltaInterleavingTest, a_put_of_a_new_key_is_a_phantom_of_a_scan) {
  load_and_open();
  for (unsigned i = 0; i < 30; i += 10) put_row(key_of(i), "in the delta");
  for (const std::string& key : {key_between(15), key_of(16) + "long", key_between(29, 15)}) {
    for (const bool reverse : {false, true}) {
      begin(0);
      const std::vector<Row> rows = merged_rows(0, key_of(5), key_of(30), reverse);
      EXPECT_EQ(rows.size(), 25u);
      write_elsewhere(0);
      put_row(key, "phantom", 1);
      expect_any_conflict(0);
      erase_row(key, 1);
    }
  }
  begin(0);
  EXPECT_EQ(merged_rows(0, key_of(5), key_of(30)).size(), 25u);
  write_elsewhere(0);
  expect_commit(0);
}

// Goal: no write skew between the trees. Method: two transactions read each other's rows, one in
// the main tree, one in the delta.
TEST_F(DeltaInterleavingTest, write_skew_between_the_trees_conflicts) {
  load_and_open();
  for (unsigned i = 0; i < 8; ++i) {
    const std::string in_main = key_of(100 + 150 * i);
    const std::string in_delta = key_of(101 + 150 * i);
    if (i % 2 == 0) put_row(in_delta, "delta");
    if (i / 2 % 2 == 0) heat(in_main);
    begin_impatient(0);
    begin_impatient(1);
    EXPECT_EQ(get(0, in_main), row(in_main));
    EXPECT_EQ(get(1, in_delta), row(in_delta));
    ASSERT_TRUE(put(0, in_delta, "zero").is_ok());
    ASSERT_TRUE(write_part(1, in_main, "one").is_ok());
    const std::uint32_t first = i / 4;
    const bool one = commit(first).is_ok();
    const bool other = commit(1 - first).is_ok();
    EXPECT_FALSE(one && other) << i;
    if (first == 0 ? one : other) rows_[in_delta] = "zero";
    if (first == 1 ? one : other) rows_[in_main].replace(0, 3, "one");
  }
  check_rows();
}

// Goal: a read that searches the delta and then the main tree misses no row. Method: in between,
// the row is put into the delta, goes to a snapshot and leaves the delta.
TEST_F(DeltaInterleavingTest, a_row_that_comes_and_goes_between_the_two_looks) {
  load_and_open();
  unsigned i = 0;
  for (const char* const place : {"masstree:cold_seen", "masstree:cold_read"}) {
    for (const bool is_new : {false, true}) {
      const std::string key = is_new ? key_between(100 + i) : key_of(100 + i);
      i += 300;
      begin(0);
      std::optional<std::string> seen;
      {
        const testing::AtSyncPoint other(place, [&] {
          put_row(key, "newer", 1);
          all_.compose();
          all_.install();
          EXPECT_FALSE(is_in_delta(key));
        });
        const WholeRead got = read(0, key);
        EXPECT_EQ(other.runs(), 1u);
        if (got.status.is_ok()) seen = got.payload;
        if (got.status.code() == ErrorCode::kConflict) {
          all_.session(0).rollback();
          continue;
        }
      }
      expect_right_or_conflict(0, key, seen);
    }
  }
  check_rows();
}

}  // namespace
}  // namespace foedus::storage::masstree::interleaving_test
