// An installation skips pages that have not changed since the last installed snapshot (O18), unless
// pages are to be dropped.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/storage/numbered_rows.h"
#include "tests/testing/at_sync_point.h"

namespace foedus::storage::unchanged_test {
namespace {

constexpr std::uint64_t kRows = 20'000;

class UnchangedTest : public NumberedRows {
 protected:
  UnchangedTest() : NumberedRows(kRows, 8) {}

  // Puts all rows into a snapshot, and makes pages all over volatile again.
  void make_volatile_again() {
    put(0, kRows);
    EXPECT_GT(all_.glean().pages_dropped, 0u);
    put(0, kRows, 50);
  }
  static std::string place() {
    return GetParam() == StorageKind::kArray  ? "array:installed"
           : GetParam() == StorageKind::kHash ? "hash:installed"
                                              : "masstree:install_looked";
  }
  // Returns how many volatile pages an installation visits that drops none.
  unsigned looked_at() {
    const testing::AtSyncPoint looks(place(), [] {}, true);
    const InstallCounts counts = all_.install(0);
    EXPECT_FALSE(counts.may_need_earlier);
    EXPECT_EQ(counts.pages_dropped, 0u);
    EXPECT_EQ(counts.pages_kept, volatile_pages());
    all_.check_leads();
    return looks.runs();
  }
};

INSTANTIATE_TEST_SUITE_P(All, UnchangedTest, keyed_kinds(), name_of_kind);

TEST_P(UnchangedTest, what_has_changed_is_looked_at) {
  make_volatile_again();
  all_.compose();
  EXPECT_GT(looked_at(), 200u);
  put(5'000, 5'003);
  all_.compose();
  const unsigned looks = looked_at();
  EXPECT_GE(looks, 1u);
  EXPECT_LE(looks, 12u);
  put(9'000, 9'003);
  all_.compose();
  EXPECT_LE(looked_at(), 12u);
}

TEST_P(UnchangedTest, nothing_is_looked_at_if_nothing_has_changed) {
  make_volatile_again();
  all_.compose();
  EXPECT_GT(looked_at(), 200u);
  EXPECT_LE(looked_at(), 1u);
}

// Two snapshots are made, and the second one is installed: pages that only the first one changed
// still lead to older pages.
TEST_P(UnchangedTest, what_changed_since_the_last_installation_is_looked_at) {
  make_volatile_again();
  all_.compose();
  EXPECT_GT(looked_at(), 200u);
  put(0, kRows, 50);
  all_.compose();
  put(5'000, 5'003);
  all_.compose();
  EXPECT_GT(looked_at(), 200u);
}

// Snapshot pages to which volatile pages lead move to another file.
TEST_P(UnchangedTest, pages_in_another_file_are_led_to) {
  make_volatile_again();
  all_.compose();
  EXPECT_GT(looked_at(), 200u);
  all_.compose_anew();
  EXPECT_GT(looked_at(), 200u);
  all_.remove_old_files();
  put(0, kRows, 7);
}

TEST_P(UnchangedTest, all_is_looked_at_where_pages_are_dropped) {
  make_volatile_again();
  all_.compose();
  EXPECT_GT(looked_at(), 200u);
  put(5'000, 5'003);
  all_.compose();
  put(7'000, 7'001);  // keeps its page and those above it
  EXPECT_LE(all_.install().pages_kept, 4u);
  EXPECT_LE(volatile_pages(), 4u);
  all_.check_leads();
}

TEST_P(UnchangedTest, all_is_looked_at_where_pages_are_dropped_and_nothing_has_changed) {
  make_volatile_again();
  all_.compose();
  EXPECT_GT(looked_at(), 200u);
  EXPECT_EQ(all_.install().pages_kept, 0u);
  EXPECT_EQ(volatile_pages(), 0u);
  all_.check_leads();
}

// A mark that is not cleared would spare its page at a much later glean.
TEST_P(UnchangedTest, all_is_looked_at_where_marks_of_use_are_taken_away) {
  make_volatile_again();
  all_.compose();
  EXPECT_GT(looked_at(), 200u);
  put(5'000, 5'003);
  all_.compose();
  const testing::AtSyncPoint looks(place(), [] {}, true);
  all_.install(1, true);
  EXPECT_GT(looks.runs(), 200u);
}

// Enough pages are dropped before the end: pointers of later pages are changed all the same.
TEST_P(UnchangedTest, what_has_changed_is_looked_at_behind_the_last_page_to_drop) {
  make_volatile_again();
  all_.compose();
  EXPECT_GT(looked_at(), 200u);
  for (int round = 0; round < 5; ++round) {
    put(kRows / 2, kRows, 33);
    put(kRows - 3, kRows);
    all_.compose();
    const InstallCounts counts = all_.install(20);
    EXPECT_FALSE(counts.may_need_earlier);
    EXPECT_GE(counts.pages_dropped, 20u);
    all_.check_leads();
  }
}

}  // namespace
}  // namespace foedus::storage::unchanged_test
