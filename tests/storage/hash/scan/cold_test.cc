// Scans of hash storages whose bins are in snapshots, or are dropped and made volatile during the
// scan; failures of pages.
#include <gtest/gtest.h>

#include <string>

#include "foedus-core/storage/hash/trie.h"
#include "tests/storage/hash/scan/fixture.h"
#include "tests/testing/at_sync_point.h"

namespace foedus::storage::hash::scan_cold_test {
namespace {

using testing::AtSyncPoint;

using HashScanColdTest = HashScanTest;

TEST_F(HashScanColdTest, all_rows_of_snapshot_pages_come_and_no_page_is_made) {
  Rows rows = put_rows(200);
  rows["long"] = std::string(100'000, 'l');
  put_alone(0, "long", rows["long"]);
  all_.glean();
  ASSERT_EQ(volatile_pages(), 0u);
  begin(1);
  EXPECT_EQ(rows_of(scan(1)), rows);
  EXPECT_EQ(volatile_pages(), 0u);
  EXPECT_EQ(all_.session(1).ctx().sets().pointers().size(), 1u);
  EXPECT_TRUE(all_.session(1).ctx().sets().reads().is_empty());
  expect_commit(1);
}

TEST_F(HashScanColdTest, a_write_of_others_to_a_scanned_snapshot_page_conflicts) {
  put_rows(200);
  all_.glean();
  begin(1);
  scan(1);
  put_alone(2, key_in(2, 300), "theirs");
  expect_conflict(1, ConflictReason::kPageInstalled);
}

// Goal: H9. An own write to what was scanned makes pages volatile, which is no conflict; a later
// write of others to these is one.
TEST_F(HashScanColdTest, an_own_write_to_scanned_snapshot_pages_is_no_conflict) {
  put_rows(200);
  all_.glean();
  for (const bool has_others : {false, true}) {
    begin(1);
    scan(1);
    ASSERT_TRUE(put(1, key_in(2, 300), "mine").is_ok());
    if (has_others) put_alone(2, key_in(2, 301), "theirs");
    if (has_others) {
      EXPECT_FALSE(commit(1).is_ok());
    } else {
      expect_commit(1);
    }
    all_.glean();
  }
}

// Goal: H18. Rows of mixed pages: some bins volatile, some cold, some without a page.
TEST_F(HashScanColdTest, volatile_and_cold_bins_take_turns) {
  Rows rows = put_rows(200);
  all_.glean();
  for (std::uint64_t quarter = 0; quarter < 4; quarter += 2) {
    for (unsigned i = 0; i < 20; ++i) {
      rows[key_in(quarter, i * 7)] = "changed";
      put_alone(0, key_in(quarter, i * 7), "changed");
    }
  }
  begin(1);
  EXPECT_EQ(rows_of(scan(1)), rows);
  expect_commit(1);
}

// Goal: bins that are dropped while the scan is in one of them. The rows are all there; the
// page-versions of what was dropped do not hold.
TEST_F(HashScanColdTest, bins_are_dropped_during_the_scan) {
  const Rows rows = put_rows(10);
  begin(1);
  unsigned row = 0;
  EXPECT_EQ(rows_of(scan(1,
                         [&](std::string_view) {
                           if (++row == 3) all_.glean();
                         })),
            rows);
  ASSERT_EQ(volatile_pages(), 0u);
  expect_conflict(1, ConflictReason::kPageDropped);
}

TEST_F(HashScanColdTest, bins_are_dropped_while_one_is_taken) {
  const Rows rows = put_rows(10);
  for (const char* const place : {"hash:scan_bin", "hash:scan_page", "hash:scan_listed"}) {
    put_alone(0, key_in(0, 0), rows.at(key_in(0, 0)));  // makes the bin volatile
    begin(1);
    {
      const AtSyncPoint at(place, [&] { all_.glean(); });
      EXPECT_EQ(rows_of(scan(1)), rows) << place;
      EXPECT_EQ(at.runs(), 1u);
    }
    all_.session(1).rollback();
  }
}

// Goal: own writes are seen after their bin was dropped, by the birth of the bin that was made
// since, or without one. Method: the drop comes before the scan, or within.
TEST_F(HashScanColdTest, own_writes_are_seen_after_a_drop) {
  const Rows rows = put_rows(10);
  for (const unsigned turn : {0u, 3u}) {
    for (const bool is_made_again : {false, true}) {
      put_alone(0, key_in(0, 0), rows.at(key_in(0, 0)));
      all_.all().pass_epochs();
      begin(1);
      Rows expected = rows;
      for (unsigned i = 0; i < 10; ++i) {
        ASSERT_TRUE(put(1, key_in(0, i), "mine").is_ok());
        expected[key_in(0, i)] = "mine";
      }
      ASSERT_TRUE(put(1, key_in(0, 50), "fresh").is_ok());
      expected[key_in(0, 50)] = "fresh";
      const auto drop = [&] {
        all_.glean();
        if (is_made_again) {
          begin(2);
          ASSERT_TRUE(put(2, key_in(0, 60), "theirs").is_ok());
          all_.session(2).rollback();
        }
      };
      if (turn == 0) drop();
      unsigned row = 0;
      EXPECT_EQ(rows_of(scan(1,
                             [&](std::string_view) {
                               if (++row == turn) drop();
                             })),
                expected)
          << turn << is_made_again;
      all_.session(1).rollback();
    }
  }
}

// Goal: H18. Method: the scan comes to a null pointer of 32 digits. A bin is made there, spreads,
// one half is emptied, and all is dropped but a busy bin elsewhere: the pointer is null again, for
// 16 digits. The rows of the other half are phantoms.
TEST_F(HashScanColdTest, a_null_pointer_that_owns_fewer_digits_conflicts) {
  put_alone(0, key_in(3, 0), "busy");
  begin(1);
  EXPECT_EQ(rows_of(scan(1)).size(), 1u);
  begin(2);
  ASSERT_TRUE(hold(2, key_in(3, 0)).is_ok());
  auto* const root = reinterpret_cast<HashInteriorPage*>(
      all_.all().pool().resolve(all_.control()->root.load_volatile()));
  ASSERT_EQ(root->owner_of(16), 0u);
  // The second half is more than one page of a snapshot, too.
  for (unsigned i = 0; i < 80; ++i) put_alone(0, key_in(0, i), std::string(200, 'v'));
  for (unsigned i = 0; i < 80; ++i) {
    if (root->digit_of(hash_of(key_in(0, i))) < 16) erase_alone(0, key_in(0, i));
  }
  all_.glean();
  all_.glean();
  ASSERT_FALSE(root->header.load_version().is_gone());
  ASSERT_TRUE(root->pointers[0].load().is_null());
  ASSERT_NE(root->owner_of(16), 0u);
  expect_conflict(1, ConflictReason::kPageInstalled);
  all_.session(2).rollback();
}

// Goal: H9, H18. A null pointer that the transaction has taken over from a snapshot page is
// verified on the volatile page that replaces it.
TEST_F(HashScanColdTest, null_pointers_of_a_page_that_was_made_volatile_are_verified) {
  put_rows(1);
  erase_alone(0, key_in(0, 0));
  all_.glean();
  begin(1);
  EXPECT_EQ(rows_of(scan(1)).size(), 3u);
  ASSERT_TRUE(put(1, key_in(1, 0), "mine").is_ok());
  for (const occ::PointerEntry& entry : all_.session(1).ctx().sets().pointers()) {
    EXPECT_EQ(entry.observed.is_null(), entry.place != 0);
  }
  put_alone(2, key_in(0, 0), "theirs");
  EXPECT_FALSE(commit(1).is_ok());
}

TEST_F(HashScanColdTest, an_own_insert_where_there_was_no_bin_is_no_phantom) {
  put_alone(0, key_in(1, 0), "row");
  begin(1);
  EXPECT_EQ(rows_of(scan(1)).size(), 1u);
  ASSERT_TRUE(put(1, key_in(3, 0), "mine").is_ok());
  ASSERT_TRUE(put(1, key_in(3, 1), "mine").is_ok());
  EXPECT_EQ(rows_of(scan(1)).size(), 3u);
  expect_commit(1);
}

TEST_F(HashScanColdTest, an_own_insert_where_there_was_no_bin_hides_no_insert_of_others) {
  put_alone(0, key_in(1, 0), "row");
  begin(1);
  scan(1);
  ASSERT_TRUE(put(1, key_in(3, 0), "mine").is_ok());
  put_alone(2, key_in(3, 1), "theirs");
  expect_conflict(1, ConflictReason::kPageGained);
}

// ---- snapshots ---------------------------------------------------------------------------------

TEST_F(HashScanColdTest, each_snapshot_is_the_state_at_its_epoch) {
  std::vector<std::pair<page::SnapshotPageId, Rows>> snapshots{{{}, {}}};
  Rows rows;
  for (unsigned round = 0; round < 4; ++round) {
    for (unsigned i = 0; i < 300; ++i) {
      const std::string key = key_of(i * (round + 1));
      rows[key] = std::string(i == 7 ? 9'000 : i % 90, static_cast<char>('a' + round));
      put_alone(0, key, rows[key]);
    }
    for (unsigned i = 0; i < 40; ++i) {
      if (rows.erase(key_of(i * 3)) != 0) erase_alone(0, key_of(i * 3));
    }
    all_.glean();
    snapshots.emplace_back(all_.root(), rows);
    all_.session(1).begin({.isolation = Isolation::kSnapshot});
    for (const auto& [root, expected] : snapshots) EXPECT_EQ(rows_of(scan_at(1, root)), expected);
    occ::AccessSets& sets = all_.session(1).ctx().sets();
    EXPECT_TRUE(sets.reads().is_empty() && sets.pages().is_empty() && sets.pointers().is_empty());
    expect_commit(1);
  }
}

// ---- failures ----------------------------------------------------------------------------------

// Goal: each read of a page that fails, or returns another page, ends the scan with its error; and
// the transaction goes on.
TEST_F(HashScanColdTest, a_page_that_cannot_be_read_ends_the_scan) {
  Rows rows = put_rows(100);
  rows["long"] = std::string(30'000, 'l');
  put_alone(0, "long", rows["long"]);
  all_.glean();
  for (const ErrorCode code : {ErrorCode::kIoError, ErrorCode::kCorruption}) {
    for (const bool is_of_snapshot : {false, true}) {
      unsigned failures = 0;
      for (;; ++failures) {
        all_.all().cache()->forget(page::SnapshotNumber{1});
        if (code == ErrorCode::kIoError) {
          all_.pages().fail_read_after(failures);
        } else {
          all_.pages().forge_read_after(failures);
        }
        begin(1);
        const Scanned scanned = is_of_snapshot ? scan_at(1, all_.root()) : scan(1);
        all_.pages().read_well();
        if (scanned.status.is_ok()) {
          EXPECT_EQ(rows_of(scanned), rows);
          expect_commit(1);
          break;
        }
        ASSERT_EQ(scanned.status.code(), code) << scanned.status.message();
        ASSERT_LT(scanned.rows.size(), rows.size());
        expect_commit(1);
      }
      EXPECT_GT(failures, 10u);
    }
  }
}

// Goal: a dropped storage has no rows, also for a scan that is open.
TEST_F(HashScanColdTest, a_storage_that_is_dropped_ends_the_scan) {
  storage_meta::StorageMeta meta;
  meta.kind = StorageKind::kHash;
  meta.fan_out_bits = 2;
  occ::StorageControl* const control = all_.all().make(meta);
  begin(1);
  ASSERT_TRUE(write_whole(all_.session(1).ctx(), control, WriteMode::kPut, "key", "row").is_ok());
  Cursor cursor;
  cursor.open(all_.session(1).ctx(), control);
  ASSERT_TRUE(cursor.next().is_ok());
  all_.session(1).rollback();
  begin(1);
  control->set_dropped();
  drop(&all_.all().pool(), &all_.session(0).pages(), control);
  cursor.open(all_.session(1).ctx(), control);
  EXPECT_EQ(cursor.next().code(), ErrorCode::kNotFound);
  EXPECT_TRUE(cursor.at_end());
  all_.session(1).rollback();
}

}  // namespace
}  // namespace foedus::storage::hash::scan_cold_test
