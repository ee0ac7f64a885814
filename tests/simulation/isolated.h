#pragma once
// Runs in processes of their own, so that one that aborts or hangs is an outcome like others.

#include <cstdint>

#include "tests/simulation/plan/plan.h"
#include "tests/simulation/simulation.h"

namespace foedus::simulation {

// Runs a plan in a process of its own; one that takes longer than `seconds_max` hangs. REQUIRES:
// one thread.
Outcome run_isolated(const Plan& plan, unsigned seconds_max = 600);

}  // namespace foedus::simulation
