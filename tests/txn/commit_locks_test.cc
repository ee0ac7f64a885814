// The order in which a commit takes the locks of its records, and the release of all of them.
#include <string_view>
#include <vector>

#include "tests/txn/commit_steps_fixture.h"

namespace foedus::testing::commit_locks_test {
namespace {

using CommitLocksTest = CommitStepsTest;

// If one lock of a commit is not free, the locks that it has taken so far are given back before it
// waits: waiting is allowed in the order of addresses only.
TEST_F(CommitLocksTest, locks_that_were_tried_are_given_back_before_one_is_waited_for) {
  for (const char* const key : {"d", "c", "b", "a"}) commit_put(0, key);
  ASSERT_LT(record_of("a"), record_of("d"));
  const auto expect_waits = [&](std::string_view held, std::vector<std::string_view> written) {
    SCOPED_TRACE(held);
    begin(0);
    begin(1);
    hold(1, held);
    for (const std::string_view key : written) put(0, key, "new");
    expect_conflict(0, ConflictReason::kRecordLocked);
    EXPECT_TRUE(ctx(0).locks().has_timed_out());
    for (const std::string_view key : written) EXPECT_EQ(is_locked(key), key == held) << key;
    EXPECT_TRUE(commit(1).is_ok());
    EXPECT_FALSE(is_locked(held));
  };
  expect_waits("b", {"d", "c", "b", "a"});
  expect_waits("d", {"a", "b", "d", "c"});
  commit_put(0, "b");
}

// A record with several entries among others with one each.
TEST_F(CommitLocksTest, records_of_one_entry_and_of_several_are_published_alike) {
  for (const bool has_several : {false, true}) {
    for (const char* const key : {"erased", "written", "again"}) commit_put(0, key);
    begin(0);
    erase(0, "erased");
    put(0, "written", "new");
    put(0, "again", "new");
    if (has_several) put(0, "again", "newer");
    expect_commit(0);
    EXPECT_TRUE(tid_of("erased").is_deleted());
    EXPECT_FALSE(tid_of("written").is_deleted());
    EXPECT_EQ(first_byte_of("written"), 'n');
    for (const char* const key : {"erased", "written", "again"}) {
      EXPECT_FALSE(is_locked(key)) << key;
      EXPECT_FALSE(tid_of(key).is_being_written()) << key;
      EXPECT_EQ(tid_of(key).version(), ctx(0).last_tid().version()) << key;
    }
    commit_put(0, "erased", "back");
    EXPECT_FALSE(tid_of("erased").is_deleted());
  }
}

// Records of a page go down in address. A transaction that holds the highest may wait for none
// below it: it gives up and releases the locks that it got.
TEST_F(CommitLocksTest, a_lock_out_of_order_is_only_tried) {
  for (const char* const key : {"d", "c", "b", "a"}) commit_put(0, key);
  ASSERT_LT(record_of("a"), record_of("d"));
  begin(0);
  begin(1);
  hold(1, "b");
  hold(0, "d");
  put(0, "a", "new");
  put(0, "b", "new");
  put(0, "c", "new");
  expect_conflict(0, ConflictReason::kRecordLocked);
  EXPECT_FALSE(ctx(0).locks().has_timed_out());
  EXPECT_FALSE(is_locked("a"));
  EXPECT_TRUE(is_locked("b"));
  EXPECT_FALSE(is_locked("c"));
  EXPECT_FALSE(is_locked("d"));
  EXPECT_TRUE(commit(1).is_ok());
  EXPECT_FALSE(is_locked("b"));
}

}  // namespace
}  // namespace foedus::testing::commit_locks_test
