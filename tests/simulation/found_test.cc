// Runs that failed once, as they were after shrinking.
#include <gtest/gtest.h>

#include "tests/simulation/isolated.h"

namespace foedus::simulation {
namespace {

// A hash whose samples end in an earlier partition than the last one: the boundary behind all of
// them was not one between bins, and the composer stopped.
TEST(FoundTest, a_partition_of_a_hash_ends_between_bins_where_no_sample_is_left) {
  Plan plan;
  plan.seed = 100'150;
  plan.sessions = 1;
  plan.keys = 12;
  plan.restarts = plan.faults = plan.corrupts = false;
  plan.omitted = numbers_of("0-6,8-13,17-149");
  plan.stride = 32;
  EXPECT_EQ(run_isolated(plan).failure, "");
}

}  // namespace
}  // namespace foedus::simulation
