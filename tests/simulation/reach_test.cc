// What the runs of the simulation pass: named places of the protocols. A workload that stays in one
// page and one file would find nothing.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/simulation/simulation.h"

namespace foedus::simulation {
namespace {

TEST(ReachTest, runs_pass_the_places_of_all_protocols) {
  std::map<std::string, std::uint64_t, std::less<>> places;
  const PlaceWatch watch([&](std::string_view place) { ++places[std::string(place)]; });
  Plan plan;
  plan.stride = 0;
  for (plan.seed = 1; plan.seed <= 40; ++plan.seed) {
    ASSERT_EQ(Simulation(plan).run().failure, "") << command_of(plan);
  }
  for (const char* const place : {"array:dropped",
                                  "array:installed",
                                  "cache:before_publish",
                                  "catalog:drop_marked",
                                  "engine:ddl_serialized",
                                  "gleaning:before_removal",
                                  "gleaning:log_cut",
                                  "hash:dropped",
                                  "hash:installed",
                                  "hash:moved",
                                  "masstree:adopted",
                                  "masstree:dropped",
                                  "masstree:exchanged",
                                  "masstree:grown",
                                  "masstree:installed",
                                  "masstree:joined",
                                  "masstree:layer_locked",
                                  "masstree:split_done",
                                  "recovery:manifest_durable",
                                  "sequential:installed",
                                  "sequential:linked",
                                  "snapshots:passed_over"}) {
    EXPECT_GT(places[place], 0u) << place;
  }
}

}  // namespace
}  // namespace foedus::simulation
