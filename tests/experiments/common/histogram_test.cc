// Latencies keep their order of magnitude and 3.2 % of it, over the whole range of 64 bits.

#include "experiments/common/histogram.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace experiments::histogram_test {
namespace {

TEST(HistogramTest, percentiles_are_within_a_step_of_the_truth) {
  Histogram histogram;
  for (std::uint64_t i = 1; i <= 100'000; ++i) histogram.add(i);
  EXPECT_NEAR(histogram.percentile(0.5), 50'000, 50'000 * 0.032);
  EXPECT_NEAR(histogram.percentile(0.99), 99'000, 99'000 * 0.032);
  EXPECT_EQ(histogram.max(), 100'000u);
  for (std::uint64_t value = 1; value != 0; value <<= 1) {
    for (const std::uint64_t near : {value - 1, value, value + 1}) {
      const std::size_t bucket = Histogram::bucket_of(near);
      EXPECT_LE(Histogram::low_of(bucket), near);
      EXPECT_LT(near - Histogram::low_of(bucket), Histogram::width_of(bucket));
    }
  }
}

TEST(HistogramTest, empty_one_has_percentiles_of_zero) {
  EXPECT_EQ(Histogram().percentile(0.99), 0);
}

TEST(HistogramTest, merged_ones_are_as_if_all_had_been_added_to_one) {
  Histogram all, evens, odds;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    all.add(i * i);
    (i % 2 == 0 ? evens : odds).add(i * i);
  }
  evens.merge(odds);
  EXPECT_EQ(evens.count(), all.count());
  EXPECT_EQ(evens.max(), all.max());
  for (const double share : {0.01, 0.5, 0.9, 0.999}) {
    EXPECT_EQ(evens.percentile(share), all.percentile(share));
  }
}

}  // namespace
}  // namespace experiments::histogram_test
