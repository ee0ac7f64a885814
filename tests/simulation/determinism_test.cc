// A seed decides a run to the byte of every file (Z1): two runs of one plan make the same calls of
// the device and leave the same files after each step. Threads, earlier contents of memory and the
// number of crash states that are checked in between make no difference.
#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

#include "tests/simulation/simulation.h"

namespace foedus::simulation::determinism_test {
namespace {

using Traced = std::vector<std::array<std::uint64_t, 3>>;

Traced trace_of(const Plan& plan) {
  Traced traced;
  std::thread([&] {
    const Outcome outcome =
        Simulation(plan).run([&](std::uint64_t step, std::uint64_t calls, std::uint64_t files) {
          traced.push_back({step, calls, files});
        });
    EXPECT_EQ(outcome.failure, "") << command_of(plan);
  }).join();
  return traced;
}

TEST(DeterminismTest, a_seed_run_twice_makes_the_same_calls_and_the_same_bytes) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Plan plan;
    plan.seed = seed;
    plan.stride = 0;
    const Traced first = trace_of(plan);
    const std::vector<char> other_addresses(seed << 16);  // moves later allocations
    ASSERT_EQ(first, trace_of(plan));
    plan.states_from_step = plan.steps - 10;
    plan.stride = 16;
    ASSERT_EQ(first, trace_of(plan));
    ASSERT_EQ(first.size(), plan.steps);
  }
}

}  // namespace
}  // namespace foedus::simulation::determinism_test
