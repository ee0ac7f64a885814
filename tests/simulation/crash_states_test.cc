// ctest-labels: memory
// ctest-timeout: 300
// Power failures at the calls of the device in runs with all features: each resulting state is
// recovered and compared. A seed repeats a run; FOEDUS_TEST_SEED gives one.
#include "tests/simulation/run_states.h"

namespace foedus::simulation::crash_states_test {
namespace {

TEST(CrashStatesTest, each_state_is_the_end_of_an_epoch_and_holds_what_was_acknowledged) {
  Plan plan;
  plan.seed = 1;
  plan.stride = 32;
  run_states(plan, 6'500);
}

}  // namespace
}  // namespace foedus::simulation::crash_states_test
