// Sequential storages that are partly in snapshots: scanning, appending, installing and dropping.
// ctest-labels: memory

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/storage/sequential/cold.h"

namespace foedus::storage::sequential::cold_test {
namespace {

using Rows = SequentialCold::Rows;

TEST_F(SequentialColdTest, at_rest_nothing_volatile_is_left_and_scans_give_the_same) {
  load();
  ASSERT_GT(all_.volatile_pages(), 8u);
  const Rows before = all_.scan_now();
  EXPECT_EQ(before, expected_);
  expect_at_rest();
}

TEST_F(SequentialColdTest, a_storage_without_records_has_no_pages) {
  expect_at_rest();
  EXPECT_TRUE(all_.root().is_null());
  append_expected(1, "first");
  EXPECT_EQ(all_.scan_now(), expected_);
  expect_at_rest();
}

TEST_F(SequentialColdTest, an_append_to_a_cold_storage_makes_its_own_pages_only) {
  load();
  all_.glean();
  append_expected(1, "warm");
  EXPECT_EQ(all_.volatile_pages(), 3u);  // root, heads, one of records
  append_expected(1, "warmer");
  append_expected(0, "another");
  EXPECT_EQ(all_.volatile_pages(), 4u);
  EXPECT_EQ(all_.scan_now(), expected_);
}

TEST_F(SequentialColdTest, several_gleans_keep_the_order) {
  for (int glean = 0; glean < 120; ++glean) {  // more runs than one runs page has
    load(7);
    if (glean % 3 == 0) {
      EXPECT_EQ(all_.scan_now(), expected_);
    }
    all_.glean();
    append_expected(glean % 3, "behind glean " + std::to_string(glean));
    if (glean % 10 == 0) {
      EXPECT_EQ(all_.scan_now(), expected_);
    }
  }
  expect_at_rest();
}

TEST_F(SequentialColdTest, appends_between_compose_and_install_appear_once) {
  load();
  all_.compose();
  append_expected(0, "between");
  append_expected(1, std::string(3000, 'b'));
  EXPECT_EQ(all_.scan_now(), expected_);
  EXPECT_GT(all_.install().pages_kept, 0u);
  EXPECT_EQ(all_.scan_now(), expected_);
  expect_at_rest();
}

// ---- open transactions --------------------------------------------------------------------------

TEST_F(SequentialColdTest, appends_of_an_open_transaction_survive_gleans) {
  load();
  all_.session(0).begin();
  Rows own;
  for (int i = 0; i < 60; ++i) {
    own.push_back("own " + std::to_string(i) + std::string(200, 'o'));
    ASSERT_TRUE(all_.append(0, own.back()).is_ok());
    if (i % 20 == 10) all_.glean();
  }
  EXPECT_EQ(all_.scan_now(), expected_);
  all_.glean();
  EXPECT_GT(all_.volatile_pages(), 2u);
  expected_.insert(expected_.end(), own.begin(), own.end());
  EXPECT_EQ(all_.scan(0), expected_);
  const Status status = all_.session(0).commit();
  ASSERT_TRUE(status.is_ok()) << status.message();
  EXPECT_EQ(all_.scan_now(), expected_);
  expect_at_rest();
}

TEST_F(SequentialColdTest, appends_that_were_rolled_back_do_not_keep_their_pages) {
  load();
  all_.session(0).begin();
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(all_.append(0, std::string(200, 'o')).is_ok());
  all_.session(0).rollback();
  append_expected(0, "behind them");
  expect_at_rest();
}

// Goal: old pages of a session are dropped even if it is always in a transaction, also those of
// rolled-back appends; its last page stays.
TEST_F(SequentialColdTest, an_owner_at_work_keeps_its_last_page_alone) {
  load();
  all_.session(0).begin();
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(all_.append(0, std::string(200, 'o')).is_ok());
  all_.session(0).rollback();
  all_.all().pass_epochs();
  all_.session(0).begin();
  all_.glean();
  EXPECT_EQ(all_.volatile_pages(), 3u);
  ASSERT_TRUE(all_.append(0, "in the last page").is_ok());
  all_.glean();
  EXPECT_EQ(all_.volatile_pages(), 3u);
  ASSERT_TRUE(all_.session(0).commit().is_ok());
  expected_.emplace_back("in the last page");
  EXPECT_EQ(all_.scan_now(), expected_);
  expect_at_rest();
}

TEST_F(SequentialColdTest, a_locked_record_keeps_its_page) {
  append_expected(0, "locked");
  auto& pool = all_.all().pool();
  auto* const root =
      reinterpret_cast<SequentialRootPage*>(pool.resolve(all_.control()->root.load_volatile()));
  auto* const heads = reinterpret_cast<HeadsPage*>(pool.resolve(root->pointers[0].load_volatile()));
  auto* const page =
      reinterpret_cast<SequentialPage*>(pool.resolve(heads->chains[0].head.load_volatile()));
  {
    const occ::LockGuard guard(&page->record_at(0)->header.lock);
    EXPECT_EQ(all_.glean().pages_kept, 3u);
  }
  expect_at_rest();
}

TEST_F(SequentialColdTest, a_page_that_cannot_be_read_is_an_error_of_its_reader_alone) {
  load();
  all_.glean();
  const page::SnapshotPageId root = all_.root();
  ASSERT_EQ(root.page(), all_.pages().page_count());  // after its record pages
  ASSERT_GT(root.page(), 8u);
  Rows rows;
  // Pages before the failing one are cached then, read ahead or not; pages after it are not.
  for (std::uint32_t i = 0; i < root.page(); ++i) {
    all_.session(0).begin();
    const page::SnapshotPageId failing(root.snapshot(), root.soc(), i == 0 ? root.page() : i);
    all_.pages().fail_reads_of(failing);
    EXPECT_EQ(all_.scan(0, &rows).code(), ErrorCode::kIoError) << i;
    EXPECT_EQ(rows.empty(), i <= 1) << i;
    ASSERT_TRUE(all_.append(0, "gone").is_ok());
    all_.session(0).rollback();
  }
  all_.pages().fail_reads_of({});
  EXPECT_EQ(all_.scan_now(), expected_);
}

// The cursor goes on after a failure where it was.
TEST_F(SequentialColdTest, a_cursor_may_be_asked_again_after_a_failure) {
  load();
  all_.glean();
  all_.session(0).begin();
  Cursor cursor;
  ASSERT_TRUE(cursor.open(all_.session(0).ctx(), all_.control()).is_ok());
  all_.pages().fail_reads_of(page::SnapshotPageId(all_.root().snapshot(), 0, 5));
  Rows rows;
  Status status;
  while (status.is_ok()) {
    rows.emplace_back(cursor.payload());
    status = cursor.next();
  }
  EXPECT_EQ(status.code(), ErrorCode::kIoError);
  EXPECT_EQ(cursor.next().code(), ErrorCode::kIoError);
  all_.pages().fail_reads_of({});
  for (status = cursor.next(); status.is_ok() && !cursor.at_end(); status = cursor.next()) {
    rows.emplace_back(cursor.payload());
  }
  EXPECT_TRUE(status.is_ok()) << status.message();
  EXPECT_EQ(rows, expected_);
  cursor.close();
  all_.session(0).rollback();
}

}  // namespace
}  // namespace foedus::storage::sequential::cold_test
