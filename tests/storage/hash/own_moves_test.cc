// Own writes and misses of a transaction that moves records which others have moved before,
// unnoticed.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tests/storage/hash/moves_fixture.h"
#include "tests/testing/at_sync_point.h"

namespace foedus::storage::hash::own_moves_test {
namespace {

using testing::AtSyncPoint;

class HashOwnMovesTest : public HashMovesTest {
 protected:
  HashOwnMovesTest() {
    for (const std::string& key : {row_, mine_, row_of_buddy_}) put_alone(0, key, "old");
    all_.all().pass_epochs();  // these bins are older than the transactions to come
  }
  void expect_commit(std::uint32_t session) {
    const Status status = commit(session);
    ASSERT_TRUE(status.is_ok()) << status.message();
  }

  const std::string row_ = key_in(0, 0);
  const std::string mine_ = key_in(0, 1);  // in the same bin
  const std::string missed_ = key_in(0, 2);
  const std::string row_of_buddy_ = key_in(1, 0);
};

// Goal: H5, several moves of one bin. Method: the transaction has written to a record, and looks
// its bin up to move another record there; then another session moves the first record within the
// bin.
TEST_F(HashOwnMovesTest, own_writes_are_found_after_an_own_move_behind_one_of_others) {
  begin(1);
  ASSERT_TRUE(put(1, mine_, "mine").is_ok());
  {
    const AtSyncPoint placed("keyed:write_found", [&] {
      begin(2);
      ASSERT_TRUE(put(2, mine_, std::string(100, 'x')).is_ok());
      all_.session(2).rollback();
    });
    ASSERT_TRUE(put(1, row_, std::string(200, 'r')).is_ok());
    EXPECT_EQ(placed.runs(), 1u);
  }
  EXPECT_EQ(get(1, mine_), "mine");
  expect_commit(1);
}

// The bin that another session has moved is the buddy of one that the transaction fills.
TEST_F(HashOwnMovesTest, own_writes_are_found_after_an_own_merge_behind_a_move_of_others) {
  begin(1);
  ASSERT_TRUE(put(1, mine_, "mine").is_ok());
  rebuild_bin_alone(row_, row_of_buddy_);
  fill_bin_of(1, row_of_buddy_);
  ASSERT_EQ(bin_of(mine_), bin_of(row_of_buddy_));
  EXPECT_EQ(get(1, mine_), "mine");
  expect_commit(1);
}

// Goal: a miss in the buddy counts for the merged bin after an own merge, so that an own insert is
// no phantom.
TEST_F(HashOwnMovesTest, an_own_insert_behind_an_own_merge_is_no_phantom) {
  begin(1);
  ASSERT_EQ(get(1, missed_), std::nullopt);
  fill_bin_of(1, row_of_buddy_);
  ASSERT_EQ(bin_of(missed_), bin_of(row_of_buddy_));
  ASSERT_TRUE(put(1, missed_, "mine").is_ok());
  expect_commit(1);
}

// Another session has moved the bin before, which the transaction has not noticed yet.
TEST_F(HashOwnMovesTest, an_own_insert_behind_an_own_merge_and_a_move_of_others_is_no_phantom) {
  begin(1);
  ASSERT_EQ(get(1, missed_), std::nullopt);
  rebuild_bin_alone(row_, row_of_buddy_);
  fill_bin_of(1, row_of_buddy_);
  ASSERT_EQ(bin_of(missed_), bin_of(row_of_buddy_));
  ASSERT_TRUE(put(1, missed_, "mine").is_ok());
  expect_commit(1);
}

// Goal: an insert of another session is a phantom, whether it comes after the own merge or before.
TEST_F(HashOwnMovesTest, an_insert_of_others_behind_an_own_merge_is_a_phantom) {
  begin(1);
  ASSERT_EQ(get(1, missed_), std::nullopt);
  fill_bin_of(1, row_of_buddy_);
  put_alone(2, missed_, "theirs");
  EXPECT_EQ(commit(1).conflict_reason(), ConflictReason::kPageGained);
}

TEST_F(HashOwnMovesTest, an_insert_of_others_before_an_own_merge_is_a_phantom) {
  begin(1);
  ASSERT_EQ(get(1, missed_), std::nullopt);
  put_alone(2, missed_, "theirs");
  fill_bin_of(1, row_of_buddy_);
  ASSERT_EQ(bin_of(missed_), bin_of(row_of_buddy_));
  EXPECT_EQ(commit(1).conflict_reason(), ConflictReason::kPageGained);
}

// Goal: such a phantom stays one when the transaction inserts into the merged bin.
TEST_F(HashOwnMovesTest, an_own_insert_behind_an_own_merge_hides_no_insert_of_others) {
  begin(1);
  ASSERT_EQ(get(1, missed_), std::nullopt);
  put_alone(2, missed_, "theirs");
  fill_bin_of(1, row_of_buddy_);
  ASSERT_EQ(bin_of(missed_), bin_of(row_of_buddy_));
  ASSERT_TRUE(put(1, key_in(0, 3), "mine").is_ok());
  EXPECT_EQ(commit(1).conflict_reason(), ConflictReason::kPageGained);
}

// Goal: a phantom stays one if the transaction has missed another key in the phantom's bin since,
// and then inserts. Method: it spreads a bin by an update, so that its entry of that bin is not
// replaced before its next insert. The entry of the second successor is younger than the phantom.
TEST_F(HashOwnMovesTest, an_own_insert_behind_an_own_spread_hides_no_insert_of_others) {
  const auto in_second_half = [](const std::string& key) {
    return (hash_of(key) >> (kHashBits - 3) & 1) != 0;
  };
  std::string missed[3];
  unsigned next = 0;
  for (std::string& key : missed) {
    do {
      key = key_in(0, 100 + next++);
    } while (!in_second_half(key));
  }
  for (unsigned i = 0; i < 10; ++i) put_alone(0, key_in(0, i), std::string(300, 'r'));
  all_.all().pass_epochs();
  begin(1);
  ASSERT_EQ(get(1, missed[0]), std::nullopt);
  ASSERT_TRUE(put(1, row_, std::string(900, 'r')).is_ok());
  ASSERT_EQ(bin_of(missed[0])->prefix_bits(), 3u);
  put_alone(2, missed[0], "theirs");
  ASSERT_EQ(get(1, missed[1]), std::nullopt);
  ASSERT_TRUE(put(1, missed[2], "mine").is_ok());
  EXPECT_EQ(commit(1).conflict_reason(), ConflictReason::kPageGained);
}

// Goal: a miss in a bin that others have moved counts until the successor is dropped, too: then the
// key may come to another bin.
TEST_F(HashOwnMovesTest, an_insert_of_others_where_a_successor_was_dropped_is_a_phantom) {
  begin(1);
  ASSERT_EQ(get(1, missed_), std::nullopt);
  rebuild_bin_of(row_);
  all_.glean();
  ASSERT_EQ(volatile_pages(), 0u);
  put_alone(2, missed_, "theirs");
  EXPECT_EQ(commit(1).conflict_reason(), ConflictReason::kPageGained);
}

// Goal: an own insert is no phantom to an earlier miss. The transaction began some epochs after the
// records of both bins were marked, and missed in the bin that is not marked moved yet. An older
// transaction sees its write to the other bin. The insert comes before the merging session moves a
// record there, which stamps a birth.
TEST_F(HashOwnMovesTest, an_own_insert_behind_a_miss_in_a_bin_that_is_about_to_move_is_no_phantom) {
  begin(2);
  ASSERT_TRUE(put(2, row_of_buddy_, "older").is_ok());
  {
    std::optional<AtSyncPoint> merged;
    const AtSyncPoint window("hash:half_moved", [&] {
      EXPECT_EQ(get(2, row_of_buddy_), "older");
      for (int i = 0; i < 3; ++i) all_.all().pass_epochs();
      begin(1);
      EXPECT_EQ(get(1, missed_), std::nullopt);
      merged.emplace("keyed:write_found", [&] { EXPECT_TRUE(put(1, missed_, "mine").is_ok()); });
    });
    rebuild_bin_of(row_of_buddy_);
    EXPECT_EQ(window.runs(), 1u);
    ASSERT_TRUE(merged.has_value());
    EXPECT_EQ(merged->runs(), 1u);
  }
  ASSERT_EQ(bin_of(missed_), bin_of(row_of_buddy_));
  expect_commit(1);
}

}  // namespace
}  // namespace foedus::storage::hash::own_moves_test
