// Hash storages whose pages are partly snapshot pages: reading, writing, installing and dropping.
// ctest-labels: memory

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/storage/hash/layout/function.h"
#include "tests/storage/hash/cold_fixture.h"

namespace foedus::storage::hash::cold_test {
namespace {

// Goal: a transaction sees its own writes in a copy that is older than they are. Method: between
// the making of another session's copy and its install, the bin is made volatile, written to and
// dropped.
TEST_F(HashColdTest, own_writes_are_seen_in_a_copy_that_is_older_than_them) {
  load(kRows);
  all_.glean();
  begin(2);  // keeps the pages above
  occ::ReadRange range;
  ASSERT_TRUE(get_for_update(all_.session(2).ctx(), all_.control(), key_of(1), &range).is_ok());
  begin(1);
  static std::function<void()> at_install;
  at_install = [&] {
    for (int i = 0; i < 4; ++i) all_.all().pass_epochs();
    begin(0);
    ASSERT_TRUE(put(0, key_of(3), "mine").is_ok());
    all_.glean();
  };
  base::set_sync_point_hook([](const char* place) {
    if (std::string_view(place) == "hash:before_install") std::exchange(at_install, [] {})();
  });
  ASSERT_TRUE(put(1, key_of(3), "theirs").is_ok());
  base::set_sync_point_hook(nullptr);
  ASSERT_TRUE(all_.session(0).ctx().is_open());
  EXPECT_EQ(get(0, key_of(3)), "mine");
  EXPECT_TRUE(commit(0).is_ok());
  for (const std::uint32_t session : {1u, 2u}) all_.session(session).rollback();
  EXPECT_EQ(get_alone(3, key_of(3)), "mine");
}

TEST_F(HashColdTest, at_rest_no_volatile_page_is_left) {
  load();
  ASSERT_GT(volatile_pages(), 100u);
  const InstallCounts counts = all_.glean();
  EXPECT_EQ(counts.pages_kept, 0u);
  EXPECT_EQ(volatile_pages(), 0u);
  check(1);
  for (unsigned i = kRows; i < kRows + 500; ++i) {
    ASSERT_EQ(get_alone(1, key_of(i)), std::nullopt);  // absent keys are cold, too
  }
  EXPECT_EQ(volatile_pages(), 0u);
}
// Goal: an install spares a bin in use once, with the pages that lead to it. Method: enough reads
// of one key for a mark (P8).
TEST_F(HashColdTest, a_bin_in_use_is_spared_once) {
  load();
  all_.compose();
  all_.forget_uses();
  for (int i = 0; i < 40; ++i) EXPECT_EQ(get_alone(1, key_of(5)), payload_of(5));
  const InstallCounts counts = all_.spare_and_install();
  EXPECT_EQ(counts.pages_spared, 1u);
  EXPECT_GT(counts.pages_dropped, 100u);
  EXPECT_GE(volatile_pages(), 2u);
  EXPECT_LE(volatile_pages(), 5u);
  check(1);
  all_.forget_uses();
  EXPECT_EQ(all_.spare_and_install().pages_spared, 0u);
  EXPECT_EQ(volatile_pages(), 0u);
  check(1);
}
TEST_F(HashColdTest, at_rest_no_volatile_page_is_left_after_many_gleans) {
  load();
  all_.glean();
  for (unsigned round = 1; round < 8; ++round) {
    for (unsigned i = 0; i < 600; ++i) {
      const unsigned at = (i * 37 + round * 911) % (2 * kRows);
      put_alone(round % 3, key_of(at), payload_of(at));
    }
    const InstallCounts counts = all_.glean();
    EXPECT_EQ(counts.pages_kept, 0u);
    EXPECT_EQ(volatile_pages(), 0u);
    check(1);
  }
}
TEST_F(HashColdTest, a_storage_without_records_is_cold_after_a_glean) {
  all_.glean();
  EXPECT_EQ(volatile_pages(), 0u);
  EXPECT_EQ(get_alone(0, "nothing"), std::nullopt);
  put_alone(0, "something", "x");
  EXPECT_EQ(get_alone(1, "something"), "x");
  EXPECT_EQ(get_alone(1, "nothing"), std::nullopt);
}
TEST_F(HashColdTest, erased_rows_leave_no_pages) {
  load(1000);
  all_.glean();
  for (unsigned i = 0; i < 1000; ++i) erase_alone(i % 4, key_of(i));
  all_.glean();
  EXPECT_EQ(volatile_pages(), 0u);
  for (unsigned i = 0; i < 1000; i += 7) EXPECT_EQ(get_alone(0, key_of(i)), std::nullopt);
  put_alone(0, key_of(5), "again");
  EXPECT_EQ(get_alone(1, key_of(5)), "again");
}

TEST_F(HashColdTest, a_write_makes_its_path_volatile_and_no_more) {
  load();
  all_.glean();
  put_alone(1, key_of(14), "changed");
  EXPECT_LE(volatile_pages(), 3u);
  EXPECT_EQ(get_alone(2, key_of(14)), "changed");
  EXPECT_EQ(get_alone(2, key_of(15)), payload_of(15));
  EXPECT_LE(volatile_pages(), 3u);
}

TEST_F(HashColdTest, a_read_of_a_snapshot_page_conflicts_with_a_later_write_there) {
  load();
  all_.glean();
  begin(0);
  ASSERT_EQ(get(0, key_of(14)), payload_of(14));
  put_alone(1, key_of(14), "changed");
  ASSERT_TRUE(put(0, key_of(3000), "x").is_ok());
  EXPECT_EQ(commit(0).code(), ErrorCode::kConflict);
}
TEST_F(HashColdTest, a_key_missed_in_a_cold_bin_conflicts_with_a_later_insert) {
  load();
  all_.glean();
  begin(0);
  ASSERT_EQ(get(0, "phantom"), std::nullopt);
  put_alone(1, "phantom", "boo");
  ASSERT_TRUE(put(0, key_of(3000), "x").is_ok());
  EXPECT_EQ(commit(0).code(), ErrorCode::kConflict);
}
// The transaction itself makes the bin volatile, by another key of its digit.
TEST_F(HashColdTest, a_key_missed_in_a_bin_of_its_own_making_conflicts_with_a_later_insert) {
  load(20);  // two bins
  all_.glean();
  begin(0);
  ASSERT_EQ(get(0, "phantom"), std::nullopt);
  for (unsigned i = 0; i < 20; ++i) ASSERT_TRUE(put(0, key_of(i), "x").is_ok());
  put_alone(1, "phantom", "boo");
  EXPECT_EQ(commit(0).code(), ErrorCode::kConflict);
}
// Two transactions read each other's writes in snapshot pages: one of them must fail.
TEST_F(HashColdTest, no_write_skew_over_snapshot_pages) {
  load();
  all_.glean();
  begin(0);
  begin(1);
  ASSERT_EQ(get(0, key_of(14)), payload_of(14));
  ASSERT_EQ(get(1, key_of(3000)), payload_of(3000));
  ASSERT_TRUE(put(0, key_of(3000), "x").is_ok());
  ASSERT_TRUE(put(1, key_of(14), "y").is_ok());
  const bool first = commit(0).is_ok();
  const bool second = commit(1).is_ok();
  EXPECT_FALSE(first && second);
}

// Goal: a transaction that makes pages volatile still conflicts with later writes to them.
TEST_F(HashColdTest, an_own_install_does_not_hide_later_writes_of_others) {
  load(20);
  all_.glean();
  begin(0);
  ASSERT_EQ(get(0, key_of(4)), payload_of(4));
  for (unsigned i = 5; i < 20; ++i) ASSERT_TRUE(put(0, key_of(i), "x").is_ok());
  put_alone(1, key_of(4), "changed");
  EXPECT_EQ(commit(0).code(), ErrorCode::kConflict);
}
TEST_F(HashColdTest, an_own_install_is_no_conflict) {
  load();
  all_.glean();
  begin(0);
  ASSERT_EQ(get(0, key_of(14)), payload_of(14));
  ASSERT_EQ(get(0, "missing"), std::nullopt);
  ASSERT_TRUE(put(0, key_of(15), "a").is_ok());
  ASSERT_TRUE(put(0, key_of(14), "b").is_ok());
  ASSERT_TRUE(put(0, "missing", "c", WriteMode::kInsert).is_ok());
  ASSERT_EQ(get(0, key_of(14)), "b");
  ASSERT_EQ(get(0, "missing"), "c");
  const Status status = commit(0);
  EXPECT_TRUE(status.is_ok()) << status.message();
  EXPECT_EQ(get_alone(1, key_of(14)), "b");
}
// Goal: own inserts that spread and merge bins which the transaction has made volatile are no
// conflict.
TEST_F(HashColdTest, own_inserts_into_bins_that_were_read_cold_are_no_conflict) {
  load(300);
  all_.glean();
  begin(0);
  for (unsigned i = 0; i < 300; ++i) ASSERT_EQ(get(0, key_of(i)), payload_of(i));
  for (unsigned i = 300; i < 2000; ++i) {
    ASSERT_EQ(get(0, key_of(i)), std::nullopt);
    ASSERT_TRUE(put(0, key_of(i), payload_of(i), WriteMode::kInsert).is_ok());
  }
  const Status status = commit(0);
  ASSERT_TRUE(status.is_ok()) << status.message();
  check(1, 2000);
  all_.glean();
  EXPECT_EQ(volatile_pages(), 0u);
  check(1, 2000);
}

TEST_F(HashColdTest, a_write_finds_its_record_again_after_a_drop) {
  load();
  begin(0);
  ASSERT_TRUE(put(0, key_of(14), "mine").is_ok());
  ASSERT_TRUE(erase(0, key_of(16)).is_ok());
  EXPECT_EQ(all_.glean().pages_kept, 0u);
  ASSERT_EQ(get(0, key_of(14)), "mine");  // an own write, whose page was dropped
  ASSERT_EQ(get(0, key_of(16)), std::nullopt);
  ASSERT_TRUE(put(0, key_of(15), "second").is_ok());
  ASSERT_TRUE(put(0, key_of(14), "third").is_ok());
  const Status status = commit(0);
  ASSERT_TRUE(status.code() == ErrorCode::kConflict || status.is_ok()) << status.message();
}
TEST_F(HashColdTest, a_blind_write_commits_after_a_drop) {
  load();
  begin(0);
  ASSERT_TRUE(put(0, key_of(14), "mine").is_ok());
  ASSERT_TRUE(put(0, "fresh", "inserted").is_ok());
  all_.glean();
  all_.glean();
  EXPECT_EQ(volatile_pages(), 0u);
  ASSERT_EQ(get(0, key_of(14)), "mine");
  ASSERT_EQ(get(0, "fresh"), "inserted");
  const Status status = commit(0);
  ASSERT_TRUE(status.is_ok()) << status.message();
  EXPECT_EQ(get_alone(1, key_of(14)), "mine");
  EXPECT_EQ(get_alone(1, "fresh"), "inserted");
}
// The lock phase has to find the record, as no call has done so since the drop.
TEST_F(HashColdTest, a_write_that_is_not_looked_at_again_commits_after_a_drop) {
  load();
  begin(0);
  ASSERT_TRUE(put(0, key_of(14), "mine").is_ok());
  ASSERT_TRUE(put(0, "fresh", std::string(900, 'f')).is_ok());
  all_.glean();
  ASSERT_TRUE(commit(0).is_ok());
  EXPECT_EQ(get_alone(1, key_of(14)), "mine");
  EXPECT_EQ(get_alone(1, "fresh"), std::string(900, 'f'));
}
TEST_F(HashColdTest, a_write_whose_page_was_dropped_and_made_again_by_others) {
  load();
  begin(0);
  ASSERT_TRUE(put(0, key_of(14), "mine").is_ok());
  all_.glean();
  put_alone(1, key_of(14), "theirs");
  erase_alone(1, key_of(14));
  put_alone(1, key_of(14), "theirs again");
  ASSERT_EQ(get(0, key_of(14)), "mine");
  ASSERT_TRUE(commit(0).is_ok());
  EXPECT_EQ(get_alone(1, key_of(14)), "mine");
}
TEST_F(HashColdTest, a_key_that_was_read_erased_and_is_back_conflicts) {
  load();
  erase_alone(1, key_of(14));
  begin(0);
  ASSERT_EQ(get(0, key_of(14)), std::nullopt);  // by a deleted record
  all_.glean();
  put_alone(1, key_of(14), "back");
  ASSERT_TRUE(put(0, key_of(3000), "x").is_ok());
  EXPECT_EQ(commit(0).code(), ErrorCode::kConflict);
}
TEST_F(HashColdTest, a_drop_is_a_conflict_for_who_read_there) {
  load();
  begin(0);
  ASSERT_EQ(get(0, key_of(14)), payload_of(14));
  all_.glean();
  ASSERT_TRUE(put(0, key_of(3000), "x").is_ok());
  EXPECT_EQ(commit(0).code(), ErrorCode::kConflict);
}
// The volatile pointer becomes non-null and null again between a read and its verify.
TEST_F(HashColdTest, a_pointer_that_is_null_again_has_changed) {
  load();
  all_.glean();
  begin(0);
  ASSERT_EQ(get(0, key_of(14)), payload_of(14));
  put_alone(1, key_of(14), "changed");
  EXPECT_EQ(all_.glean().pages_kept, 0u);
  EXPECT_EQ(volatile_pages(), 0u);
  ASSERT_TRUE(put(0, key_of(3000), "x").is_ok());
  EXPECT_EQ(commit(0).code(), ErrorCode::kConflict);
}

TEST_F(HashColdTest, a_locked_or_newer_record_keeps_its_page) {
  load();
  all_.compose();
  put_alone(1, key_of(14), "newer");
  begin(0);
  occ::ReadRange range;
  ASSERT_TRUE(get_for_update(all_.session(0).ctx(), all_.control(), key_of(3001), &range).is_ok());
  EXPECT_GE(all_.install().pages_kept, 2u);
  EXPECT_GE(volatile_pages(), 3u);
  all_.session(0).rollback();
  EXPECT_EQ(get_alone(1, key_of(14)), "newer");
  all_.glean();
  EXPECT_EQ(volatile_pages(), 0u);
  EXPECT_EQ(get_alone(1, key_of(14)), "newer");
}
// Goal: an erasure that the snapshot does not have is not forgotten if the record is purged before
// the drop. Method: bins are chained while a lock in them is held, so that the snapshot has two of
// each. Later inserts spread them the same way, and only one half gets a newer record.
TEST_F(HashColdTest, a_purged_erasure_keeps_its_bin) {
  constexpr unsigned kFew = 280;
  load(20);
  begin(3);
  occ::ReadRange range;
  for (unsigned i = 0; i < 20; ++i) {
    ASSERT_TRUE(get_for_update(all_.session(3).ctx(), all_.control(), key_of(i), &range).is_ok());
  }
  for (unsigned i = 20; i < kFew; ++i) put_alone(0, key_of(i), payload_of(i));
  all_.session(3).rollback();
  all_.compose();
  for (unsigned i = 0; i < kFew; i += 5) erase_alone(1, key_of(i));
  all_.all().pass_epochs();
  for (const char* key : {"a", "b", "c", "d", "e"}) put_alone(2, key, std::string(1200, 'x'));
  EXPECT_GT(all_.install().pages_kept, 1u);
  for (unsigned i = 0; i < kFew; ++i) {
    const bool erased = i % 5 == 0;
    ASSERT_EQ(get_alone(3, key_of(i)), erased ? std::nullopt : std::optional(payload_of(i)));
  }
}
TEST_F(HashColdTest, a_page_that_cannot_be_read_is_an_error_of_its_reader_alone) {
  load();
  all_.glean();
  begin(0);
  all_.pages().fail_read_after(0);
  EXPECT_EQ(read(0, key_of(14)).status.code(), ErrorCode::kIoError);
  all_.pages().fail_read_after(0);
  EXPECT_EQ(put(0, key_of(14), "x").code(), ErrorCode::kIoError);
  EXPECT_EQ(get(0, key_of(14)), payload_of(14));
  ASSERT_TRUE(put(0, key_of(14), "x").is_ok());
  EXPECT_TRUE(commit(0).is_ok());
  EXPECT_EQ(get_alone(1, key_of(14)), "x");
}

// Goal: a cold bin that the new snapshot has divided does not lead to the old snapshot. Method: a
// boundary between partitions divides an untouched bin beside a busy one.
TEST_F(HashColdTest, an_old_bin_that_the_new_snapshot_has_divided_is_made_volatile) {
  load(40);
  all_.glean();
  ASSERT_EQ(volatile_pages(), 0u);
  unsigned upper = 0;
  while (hash_of(key_of(upper)) >> 63 == 0) ++upper;
  put_alone(0, key_of(upper), payload_of(upper));
  ASSERT_EQ(volatile_pages(), 2u);  // the root, and the bin of the upper half
  set_boundary(std::uint64_t{1} << 61);
  all_.compose();
  put_alone(0, key_of(upper), payload_of(upper));  // is not in the snapshot
  const InstallCounts counts = all_.install();
  EXPECT_FALSE(counts.may_need_earlier);
  EXPECT_EQ(volatile_pages(), 3u);
  EXPECT_EQ(counts.pages_kept, 3u);
  all_.check_leads();
  check(1, 40);
  all_.glean();
  EXPECT_EQ(volatile_pages(), 0u);
  check(1, 40);
}

// Method: the new snapshot has divided bins, and payloads with new ids.
TEST_F(HashColdTest, an_install_that_cannot_read_is_made_up_for) {
  constexpr unsigned kFew = 400;
  load(kFew);
  const std::string large(9'000, 'l');
  for (unsigned i = 0; i < 8; ++i) put_alone(0, "large" + std::to_string(i), large);
  all_.let_names_change();
  std::uint64_t boundary = std::uint64_t{1} << 61;
  for (const ErrorCode code : {ErrorCode::kIoError, ErrorCode::kCorruption}) {
    all_.glean();
    for (unsigned i = 0; i < kFew; i += 40) put_alone(0, key_of(i), payload_of(i));
    set_boundary(boundary);
    boundary += boundary;
    all_.compose();
    for (unsigned i = 0; i < kFew; i += 40) put_alone(0, key_of(i), payload_of(i));
    EXPECT_GT(all_.install_with_errors(code), 1u);
    all_.check_leads();
    check(1, kFew);
    for (unsigned i = 0; i < 8; ++i) EXPECT_EQ(get_alone(1, "large" + std::to_string(i)), large);
  }
}

}  // namespace
}  // namespace foedus::storage::hash::cold_test
