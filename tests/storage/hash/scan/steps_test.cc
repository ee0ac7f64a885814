// Scans of hash storages, interleaved by hand with own writes, with writes of others, and with bins
// that are replaced or merged.
#include <gtest/gtest.h>

#include <string>

#include "tests/storage/hash/scan/fixture.h"
#include "tests/testing/at_sync_point.h"

namespace foedus::storage::hash::scan_steps_test {
namespace {

using testing::AtSyncPoint;

using HashScanStepsTest = HashScanTest;

// ---- which rows --------------------------------------------------------------------------------

TEST_F(HashScanStepsTest, an_empty_storage_has_no_rows_and_gets_no_pages) {
  const std::uint64_t pages = volatile_pages();
  begin(1);
  EXPECT_EQ(rows_of(scan(1)), Rows());
  EXPECT_EQ(volatile_pages(), pages);
  expect_commit(1);
}

TEST_F(HashScanStepsTest, every_row_comes_once_whatever_its_size) {
  Rows rows = put_rows(60);
  for (const std::size_t bytes : {0u, 1'000u, 9'000u, 200'000u}) {
    const std::string key = "of " + std::to_string(bytes);
    rows[key] = std::string(bytes, 'p');
    put_alone(0, key, rows[key]);
  }
  erase_alone(0, key_in(2, 5));
  rows.erase(key_in(2, 5));
  begin(1);
  EXPECT_EQ(rows_of(scan(1)), rows);
  EXPECT_EQ(rows_of(scan(1)), rows);
  expect_commit(1);
}

TEST_F(HashScanStepsTest, rows_of_equal_hashes_are_different_rows) {
  Rows rows;
  for (std::uint64_t i = 0; i < 300; ++i) {
    ASSERT_EQ(hash_of(twin_key(i)), hash_of(twin_key(0)));
    rows[twin_key(i)] = std::string(60, static_cast<char>('a' + i % 26));
    put_alone(0, twin_key(i), rows[twin_key(i)]);
  }
  begin(1);
  EXPECT_EQ(rows_of(scan(1)), rows);
  expect_commit(1);
  all_.glean();
  ASSERT_EQ(volatile_pages(), 0u);
  begin(1);
  EXPECT_EQ(rows_of(scan(1)), rows);
  expect_commit(1);
}

TEST_F(HashScanStepsTest, a_closed_cursor_has_no_rows_and_can_be_opened_again) {
  const Rows rows = put_rows(10);
  begin(1);
  Cursor cursor;
  EXPECT_TRUE(cursor.at_end());
  EXPECT_TRUE(cursor.next().is_ok());
  for (int i = 0; i < 2; ++i) {
    cursor.open(all_.session(1).ctx(), all_.control());
    EXPECT_TRUE(cursor.next().is_ok());
    EXPECT_FALSE(cursor.at_end());
    cursor.close();
    EXPECT_TRUE(cursor.at_end());
  }
  cursor.open(all_.session(1).ctx(), all_.control());
  EXPECT_EQ(rows_of(run(&cursor, {})), rows);
  expect_commit(1);
}

TEST_F(HashScanStepsTest, a_dirty_read_remembers_nothing) {
  const Rows rows = put_rows(10);
  all_.session(1).begin({.isolation = Isolation::kDirtyRead});
  EXPECT_EQ(rows_of(scan(1)), rows);
  occ::AccessSets& sets = all_.session(1).ctx().sets();
  EXPECT_TRUE(sets.reads().is_empty() && sets.pages().is_empty() && sets.pointers().is_empty());
  put_alone(0, key_in(0, 50), "new");
  expect_commit(1);
}

// ---- own writes --------------------------------------------------------------------------------

// Goal: a scan has all own writes that were made before it. Method: each kind of write.
TEST_F(HashScanStepsTest, own_writes_before_the_scan_are_seen) {
  Rows rows = put_rows(20);
  begin(1);
  ASSERT_TRUE(put(1, key_in(0, 3), "mine").is_ok());
  rows[key_in(0, 3)] = "mine";
  ASSERT_TRUE(put(1, key_in(1, 30), "new").is_ok());
  rows[key_in(1, 30)] = "new";
  ASSERT_TRUE(put(1, key_in(1, 31), std::string(5'000, 'c')).is_ok());
  rows[key_in(1, 31)] = std::string(5'000, 'c');
  ASSERT_TRUE(erase(1, key_in(2, 4)).is_ok());
  rows.erase(key_in(2, 4));
  ASSERT_TRUE(write_at(all_.session(1).ctx(), all_.control(), key_in(3, 4), 0, "w").is_ok());
  rows[key_in(3, 4)] = "w4";
  EXPECT_EQ(rows_of(scan(1)), rows);
  expect_commit(1);
  begin(1);
  EXPECT_EQ(rows_of(scan(1)), rows);
  expect_commit(1);
}

// Goal: writes between two rows show ahead of the position only. Method: at one row in the middle
// of the first bin, insert, update and erase on either side of it.
TEST_F(HashScanStepsTest, own_writes_during_the_scan_are_seen_ahead_of_it) {
  for (const bool is_cold : {false, true}) {
    Rows all = put_rows(20);
    if (is_cold) all_.glean();
    const RowsInOrder in_order = [&] {
      RowsInOrder made;
      for (const auto& [key, value] : all) made[place_in_scan(key)] = value;
      return made;
    }();
    auto at = in_order.begin();
    const std::string erased_behind = at->first.second;
    const std::string updated_behind = (++at)->first.second;
    const std::string turn = (++ ++at)->first.second;
    const std::string updated = (++at)->first.second;
    const std::string erased = (++at)->first.second;
    const std::string chained = (++at)->first.second;
    Rows expected = all;
    begin(1);
    const Scanned scanned = scan(1, [&](std::string_view key) {
      if (key != turn) return;
      ASSERT_TRUE(erase(1, erased_behind).is_ok());
      ASSERT_TRUE(put(1, updated_behind, "behind").is_ok());
      ASSERT_TRUE(put(1, updated, "ahead").is_ok());
      expected[updated] = "ahead";
      ASSERT_TRUE(erase(1, erased).is_ok());
      expected.erase(erased);
      ASSERT_TRUE(put(1, chained, std::string(3'000, 'c')).is_ok());
      expected[chained] = std::string(3'000, 'c');
      for (unsigned i = 100; i < 180; ++i) {
        const std::string fresh = key_in(i % 4, i);
        ASSERT_TRUE(put(1, fresh, "fresh").is_ok());
        if (place_in_scan(fresh) > place_in_scan(turn)) expected[fresh] = "fresh";
      }
    });
    EXPECT_EQ(rows_of(scanned), expected) << is_cold;
    expect_commit(1);
    begin(0);
    for (const auto& [key, value] : rows_of(scan(0))) ASSERT_TRUE(erase(0, key).is_ok());
    expect_commit(0);
  }
}

// Goal: no row is missed or comes twice if each step changes the row, or inserts others, until bins
// spread and merge. Method: a scan that rewrites each row with a longer payload.
TEST_F(HashScanStepsTest, a_scan_can_rewrite_each_row) {
  for (const bool is_cold : {false, true}) {
    const Rows rows = put_rows(60);
    if (is_cold) all_.glean();
    begin(1);
    const Scanned scanned = scan(
        1, [&](std::string_view key) { ASSERT_TRUE(put(1, key, std::string(200, 'l')).is_ok()); });
    EXPECT_EQ(rows_of(scanned), rows) << is_cold;
    for (const auto& [key, value] : rows_of(scan(1))) EXPECT_EQ(value, std::string(200, 'l'));
    expect_commit(1);
    begin(1);
    EXPECT_EQ(rows_of(scan(1)).size(), rows.size());
    expect_commit(1);
  }
}

TEST_F(HashScanStepsTest, a_scan_can_erase_each_row) {
  const Rows rows = put_rows(60);
  begin(1);
  EXPECT_EQ(rows_of(scan(1, [&](std::string_view key) { ASSERT_TRUE(erase(1, key).is_ok()); })),
            rows);
  EXPECT_EQ(rows_of(scan(1)), Rows());
  expect_commit(1);
  begin(1);
  EXPECT_EQ(rows_of(scan(1)), Rows());
  expect_commit(1);
}

// Goal: Q2. Method: another session moves an own write's record, in the bin or to another one,
// before the scan or while it is in the bin.
TEST_F(HashScanStepsTest, own_writes_are_seen_where_others_have_moved_them) {
  const Rows rows = put_rows(5);
  for (const bool is_within : {false, true}) {
    all_.all().pass_epochs();
    begin(1);
    Rows expected = rows;
    for (unsigned i = 0; i < 5; ++i) {
      ASSERT_TRUE(put(1, key_in(0, i), "mine").is_ok());
      expected[key_in(0, i)] = "mine";
    }
    if (is_within) {
      unsigned row = 0;
      EXPECT_EQ(rows_of(scan(1,
                             [&](std::string_view) {
                               if (++row == 2) rebuild_bin_of(key_in(0, 4));
                             })),
                expected);
    } else {
      rebuild_bin_of(key_in(0, 4));
      EXPECT_EQ(rows_of(scan(1)), expected);
    }
    all_.session(1).rollback();
  }
}

// Goal: a scan sees own partial writes to records that another session moves within the scan. A
// partial write needs the record itself, unlike a put.
TEST_F(HashScanStepsTest, own_partial_writes_are_seen_where_others_have_moved_them) {
  Rows expected = put_rows(5);
  all_.all().pass_epochs();
  begin(1);
  for (unsigned i = 0; i < 5; ++i) {
    ASSERT_TRUE(write_at(all_.session(1).ctx(), all_.control(), key_in(0, i), 0, "w").is_ok());
    expected[key_in(0, i)][0] = 'w';
  }
  unsigned row = 0;
  EXPECT_EQ(rows_of(scan(1,
                         [&](std::string_view) {
                           if (++row == 2) rebuild_bin_of(key_in(0, 4));
                         })),
            expected);
  expect_commit(1);
}

// ---- writes of others --------------------------------------------------------------------------

TEST_F(HashScanStepsTest, an_insert_of_others_is_a_phantom) {
  put_rows(5);
  begin(1);
  scan(1);
  put_alone(2, key_in(3, 7), "theirs");
  expect_conflict(1, ConflictReason::kPageGained);
}

TEST_F(HashScanStepsTest, an_insert_of_others_where_there_was_no_bin_is_a_phantom) {
  put_alone(0, key_in(1, 0), "row");
  begin(1);
  scan(1);
  put_alone(2, key_in(3, 7), "theirs");
  expect_conflict(1, ConflictReason::kPageInstalled);
}

TEST_F(HashScanStepsTest, an_insert_of_others_that_is_rolled_back_is_no_row) {
  const Rows rows = put_rows(5);
  begin(2);
  ASSERT_TRUE(put(2, key_in(3, 7), "theirs").is_ok());
  begin(1);
  EXPECT_EQ(rows_of(scan(1)), rows);
  all_.session(2).rollback();
  expect_commit(1);
}

TEST_F(HashScanStepsTest, an_insert_that_others_commit_after_it_was_seen_conflicts) {
  const Rows rows = put_rows(5);
  begin(2);
  ASSERT_TRUE(put(2, key_in(3, 7), "theirs").is_ok());
  begin(1);
  EXPECT_EQ(rows_of(scan(1)), rows);
  expect_commit(2);
  expect_conflict(1, ConflictReason::kRecordChanged);
}

TEST_F(HashScanStepsTest, an_erasure_and_an_update_of_others_conflict) {
  put_rows(5);
  begin(1);
  scan(1);
  erase_alone(2, key_in(2, 3));
  expect_conflict(1, ConflictReason::kRecordChanged);
  begin(1);
  scan(1);
  put_alone(2, key_in(2, 4), "theirs");
  expect_conflict(1, ConflictReason::kRecordChanged);
}

// Goal: a key that was erased when the scan came by, and is inserted again, conflicts.
TEST_F(HashScanStepsTest, an_erased_row_that_comes_back_conflicts) {
  put_rows(5);
  erase_alone(0, key_in(2, 3));
  begin(1);
  scan(1);
  put_alone(2, key_in(2, 3), "again");
  expect_conflict(1, ConflictReason::kRecordChanged);
}

TEST_F(HashScanStepsTest, an_insert_of_others_behind_the_position_is_a_phantom) {
  put_rows(5);
  begin(1);
  unsigned row = 0;
  scan(1, [&](std::string_view) {
    if (++row == 12) put_alone(2, key_in(0, 20), "behind");
  });
  expect_conflict(1, ConflictReason::kPageGained);
}

// Goal: an own insert into a scanned bin hides no insert of others (H16). Method: both orders.
TEST_F(HashScanStepsTest, an_own_insert_hides_no_insert_of_others) {
  put_rows(5);
  for (const bool is_own_first : {false, true}) {
    begin(1);
    scan(1);
    if (is_own_first) {
      ASSERT_TRUE(put(1, key_in(0, 30), "mine").is_ok());
    }
    put_alone(2, key_in(0, is_own_first ? 31 : 32), "theirs");
    if (!is_own_first) {
      ASSERT_TRUE(put(1, key_in(0, 33), "mine").is_ok());
    }
    expect_conflict(1, ConflictReason::kPageGained);
  }
}

// Goal: an own insert into a bin that is younger than the transaction is no phantom.
TEST_F(HashScanStepsTest, an_own_insert_into_a_bin_younger_than_the_transaction_is_no_phantom) {
  put_rows(5);
  begin(1);
  rebuild_bin_of(key_in(0, 4));
  unsigned row = 0;
  scan(1, [&](std::string_view) {
    if (++row == 2) {
      ASSERT_TRUE(put(1, key_in(0, 40), "mine").is_ok());
    }
  });
  ASSERT_TRUE(put(1, key_in(0, 41), "mine").is_ok());
  expect_commit(1);
}

// ---- bins that are replaced --------------------------------------------------------------------

// Goal: a spread that adds no key is no conflict. Method: before, within and after the scan of the
// bin.
TEST_F(HashScanStepsTest, a_rebuild_by_others_is_no_conflict_and_loses_no_row) {
  const Rows rows = put_rows(10);
  for (const unsigned turn : {0u, 1u, 5u, 12u}) {
    begin(1);
    if (turn == 0) rebuild_bin_of(key_in(0, 1));
    unsigned row = 0;
    EXPECT_EQ(rows_of(scan(1,
                           [&](std::string_view) {
                             if (++row == turn) rebuild_bin_of(key_in(0, turn % 10));
                           })),
              rows);
    if (turn == 12) rebuild_bin_of(key_in(2, 1));
    expect_commit(1);
  }
}

// Goal: an insert into a successor of a scanned bin is a phantom, although the scan comes to that
// successor afterwards. Method: the scan is in the second half of the bin's keys when the bin is
// rebuilt and a row inserted.
TEST_F(HashScanStepsTest, an_insert_into_the_successor_of_a_scanned_bin_is_a_phantom) {
  put_rows(10);
  begin(1);
  unsigned row = 0;
  scan(1, [&](std::string_view) {
    if (++row != 8) return;
    rebuild_bin_of(key_in(0, 1));
    put_alone(2, key_in(0, 20), "theirs");
  });
  ASSERT_TRUE(put(1, key_in(0, 40), "mine").is_ok());
  ASSERT_TRUE(put(1, key_in(0, 41), "mine").is_ok());
  expect_conflict(1, ConflictReason::kPageGained);
}

// Goal: H16, H17. Method: other sessions act between the steps by which a bin is taken.
TEST_F(HashScanStepsTest, a_bin_is_rebuilt_while_it_is_taken) {
  const Rows rows = put_rows(10);
  for (const char* const place : {"hash:scan_bin", "hash:scan_page", "hash:scan_listed"}) {
    begin(1);
    {
      const AtSyncPoint at(place, [&] { rebuild_bin_of(key_in(0, 1)); });
      EXPECT_EQ(rows_of(scan(1)), rows) << place;
      EXPECT_EQ(at.runs(), 1u);
    }
    expect_commit(1);
  }
}

TEST_F(HashScanStepsTest, a_row_is_inserted_while_a_bin_is_taken) {
  put_rows(10);
  unsigned row = 20;
  for (const char* const place : {"hash:scan_bin", "hash:scan_page", "hash:scan_listed"}) {
    begin(1);
    {
      const AtSyncPoint at(place, [&] { put_alone(2, key_in(0, row++), "theirs"); });
      scan(1);
      EXPECT_EQ(at.runs(), 1u);
    }
    expect_conflict(1, ConflictReason::kPageGained);
  }
}

// Goal: a record is marked moved before its copy can be found. A scan at that point waits for the
// copy in vain, as all is one thread here: it must not miss the row.
TEST_F(HashScanStepsTest, a_row_whose_copy_is_not_there_yet_is_not_missed) {
  put_rows(3);
  begin(1);
  Status found;
  {
    const AtSyncPoint at("moves:birth_read", [&] { found = scan(1).status; });
    begin(2);
    ASSERT_TRUE(put(2, key_in(0, 1), std::string(300, 'x')).is_ok());
    all_.session(2).rollback();
    EXPECT_EQ(at.runs(), 1u);
  }
  EXPECT_EQ(found.conflict_reason(), ConflictReason::kRetryBound);
  all_.session(1).rollback();
}

// Goal: a row that moves to a later page of its bin during the walk is taken once. Method: a lock
// keeps the bin from being replaced, so that it has two pages.
TEST_F(HashScanStepsTest, a_row_that_moves_during_the_walk_comes_once) {
  Rows rows = put_rows(3);
  begin(2);
  ASSERT_TRUE(hold(2, key_in(0, 0)).is_ok());
  for (unsigned i = 10; i < 30; ++i) {
    rows[key_in(0, i)] = std::string(300, 'r');
    put_alone(0, key_in(0, i), rows[key_in(0, i)]);
  }
  ASSERT_NE(next_of(all_.all().pool(), bin_of(key_in(0, 0))), nullptr);
  begin(1);
  {
    const AtSyncPoint at("hash:scan_page", [&] {
      begin(3);
      ASSERT_TRUE(put(3, key_in(0, 1), std::string(400, 'x')).is_ok());
      all_.session(3).rollback();
    });
    EXPECT_EQ(rows_of(scan(1)), rows);
    EXPECT_EQ(at.runs(), 1u);
  }
  expect_commit(1);
  all_.session(2).rollback();
}

// Goal: a merge of bins on both sides of the position loses no row and repeats none.
TEST_F(HashScanStepsTest, a_merge_around_the_position_is_no_conflict) {
  const Rows rows = put_rows(4);
  begin(1);
  unsigned row = 0;
  EXPECT_EQ(rows_of(scan(1,
                         [&](std::string_view) {
                           if (++row != 6) return;
                           rebuild_bin_of(key_in(0, 0));
                           ASSERT_EQ(bin_of(key_in(0, 0)), bin_of(key_in(1, 0)));
                         })),
            rows);
  expect_commit(1);
}

}  // namespace
}  // namespace foedus::storage::hash::scan_steps_test
