// Goal: the choice of rows has its stated distribution. Method: many draws with a fixed seed; their
// counts are compared with the formula. With N draws the count of an event of probability p has a
// standard deviation of sqrt(N p (1 - p)); five deviations are allowed.

#include "experiments/ycsb/zipf.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace experiments::ycsb_zipf_test {
namespace {

constexpr std::uint64_t kDraws = 400'000;

std::vector<std::uint64_t> draw_counts(const Zipf& zipf) {
  Random random(12345);
  std::vector<std::uint64_t> counts(zipf.count());
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const std::uint64_t rank = zipf.rank(random);
    EXPECT_LT(rank, zipf.count());
    if (rank < counts.size()) ++counts[rank];
  }
  return counts;
}

void expect_mass(std::uint64_t count, double mass) {
  const double expected = mass * kDraws;
  const double deviation = std::sqrt(expected * (1 - mass));
  EXPECT_NEAR(static_cast<double>(count), expected, 5 * deviation) << "mass " << mass;
}

TEST(ZipfTest, hottest_keys_have_the_mass_of_the_formula) {
  for (const double theta : {0.5, 0.8, 0.99}) {
    const Zipf zipf(10'000, theta);
    const std::vector<std::uint64_t> counts = draw_counts(zipf);
    expect_mass(counts[0], zipf.mass(0));
    expect_mass(counts[1], zipf.mass(1));
  }
}

// The test above would not notice a wrong zeta, which both of its sides use. For theta = 1/2 and
// four ranks the sum is known.
TEST(ZipfTest, mass_is_that_of_the_definition) {
  const Zipf zipf(4, 0.5);
  const double zeta = 1 + 1 / std::sqrt(2.0) + 1 / std::sqrt(3.0) + 0.5;
  EXPECT_NEAR(zipf.mass(0), 1 / zeta, 1e-12);
  EXPECT_NEAR(zipf.mass(3), 0.5 / zeta, 1e-12);
  double sum = 0;
  for (std::uint64_t rank = 0; rank < 4; ++rank) sum += zipf.mass(rank);
  EXPECT_NEAR(sum, 1, 1e-12);
}

// Gray's method approximates the tail: sums over many ranks are within a few percent.
TEST(ZipfTest, tail_has_about_the_mass_of_the_formula) {
  const Zipf zipf(10'000, 0.99);
  const std::vector<std::uint64_t> counts = draw_counts(zipf);
  std::uint64_t counted = 0;
  double mass = 0;
  for (std::uint64_t rank = 100; rank < 10'000; ++rank) {
    counted += counts[rank];
    mass += zipf.mass(rank);
  }
  EXPECT_NEAR(static_cast<double>(counted) / kDraws, mass, 0.03 * mass);
}

TEST(ZipfTest, theta_zero_is_uniform) {
  const Zipf zipf(10, 0);
  for (const std::uint64_t count : draw_counts(zipf)) expect_mass(count, 0.1);
}

TEST(ZipfTest, one_and_two_rows_stay_in_range) {
  EXPECT_EQ(draw_counts(Zipf(1, 0.99))[0], kDraws);
  const Zipf two(2, 0.99);
  expect_mass(draw_counts(two)[0], two.mass(0));
}

TEST(ZipfTest, theta_of_one_is_refused) {
  EXPECT_FALSE(Zipf::is_valid(10, 1.0));
  EXPECT_FALSE(Zipf::is_valid(10, -0.1));
  EXPECT_FALSE(Zipf::is_valid(0, 0.5));
  EXPECT_TRUE(Zipf::is_valid(1, 0));
}

TEST(ScrambleTest, is_a_permutation) {
  for (const std::uint64_t count : {1u, 2u, 3u, 7u, 64u, 1000u, 4097u}) {
    const Scramble scramble(count);
    std::vector<bool> seen(count);
    for (std::uint64_t rank = 0; rank < count; ++rank) {
      const std::uint64_t id = scramble.id(rank);
      ASSERT_LT(id, count);
      EXPECT_FALSE(seen[id]) << "id " << id << " of " << count << " is chosen twice";
      seen[id] = true;
    }
  }
}

TEST(ScrambleTest, hot_rows_are_not_neighbours) {
  const Scramble scramble(100'000);
  std::uint64_t close = 0;
  for (std::uint64_t rank = 1; rank < 1000; ++rank) {
    const auto a = static_cast<std::int64_t>(scramble.id(rank - 1));
    const auto b = static_cast<std::int64_t>(scramble.id(rank));
    if (std::abs(a - b) < 1000) ++close;
  }
  EXPECT_LT(close, 50u);  // 2 % are expected by chance
}

}  // namespace
}  // namespace experiments::ycsb_zipf_test
