// Transactions whose rows leave the delta, or whose pages are split, joined or freed, while they
// are open.
// ctest-labels: memory

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/storage/masstree/delta/fixture.h"

namespace foedus::storage::masstree::leaving_test {
namespace {

class DeltaLeavingTest : public MasstreeDeltaTest {
 protected:
  void put_some(unsigned step, const std::string& payload) {
    for (unsigned i = 0; i < kRows; i += step) put_row(key_of(i), payload + std::to_string(i));
  }
};

// Goal: a change of a row that has left the delta conflicts: it would be lost, or have a lower TID
// than a later change in the main tree (M48).
TEST_F(DeltaLeavingTest, a_change_of_a_row_that_has_left_conflicts) {
  load_and_open();
  const std::string key = key_of(100);
  for (unsigned kind = 0; kind < 5; ++kind) {
    put_row(key, "in the delta");
    begin(0);
    Status status;
    switch (kind) {
      case 0:
        status = put(0, key, "mine");
        break;
      case 1:
        status = put(0, key, "mine", WriteMode::kUpdate);
        break;
      case 2:
        status = write_part(0, key, "mine");
        break;
      case 3:
        status = add(0, key, 1);
        break;
      default:
        status = erase(0, key);
        break;
    }
    ASSERT_TRUE(status.is_ok()) << status.message();
    all_.glean();
    all_.glean();
    ASSERT_FALSE(is_in_delta(key)) << kind;
    expect_any_conflict(0);
    check_rows();
  }
  expect_all_goes();
}

// Goal: a change of a row conflicts if that has gone to the main tree and back to the delta
// meanwhile.
TEST_F(DeltaLeavingTest, a_change_of_a_row_that_has_left_and_come_back) {
  load_and_open();
  const std::string key = key_of(100);
  for (const bool is_erased : {false, true}) {
    put_row(key, "in the delta");
    begin(0);
    ASSERT_TRUE(put(0, key, "mine").is_ok());
    all_.glean();
    ASSERT_FALSE(is_in_delta(key));
    heat(key, 1);
    if (is_erased) erase_row(key, 1);
    put_row(key, "theirs", 1);
    ASSERT_TRUE(is_in_delta(key));
    const Status status = commit(0);
    if (status.is_ok()) rows_[key] = "mine";
    check_rows();
    expect_all_goes();
  }
}

TEST_F(DeltaLeavingTest, a_reader_of_a_row_that_has_left) {
  load_and_open();
  const std::string key = key_of(100);
  for (const bool writes : {false, true}) {
    for (const bool changes : {false, true}) {
      put_row(key, "in the delta");
      begin(0);
      ASSERT_EQ(get(0, key), "in the delta");
      if (writes) {
        ASSERT_TRUE(put(0, key_of(1'900), "elsewhere").is_ok());
      }
      all_.glean();
      ASSERT_FALSE(is_in_delta(key));
      if (changes) heat(key, 1);
      const Status status = commit(0);
      if (status.is_ok()) {
        EXPECT_FALSE(changes);
        if (writes) rows_[key_of(1'900)] = "elsewhere";
      } else {
        EXPECT_EQ(status.code(), ErrorCode::kConflict) << status.message();
      }
      check_rows();
      expect_all_goes();
    }
  }
}

// Goal: a reader that did not find a row in the delta, because it had left, notices that it is
// back.
TEST_F(DeltaLeavingTest, a_reader_of_the_main_tree_sees_that_the_row_is_back) {
  load_and_open();
  const std::string key = key_of(100);
  put_row(key, "in the delta");
  put_row(key_of(101), "keeps the page");
  all_.compose();
  put_row(key_of(101), "newer");  // so the delta keeps its pages
  all_.install();
  ASSERT_FALSE(is_in_delta(key));
  for (const bool gleans : {false, true}) {
    begin(0);
    ASSERT_EQ(get(0, key), rows_.at(key));
    ASSERT_TRUE(put(0, key_of(1'900), "elsewhere").is_ok());
    put_row(key, "back", 1);
    if (gleans) all_.glean();
    expect_any_conflict(0);
  }
  check_rows();
}

// Goal: own writes of both trees are found after their pages were split (O17). Method: another
// session splits the page of the own write in one epoch, and a page of the other tree in a later
// one. The transaction reaches the page of the other tree first.
TEST_F(DeltaLeavingTest, own_writes_whose_pages_others_split) {
  load_and_open();
  put_some(2, "put ");
  const auto record_of = [this](occ::StorageControl* tree, const std::string& key) {
    return find_below(all_.all().pool(), {&tree->root, nullptr}, key).record();
  };
  for (const unsigned own_in_main : {0u, 1u}) {
    const unsigned near[] = {100 + 300 * own_in_main, 1'201 + 300 * own_in_main};
    occ::StorageControl* const trees[] = {delta(), control()};
    heat(key_of(near[1]), 1);
    all_.all().pass_epochs();
    const std::string key = key_of(near[own_in_main]);
    page::RecordHeader* const record = record_of(trees[own_in_main], key);
    begin(0);
    ASSERT_TRUE(write_part(0, key, "own").is_ok());
    for (const unsigned tree : {own_in_main, 1 - own_in_main}) {
      const std::string payload = tree == 0 ? "new" : kChain;  // a chain goes to the main tree
      for (unsigned n = 1; n < 15; ++n) {
        for (unsigned i = 0; i < (tree == 0 ? 10 : 1); ++i) {
          put_row(key_between(near[tree] + i, n), payload, 1);
        }
      }
      all_.all().pass_epochs();
    }
    ASSERT_NE(record_of(trees[own_in_main], key), record) << "the page was not split";
    EXPECT_EQ(get(0, key_of(near[1 - own_in_main])), rows_.at(key_of(near[1 - own_in_main])));
    rows_[key].replace(0, 3, "own");
    EXPECT_EQ(get(0, key), rows_[key]);
    expect_commit(0);
    check_rows();
  }
  expect_all_goes();
}

// Goal: own writes to a page of the delta that is joined are seen and committed. Method: many rows
// of the page leave; the transaction has put new rows and rows that are in snapshot pages.
TEST_F(DeltaLeavingTest, own_writes_whose_pages_are_joined) {
  load_and_open();
  put_some(2, "put ");
  const std::uint64_t before = delta_pages();
  all_.compose();
  put_some(500, "newer ");  // so the delta is not freed
  begin(0);
  for (unsigned i = 1; i < kRows; i += 100) {
    ASSERT_TRUE(put(0, key_of(i), "own").is_ok());
    ASSERT_TRUE(put(0, key_between(i), "own").is_ok());
  }
  all_.install();
  EXPECT_LT(delta_pages(), before / 2);
  for (unsigned i = 1; i < kRows; i += 100) {
    EXPECT_EQ(get(0, key_of(i)), "own") << i;
    EXPECT_EQ(get(0, key_between(i)), "own") << i;
    EXPECT_EQ(put(0, key_between(i), "x", WriteMode::kInsert).code(), ErrorCode::kAlreadyExists);
  }
  const std::vector<Row> rows = merged_rows(0, key_of(1), key_of(2));
  EXPECT_EQ(rows.size(), 2u);
  // The pointers to its cold rows lead to another snapshot now.
  const Status status = commit(0);
  EXPECT_TRUE(status.is_ok() || status.code() == ErrorCode::kConflict) << status.message();
  for (unsigned i = 1; status.is_ok() && i < kRows; i += 100) {
    rows_[key_of(i)] = rows_[key_between(i)] = "own";
  }
  check_rows();
  expect_all_goes();
}

// Goal: own writes to a delta whose pages are freed commit, or conflict and succeed at the retry.
// Method: all rows of the delta leave.
TEST_F(DeltaLeavingTest, own_writes_whose_delta_is_given_up) {
  load_and_open();
  for (const bool others : {false, true}) {
    put_some(20, "put ");
    for (unsigned i = 0; i < 50; ++i) put_row(key_of(i) + "layer one", "x");
    for (unsigned i = 0; i < 50; ++i) put_row(key_of(i) + "layer two", "x");
    all_.compose();
    begin(0);
    const std::vector<std::string> keys = {key_of(7), key_between(7), key_of(3) + "layer six",
                                           key_of(1'999) + "new"};
    for (const std::string& key : keys) ASSERT_TRUE(put(0, key, "own").is_ok());
    all_.install();
    EXPECT_EQ(delta_pages(), 1u);
    if (others) {
      put_row(key_between(7), "theirs", 1);
      put_row(key_between(8), "theirs", 1);
    }
    for (const std::string& key : keys) {
      const WholeRead got = read(0, key);
      if (got.status.code() == ErrorCode::kConflict) break;
      EXPECT_EQ(got.payload, "own") << got.status.message();
    }
    const Status status = commit(0);
    EXPECT_TRUE(status.is_ok() || status.code() == ErrorCode::kConflict) << status.message();
    EXPECT_FALSE(status.is_ok() && others) << "a key came that was not there";
    for (const std::string& key : keys) {
      if (!status.is_ok()) put_alone(0, key, "own");  // the retry
      rows_[key] = "own";
    }
    check_rows();
    expect_all_goes();
  }
}

// Goal: at every step of a purge other sessions read the present rows or conflict, and their puts
// are kept. Method: they act at each record that is about to be marked, with its lock held.
TEST_F(DeltaLeavingTest, others_while_rows_leave) {
  load_and_open();
  for (const char* const place : {"masstree:delta_purging", "masstree:delta_dropped"}) {
    put_some(25, place);
    for (unsigned i = 0; i < 10; ++i) put_row(key_of(i) + "layer one", place);
    for (unsigned i = 0; i < 10; ++i) put_row(key_of(i) + "layer two", place);
    all_.compose();
    unsigned commits = 0;
    unsigned round = 0;
    {
      const testing::AtSyncPoint others(
          place,
          [&] {
            const std::string key = key_of(round * 25 % kRows);
            const std::string fresh = key_between(round * 31 % kRows, 1 + round % 15);
            ++round;
            begin_impatient(1);
            const WholeRead got = read(1, key);
            if (got.status.is_ok()) {
              EXPECT_EQ(got.payload, rows_.at(key));
            }
            EXPECT_NE(got.status.code(), ErrorCode::kNotFound);
            Status status = got.status.is_ok() ? put(1, fresh, "fresh") : got.status;
            if (status.is_ok() && round % 3 == 0) status = put(1, key, "changed");
            if (status.is_ok()) status = commit(1);
            if (ctx(1).is_open()) all_.session(1).rollback();
            if (!status.is_ok()) return;
            ++commits;
            rows_[fresh] = "fresh";
            if (round % 3 == 0) rows_[key] = "changed";
          },
          true);
      all_.install();
      EXPECT_GT(others.runs(), 0u) << place;
    }
    check_rows();
    expect_all_goes();
  }
}

// Goal: a put is not lost if an installation comes between its search of the main tree and its
// write to the delta.
TEST_F(DeltaLeavingTest, an_installation_between_the_look_and_the_put) {
  load_and_open();
  for (const bool changes : {false, true}) {
    const std::string key = key_of(changes ? 701 : 301);
    put_some(50, "put ");
    begin(0);
    {
      const testing::AtSyncPoint other("masstree:delta_put", [&] {
        if (changes) put_row(key, "theirs", 1);
        all_.glean();
      });
      const Status status = put(0, key, "mine");
      EXPECT_TRUE(status.is_ok() || status.code() == ErrorCode::kConflict) << status.message();
      EXPECT_EQ(other.runs(), 1u);
    }
    const Status status = commit(0);
    EXPECT_FALSE(status.is_ok() && changes);
    if (status.is_ok()) rows_[key] = "mine";
    check_rows();
    expect_all_goes();
  }
}

// Goal: a row is erased although it leaves the delta while its page of the main tree is made
// volatile. Method: a snapshot is made and installed before the copy of the page is installed; the
// other session may then change the row in the main tree.
TEST_F(DeltaLeavingTest, an_erasure_of_a_row_that_leaves_meanwhile) {
  load_and_open();
  for (const bool changes : {false, true}) {
    const std::string key = key_of(changes ? 700 : 300);
    put_row(key, "in the delta");
    begin(0);
    Status status;
    {
      const testing::AtSyncPoint other("masstree:before_install", [&] {
        all_.glean();
        EXPECT_FALSE(is_in_delta(key));
        if (changes) heat(key, 1);
      });
      status = erase(0, key);
      EXPECT_EQ(other.runs(), 1u);
    }
    status = commit(0);
    EXPECT_EQ(status.code(), ErrorCode::kConflict) << status.message();
    check_rows();
    expect_all_goes();
  }
}

// Goal: the record that a lock leaves in the delta for a missing key is no row. Method: locks of
// rows of the main tree, of absent keys, and of rows that leave the delta meanwhile.
TEST_F(DeltaLeavingTest, locks_leave_no_rows) {
  load_and_open();
  for (unsigned i = 0; i < 200; ++i) {
    if (i % 3 == 0) put_row(key_of(5 * i), "in the delta");
    const std::string key = i % 2 == 0 ? key_of(5 * i) : key_between(5 * i) + "long";
    begin(0);
    EXPECT_EQ(lock(0, key).status.is_ok(), rows_.contains(key));
    if (i % 50 == 6) all_.glean();
    EXPECT_EQ(lock(0, key).status.is_ok(), rows_.contains(key));
    if (i % 4 == 0) {
      ASSERT_TRUE(put(0, key, "locked").is_ok());
      const Status status = commit(0);
      EXPECT_TRUE(status.is_ok() || i % 50 == 6) << status.message();
      if (status.is_ok()) rows_[key] = "locked";
    } else {
      all_.session(0).rollback();
    }
  }
  check_rows();
  expect_all_goes();
}

// Goal: an insert conflicts if another session has put its key since the search, even if the row
// was erased or has left the delta again.
TEST_F(DeltaLeavingTest, an_insert_of_a_key_that_has_come_and_gone) {
  load_and_open();
  for (unsigned kind = 0; kind < 4; ++kind) {
    const std::string key = key_between(100 * kind);
    begin(0);
    ASSERT_TRUE(put(0, key, "mine", WriteMode::kInsert).is_ok());
    put_row(key, "theirs", 1);
    if (kind == 1) erase_row(key, 1);
    if (kind >= 2) all_.glean();
    if (kind == 3) erase_row(key, 1);
    const Status status = commit(0);
    EXPECT_EQ(status.code(), ErrorCode::kConflict) << kind;
    check_rows();
  }
  expect_all_goes();
}

}  // namespace
}  // namespace foedus::storage::masstree::leaving_test
