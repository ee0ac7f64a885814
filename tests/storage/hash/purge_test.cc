// Deleted records that a rebuilt bin purges, or must not purge.
#include <gtest/gtest.h>

#include <string>

#include "tests/storage/hash/moves_fixture.h"
#include "tests/testing/at_sync_point.h"

namespace foedus::storage::hash::purge_test {
namespace {

using testing::AtSyncPoint;

class HashPurgeTest : public HashMovesTest {
 protected:
  // Makes a deleted record that no transaction can have read.
  void make_absent(const std::string& key) {
    put_alone(0, key, "old");
    erase_alone(0, key);
    all_.all().pass_epochs();
  }

  const std::string key_ = key_in(0, 0);
  const std::string row_ = key_in(0, 1);  // in the same bin
  const std::string row_of_buddy_ = key_in(1, 0);
  const std::string far_ = key_in(2, 0);
  const std::string farther_ = key_in(3, 0);
};

// Goal: a transaction that read a key as absent notices that it came and went: an erasure since its
// begin is not purged. Method: the key comes together with `farther_`, which the transaction sees.
// While it is verified, and has found the old `far_`, the key is erased together with a change of
// `far_`. There never was a state with the old `far_`, the new `farther_` and without the key. If
// `far_` does not change, there is one.
TEST_F(HashPurgeTest, a_key_that_came_and_went_was_not_absent_all_the_time) {
  for (const bool changes : {true, false}) {
    SCOPED_TRACE(changes);
    for (const std::string& row : {row_, far_, farther_}) put_alone(0, row, "0");
    make_absent(key_);
    begin(1);
    ASSERT_EQ(get(1, far_), "0");
    ASSERT_EQ(get(1, key_), std::nullopt);
    rebuild_bin_of(row_);
    ASSERT_EQ(statistics().deleted_records, 0u);
    begin(2);
    ASSERT_TRUE(put(2, key_, "there").is_ok());
    ASSERT_TRUE(put(2, farther_, "1").is_ok());
    ASSERT_TRUE(commit(2).is_ok());
    ASSERT_EQ(get(1, farther_), "1");
    Status status;
    {
      const AtSyncPoint verified("commit:read_moved", [&] {
        begin(2);
        ASSERT_TRUE(erase(2, key_).is_ok());
        ASSERT_TRUE(put(2, changes ? far_ : row_, "1").is_ok());
        ASSERT_TRUE(commit(2).is_ok());
        all_.all().pass_epochs();
        rebuild_bin_of(row_);
      });
      status = commit(1);
      EXPECT_EQ(verified.runs(), 1u);
    }
    EXPECT_EQ(status.is_ok(), !changes) << status.message();
  }
}

// Goal: a record that was made for a write is not purged before the transaction ends: a second
// insert would exceed the count that the transaction knows of the bin, and look like a phantom.
TEST_F(HashPurgeTest, a_rebuild_behind_an_open_insert_is_no_phantom) {
  put_alone(0, row_, "row");
  begin(1);
  ASSERT_EQ(get(1, key_), std::nullopt);
  ASSERT_TRUE(put(1, key_, "mine").is_ok());
  rebuild_bin_of(row_);
  const Status status = commit(1);
  EXPECT_TRUE(status.is_ok()) << status.message();
  EXPECT_EQ(get_alone(0, key_), "mine");
}

// Goal: a deleted record that the transaction writes to is not purged when it rebuilds the bin
// itself, however old it is.
TEST_F(HashPurgeTest, an_own_write_to_an_erased_record_survives_an_own_rebuild) {
  put_alone(0, row_, "row");
  make_absent(key_);
  begin(1);
  ASSERT_TRUE(put(1, key_, "mine").is_ok());
  fill_bin_of(1, row_);
  EXPECT_EQ(get(1, key_), "mine");
  const Status status = commit(1);
  ASSERT_TRUE(status.is_ok()) << status.message();
  EXPECT_EQ(get_alone(0, key_), "mine");
}

// Goal: an own rebuild does not purge a deleted record that the transaction has locked: no other
// session inserts the key until it ends.
TEST_F(HashPurgeTest, an_own_lock_of_an_erased_record_survives_an_own_rebuild) {
  put_alone(0, row_, "row");
  make_absent(key_);
  begin(1);
  ASSERT_EQ(hold(1, key_).code(), ErrorCode::kNotFound);
  fill_bin_of(1, row_);
  begin(2);
  EXPECT_EQ(put(2, key_, std::string(400, 'x')).conflict_reason(), ConflictReason::kRecordLocked);
  all_.session(2).rollback();
  ASSERT_TRUE(put(1, key_, "mine").is_ok());
  const Status status = commit(1);
  ASSERT_TRUE(status.is_ok()) << status.message();
  EXPECT_EQ(get_alone(0, key_), "mine");
}

// Goal: if another session purges an erased record that the transaction writes to, its own insert
// of the key is no phantom to a miss in the same bin. Method: the transaction inserts when it
// notices, in a look-up or when it commits.
TEST_F(HashPurgeTest, an_own_insert_in_place_of_a_purged_record_is_no_phantom) {
  const std::string missed = key_in(0, 2);
  for (const bool looks : {true, false}) {
    SCOPED_TRACE(looks);
    put_alone(0, row_, "row");
    make_absent(key_);
    begin(1);
    ASSERT_EQ(get(1, missed), std::nullopt);
    ASSERT_TRUE(put(1, key_, "mine").is_ok());
    const std::uint64_t deleted = statistics().deleted_records;
    rebuild_bin_of(row_);
    ASSERT_EQ(statistics().deleted_records, deleted - 1);
    if (looks) {
      EXPECT_EQ(get(1, row_), "row");
      EXPECT_EQ(get(1, key_), "mine");
    }
    const Status status = commit(1);
    EXPECT_TRUE(status.is_ok()) << status.message();
    EXPECT_EQ(get_alone(0, key_), "mine");
  }
}

// Goal: an insert of another session in place of a purged record is a phantom.
TEST_F(HashPurgeTest, an_insert_of_others_behind_a_purged_record_is_a_phantom) {
  const std::string missed = key_in(0, 2);
  for (const bool is_before : {true, false}) {
    SCOPED_TRACE(is_before);
    put_alone(0, row_, "row");
    make_absent(key_);
    make_absent(missed);
    rebuild_bin_of(row_);
    make_absent(key_);
    begin(1);
    ASSERT_EQ(get(1, missed), std::nullopt);
    ASSERT_TRUE(put(1, key_, "mine").is_ok());
    if (is_before) put_alone(2, missed, "theirs");
    rebuild_bin_of(row_);
    if (!is_before) put_alone(2, missed, "theirs");
    EXPECT_EQ(get(1, key_), "mine");
    EXPECT_EQ(commit(1).conflict_reason(), ConflictReason::kPageGained);
  }
}

// ---- a bin whose snapshot still has what was purged is not dropped ------------------------------

// Goal: a purge counts as a change (H12) through later rebuilds, which purge no record. Method: a
// row that the snapshot has is erased and purged before the snapshot is installed; no record of the
// bin is newer than the snapshot.
TEST_F(HashPurgeTest, an_erasure_that_was_purged_is_not_forgotten_by_the_next_rebuild) {
  for (const std::string& key : {key_, row_}) put_alone(0, key, "row");
  all_.compose();
  erase_alone(0, key_);
  all_.all().pass_epochs();
  rebuild_bin_of(row_);
  ASSERT_EQ(statistics().deleted_records, 0u);
  rebuild_bin_of(row_);
  all_.install();
  EXPECT_EQ(get_alone(1, key_), std::nullopt);
  EXPECT_EQ(get_alone(1, row_), "row");
  all_.glean();
  EXPECT_EQ(volatile_pages(), 0u);
  EXPECT_EQ(get_alone(1, key_), std::nullopt);
}

// Goal: of several records that a rebuild purges, the newest counts. Method: the snapshot lacks one
// of them already, which comes last in the bin.
TEST_F(HashPurgeTest, the_newest_erasure_that_was_purged_is_not_forgotten) {
  const std::string earlier = key_in(0, 2);
  for (const std::string& key : {row_, key_, earlier}) put_alone(0, key, "row");
  erase_alone(0, earlier);
  all_.compose();
  erase_alone(0, key_);
  all_.all().pass_epochs();
  rebuild_bin_of(row_);
  ASSERT_EQ(statistics().deleted_records, 0u);
  all_.install();
  EXPECT_EQ(get_alone(1, key_), std::nullopt);
  EXPECT_EQ(get_alone(1, row_), "row");
}

class HashPurgeMergeTest : public HashPurgeTest, public ::testing::WithParamInterface<bool> {};

// Goal: a merge forgets no purge of either bin. Method: one bin purged a record, its buddy none; a
// session fills one or the other.
TEST_P(HashPurgeMergeTest, an_erasure_that_was_purged_is_not_forgotten_by_a_merge) {
  for (const std::string& key : {key_, row_, row_of_buddy_}) put_alone(0, key, "row");
  all_.compose();
  erase_alone(0, key_);
  all_.all().pass_epochs();
  rebuild_bin_alone(row_, row_of_buddy_);
  ASSERT_EQ(statistics().deleted_records, 0u);
  rebuild_bin_of(GetParam() ? row_of_buddy_ : row_);
  ASSERT_EQ(bin_of(row_), bin_of(row_of_buddy_));
  all_.install();
  EXPECT_EQ(get_alone(1, key_), std::nullopt);
  EXPECT_EQ(get_alone(1, row_), "row");
  all_.glean();
  EXPECT_EQ(volatile_pages(), 0u);
  EXPECT_EQ(get_alone(1, key_), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(OfBuddy, HashPurgeMergeTest, ::testing::Bool());

}  // namespace
}  // namespace foedus::storage::hash::purge_test
