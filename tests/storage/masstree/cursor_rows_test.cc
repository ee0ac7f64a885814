// Rows that a cursor reads ahead of its caller (M45): no caller can notice it.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "tests/storage/masstree/fixture.h"

namespace foedus::testing::cursor_rows_test {
namespace {

class CursorRowsTest : public MasstreeTest {
 protected:
  static constexpr unsigned kKeys = 40;  // of one page

  // Scans keys 0, 10, … in session 0's transaction, which stays open with a cursor at row `rows`.
  void scan_to(unsigned rows, bool reverse, std::string_view low = "", std::string_view high = "") {
    begin(0);
    reverse_ = reverse;
    cursor_.open(ctx(0), rig_.control(), low, high, reverse);
    for (unsigned i = 0; i < rows; ++i) next();
    at_ = rows;
  }
  void next() { ASSERT_TRUE(cursor_.next().is_ok()); }
  // Returns the key at this distance from the cursor's, in the direction of the scan.
  std::string ahead(unsigned distance) const {
    const unsigned place = at_ - 1 + distance;
    return key_of(10 * (reverse_ ? kKeys - 1 - place : place));
  }
  // Returns key and payload of the remaining rows, in the order of keys.
  std::vector<std::string> rest() {
    std::vector<std::string> rows;
    for (;;) {
      next();
      if (cursor_.at_end()) return rows;
      rows.push_back(std::string(cursor_.key()) + "\1" + std::string(cursor_.payload()));
    }
  }

  masstree::Cursor cursor_;
  bool reverse_ = false;
  unsigned at_ = 0;
};

TEST_F(CursorRowsTest, own_writes_ahead_are_seen_wherever_the_cursor_is) {
  fill(0, 0, kKeys * 10, 10, "old");
  for (const bool reverse : {false, true}) {
    for (unsigned rows = 1; rows + 6 < kKeys; ++rows) {
      scan_to(rows, reverse);
      ASSERT_EQ(cursor_.key(), ahead(0));
      put(0, ahead(1), "new");
      erase(0, ahead(2));
      ASSERT_TRUE(storage::write_at(ctx(0), rig_.control(), ahead(3), 0, "N").is_ok());
      insert(0, ahead(4) + "a", "own");
      const std::vector<std::string> seen = rest();
      std::vector<std::string> expected = {ahead(1) + "\1new", ahead(3) + "\1Nld"};
      expected.push_back(reverse ? ahead(4) + "a\1own" : ahead(4) + "\1old");
      expected.push_back(reverse ? ahead(4) + "\1old" : ahead(4) + "a\1own");
      for (unsigned i = 5; rows + i <= kKeys; ++i) expected.push_back(ahead(i) + "\1old");
      EXPECT_EQ(seen, expected) << rows << reverse;
      rig_.session(0).rollback();
    }
  }
}

// Goal: a cursor skips a deleted record until the transaction writes to it, wherever the rows that
// were read ahead end. Method: a row is put in place of each deleted record right before the cursor
// reaches it.
TEST_F(CursorRowsTest, own_rows_in_place_of_deleted_records_are_seen) {
  fill(0, 0, kKeys * 10, 10, "old");
  for (unsigned i = 0; i < kKeys; ++i) {
    if (i % 3 == 0) continue;
    begin(0);
    erase(0, key_of(10 * i));
    expect_commit(0);
  }
  for (const bool reverse : {false, true}) {
    for (unsigned rows = 1; rows < kKeys / 3; ++rows) {
      scan_to(rows, reverse);
      const std::string last(cursor_.key());
      const unsigned at = 3 * (reverse ? kKeys / 3 + 1 - rows : rows - 1);
      ASSERT_EQ(last, key_of(10 * at));
      const std::string own = key_of(10 * (reverse ? at - 1 : at + 2));
      put(0, own, "own");
      next();
      EXPECT_EQ(cursor_.key(), own) << rows << reverse;
      EXPECT_EQ(cursor_.payload(), "own");
      rig_.session(0).rollback();
    }
  }
}

TEST_F(CursorRowsTest, a_writer_of_each_row_sees_all_rows) {
  fill(0, 0, kKeys * 10, 10, "old");
  begin(0);
  cursor_.open(ctx(0), rig_.control(), "", "", false);
  unsigned rows = 0;
  for (next(); !cursor_.at_end(); next()) {
    EXPECT_EQ(cursor_.payload(), rows % 2 == 0 ? "old" : "new") << rows;
    put(0, cursor_.key(), "new");
    if (rows % 2 == 0) put(0, key_of(10 * (rows + 1)), "new");
    ++rows;
  }
  EXPECT_EQ(rows, kKeys);
  expect_commit(0);
}

// A row that was read ahead is as old as its read, and the commit notices a change.
TEST_F(CursorRowsTest, a_row_that_others_change_after_it_was_taken_conflicts) {
  fill(0, 0, kKeys * 10, 10, "old");
  scan_to(4, false);  // 1, 2, and 1 of the next 4
  begin(1);
  put(1, ahead(2), "new");
  expect_commit(1);
  next();
  next();
  EXPECT_EQ(cursor_.key(), ahead(2));
  EXPECT_EQ(cursor_.payload(), "old");
  insert(0, key_of(5), "own");
  expect_conflict(0, ConflictReason::kRecordChanged);
}

TEST_F(CursorRowsTest, a_row_that_others_change_before_it_is_taken_is_read_as_it_is) {
  fill(0, 0, kKeys * 10, 10, "old");
  scan_to(4, false);
  begin(1);
  put(1, ahead(4), "new");
  expect_commit(1);
  for (unsigned i = 0; i < 4; ++i) next();
  EXPECT_EQ(cursor_.key(), ahead(4));
  EXPECT_EQ(cursor_.payload(), "new");
  insert(0, key_of(5), "own");
  expect_commit(0);
}

TEST_F(CursorRowsTest, an_erased_key_between_rows_that_comes_back_conflicts) {
  fill(0, 0, kKeys * 10, 10, "old");
  begin(1);
  erase(1, key_of(50));
  expect_commit(1);
  scan_to(7, false);
  EXPECT_EQ(cursor_.key(), key_of(70));
  begin(1);
  put(1, key_of(50), "new");
  expect_commit(1);
  insert(0, key_of(5), "own");
  expect_conflict(0, ConflictReason::kRecordChanged);
}

// Goal: a scan that stops early, or has a limit, does not read a page of rows for it.
TEST_F(CursorRowsTest, few_are_read_in_vain) {
  fill(0, 0, kKeys * 10, 10, "old");
  for (unsigned rows = 1; rows < kKeys; ++rows) {
    scan_to(rows, false);
    EXPECT_LT(ctx(0).sets().reads().size(), 2 * rows) << rows;
    rig_.session(0).rollback();
    begin(0);
    cursor_.open(ctx(0), rig_.control(), "", "", false);
    for (unsigned left = rows; left != 0; --left) ASSERT_TRUE(cursor_.next(left).is_ok());
    EXPECT_EQ(ctx(0).sets().reads().size(), rows);
    rig_.session(0).rollback();
  }
}

TEST_F(CursorRowsTest, all_that_is_handed_out_is_in_the_range) {
  fill(0, 0, kKeys * 10, 10, "old");
  for (const bool reverse : {false, true}) {
    for (unsigned from = 0; from < kKeys; from += 3) {
      for (unsigned to = from; to <= kKeys; to += 5) {
        scan_to(0, reverse, key_of(10 * from), key_of(10 * to));
        EXPECT_EQ(rest().size(), to - from) << from << " " << to;
        // No row after the end was read.
        EXPECT_EQ(ctx(0).sets().reads().size(), to - from) << from << " " << to;
        rig_.session(0).rollback();
      }
    }
  }
}

// Goal: a row with the slice of the range's end is compared by its whole key, an earlier row by its
// slice alone. Method: keys that differ by zero bytes at their end, in a range for each two of
// them, in the first layer and below a common prefix.
TEST_F(CursorRowsTest, rows_that_share_the_slice_of_the_end_are_in_the_range_or_not) {
  for (const std::string& prefix : {std::string(), std::string("prefixes of two layers ")}) {
    begin(0);
    std::vector<std::string> keys;
    for (const char letter : {'a', 'b', 'c', '\xff'}) {
      for (unsigned zeroes = 0; zeroes < 9; zeroes += 2) {
        keys.push_back(prefix + letter + std::string(zeroes, '\0'));
        insert(0, keys.back(), "x");
      }
    }
    expect_commit(0);
    for (const bool reverse : {false, true}) {
      for (std::size_t from = 0; from < keys.size(); ++from) {
        for (std::size_t to = from + 1; to < keys.size(); ++to) {
          scan_to(0, reverse, keys[from], keys[to]);
          std::vector<std::string> expected;
          for (std::size_t i = from; i < to; ++i) expected.push_back(keys[i] + "\1x");
          if (reverse) std::reverse(expected.begin(), expected.end());
          EXPECT_EQ(rest(), expected) << from << " " << to << " " << reverse;
          rig_.session(0).rollback();
        }
      }
    }
  }
}

// The rows have keys of all lengths, layers, empty payloads and chains.
TEST_F(CursorRowsTest, what_needs_more_than_a_copy_comes_in_its_place) {
  const std::string chain(10'000, 'c');
  begin(0);
  std::vector<std::string> expected;
  const auto add = [&](const std::string& key, const std::string& payload) {
    insert(0, key, payload);
    expected.push_back(key + "\1" + payload);
  };
  for (unsigned i = 0; i < 30; ++i) {
    std::string key = key_of(i);
    add(key, i % 7 == 0 ? "" : "short");
    if (i % 5 == 0) add(key + "long", "l");
    if (i % 6 == 0) add(key + "one layer", chain);
    if (i % 6 == 0) add(key + "one layer and another", "x");
  }
  expect_commit(0);
  std::sort(expected.begin(), expected.end());
  scan_to(0, false);
  EXPECT_EQ(rest(), expected);
  rig_.session(0).rollback();
  std::reverse(expected.begin(), expected.end());
  scan_to(0, true);
  EXPECT_EQ(rest(), expected);
  rig_.session(0).rollback();
}

// A cursor waits for a record that is being written, because its payload may be half done.
TEST_F(CursorRowsTest, a_record_that_is_being_written_is_waited_for) {
  fill(0, 0, kKeys * 10, 10, "old");
  page::RecordHeader* const record = find(key_of(50)).record();
  const std::uint64_t tid = record->load_tid().word();
  scan_to(3, false);
  record->tid.store_release(page::Tid(tid).with(page::Tid::kBeingWritten).word());
  for (unsigned i = 0; i < 2; ++i) next();
  EXPECT_EQ(cursor_.key(), key_of(40));
  record->tid.store_release(tid);
  next();
  EXPECT_EQ(cursor_.key(), key_of(50));
  EXPECT_EQ(rest().size(), kKeys - 6);
  expect_commit(0);
}

}  // namespace
}  // namespace foedus::testing::cursor_rows_test
