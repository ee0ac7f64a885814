// Threads over a hash storage whose bins become cold and volatile again under them.
// ctest-labels: concurrency

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "tests/base/test_seed.h"
#include "tests/storage/hash/cold_fixture.h"

namespace foedus::storage::hash::cold_stress_test {
namespace {

// Goal: no update is lost, none is seen in part and no own write is missed while snapshots are
// installed and pages dropped. Method: threads move amounts between accounts, of which empty ones
// have no row; a transaction that reads a whole group must find its sum. Only commits wait for a
// compose, which takes the log; installs run beside all calls.
class HashColdStressTest : public HashColdTest {
 protected:
  static constexpr unsigned kThreads = 3;
  static constexpr unsigned kGroup = 8;  // accounts whose sum is constant
  static constexpr unsigned kGroups = 150;
  static constexpr int kAmount = 100;
  static constexpr unsigned kTransactions = 12'000;

  static std::string account(unsigned group, std::uint64_t i) {
    return "account" + std::to_string(group) + "." + std::to_string(i);
  }
  Status read_amount(unsigned who, const std::string& key, int* amount) {
    const WholeRead got = read(who, key);
    *amount = 0;
    if (got.status.code() == ErrorCode::kNotFound) return {};
    if (got.status.is_ok()) *amount = std::atoi(got.payload.c_str());
    return got.status;
  }
  Status write_amount(unsigned who, const std::string& key, int before, int after) {
    if (after == 0) return before == 0 ? Status() : erase(who, key);
    const std::string digits = std::to_string(after);
    return put(who, key, digits + std::string(static_cast<unsigned>(after) % 90, ' '));
  }
  Status move(unsigned who, unsigned group, base::Random* random) {
    const std::uint64_t i = random->below(kGroup);
    const std::string from = account(group, i);
    const std::string to = account(group, (i + 1 + random->below(kGroup - 1)) % kGroup);
    int have = 0;
    int other = 0;
    FOEDUS_CHECK(read_amount(who, from, &have));
    FOEDUS_CHECK(read_amount(who, to, &other));
    if (random->below(8) == 0) std::this_thread::yield();  // for gleans in between
    const int part = random->below(3) == 0 ? have : have / 2;
    FOEDUS_CHECK(write_amount(who, from, have, have - part));
    if (part != 0) FOEDUS_CHECK(write_amount(who, to, other, other + part));
    if (have == 0) return {};  // no write
    if (random->below(8) == 0) std::this_thread::yield();
    int now = 0;
    FOEDUS_CHECK(read_amount(who, from, &now));
    EXPECT_EQ(now, have - part);
    return {};
  }
  Status sum_up(unsigned who, unsigned group, int* sum) {
    for (unsigned i = 0; i < kGroup; ++i) {
      int amount = 0;
      FOEDUS_CHECK(read_amount(who, account(group, i), &amount));
      *sum += amount;
    }
    return {};
  }
  void work(unsigned who, std::uint64_t seed) {
    base::Random random(seed);
    for (unsigned i = 0; i < kTransactions && !HasFailure(); ++i) {
      while (gleaner_waits_) std::this_thread::yield();
      const auto group = static_cast<unsigned>(random.below(kGroups));
      const bool is_sum = random.below(4) == 0;
      int sum = 0;
      begin(who);
      Status status = is_sum ? sum_up(who, group, &sum) : move(who, group, &random);
      if (status.is_ok()) {
        const std::shared_lock<std::shared_mutex> lock(compose_);
        status = commit(who);
        if (status.is_ok()) {
          ++commits_;
          const int expected = is_sum ? kAmount * static_cast<int>(kGroup) : sum;
          EXPECT_EQ(sum, expected) << group;
        }
      } else {
        all_.session(who).rollback();
      }
      // A key that a doomed transaction has read may be erased since.
      const bool is_expected = status.is_ok() || status.code() == ErrorCode::kConflict ||
                               status.code() == ErrorCode::kNotFound;
      ASSERT_TRUE(is_expected) << status.message();
    }
    ++finished_;
  }

  std::shared_mutex compose_;
  std::atomic<unsigned> commits_ = 0;
  std::atomic<unsigned> finished_ = 0;
  std::atomic<bool> gleaner_waits_ = false;
};

TEST_F(HashColdStressTest, sums_stay_while_bins_are_dropped) {
  const std::uint64_t seed = testing::test_seed(1);
  for (unsigned group = 0; group < kGroups; ++group) {
    for (unsigned i = 0; i < kGroup; ++i) {
      put_alone(0, account(group, i), std::to_string(kAmount));
    }
  }
  std::vector<std::thread> threads;
  for (unsigned who = 0; who < kThreads; ++who) {
    threads.emplace_back([this, who, seed] { work(who, seed * kThreads + who); });
  }
  unsigned gleans = 0;
  std::uint64_t dropped = 0;
  for (; finished_ < kThreads && !HasFailure(); ++gleans) {
    {
      gleaner_waits_ = true;  // the lock prefers readers
      const std::unique_lock<std::shared_mutex> lock(compose_);
      gleaner_waits_ = false;
      all_.compose();
    }
    dropped += all_.install().pages_dropped;
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  all_.check_leads();
  std::printf("%u of %u installs left nothing of earlier snapshots\n", all_.clean_installs(),
              all_.installs());
  std::printf("%u gleans dropped %llu pages, %u commits\n", gleans,
              static_cast<unsigned long long>(dropped), commits_.load());
  EXPECT_GT(commits_.load(), kTransactions / 10);
  for (unsigned round = 0; round < 2; ++round) {
    for (unsigned group = 0; group < kGroups; ++group) {
      int sum = 0;
      begin(0);
      ASSERT_TRUE(sum_up(0, group, &sum).is_ok());
      ASSERT_TRUE(commit(0).is_ok());
      EXPECT_EQ(sum, kAmount * static_cast<int>(kGroup)) << group;
    }
    verify_trie(all_.all().pool(), all_.control());
    all_.glean();
    EXPECT_EQ(volatile_pages(), 0u);
  }
}

}  // namespace
}  // namespace foedus::storage::hash::cold_stress_test
