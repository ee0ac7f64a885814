// Waits for a bin that another session is replacing when it loses its processor.
// ctest-labels: concurrency
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "foedus-core/occ/optimistic_read.h"
#include "tests/storage/hash/moves_fixture.h"
#include "tests/testing/hold.h"

namespace foedus::storage::hash::waits_test {
namespace {

class HashWaitsTest : public HashMovesTest {
 protected:
  HashWaitsTest() {
    for (const std::string& key : {row_, row_of_buddy_}) put_alone(0, key, "old");
    all_.all().pass_epochs();  // these bins are older than the transactions to come
  }

  const std::string row_ = key_in(0, 0);
  const std::string row_of_buddy_ = key_in(1, 0);
};

// Method: a merge is stopped when all records of both bins are marked moved, and one of the bins is
// not yet. A transaction that has read a row of that bin commits: the row cannot be located yet.
TEST_F(HashWaitsTest, a_commit_sleeps_while_a_bin_is_about_to_move) {
  begin(1);
  ASSERT_EQ(get(1, row_), "old");
  testing::Hold half_moved("hash:half_moved");
  std::thread merger([this] { rebuild_bin_of(row_of_buddy_); });
  half_moved.wait_until_held();
  std::thread reader([this] {
    const Status status = commit(1);
    EXPECT_TRUE(status.is_ok()) << status.message();
  });
  half_moved.wait_for_sleeps(3);
  half_moved.release();
  reader.join();
  merger.join();
  EXPECT_EQ(bin_of(row_), bin_of(row_of_buddy_));
}

// Method: a transaction looks the row up, and gives up after a bounded number of turns.
TEST_F(HashWaitsTest, a_look_up_conflicts_while_a_bin_is_about_to_move) {
  begin(1);
  testing::Hold half_moved("hash:half_moved");
  std::thread merger([this] { rebuild_bin_of(row_of_buddy_); });
  half_moved.wait_until_held();
  EXPECT_EQ(read(1, row_).status.conflict_reason(), ConflictReason::kRetryBound);
  EXPECT_GT(half_moved.sleeps(), 0u);
  EXPECT_LE(half_moved.yields() + half_moved.sleeps(), occ::kReadTries);
  all_.session(1).rollback();
  half_moved.release();
  merger.join();
  EXPECT_EQ(get_alone(1, row_), "old");
}

}  // namespace
}  // namespace foedus::storage::hash::waits_test
