// Runs that failed once, as shrinking left them.
#include <gtest/gtest.h>

#include "tests/simulation/isolated.h"

namespace foedus::simulation::found_test {
namespace {

// The samples of a hash storage ended in an earlier partition than the last one: the boundary after
// all of them was not between bins, and the composer stopped.
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

// A glean by pace, which ran in a wait of a read, had installed pages since the search: the read
// has to be repeated, as transact() does.
TEST(FoundTest, a_read_of_what_was_recovered_is_tried_again_behind_an_install) {
  Plan plan;
  plan.seed = 99'500'406;
  plan.steps = 126;
  plan.ddl = plan.crashes = plan.faults = plan.corrupts = false;
  plan.omitted = numbers_of(
      "4-8,10,12,16,18-19,21-63,65-66,68,70-76,78,80-82,84-91,94-95,99,104-107,109-110,112-114,"
      "116-119,122-124");
  plan.states_from_step = 126;
  plan.only_call = 345;
  EXPECT_EQ(run_isolated(plan).failure, "");
}

}  // namespace
}  // namespace foedus::simulation::found_test
