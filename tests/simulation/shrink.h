#pragma once
// Shrinking: a smaller plan that still fails.

#include <cstdint>

#include "tests/simulation/plan.h"
#include "tests/simulation/simulation.h"

namespace foedus::simulation {

// `outcome`: what `plan` came to, a failure. Says on stderr how far it is. The result fails, too,
// though perhaps in another way; it is no smaller than time allows.
Plan shrink(Plan plan, Outcome outcome, std::uint64_t seconds_max);

}  // namespace foedus::simulation
