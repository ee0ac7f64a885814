// Runs of the simulation pass the named places of the protocols, because a workload in one page and
// one file would find no bugs. Sums of the engines' counters show that pages leave the caches,
// writers wait for the gleaner, and files are removed.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/simulation/simulation.h"

namespace foedus::simulation::reach_test {
namespace {

TEST(ReachTest, runs_pass_the_places_of_all_protocols) {
  std::map<std::string, std::uint64_t, std::less<>> places;
  const PlaceWatch watch([&](std::string_view place) { ++places[std::string(place)]; });
  Plan plan;
  plan.stride = 0;
  Counts counts;
  for (plan.seed = 1; plan.seed <= 40; ++plan.seed) {
    const Outcome outcome = Simulation(plan).run();
    ASSERT_EQ(outcome.failure, "") << command_of(plan);
    counts.add(outcome.counts);
  }
  for (const char* const place : {"array:dropped",
                                  "array:installed",
                                  "cache:before_publish",
                                  "catalog:drop_marked",
                                  "engine:ddl_serialized",
                                  "gleaning:before_removal",
                                  "gleaning:log_cut",
                                  "gleaning:moved",
                                  "hash:dropped",
                                  "hash:installed",
                                  "hash:moved",
                                  "masstree:adopted",
                                  "masstree:dropped",
                                  "masstree:exchanged",
                                  "masstree:grown",
                                  "masstree:installed",
                                  "masstree:merged",
                                  "masstree:layer_locked",
                                  "masstree:split_done",
                                  "recovery:manifest_durable",
                                  "recovery:moved",
                                  "sequential:installed",
                                  "sequential:linked",
                                  "snapshots:passed_over"}) {
    EXPECT_GT(places[place], 0u) << place;
  }
  EXPECT_GT(counts.pages_evicted, 1'000u);
  EXPECT_GT(counts.writers_waited_us, 0u);
  EXPECT_GT(counts.snapshot_files_removed, 100u);
  EXPECT_GT(counts.faults, 100u);
}

}  // namespace
}  // namespace foedus::simulation::reach_test
