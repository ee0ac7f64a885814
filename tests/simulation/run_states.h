#pragma once
// Runs seeds of a plan until there were `states` crash states, and shrinks one that fails.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/simulation/isolated.h"
#include "tests/simulation/shrink.h"

namespace foedus::simulation {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr std::uint64_t kStatesShare = 50;
#else
inline constexpr std::uint64_t kStatesShare = 1;
#endif

// FOEDUS_TEST_SEED selects a single seed.
inline void run_states(Plan plan, std::uint64_t states) {
  const char* const given = std::getenv("FOEDUS_TEST_SEED");
  if (given != nullptr) plan.seed = std::strtoull(given, nullptr, 10);
  Counts counts;
  const std::uint64_t first = plan.seed;
  for (; counts.states < states / kStatesShare; ++plan.seed) {
    plan.states_max = states / kStatesShare - counts.states;
    const Outcome outcome = run_isolated(plan);
    counts.add(outcome.counts);
    if (!outcome.failure.empty()) {
      ADD_FAILURE() << "FOEDUS_TEST_SEED=" << plan.seed << ", step " << outcome.step << ": "
                    << outcome.failure << "\nto repeat: " << command_of(shrink(plan, outcome, 60));
      return;
    }
    if (given != nullptr) break;
  }
  std::printf("%llu states of %llu seeds, %llu commits\n",
              static_cast<unsigned long long>(counts.states),
              static_cast<unsigned long long>(plan.seed - first),
              static_cast<unsigned long long>(counts.commits));
}

}  // namespace foedus::simulation
