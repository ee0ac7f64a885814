// ctest-labels: concurrency
#include "foedus-core/base/memory_budget.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace foedus::base::memory_budget_test {
namespace {

TEST(MemoryBudgetTest, takes_up_to_its_limit_and_no_byte_more) {
  MemoryBudget budget(100);
  EXPECT_TRUE(budget.try_take(60));
  EXPECT_FALSE(budget.try_take(41));
  EXPECT_EQ(budget.taken(), 60u);
  EXPECT_TRUE(budget.try_take(40));
  EXPECT_FALSE(budget.try_take(1));
  EXPECT_TRUE(budget.try_take(0));
  budget.give_back(70);
  EXPECT_EQ(budget.remaining(), 70u);
}

// A size near 2^64 must not wrap around the check.
TEST(MemoryBudgetTest, refuses_sizes_that_would_overflow) {
  MemoryBudget budget(100);
  EXPECT_TRUE(budget.try_take(10));
  EXPECT_FALSE(budget.try_take(~std::uint64_t{0}));
  EXPECT_FALSE(budget.try_take(~std::uint64_t{0} - 5));
  EXPECT_EQ(budget.taken(), 10u);
}

TEST(MemoryBudgetDeathTest, giving_back_more_than_was_taken_is_impossible) {
  MemoryBudget budget(100);
  EXPECT_TRUE(budget.try_take(10));
  EXPECT_DEATH(budget.give_back(11), "before >= bytes");
}

// Four threads take and return; their own counter shows that the sum is never above the limit.
TEST(MemoryBudgetTest, threads_together_stay_within_the_limit) {
  constexpr std::uint64_t kLimit = 10;
  MemoryBudget budget(kLimit);
  AtomicWord<std::uint64_t> held;
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, bytes = t + 1] {
      for (int i = 0; i < 20'000; ++i) {
        if (!budget.try_take(bytes)) continue;
        EXPECT_LE(held.fetch_add_relaxed(bytes) + bytes, kLimit);
        held.fetch_add_relaxed(std::uint64_t{0} - bytes);
        budget.give_back(bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(budget.taken(), 0u);
}

}  // namespace
}  // namespace foedus::base::memory_budget_test
