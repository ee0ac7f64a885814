// ctest-labels: memory
// ctest-timeout: 300
// The crash states of crash_states_test, without gleans except those of recovery: all commits are
// in the log.
#include "tests/simulation/run_states.h"

namespace foedus::simulation::crash_states_log_test {
namespace {

TEST(CrashStatesLogTest, each_state_is_the_end_of_an_epoch_and_holds_what_was_acknowledged) {
  Plan plan;
  plan.seed = 200'001;
  plan.gleans = false;
  plan.stride = 8;
  run_states(plan, 6'500);
}

}  // namespace
}  // namespace foedus::simulation::crash_states_log_test
