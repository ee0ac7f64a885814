// Sequential storages: sessions scan and append while an install is stopped at a step.
#include <gtest/gtest.h>

#include <string>

#include "tests/storage/sequential/cold.h"
#include "tests/testing/at_sync_point.h"

namespace foedus::storage::sequential::steps_test {
namespace {

using Rows = SequentialCold::Rows;
using testing::AtSyncPoint;

class SequentialStepsTest : public SequentialColdTest,
                            public ::testing::WithParamInterface<const char*> {
 protected:
  // Begins a scan of session 2, which stops half-way.
  void begin_scan() {
    all_.session(2).begin();
    rows_.clear();
    ASSERT_TRUE(cursor_.open(all_.session(2).ctx(), all_.control()).is_ok());
    go_on(expected_.size() / 2);
  }
  void go_on(std::size_t rows_max) {
    while (!cursor_.at_end() && rows_.size() < rows_max) {
      rows_.emplace_back(cursor_.payload());
      ASSERT_TRUE(cursor_.next().is_ok());
    }
  }
  // Ends the scan and returns the commit's status.
  Status end_scan() {
    go_on(~std::size_t{0});
    cursor_.close();
    return all_.session(2).commit();
  }

  Cursor cursor_;
  Rows rows_;
};

// Goal: rows that are both in the new snapshot and still in memory are seen once, by scans that
// begin before the install, at the step, or last over it.
TEST_P(SequentialStepsTest, scans_see_each_row_once) {
  load();
  all_.compose();
  all_.session(3).begin();
  EXPECT_EQ(all_.scan(3), expected_);
  const AtSyncPoint at(GetParam(), [this] {
    EXPECT_EQ(all_.scan(3), expected_);
    EXPECT_EQ(all_.scan_now(1), expected_);
    begin_scan();
  });
  all_.install();
  ASSERT_EQ(at.runs(), 1u);
  const Status status = end_scan();
  EXPECT_EQ(rows_, expected_);
  // Pages that it scanned were dropped since, so it may conflict.
  EXPECT_TRUE(status.is_ok() || status.code() == ErrorCode::kConflict) << status.message();
  EXPECT_EQ(all_.scan(3), expected_);
  all_.session(3).rollback();
  expect_at_rest();
}

// Goal: appends at the step are visible at once and after the install, and an earlier scan
// conflicts with them.
TEST_P(SequentialStepsTest, appends_are_seen_and_are_phantoms) {
  load();
  all_.compose();
  all_.session(3).begin();
  EXPECT_EQ(all_.scan(3), expected_);
  ASSERT_TRUE(all_.append(3, "of who scanned").is_ok());
  const AtSyncPoint at(GetParam(), [this] {
    begin_scan();
    append_expected(0, "one");
    append_expected(1, std::string(3000, 'a'));  // goes to a new page
    EXPECT_EQ(all_.scan_now(1), expected_);
  });
  all_.install();
  ASSERT_EQ(at.runs(), 1u);
  EXPECT_EQ(end_scan().code(), ErrorCode::kConflict);
  EXPECT_EQ(all_.session(3).commit().code(), ErrorCode::kConflict);
  EXPECT_EQ(all_.scan_now(), expected_);
  expect_at_rest();
}

INSTANTIATE_TEST_SUITE_P(Places, SequentialStepsTest,
                         ::testing::Values("sequential:installed", "sequential:before_drop",
                                           "sequential:before_tail"));

}  // namespace
}  // namespace foedus::storage::sequential::steps_test
