// The checker finds each anomaly that it searches for.
#include "tests/testing/history.h"

#include <gtest/gtest.h>

namespace foedus::testing::history_test {
namespace {

TEST(HistoryTest, serial_history_passes) {
  EXPECT_EQ(check_serializable({{{}, {{1, 0, 10}}}, {{{1, 10}}, {{2, 0, 20}}}}), "");
}

TEST(HistoryTest, lost_update_is_found) {
  EXPECT_NE(check_serializable({{{}, {{1, 0, 10}}}, {{}, {{1, 0, 11}}}}), "");
}

TEST(HistoryTest, write_skew_is_found) {
  EXPECT_NE(check_serializable({{{{2, 0}}, {{1, 0, 10}}}, {{{1, 0}}, {{2, 0, 20}}}}), "");
}

TEST(HistoryTest, aborted_read_is_found) { EXPECT_NE(check_serializable({{{{1, 99}}, {}}}), ""); }

TEST(HistoryTest, inconsistent_read_only_transaction_is_found) {
  // The reader sees key 1 after and key 2 before one transaction that wrote both.
  EXPECT_NE(check_serializable({{{}, {{1, 0, 10}, {2, 0, 20}}}, {{{1, 10}, {2, 0}}, {}}}), "");
}

}  // namespace
}  // namespace foedus::testing::history_test
