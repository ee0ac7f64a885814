// Tests of the longest time in which a run was slow.
#include "experiments/common/throughput_samples.h"

#include <gtest/gtest.h>

namespace experiments::throughput_samples_test {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

// Returns the stall of a run with this work in each 20 ms.
double stall_of(const std::vector<std::uint64_t>& done) {
  ThroughputSamples samples;
  std::uint64_t sum = 0;
  samples.add(5 * kMs, 0);
  for (std::size_t i = 0; i < done.size(); ++i) {
    sum += done[i];
    samples.add((5 + 20 * (i + 1)) * kMs, sum);
  }
  return samples.stall_ms_max();
}

TEST(ThroughputSamplesTest, a_run_without_samples_or_pauses_has_no_stall) {
  EXPECT_EQ(ThroughputSamples().stall_ms_max(), 0);
  EXPECT_EQ(stall_of({}), 0);
  EXPECT_EQ(stall_of({100}), 0);
  EXPECT_EQ(stall_of({100, 90, 60, 110, 51, 100}), 0);
}

TEST(ThroughputSamplesTest, the_longest_time_below_half_of_the_median_is_the_stall) {
  EXPECT_EQ(stall_of({100, 49, 100, 100, 100}), 20);
  EXPECT_EQ(stall_of({100, 0, 40, 100, 10, 0, 3, 100, 100, 100, 100, 100}), 60);
  EXPECT_EQ(stall_of({100, 100, 100, 0, 0}), 40);  // up to the end
}

TEST(ThroughputSamplesTest, intervals_count_by_their_length) {
  ThroughputSamples samples;
  samples.add(0, 0);
  samples.add(10 * kMs, 100);
  samples.add(20 * kMs, 200);
  samples.add(60 * kMs, 300);  // the same work in four times the time
  samples.add(70 * kMs, 400);
  EXPECT_EQ(samples.stall_ms_max(), 40);
}

}  // namespace
}  // namespace experiments::throughput_samples_test
