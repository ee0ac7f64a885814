#include "foedus-core/base/system/clock.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/base/test_seed.h"

namespace foedus::base::clock_test {
namespace {

TEST(RandomTest, repeats_itself_from_the_same_seed) {
  Random first(42);
  Random second(42);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(first.next(), second.next());
}

TEST(RandomTest, accepts_seed_zero) {
  Random random(0);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(random.next());
  EXPECT_EQ(seen.size(), 1000u);
}

TEST(RandomTest, below_stays_below_and_meets_every_value_about_equally_often) {
  Random random(testing::test_seed(3));
  constexpr std::uint64_t kBound = 10;
  constexpr std::uint64_t kDraws = 100'000;
  std::uint64_t counts[kBound] = {};
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const std::uint64_t value = random.below(kBound);
    ASSERT_LT(value, kBound);
    ++counts[value];
  }
  for (const std::uint64_t count : counts) {
    EXPECT_GT(count, kDraws / kBound * 9 / 10);
    EXPECT_LT(count, kDraws / kBound * 11 / 10);
  }
  for (int i = 0; i < 100; ++i) ASSERT_EQ(random.below(1), 0u);
  for (int i = 0; i < 100; ++i) ASSERT_LT(random.below(~std::uint64_t{0}), ~std::uint64_t{0});
}

TEST(SystemClockTest, never_goes_back_and_covers_a_sleep) {
  const std::uint64_t before_us = system_now_us();
  system_sleep_us(2'000);
  EXPECT_GE(system_now_us(), before_us + 1'000);
}

TEST(SystemSeedTest, differs_from_call_to_call) { EXPECT_NE(system_seed(), system_seed()); }

}  // namespace
}  // namespace foedus::base::clock_test
