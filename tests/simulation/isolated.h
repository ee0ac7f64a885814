#pragma once
// Runs in processes of their own, so that one that aborts or hangs is an outcome like others.

#include <cstdint>

#include "tests/simulation/plan.h"
#include "tests/simulation/simulation.h"

namespace foedus::simulation {

// `seconds_max`: what takes longer hangs. REQUIRES: one thread.
Outcome run_isolated(const Plan& plan, unsigned seconds_max = 600);

}  // namespace foedus::simulation
