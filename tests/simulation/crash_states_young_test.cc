// ctest-labels: memory
// ctest-timeout: 300
// The crash states of crash_states_test at every call of new databases.
#include "tests/simulation/run_states.h"

namespace foedus::simulation::crash_states_young_test {
namespace {

TEST(CrashStatesYoungTest, each_state_is_the_end_of_an_epoch_and_holds_what_was_acknowledged) {
  Plan plan;
  plan.seed = 100'001;
  plan.steps = 12;
  plan.stride = 1;
  run_states(plan, 7'000);
}

}  // namespace
}  // namespace foedus::simulation::crash_states_young_test
