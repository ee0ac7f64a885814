// Several threads install a snapshot of one storage (O19).
// ctest-labels: concurrency
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "tests/base/test_seed.h"
#include "tests/storage/numbered_rows.h"

namespace foedus::storage::install_together_test {
namespace {

constexpr std::uint64_t kRows = 40'000;
constexpr std::uint32_t kSessions = 4;
constexpr std::uint32_t kInstallers = 3;
// Children of an interior page: a thread may be at work on all of them when enough pages are
// dropped.
constexpr std::uint64_t kPageMost = 252;

class InstallTogetherTest : public NumberedRows {
 protected:
  InstallTogetherTest()
      : NumberedRows(
            kRows, 8, kSessions,
            {.log_bytes = 64u << 20, .cache_bytes = 32u << 20, .installers = kInstallers}) {}

  // Installers are the sessions from kSessions on.
  std::uint64_t retired_by(std::uint32_t installer) {
    return all_.session(kSessions + installer).pages().retired_count();
  }
};

INSTANTIATE_TEST_SUITE_P(All, InstallTogetherTest, keyed_kinds(), name_of_kind);

TEST_P(InstallTogetherTest, all_that_can_be_dropped_is) {
  put(0, kRows);
  EXPECT_EQ(all_.glean().pages_kept, 0u);
  EXPECT_GE(all_.crew().runs(), 1u);
  EXPECT_EQ(volatile_pages(), 0u);
  all_.check_leads();
  put(0, kRows, 3);
  EXPECT_EQ(all_.glean().pages_kept, 0u);
  EXPECT_GE(all_.crew().runs(), 2u);
  EXPECT_EQ(volatile_pages(), 0u);
  all_.check_leads();
  check(kRows);
}

TEST_P(InstallTogetherTest, each_thread_may_do_all_of_it) {
  all_.crew().set_mode(InstallCrew::Mode::kLastFirst);
  put(0, kRows);
  const InstallCounts counts = all_.glean();
  EXPECT_EQ(counts.pages_kept, 0u);
  EXPECT_GT(retired_by(kInstallers - 1), counts.pages_dropped / 10 * 9);
  check(kRows);
}

TEST_P(InstallTogetherTest, threads_that_are_not_started_are_not_needed) {
  all_.crew().set_mode(InstallCrew::Mode::kOneStarts);
  put(0, kRows);
  EXPECT_EQ(all_.glean().pages_kept, 0u);
  EXPECT_EQ(volatile_pages(), 0u);
  check(kRows);
}

// Pages that one thread has dropped count for the others.
TEST_P(InstallTogetherTest, not_many_more_pages_are_dropped_than_are_to_be) {
  put(0, kRows);
  all_.compose();
  all_.crew().set_mode(InstallCrew::Mode::kLastFirst);
  for (const std::uint64_t limit : {1u, 400u, 300u}) {
    const InstallCounts counts = all_.install(limit);
    EXPECT_GE(counts.pages_dropped, limit);
    EXPECT_LE(counts.pages_dropped, limit + kPageMost);
    all_.check_leads();
  }
  EXPECT_EQ(all_.crew().runs(), 3u);
  check(kRows);
}

// Each thread has counts of its own.
TEST(InstallCountsTest, all_that_threads_have_dropped_counts) {
  base::AtomicWord<std::uint64_t> dropped;
  Installation part;
  part.pages_to_drop = 10;
  part.dropped_by_all = &dropped;
  InstallCounts one;
  InstallCounts other;
  one.pages_dropped = 6;
  EXPECT_TRUE(one.wants_more(part));
  EXPECT_TRUE(one.wants_more(part));
  EXPECT_TRUE(other.wants_more(part));
  other.pages_dropped = 4;
  EXPECT_FALSE(other.wants_more(part));
  EXPECT_FALSE(one.wants_more(part));
}

TEST_P(InstallTogetherTest, the_epoch_of_the_last_drop_never_falls) {
  all_.control()->announce_drop(Epoch(17));
  all_.control()->announce_drop(Epoch(16));
  EXPECT_EQ(all_.control()->drop_epoch.load_relaxed(), 17u);
  all_.control()->announce_drop(Epoch(18));
  EXPECT_EQ(all_.control()->drop_epoch.load_relaxed(), 18u);
}

TEST_P(InstallTogetherTest, a_small_storage_is_left_to_one) {
  put(0, 2'000);
  EXPECT_EQ(all_.glean().pages_kept, 0u);
  EXPECT_EQ(all_.crew().runs(), 0u);
}

TEST_P(InstallTogetherTest, pages_that_cannot_be_read_are_told) {
  put(0, kRows);
  EXPECT_EQ(all_.glean().pages_kept, 0u);
  put(0, kRows, 20);
  all_.compose();
  all_.crew().set_mode(InstallCrew::Mode::kLastFirst);
  EXPECT_GT(all_.install_with_errors(ErrorCode::kIoError), 1u);
  all_.crew().set_mode(InstallCrew::Mode::kThreads);
  put(0, kRows, 20);
  all_.compose();
  EXPECT_GT(all_.install_with_errors(ErrorCode::kCorruption), 1u);
  all_.check_leads();
  check(kRows);
}

// Goal: no commit is lost or seen in part while several threads install. Method: threads move
// amounts within pairs of rows, whose sum is constant; rows of amount 0 are erased, and inserted
// again. Only commits wait for a compose, which takes the log; installs run beside all calls.
class InstallTogetherStressTest : public InstallTogetherTest {
 protected:
  static constexpr std::uint64_t kSum = 1'000;
  static constexpr std::uint64_t kNear = 64;  // pairs that a thread stays with for a while
  static constexpr unsigned kGleans = 25;

  Status set(std::uint32_t session, std::uint64_t row, std::uint64_t before, std::uint64_t after) {
    if (before == after) return {};
    return after == 0 ? erase(session, row) : write(session, row, after);
  }
  Status move(std::uint32_t session, std::uint64_t pair, std::uint64_t amount) {
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    FOEDUS_CHECK(read(session, 2 * pair, &first));
    FOEDUS_CHECK(read(session, 2 * pair + 1, &second));
    sum_ = first + second;
    FOEDUS_CHECK(set(session, 2 * pair, first, amount));
    return set(session, 2 * pair + 1, second, kSum - amount);
  }
  void transact(std::uint32_t session, std::uint64_t pair, base::Random* random) {
    // An amount of 0 erases a row.
    const std::uint64_t amount = random->below(4) == 0 ? 0 : random->below(kSum + 1);
    all_.session(session).begin();
    Status status = move(session, pair, amount);
    const std::uint64_t sum = sum_;
    if (status.is_ok()) {
      const std::shared_lock<std::shared_mutex> lock(compose_);
      status = all_.session(session).commit();
      if (status.is_ok()) {
        EXPECT_EQ(sum, kSum) << pair;
      }
    } else {
      all_.session(session).rollback();
    }
    const bool is_expected = status.is_ok() || status.code() == ErrorCode::kConflict ||
                             status.code() == ErrorCode::kNotFound ||
                             status.code() == ErrorCode::kOutOfMemory;
    ASSERT_TRUE(is_expected) << status.message();
    if (status.is_ok()) ++commits_;
  }
  void work(std::uint32_t session, std::uint64_t seed) {
    base::Random random(seed);
    std::uint64_t near = 0;
    for (unsigned i = 0; !is_over_ && !HasFailure(); ++i) {
      while (gleaner_waits_) std::this_thread::yield();
      if (i % 200 == 0) near = random.below(kRows / 2 - kNear);
      // At times all pairs are used, so that the installers have pages to share.
      const bool is_near = i / 1'000 % 2 == 0;
      transact(session, is_near ? near + random.below(kNear) : random.below(kRows / 2), &random);
      // The pause keeps the log of the test within its ring.
      if (i % 1'000 == 999) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  // Tries again if the small cache has no free frame, as the gleaner does: frames wait for a thread
  // that has no processor for long.
  void install(std::uint64_t pages_to_drop) {
    for (;;) {
      const Result<InstallCounts> counts = all_.try_install(pages_to_drop, false);
      if (counts.is_ok()) return;
      ASSERT_EQ(counts.code(), ErrorCode::kOutOfMemory) << counts.status().message();
      all_.all().pass_epochs();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  static inline thread_local std::uint64_t sum_ = 0;
  std::shared_mutex compose_;
  std::atomic<bool> gleaner_waits_ = false;
  std::atomic<bool> is_over_ = false;
  std::atomic<unsigned> commits_ = 0;
};

INSTANTIATE_TEST_SUITE_P(All, InstallTogetherStressTest, keyed_kinds(), name_of_kind);

TEST_P(InstallTogetherStressTest, sums_stay_as_they_are) {
  for (std::uint64_t row = 0; row < kRows; ++row) {
    all_.session(0).begin();
    ASSERT_TRUE(write(0, row, kSum / 2).is_ok());
    ASSERT_TRUE(all_.session(0).commit().is_ok());
  }
  std::vector<std::thread> threads;
  const std::uint64_t seed = testing::test_seed(1);
  for (std::uint32_t i = 0; i < kSessions; ++i) {
    threads.emplace_back([this, i, seed] { work(i, seed * 10 + i); });
  }
  base::Random random(seed);
  for (unsigned glean = 0; glean < kGleans && !HasFailure(); ++glean) {
    {
      gleaner_waits_ = true;  // the lock prefers readers
      const std::unique_lock<std::shared_mutex> lock(compose_);
      gleaner_waits_ = false;
      all_.compose();
    }
    // The install drops all pages, none, or some.
    const std::uint64_t kind = random.below(4);
    install(kind < 1 ? ~std::uint64_t{0} : 100 * (kind - 1));
    all_.all().pass_epochs();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  is_over_ = true;
  for (std::thread& thread : threads) thread.join();
  all_.check_leads();
  std::printf("%u shared; %u commits; %u of %u installs left nothing behind\n",
              all_.crew().runs(), commits_.load(), all_.clean_installs(), all_.installs());
  EXPECT_GE(all_.crew().runs(), 1u);
  for (std::uint64_t pair = 0; pair < kRows / 2; ++pair) {
    if (pair % 500 == 0) all_.all().pass_epochs();
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    all_.session(0).begin();
    ASSERT_TRUE(read(0, 2 * pair, &first).is_ok());
    ASSERT_TRUE(read(0, 2 * pair + 1, &second).is_ok());
    ASSERT_TRUE(all_.session(0).commit().is_ok());
    ASSERT_EQ(first + second, kSum) << pair;
  }
}

}  // namespace
}  // namespace foedus::storage::install_together_test
