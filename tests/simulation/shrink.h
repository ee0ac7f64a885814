#pragma once
// Shrinking: a smaller plan that still fails.

#include <cstdint>

#include "tests/simulation/plan/plan.h"
#include "tests/simulation/simulation.h"

namespace foedus::simulation {

// Returns a smaller plan that fails, too, perhaps in another way; `outcome` is the failure of
// `plan`. Reports its progress on stderr, and stops after `seconds_max`.
Plan shrink(Plan plan, Outcome outcome, std::uint64_t seconds_max);

}  // namespace foedus::simulation
