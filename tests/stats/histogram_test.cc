// The buckets of a histogram, and the quantiles that they give.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>

#include "foedus/stats.h"

namespace foedus::histogram_test {
namespace {

constexpr std::uint64_t kLast = std::uint64_t{1} << 37;  // greatest value of the last but one

Histogram of(std::initializer_list<std::uint64_t> values) {
  Histogram histogram;
  for (const std::uint64_t value : values) {
    ++histogram.buckets[Histogram::bucket_of(value)];
    ++histogram.count;
    histogram.sum += value;
  }
  return histogram;
}

// Goal: the upper border of each bucket is the last value in it, and the next value begins the next
// bucket.
TEST(HistogramTest, a_bucket_ends_at_its_upper_border) {
  for (std::size_t bucket = 0; bucket + 1 < Histogram::kBuckets; ++bucket) {
    const std::uint64_t upper = Histogram::upper_bound(bucket);
    EXPECT_EQ(Histogram::bucket_of(upper), bucket) << upper;
    EXPECT_EQ(Histogram::bucket_of(upper + 1), bucket + 1) << upper;
  }
  EXPECT_EQ(Histogram::bucket_of(0), 0u);
  EXPECT_EQ(Histogram::upper_bound(Histogram::kBuckets - 2), kLast);
  EXPECT_EQ(Histogram::bucket_of(~std::uint64_t{0}), Histogram::kBuckets - 1);
  EXPECT_EQ(Histogram::upper_bound(Histogram::kBuckets - 1), ~std::uint64_t{0});
}

TEST(HistogramTest, values_up_to_eight_are_exact_and_each_power_of_two_is_a_border) {
  for (std::uint64_t value = 1; value <= 8; ++value) {
    EXPECT_EQ(Histogram::upper_bound(value - 1), value);
    EXPECT_EQ(of({value}).quantile(0.5), value);
  }
  for (std::uint64_t power = 8; power <= kLast; power *= 2) {
    const std::size_t bucket = Histogram::bucket_of(power);
    EXPECT_EQ(Histogram::upper_bound(bucket), power);
    EXPECT_EQ(Histogram::bucket_of(power / 2 + 1) + 3, bucket) << "four buckets to a power of two";
  }
}

TEST(HistogramTest, a_quantile_is_off_by_an_eighth_at_most) {
  for (std::size_t bucket = 0; bucket + 1 < Histogram::kBuckets; ++bucket) {
    const std::uint64_t lowest = bucket == 0 ? 1 : Histogram::upper_bound(bucket - 1) + 1;
    for (const std::uint64_t value : {lowest, Histogram::upper_bound(bucket)}) {
      const auto exact = static_cast<double>(value);
      EXPECT_LE(std::abs(static_cast<double>(of({value}).quantile(0.5)) - exact), exact / 8)
          << value;
    }
  }
}

TEST(HistogramTest, a_quantile_is_the_value_that_the_part_does_not_exceed) {
  const Histogram histogram = of({1, 2, 3, 4, 5, 6, 7, 8, 8, 3'000'000'000'000});
  EXPECT_EQ(histogram.quantile(0.1), 1u);
  EXPECT_EQ(histogram.quantile(0.11), 2u);
  EXPECT_EQ(histogram.quantile(0.5), 5u);
  EXPECT_EQ(histogram.quantile(0.9), 8u);
  EXPECT_EQ(histogram.quantile(0.91), kLast) << "the value is greater than the last border";
}

TEST(HistogramTest, a_part_that_is_none_counts_as_the_nearest) {
  const Histogram histogram = of({2, 5});
  EXPECT_EQ(histogram.quantile(0), 2u);
  EXPECT_EQ(histogram.quantile(-1), 2u);
  EXPECT_EQ(histogram.quantile(7), 5u);
  EXPECT_EQ(histogram.quantile(std::numeric_limits<double>::quiet_NaN()), 2u);
  EXPECT_EQ(Histogram().quantile(0.5), 0u) << "there are no values";
}

}  // namespace
}  // namespace foedus::histogram_test
