// A planted bug, a sync that has no effect, is found within a few hundred crash states, and its run
// is made small: few steps, one session, one state, and a command line that repeats it.
#include "tests/simulation/shrink.h"

#include <gtest/gtest.h>

#include "tests/simulation/isolated.h"

namespace foedus::simulation::shrink_test {
namespace {

// Returns the first plan that fails, and its outcome.
Plan find_failure(const std::string& planted, Outcome* outcome, std::uint64_t* states) {
  Plan plan;
  plan.planted = planted;
  for (plan.seed = 1; plan.seed < 10; ++plan.seed) {
    *outcome = run_isolated(plan);
    *states += outcome->counts.states;
    if (!outcome->failure.empty()) break;
  }
  return plan;
}

TEST(ShrinkTest, a_sync_that_does_nothing_is_found_and_shrunk_to_one_state) {
  for (const char* const planted : {"sync:7+", "directory:3+"}) {
    SCOPED_TRACE(planted);
    Outcome outcome;
    std::uint64_t states = 0;
    const Plan plan = find_failure(planted, &outcome, &states);
    ASSERT_NE(outcome.failure, "");
    EXPECT_LT(states, 2'000u);
    const Plan small = shrink(plan, outcome, 20);
    EXPECT_LT(small.steps - small.omitted.size(), 8u) << command_of(small);
    EXPECT_EQ(small.sessions, 1u);
    const Outcome again = run_isolated(small);
    EXPECT_NE(again.failure, "");
    EXPECT_LE(again.counts.states, 4u);  // a write has two states, and each may crash again
    // Without the bug there is no failure.
    Plan sound = small;
    sound.planted = "";
    EXPECT_EQ(run_isolated(sound).failure, "");
  }
}

TEST(ShrinkTest, a_plan_is_a_command_line) {
  Plan plan;
  EXPECT_EQ(command_of(plan), "simulate --seed=1");
  plan.seed = 7;
  plan.steps = 20;
  plan.gleans = false;
  plan.omitted = {3, 4, 5, 9};
  plan.only_call = 12;
  plan.planted = "sync:3+";
  EXPECT_EQ(command_of(plan),
            "simulate --seed=7 --steps=20 --nogleans --omit=3-5,9 --only_call=12 "
            "--planted=sync:3+");
  EXPECT_EQ(numbers_of("3-5,9"), plan.omitted);
  EXPECT_EQ(text_of(numbers_of("1,2,3,7,9-10")), "1-3,7,9-10");
}

}  // namespace
}  // namespace foedus::simulation::shrink_test
