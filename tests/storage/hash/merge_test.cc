// Merges of bins: fill, phantoms, own entries, and readers at every step.
// ctest-labels: concurrency
#include <atomic>
#include <chrono>
#include <map>
#include <thread>

#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/storage/hash/layout/function.h"
#include "foedus-core/storage/hash/trie.h"
#include "tests/storage/hash/fixture.h"
#include "tests/testing/at_sync_point.h"

namespace foedus::storage::hash::merge_test {
namespace {

class HashMergeTest : public HashTest {
 protected:
  static constexpr unsigned kRows = 1500;

  void TearDown() override {
    base::set_sync_point_hook(nullptr);
    HashTest::TearDown();
  }

  // Erases a random row and inserts a new one, in session 0.
  void step() {
    all_.session(0).begin();
    auto victim = model_.end();
    if (model_.size() >= kRows) {
      victim = model_.lower_bound(key_number(random_.below(1'000'000)));
      if (victim == model_.end()) victim = model_.begin();
      victim_ = victim->first;
      ASSERT_TRUE(erase(all_.ctx(0), control_, victim->first).is_ok());
    }
    const std::string key = key_number(random_.below(1'000'000));
    const std::string payload(8 + random_.below(300), static_cast<char>('a' + random_.below(26)));
    ASSERT_TRUE(put(0, key, payload).is_ok());
    const Status status = all_.session(0).commit();
    ASSERT_TRUE(status.is_ok()) << status.message();
    if (victim != model_.end()) model_.erase(victim);
    model_[key] = payload;
    if (++steps_ % 32 == 0) all_.pass_epochs();
  }

  void check(std::uint32_t session, unsigned stride) {
    all_.session(session).begin();
    unsigned i = 0;
    for (const auto& [key, payload] : model_) {
      if (++i % stride != 0) continue;
      ASSERT_EQ(get(session, key), payload) << key;
    }
    const Status status = all_.session(session).commit();
    ASSERT_TRUE(status.is_ok()) << status.message();
  }

  void read_until_commit(const std::map<std::string, std::string>& rows, const std::string& victim,
                         std::atomic<unsigned>* reads) {
    for (unsigned tries = 0; tries < 10'000; ++tries) {
      all_.session(2).begin();
      Status status;
      for (const auto& [key, payload] : rows) {
        if (key == victim) continue;
        const WholeRead read = read_whole([&, &key = key](occ::ReadRange* range) {
          return hash::get(all_.ctx(2), control_, key, range);
        });
        ++*reads;
        status = read.status;
        if (status.code() == ErrorCode::kConflict) break;
        ASSERT_EQ(read.payload, payload) << key << status.message();
      }
      if (status.is_ok()) {
        status = all_.session(2).commit();
      } else {
        all_.session(2).rollback();
      }
      if (status.is_ok()) return;
      ASSERT_EQ(status.code(), ErrorCode::kConflict) << status.message();
    }
    FAIL() << "no commit in 10,000 tries";
  }

  std::map<std::string, std::string> model_;
  std::string victim_;  // of the step under way
  base::Random random_{11};
  unsigned steps_ = 0;
};

TEST_F(HashMergeTest, random_inserts_and_erasures_keep_the_number_of_bins) {
  for (unsigned i = 0; i < kRows; ++i) step();
  const std::uint64_t loaded = statistics().bin_pages;
  for (unsigned round = 0; round < 40 && !HasFailure(); ++round) {
    for (unsigned i = 0; i < kRows; ++i) step();
    const Statistics now = statistics();
    EXPECT_EQ(now.records, model_.size());
    EXPECT_LT(now.bin_pages, loaded * 2) << round;
  }
  check(1, 1);
}

// The last two bins of the root have no bit in common, so there is no prefix for a merged bin.
TEST_F(HashMergeTest, the_last_two_bins_stay) {
  for (unsigned i = 0; i < 4000 && !HasFailure(); ++i) {
    put_now(0, key_number(i), "row");
    erase_now(0, key_number(i));
    if (i % 16 == 0) all_.pass_epochs();
  }
  EXPECT_EQ(statistics().bins, 2u);
}

HashMergeTest* running = nullptr;

// Goal: readers find all rows at every step of a merge, and their reads and misses verify.
class HashMergeStepTest : public HashMergeTest, public ::testing::WithParamInterface<const char*> {
 public:
  void look() {
    if (looking_) return;
    looking_ = true;
    ++looks_;
    check(1, 64);
    looking_ = false;
  }

 protected:
  static void hook(const char* place) {
    auto* const self = static_cast<HashMergeStepTest*>(running);
    if (std::string_view(place) == GetParam()) self->look();
  }
  bool looking_ = false;
  unsigned looks_ = 0;
};

TEST_P(HashMergeStepTest, readers_find_all_keys) {
  running = this;
  base::set_sync_point_hook(&hook);
  for (unsigned i = 0; i < 12 * kRows && !HasFailure(); ++i) step();
  base::set_sync_point_hook(nullptr);
  EXPECT_GT(looks_, 10u);
}

// The places between the two moved flags, and between the marks and a flag, are left out: a reader
// waits there for a key of a marked record, and the one thread would wait for itself. Tests below
// have them.
INSTANTIATE_TEST_SUITE_P(Places, HashMergeStepTest,
                         ::testing::Values("hash:merge_pointed", "hash:merge_owned",
                                           "hash:merge_risen"));

// Goal: between the two moved flags rows of the marked bin are found in the merged one, and reads
// of them verify; rows of the other bin can be neither read nor missed.
TEST_F(HashMergeTest, between_the_two_flags_rows_are_found_or_not_settled) {
  unsigned found = 0;
  unsigned unsettled = 0;
  const testing::AtSyncPoint reader(
      "hash:half_moved",
      [&] {
        all_.session(1).begin();
        for (const auto& [key, payload] : model_) {
          KeyPosition at;
          HashBinPage* const bin = peek_bin(all_.pool(), control_, hash_of(key));
          const Search result = search_bin(all_.pool(), bin, hash_of(key), key, &at);
          ASSERT_NE(result, Search::kMissing) << key;
          ++(result == Search::kFound ? found : unsettled);
          if (result != Search::kFound) continue;
          ASSERT_EQ(get(1, key), payload) << key;
        }
        const Status status = all_.session(1).commit();
        ASSERT_TRUE(status.is_ok()) << status.message();
      },
      true);
  for (unsigned i = 0; i < 8 * kRows && reader.runs() < 10 && !HasFailure(); ++i) step();
  EXPECT_EQ(reader.runs(), 10u);
  EXPECT_GT(found, 1000u);
  EXPECT_GT(unsettled, 0u);
}

// Goal: a reader that waits there goes on when the merge does. Method: a thread begins to read
// while the merge is stopped, and reads all rows except the two that are written, until it commits.
TEST_F(HashMergeTest, a_reader_that_waits_for_a_merge_gets_on) {
  std::atomic<unsigned> reads{0};
  unsigned helds = 0;
  std::thread reader;
  const testing::AtSyncPoint merge(
      "hash:half_moved",
      [&] {
        if (++helds > 2) return;
        reads = 0;
        reader = std::thread([&, rows = model_, victim = victim_] {
          ASSERT_NO_FATAL_FAILURE(read_until_commit(rows, victim, &reads));
        });
        // The reader has begun; it may wait for a row by then, or not have reached it yet.
        while (reads < 10) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      },
      true);
  for (unsigned i = 0; i < 8 * kRows && helds < 2 && !HasFailure(); ++i) {
    step();
    if (reader.joinable()) reader.join();
  }
  EXPECT_EQ(helds, 2u);
}

// Goal: misses in two bins that another session merges hold if no key was added, and own inserts
// into the merged bin are no phantoms; another session's key is one.
TEST_F(HashMergeTest, misses_survive_a_merge_only_if_no_key_was_added) {
  for (unsigned i = 0; i < 4 * kRows; ++i) step();
  for (const bool added : {false, true}) {
    unsigned kept = 0;
    for (unsigned round = 0; round < 40; ++round) {
      all_.session(2).begin();
      for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(get(2, "missed" + std::to_string(20 * round + i)), std::nullopt);
      }
      EXPECT_TRUE(put(2, "missed" + std::to_string(20 * round), "own", WriteMode::kInsert).is_ok());
      if (added) {
        put_now(1, "missed" + std::to_string(20 * round + 7), "theirs");
      } else {
        step();
      }
      for (int i = 0; i < 20; i += 5) {
        const std::string key = "missed" + std::to_string(20 * round + i);
        EXPECT_TRUE(put(2, key, "mine").is_ok());
      }
      const Status status = all_.session(2).commit();
      if (status.is_ok()) {
        ++kept;
        for (int i = 0; i < 20; i += 5) {
          erase_now(2, "missed" + std::to_string(20 * round + i));
        }
      } else {
        EXPECT_EQ(status.code(), ErrorCode::kConflict) << status.message();
      }
      if (added) erase_now(1, "missed" + std::to_string(20 * round + 7));
    }
    if (added) {
      EXPECT_EQ(kept, 0u);
    } else {
      EXPECT_GT(kept, 10u);
    }
  }
}

}  // namespace
}  // namespace foedus::storage::hash::merge_test
