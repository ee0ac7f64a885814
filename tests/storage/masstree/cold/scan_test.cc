// Scans of Master-Trees whose pages are partly snapshot pages.
// ctest-labels: memory

#include <algorithm>

#include "tests/storage/masstree/cold/fixture.h"

namespace foedus::storage::masstree::scan_test {
namespace {

class MasstreeColdScanTest : public MasstreeColdTest {
 protected:
  template <typename KeyOf>
  std::vector<Row> rows_of(unsigned begin, unsigned end, KeyOf&& key) {
    std::vector<Row> rows;
    for (unsigned i = begin; i < end; ++i) rows.emplace_back(key(i), payload_of(i));
    return rows;
  }
  // Checks scans in both directions, and that they make no page volatile.
  void expect_rows(std::string_view low, std::string_view high, std::vector<Row> rows) {
    const std::uint64_t pages = volatile_pages();
    all_.all().pass_epochs();
    begin(2);
    ASSERT_EQ(scan(2, low, high), rows);
    expect_commit(2);
    all_.all().pass_epochs();
    std::reverse(rows.begin(), rows.end());
    begin(2);
    ASSERT_EQ(scan(2, low, high, true), rows);
    expect_commit(2);
    EXPECT_EQ(volatile_pages(), pages);
  }
  void next(Cursor* cursor, std::string_view key) {
    const Status status = cursor->next();
    ASSERT_TRUE(status.is_ok()) << status.message();
    ASSERT_FALSE(cursor->at_end()) << key;
    ASSERT_EQ(cursor->key(), key);
  }
};

TEST_F(MasstreeColdScanTest, scans_of_a_cold_tree_make_nothing_volatile) {
  for (const bool deep : {false, true}) {
    const auto key = [deep](std::uint64_t i) { return deep ? "d" + deep_key(i) : key_of(i); };
    load(kRows, key);
    glean_all();
    const std::string begin = key(0);
    expect_rows(begin, deep ? "" : key(kRows), rows_of(0, kRows, key));
    expect_rows(key(7000), key(7300), rows_of(7000, 7300, key));
    expect_rows(key(7000) + "x", key(7001) + "x", rows_of(7001, 7002, key));
    expect_rows(key(7000) + "x", key(7000) + "y", {});
    expect_rows(key(kRows - 1), key(kRows - 1) + "x", rows_of(kRows - 1, kRows, key));
  }
}
TEST_F(MasstreeColdScanTest, an_empty_cold_tree_has_no_rows) {
  glean_all();
  expect_rows("", "", {});
}
TEST_F(MasstreeColdScanTest, scans_over_pages_of_both_kinds) {
  load(kRows, deep_key);
  glean_all();
  for (unsigned i = 0; i < kRows; i += 613) put_alone(1, deep_key(i), payload_of(i));
  expect_rows("", "", rows_of(0, kRows, deep_key));
  expect_rows(deep_key(600), deep_key(1300), rows_of(600, 1300, deep_key));
  all_.compose();
  for (unsigned i = 0; i < kRows; i += 1999) put_alone(1, deep_key(i), payload_of(i));
  EXPECT_GT(all_.install().pages_kept, 0u);
  EXPECT_GT(volatile_pages(), 0u);
  expect_rows("", "", rows_of(0, kRows, deep_key));
}
TEST_F(MasstreeColdScanTest, payloads_in_chains_of_a_snapshot) {
  std::vector<Row> rows;
  begin(0);
  for (unsigned i = 0; i < 50; ++i) {
    rows.emplace_back(key_of(i), std::string(i * 400, 'L'));
    ASSERT_TRUE(put(0, key_of(i), rows.back().second).is_ok());
  }
  expect_commit(0);
  glean_all();
  expect_rows("", "", rows);
  put_alone(1, key_of(20), rows[20].second);
  expect_rows("", "", rows);
}
// Goal: a long scan remembers one pointer for all cold pages below it.
TEST_F(MasstreeColdScanTest, a_pointer_is_remembered_once_for_all_below) {
  load(kRows, deep_key);
  glean_all();
  begin(0);
  ASSERT_EQ(scan(0, "", "").size(), kRows);
  EXPECT_EQ(ctx(0).sets().pointers().size(), 1u);
  EXPECT_TRUE(ctx(0).sets().reads().is_empty());
  expect_commit(0);
}
TEST_F(MasstreeColdScanTest, an_insert_into_a_range_that_was_scanned_cold_conflicts) {
  load(kRows, deep_key);
  glean_all();
  begin(0);
  ASSERT_EQ(scan(0, deep_key(100), deep_key(200)).size(), 100u);
  put_alone(1, deep_key(150) + "phantom", "boo");
  ASSERT_TRUE(put(0, deep_key(13'000), "x").is_ok());
  expect_conflict(0, ConflictReason::kPageInstalled);
}
// Goal: own writes ahead of a cursor in snapshot pages are seen, and no row is lost or repeated.
TEST_F(MasstreeColdScanTest, own_writes_ahead_and_behind_in_a_range_that_is_read_cold) {
  for (const bool deep : {false, true}) {
    const auto key = [deep](std::uint64_t i) { return deep ? "d" + deep_key(i) : key_of(i); };
    load(2000, key);
    glean_all();
    begin(0);
    Cursor cursor;
    cursor.open(ctx(0), all_.control(), key(10), key(500), false);
    for (unsigned i = 10; i < 60; ++i) next(&cursor, key(i));
    ASSERT_TRUE(put(0, key(59) + "ahead", "new", WriteMode::kInsert).is_ok());
    ASSERT_TRUE(put(0, key(20) + "behind", "new", WriteMode::kInsert).is_ok());
    ASSERT_TRUE(erase(0, key(61)).is_ok());
    ASSERT_TRUE(put(0, key(62), "updated").is_ok());
    next(&cursor, key(59) + "ahead");
    next(&cursor, key(60));
    next(&cursor, key(62));
    EXPECT_EQ(cursor.payload(), "updated");
    ASSERT_TRUE(put(0, key(400) + "ahead", "new", WriteMode::kInsert).is_ok());
    for (unsigned i = 63; i <= 400; ++i) next(&cursor, key(i));
    next(&cursor, key(400) + "ahead");
    for (unsigned i = 401; i < 500; ++i) next(&cursor, key(i));
    ASSERT_TRUE(cursor.next().is_ok());
    EXPECT_TRUE(cursor.at_end());
    // The scan in reverse meets volatile and cold pages.
    cursor.open(ctx(0), all_.control(), key(390), key(1000), true);
    for (unsigned i = 999; i > 700; --i) next(&cursor, key(i));
    ASSERT_TRUE(put(0, key(699) + "ahead", "new", WriteMode::kInsert).is_ok());
    ASSERT_TRUE(erase(0, key(700)).is_ok());
    next(&cursor, key(699) + "ahead");
    for (unsigned i = 699; i > 400; --i) next(&cursor, key(i));
    next(&cursor, key(400) + "ahead");
    for (unsigned i = 400; i >= 390; --i) next(&cursor, key(i));
    ASSERT_TRUE(cursor.next().is_ok());
    EXPECT_TRUE(cursor.at_end());
    cursor.close();
    expect_commit(0);
  }
}
// Goal: own writes to pages that were dropped meanwhile are in the scan.
TEST_F(MasstreeColdScanTest, own_writes_to_dropped_pages) {
  load(2000, deep_key);
  begin(0);
  ASSERT_TRUE(put(0, deep_key(100), "mine").is_ok());
  ASSERT_TRUE(put(0, deep_key(100) + "x", "new").is_ok());
  glean_all();
  const std::vector<Row> rows = scan(0, deep_key(99), deep_key(102));
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[1], Row(deep_key(100), "mine"));
  EXPECT_EQ(rows[2], Row(deep_key(100) + "x", "new"));
  expect_commit(0);
}
TEST_F(MasstreeColdScanTest, a_cursor_whose_page_was_dropped_goes_on_in_snapshot_pages) {
  for (const bool reverse : {false, true}) {
    load(2000, deep_key);
    begin(0);
    Cursor cursor;
    cursor.open(ctx(0), all_.control(), "", "", reverse);
    const auto at = [reverse](unsigned i) { return deep_key(reverse ? 1999 - i : i); };
    for (unsigned i = 0; i < 70; ++i) next(&cursor, at(i));
    glean_all();
    for (unsigned i = 70; i < 1000; ++i) next(&cursor, at(i));
    put_alone(1, at(1000), "theirs");
    for (unsigned i = 1000; i < 1010; ++i) next(&cursor, at(i));
    cursor.close();
    expect_conflict(0, ConflictReason::kPageDropped);
  }
}
// Every read fails in turn: one that fails ahead of the scan is tried again when the page is
// needed.
TEST_F(MasstreeColdScanTest, a_page_that_cannot_be_read_is_an_error_of_the_scan) {
  load(kRows, key_of);
  glean_all();
  begin(0);
  Cursor cursor;
  cursor.open(ctx(0), all_.control(), "", "", false);
  next(&cursor, key_of(0));
  Status status;
  unsigned rows = 1;
  for (; status.is_ok() && rows < kRows; ++rows) {
    all_.pages().fail_read_after(0);
    status = cursor.next();
  }
  EXPECT_EQ(status.code(), ErrorCode::kIoError);
  cursor.close();
  ASSERT_EQ(scan(0, "", "").size(), kRows);
  expect_commit(0);
}

}  // namespace
}  // namespace foedus::storage::masstree::scan_test
