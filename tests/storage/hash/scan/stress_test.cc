// Threads that scan a hash storage, beside others whose rows come, go and grow, and beside gleans.
// ctest-labels: concurrency

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "tests/base/test_seed.h"
#include "tests/storage/hash/scan/fixture.h"

namespace foedus::storage::hash::scan_stress_test {
namespace {

// Goal: a scan that commits has seen one state. Method: threads erase a row and insert another one
// with the same amount, or move a part of it, so that the sum of all rows stays; rows differ in
// length, so that bins spread, merge and are rebuilt. Some scans also write, so that they follow
// their own rows. Only commits wait for a compose; installs run beside all calls.
class HashScanStressTest : public HashScanTest {
 protected:
  static constexpr unsigned kKeys = 300;
  static constexpr unsigned kAccounts = 100;
  static constexpr int kAmount = 100;

  static std::string payload_of_amount(int amount, std::uint64_t length) {
    return std::to_string(amount) + std::string(length, ' ');
  }
  Status move(std::uint32_t who, base::Random* random) {
    const std::string from = key_of(random->below(kKeys));
    const std::string to = key_of(random->below(kKeys));
    const WholeRead got = read(who, from);
    FOEDUS_CHECK(got.status);
    if (from == to) return {};
    const int have = std::atoi(got.payload.c_str());
    const WholeRead other = read(who, to);
    if (other.status.code() == ErrorCode::kConflict) return other.status;
    const int part = other.status.is_ok() ? have / 2 : have;
    const int before = other.status.is_ok() ? std::atoi(other.payload.c_str()) : 0;
    const std::uint64_t length = random->below(400);
    FOEDUS_CHECK(put(who, to, payload_of_amount(before + part, length)));
    if (part == have) return erase(who, from);
    return put(who, from, payload_of_amount(have - part, length));
  }
  Status sum_up(std::uint32_t who, base::Random* random, int* sum) {
    const bool writes = random->below(4) == 0;
    Status status;
    const Scanned scanned = scan(who, [&](std::string_view key) {
      if (!writes || !status.is_ok() || random->below(20) != 0) return;
      const WholeRead row = read(who, key);
      status = row.status;
      if (!status.is_ok()) return;
      status = put(who, key, payload_of_amount(std::atoi(row.payload.c_str()), random->below(400)));
    });
    for (const auto& [key, payload] : scanned.rows) *sum += std::atoi(payload.c_str());
    FOEDUS_CHECK(scanned.status);
    return status;
  }
  void work(std::uint32_t who, bool scans, std::uint64_t seed) {
    base::Random random(seed);
    while (!is_over_ && !HasFailure()) {
      while (gleaner_waits_) std::this_thread::yield();
      int sum = 0;
      begin(who);
      Status status = scans ? sum_up(who, &random, &sum) : move(who, &random);
      if (!status.is_ok()) {
        all_.session(who).rollback();
      } else {
        const std::shared_lock<std::shared_mutex> lock(compose_);
        status = commit(who);
        if (status.is_ok()) (scans ? scans_ : moves_) += 1;
        if (status.is_ok() && scans) {
          EXPECT_EQ(sum, kAmount * static_cast<int>(kAccounts));
        }
      }
      const bool is_expected = status.is_ok() || status.code() == ErrorCode::kConflict ||
                               status.code() == ErrorCode::kNotFound;
      ASSERT_TRUE(is_expected) << status.message();
      if (!scans) std::this_thread::sleep_for(std::chrono::microseconds(random.below(400)));
    }
  }

  std::shared_mutex compose_;
  std::atomic<unsigned> scans_ = 0;
  std::atomic<unsigned> moves_ = 0;
  std::atomic<bool> is_over_ = false;
  std::atomic<bool> gleaner_waits_ = false;
};

TEST_F(HashScanStressTest, a_scan_that_commits_has_seen_one_state) {
  const std::uint64_t seed = testing::test_seed(1);
  for (unsigned i = 0; i < kAccounts; ++i) {
    put_alone(0, key_of(i * 3), payload_of_amount(kAmount, i));
  }
  std::vector<std::thread> threads;
  for (std::uint32_t who = 0; who < 4; ++who) {
    threads.emplace_back([this, who, seed] { work(who, who < 2, seed + who); });
  }
  for (unsigned glean = 0; glean < 300 && !HasFailure(); ++glean) {
    all_.all().pass_epochs();
    if (glean % 20 == 0) {
      gleaner_waits_ = true;
      {
        const std::unique_lock<std::shared_mutex> lock(compose_);
        gleaner_waits_ = false;
        all_.compose();
      }
      all_.install();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  is_over_ = true;
  for (std::thread& thread : threads) thread.join();
  std::printf("%u scans, %u moves\n", scans_.load(), moves_.load());
  EXPECT_GT(scans_, 5u);
  EXPECT_GT(moves_, 50u);
}

}  // namespace
}  // namespace foedus::storage::hash::scan_stress_test
