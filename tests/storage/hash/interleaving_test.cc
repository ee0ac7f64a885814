// Hand-stepped interleavings at the sync points of inserts, spreads and rebuilds: transactions of
// other sessions run within a system transaction. hash_merge_test has those of merges.
#include <map>
#include <string>

#include "foedus-core/storage/hash/layout/function.h"
#include "foedus-core/storage/hash/trie.h"
#include "tests/storage/hash/fixture.h"
#include "tests/testing/at_sync_point.h"

namespace foedus::storage::hash::interleaving_test {
namespace {

using testing::AtSyncPoint;

// Session 0 puts rows, or changes their length, one after another; another session acts at a step
// of it.
class HashStepsTest : public HashTest {
 protected:
  static constexpr unsigned kRows = 600;

  static std::string payload_of(std::size_t bytes, unsigned i) {
    return std::string(bytes, static_cast<char>('a' + i % 26));
  }
  void expect_commit(std::uint32_t session) {
    const Status status = all_.session(session).commit();
    ASSERT_TRUE(status.is_ok()) << status.message() << " while " << under_way_;
  }
  // Finishes a transaction.
  void write_last(std::uint32_t session, const std::string& key, const std::string& payload) {
    const Status status = put(session, key, payload);
    ASSERT_TRUE(status.is_ok()) << status.message() << " while " << under_way_;
    ASSERT_NO_FATAL_FAILURE(expect_commit(session));
    model_[key] = payload;
  }
  void insert_row(unsigned i) {
    under_way_ = key_number(i);
    all_.session(0).begin();
    write_last(0, under_way_, payload_of(60, i));
  }
  // Lets a row grow, which needs space, but no key is inserted or erased.
  void grow_row(unsigned i) {
    under_way_ = key_number(i);
    all_.session(0).begin();
    write_last(0, under_way_, payload_of(300, i));
  }
  void read_rows(std::uint32_t session, std::size_t looks) {
    const std::size_t stride = 1 + model_.size() / looks;
    std::size_t i = 0;
    for (const auto& [key, payload] : model_) {
      if (i++ % stride != 0) continue;
      ASSERT_EQ(get(session, key), payload) << key;
    }
  }
  // Returns whether two keys are in different halves of the trie, so never in one bin, nor in two
  // that are merged.
  static bool are_apart(const std::string& one, const std::string& other) {
    return ((hash_of(one) ^ hash_of(other)) >> (kHashBits - 1)) != 0;
  }
  std::string far_row() const {
    for (const auto& [key, payload] : model_) {
      if (are_apart(key, under_way_)) return key;
    }
    return {};
  }

  std::map<std::string, std::string> model_;  // committed rows
  std::string under_way_;
};

class HashStepTest : public HashStepsTest, public ::testing::WithParamInterface<const char*> {};

// Goal: at every step a reader finds all rows, does not find the uncommitted key, and verifies.
TEST_P(HashStepTest, readers_find_what_is_committed) {
  AtSyncPoint reader(
      GetParam(),
      [&] {
        all_.session(1).begin();
        read_rows(1, 64);
        const auto row = model_.find(under_way_);  // as it was before
        EXPECT_EQ(get(1, under_way_),
                  row == model_.end() ? std::nullopt : std::optional(row->second));
        EXPECT_EQ(get(1, "missed"), std::nullopt);
        expect_commit(1);
      },
      true);
  for (unsigned i = 0; i < kRows && !HasFatalFailure(); ++i) insert_row(i);
  for (unsigned i = 0; i < kRows && !HasFatalFailure(); ++i) grow_row(i);
  EXPECT_GT(reader.runs(), 20u);
}

// Goal: a transaction from before the step goes on and commits: its reads and misses are moved, not
// changed. It writes elsewhere, where the step has no lock.
TEST_P(HashStepTest, a_transaction_from_before_commits) {
  unsigned commits = 0;
  unsigned inserts = 0;
  const auto act = [&] {
    if (!all_.ctx(2).is_open()) return;
    read_rows(2, 32);
    EXPECT_EQ(get(2, "missed"), std::nullopt);
    const std::string far = far_row();
    ASSERT_NO_FATAL_FAILURE(write_last(2, far, payload_of(model_[far].size(), ++commits)));
    const std::string fresh = "fresh" + std::to_string(commits);
    if (!are_apart(fresh, under_way_)) return;
    all_.session(1).begin();
    ASSERT_NO_FATAL_FAILURE(write_last(1, fresh, "x"));
    ++inserts;
  };
  AtSyncPoint other(GetParam(), act, true);
  for (unsigned i = 0; i < kRows && !HasFatalFailure(); ++i) insert_row(i);
  for (unsigned i = 0; i < kRows && !HasFatalFailure(); ++i) {
    all_.session(2).begin();
    read_rows(2, 32);
    EXPECT_EQ(get(2, "missed"), std::nullopt);
    grow_row(i);
    if (all_.ctx(2).is_open()) all_.session(2).rollback();
  }
  if (GetParam() == std::string("hash:inserted")) return;  // no insert when rows grow
  EXPECT_GT(commits, 20u);
  EXPECT_GT(inserts, 5u);
}

// Goal: a transaction that misses a key at a step of its insert, and commits after the insert,
// conflicts.
TEST_P(HashStepTest, who_missed_the_key_conflicts) {
  unsigned conflicts = 0;
  const auto act = [&] {
    const std::string far = far_row();
    if (all_.ctx(2).is_open() || far.empty()) return;
    all_.session(2).begin();
    EXPECT_EQ(get(2, under_way_), std::nullopt);
    EXPECT_TRUE(put(2, far, "theirs").is_ok());
  };
  for (unsigned i = 0; i < 4 * kRows && !HasFatalFailure(); ++i) {
    {
      AtSyncPoint other(GetParam(), act);
      insert_row(i);
    }
    if (!all_.ctx(2).is_open()) continue;
    const Status status = all_.session(2).commit();
    ASSERT_EQ(status.code(), ErrorCode::kConflict) << GetParam() << " " << i;
    ++conflicts;
  }
  EXPECT_GT(conflicts, 10u);
}

INSTANTIATE_TEST_SUITE_P(Places, HashStepTest,
                         ::testing::Values("hash:inserted", "hash:before_move", "hash:moved",
                                           "hash:before_swap"));

// Goal: moved records can be written at their new place, although the pointer still leads to the
// old bin and the new ones are locked.
TEST_F(HashStepsTest, moved_records_are_written_before_the_pointer_changes) {
  unsigned next = 0;
  for (const char* const place : {"hash:moved", "hash:before_swap", "hash:inserted"}) {
    unsigned writes = 0;
    AtSyncPoint writer(
        place,
        [&] {
          // Writes all committed rows of the bin that is being spread.
          for (const auto& [key, payload] : model_) {
            if ((hash_of(key) ^ hash_of(under_way_)) >> (kHashBits - 4) != 0) continue;
            if (key == under_way_) continue;
            all_.session(3).begin();
            write_last(3, key, payload_of(payload.size(), ++writes));
          }
        },
        true);
    for (unsigned i = 0; i < 300 && !HasFatalFailure(); ++i) insert_row(next++);
    EXPECT_GT(writes, 20u) << place;
    all_.session(1).begin();
    read_rows(1, model_.size());
    expect_commit(1);
  }
}

}  // namespace
}  // namespace foedus::storage::hash::interleaving_test
