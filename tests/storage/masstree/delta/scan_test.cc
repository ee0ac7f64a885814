// Scans of a Master-Tree with a delta: the rows of both trees in order, and meanwhile writes of the
// scan's own transaction.
// ctest-labels: memory

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "tests/base/test_seed.h"
#include "tests/storage/masstree/delta/fixture.h"

namespace foedus::storage::masstree::scan_test {
namespace {

class DeltaScanTest : public MasstreeDeltaTest {
 protected:
  using Rows = std::map<std::string, std::string>;

  // Makes rows in the main tree alone, volatile and not, in the delta alone, in both, and erased
  // ones.
  void mix() {
    for (unsigned i = 0; i < kRows; ++i) {
      switch (i % 7) {
        case 0:
          put_row(key_of(i), "both " + std::to_string(i));
          break;
        case 1:
          put_row(key_between(i), "delta " + std::to_string(i));
          break;
        case 2:
          if (i % 3 == 0) put_row(key_of(i), "gone");
          if (i % 5 == 0) erase_row(key_of(i));
          break;
        case 3:
          if (i % 10 == 0) put_row(key_between(i), kChain);
          break;
        default:
          break;
      }
      if (i % 100 == 0) all_.all().pass_epochs();
    }
  }
  // Returns the rows that a scan of [low, high) must return.
  std::vector<Row> expected(const std::string& low, const std::string& high, bool reverse) const {
    if (!high.empty() && high < low) return {};
    std::vector<Row> rows(rows_.lower_bound(low),
                          high.empty() ? rows_.end() : rows_.lower_bound(high));
    if (reverse) std::reverse(rows.begin(), rows.end());
    return rows;
  }
  // Scans and calls step(row) at each row, in a transaction that is rolled back.
  std::vector<std::string> keys_of_scan(const std::string& low, const std::string& high,
                                        bool reverse,
                                        const std::function<void(const std::string&)>& step) {
    begin(0);
    MergedCursor cursor;
    cursor.open(ctx(0), control(), low, high, reverse);
    std::vector<std::string> keys;
    for (;;) {
      const Status status = cursor.next();
      EXPECT_TRUE(status.is_ok()) << status.message();
      if (!status.is_ok() || cursor.at_end() || keys.size() > 100) break;
      keys.emplace_back(cursor.key());
      step(keys.back());
    }
    cursor.close();
    all_.session(0).rollback();
    return keys;
  }
};

// Goal: a scan that has come to its end does not begin again after a write of its transaction.
TEST_F(DeltaScanTest, a_scan_at_its_end_stays_there) {
  load_and_open();
  put_row(key_of(3), "in the delta");
  begin(0);
  MergedCursor cursor;
  cursor.open(ctx(0), control(), "", key_of(10), false);
  do {
    ASSERT_TRUE(cursor.next().is_ok());
  } while (!cursor.at_end());
  ASSERT_TRUE(put(0, key_of(5), "own").is_ok());
  EXPECT_TRUE(cursor.next().is_ok());
  EXPECT_TRUE(cursor.at_end());
  cursor.close();
  all_.session(0).rollback();
}

TEST_F(DeltaScanTest, a_scan_gives_the_rows_of_both_trees_in_order) {
  load_and_open();
  mix();
  check_rows();
  base::Random random(testing::test_seed(1));
  const auto bound = [&] {
    const std::uint64_t i = random.below(kRows);
    switch (random.below(4)) {
      case 0:
        return std::string();
      case 1:
        return key_of(i);
      case 2:
        return key_between(i, static_cast<unsigned>(random.below(16)));
      default:
        return key_of(i) + "x";
    }
  };
  for (unsigned round = 0; round < 200; ++round) {
    const std::string low = bound();
    const std::string high = bound();
    const bool reverse = round % 2 == 0;
    all_.all().pass_epochs();
    begin(1);
    ASSERT_TRUE(merged_rows(1, low, high, reverse) == expected(low, high, reverse)) << round;
    expect_commit(1);
  }
}

// Goal: `limit` is a hint of the number of rows, and does not change the rows.
TEST_F(DeltaScanTest, a_limit_does_not_change_the_rows) {
  load_and_open();
  mix();
  for (const std::uint64_t limit : {1, 2, 5, 40}) {
    for (const bool reverse : {false, true}) {
      all_.all().pass_epochs();
      begin(1);
      MergedCursor cursor;
      cursor.open(ctx(1), control(), key_of(30), key_of(90), reverse);
      for (const Row& row : expected(key_of(30), key_of(90), reverse)) {
        ASSERT_TRUE(cursor.next(limit).is_ok());
        ASSERT_FALSE(cursor.at_end());
        ASSERT_EQ(cursor.key(), row.first);
        ASSERT_EQ(cursor.payload(), row.second);
      }
      ASSERT_TRUE(cursor.next(limit).is_ok());
      ASSERT_TRUE(cursor.at_end());
      cursor.close();
      expect_commit(1);
    }
  }
}

TEST_F(DeltaScanTest, a_scan_sees_what_its_transaction_has_written) {
  load_and_open();
  put_row(key_of(12), "both");
  put_row(key_between(12), "delta");
  begin(0);
  Rows own = rows_;
  ASSERT_TRUE(put(0, key_of(10), "own, cold").is_ok());
  ASSERT_TRUE(put(0, key_of(12), "own, both").is_ok());
  ASSERT_TRUE(put(0, key_between(14), "own, new").is_ok());
  ASSERT_TRUE(erase(0, key_between(12)).is_ok());
  ASSERT_TRUE(erase(0, key_of(15)).is_ok());
  ASSERT_TRUE(write_part(0, key_of(16), "own").is_ok());
  own[key_of(10)] = "own, cold";
  own[key_of(12)] = "own, both";
  own[key_between(14)] = "own, new";
  own.erase(key_between(12));
  own.erase(key_of(15));
  own[key_of(16)].replace(0, 3, "own");
  for (const bool reverse : {false, true}) {
    std::vector<Row> rows = merged_rows(0, "", "", reverse);
    if (reverse) std::reverse(rows.begin(), rows.end());
    EXPECT_TRUE(rows == std::vector<Row>(own.begin(), own.end())) << reverse;
  }
  expect_commit(0);
  rows_ = own;
  check_rows();
}

// Goal: after an error there are no rows of one of both trees alone. Method: the first page of the
// main tree cannot be read; the delta has a row.
TEST_F(DeltaScanTest, a_scan_that_met_an_error_is_over) {
  load_and_open();
  put_row(key_of(12), "both");
  for (const bool reverse : {false, true}) {
    forget_pages();
    all_.pages().fail_read_after(0);
    begin(1);
    MergedCursor cursor;
    cursor.open(ctx(1), control(), "", "", reverse);
    EXPECT_EQ(cursor.next().code(), ErrorCode::kIoError);
    all_.pages().read_well();
    EXPECT_TRUE(cursor.next().is_ok());
    EXPECT_TRUE(cursor.at_end());
    all_.session(1).rollback();
  }
}

// Goal: a scan sees own writes ahead of it, and not those behind it. Method: at each row one of the
// following ones is erased or put, or one between them.
TEST_F(DeltaScanTest, writes_between_two_steps_are_seen_ahead) {
  load_and_open();
  for (unsigned i = 40; i < 60; i += 4) put_row(key_of(i), "both");
  const auto number_of = [](const std::string& key) { return slice_of(key) / 16; };
  for (const bool reverse : {false, true}) {
    const std::uint64_t step = reverse ? ~std::uint64_t{0} : 1;
    std::vector<std::string> expected;
    const auto at = [&](std::uint64_t i) { return reverse ? 79 - i : 20 + i; };
    for (unsigned i = 0; i < 60; ++i) {
      if (i % 3 != 1) expected.push_back(key_of(at(i)));
      if (i % 3 == 0) expected.push_back(key_between(reverse ? at(i) - 1 : at(i)));
    }
    // At each third row the next one is erased, and a new one is put before it.
    if (reverse) std::erase_if(expected, [](const std::string& key) { return key < key_of(20); });
    const std::vector<std::string> found =
        keys_of_scan(key_of(20), key_of(80), reverse, [&](const std::string& key) {
          const std::uint64_t i = number_of(key);
          if (key != key_of(i)) return;
          const std::uint64_t from_start = reverse ? 79 - i : i - 20;
          if (from_start % 3 != 0) return;
          ASSERT_TRUE(put(0, key_between(reverse ? i - 1 : i), "ahead").is_ok());
          ASSERT_TRUE(put(0, key_of(i - step), "behind").is_ok());
          const Status status = erase(0, key_of(i + step));
          EXPECT_TRUE(status.is_ok()) << status.message() << ' ' << i;
        });
    EXPECT_EQ(found.size(), expected.size()) << reverse;
    EXPECT_TRUE(found == expected) << reverse;
  }
  check_rows();
}

TEST_F(DeltaScanTest, each_row_is_erased_as_the_scan_comes_to_it) {
  load_and_open();
  mix();
  for (const bool reverse : {false, true}) {
    const std::string low = key_of(reverse ? 200 : 100);
    const std::string high = key_of(reverse ? 300 : 200);
    begin(0);
    MergedCursor cursor;
    cursor.open(ctx(0), control(), low, high, reverse);
    for (const Row& row : expected(low, high, reverse)) {
      ASSERT_TRUE(cursor.next().is_ok());
      ASSERT_FALSE(cursor.at_end());
      ASSERT_EQ(cursor.key(), row.first);
      ASSERT_TRUE(erase(0, row.first).is_ok());
      rows_.erase(row.first);
    }
    ASSERT_TRUE(cursor.next().is_ok());
    EXPECT_TRUE(cursor.at_end());
    cursor.close();
    expect_commit(0);
  }
  check_rows();
  expect_all_goes();
}

// Goal: a scan is right, or its transaction conflicts, if rows leave the delta meanwhile.
TEST_F(DeltaScanTest, a_scan_whose_rows_leave_the_delta) {
  for (const unsigned stop : {0u, 1u, 50u, 500u}) {
    if (!control()->has_delta()) load_and_open();
    for (unsigned i = 0; i < kRows; i += 9) put_row(key_of(i), "round " + std::to_string(stop));
    all_.compose();
    begin(0);
    MergedCursor cursor;
    cursor.open(ctx(0), control(), "", "", false);
    std::vector<Row> rows;
    Status status;
    while ((status = cursor.next()).is_ok() && !cursor.at_end()) {
      rows.emplace_back(cursor.key(), cursor.payload());
      if (rows.size() == stop + 1) all_.install();
    }
    cursor.close();
    if (status.is_ok()) status = commit(0);
    if (ctx(0).is_open()) all_.session(0).rollback();
    if (status.is_ok()) {
      EXPECT_TRUE(rows == std::vector<Row>(rows_.begin(), rows_.end())) << stop;
    } else {
      EXPECT_EQ(status.code(), ErrorCode::kConflict) << status.message();
    }
    check_rows();
  }
}

}  // namespace
}  // namespace foedus::storage::masstree::scan_test
