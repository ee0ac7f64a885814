#include "foedus-core/numa/topology.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <set>

#include "foedus-core/base/system/processor.h"

namespace foedus::numa::topology_test {
namespace {

TEST(TopologyTest, zero_stands_for_the_machines_number) {
  const Result<Topology> topology = Topology::make(0);
  ASSERT_TRUE(topology.is_ok());
  EXPECT_GE(topology->socs(), 1u);
  EXPECT_LE(topology->socs(), kMaxSocs);
}

TEST(TopologyTest, any_other_number_is_emulated) {
  const std::uint32_t machine_socs = Topology::make(0)->socs();
  for (const std::uint32_t socs : {1u, 2u, 3u, 8u, kMaxSocs}) {
    const Result<Topology> topology = Topology::make(socs);
    ASSERT_TRUE(topology.is_ok());
    EXPECT_EQ(topology->socs(), socs);
    EXPECT_TRUE(topology->is_emulated() || socs == machine_socs);
  }
}

TEST(TopologyTest, more_socs_than_the_limit_are_refused_by_name) {
  const Result<Topology> topology = Topology::make(kMaxSocs + 1);
  ASSERT_FALSE(topology.is_ok());
  EXPECT_EQ(topology.code(), ErrorCode::kInvalidArgument);
  EXPECT_NE(topology.status().message().find("Options::socs is 65"), std::string::npos);
}

// Goal: a runtime that has processors of its own decides, whatever machine the test runs on.
TEST(TopologyTest, processors_of_a_runtime_are_dealt_out_to_emulated_socs) {
  const Result<Topology> topology = Topology::make(2, 4);
  EXPECT_TRUE(topology->is_emulated());
  EXPECT_EQ(topology->socs_of(1).begin, 0u);
  EXPECT_EQ(topology->socs_of(2).begin, 1u);
  EXPECT_EQ(topology->socs_of(2).end, 2u);
  EXPECT_EQ(Topology::make(0, 4)->socs(), 1u);
  EXPECT_TRUE(Topology::make(1, 1)->is_emulated());
}

TEST(TopologyTest, every_processor_of_the_machine_has_a_soc) {
  for (const std::uint32_t socs : {0u, 2u, 8u}) {
    const Result<Topology> topology = Topology::make(socs);
    const SocRange here = topology->socs_of(base::current_processor());
    EXPECT_LT(here.begin, here.end);
    EXPECT_LE(here.end, topology->socs());
  }
}

TEST(TopologyTest, binding_to_emulated_socs_is_possible_for_nobody_and_an_error_only_if_required) {
  const Result<Topology> topology = Topology::make(kMaxSocs);
  ASSERT_TRUE(topology->is_emulated());
  EXPECT_FALSE(topology->can_bind(Facility::kTry));
  EXPECT_TRUE(topology->check_binding(Facility::kOff).is_ok());
  EXPECT_TRUE(topology->check_binding(Facility::kTry).is_ok());
  EXPECT_EQ(topology->check_binding(Facility::kRequire).code(), ErrorCode::kNotSupported);
  EXPECT_TRUE(topology->background_processors(kMaxSocs - 1, Facility::kTry).empty());
}

// On machines and in containers where policies work, each SOC is another node, with processors of
// its own.
TEST(TopologyTest, real_socs_are_distinct_nodes_with_processors_of_their_own) {
  const Result<Topology> topology = Topology::make(0);
  if (topology->is_emulated()) GTEST_SKIP() << "memory policies do not work here";
  EXPECT_FALSE(topology->can_bind(Facility::kOff));
  std::set<int> nodes;
  std::set<std::uint32_t> processors;
  for (std::uint32_t soc = 0; soc < topology->socs(); ++soc) {
    EXPECT_TRUE(nodes.insert(topology->node_of(soc)).second);
    EXPECT_TRUE(topology->background_processors(soc, Facility::kOff).empty());
    const auto bound_to = topology->background_processors(soc, Facility::kTry);
    // One SOC has all processors: there is nothing to bind.
    EXPECT_EQ(bound_to.empty(), topology->socs() == 1 || !topology->can_bind(Facility::kTry));
    for (const std::uint32_t processor : bound_to) {
      EXPECT_TRUE(processors.insert(processor).second);
      EXPECT_TRUE(topology->socs_of(processor).contains(soc));
    }
  }
}

// Goal: making a topology binds only a thread of its own.
TEST(TopologyTest, the_thread_that_makes_a_topology_keeps_its_processors) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  ASSERT_TRUE(Topology::make(0).is_ok());
  cpu_set_t after;
  ASSERT_EQ(sched_getaffinity(0, sizeof(after), &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(TopologyDeathTest, a_soc_beyond_the_last_is_impossible) {
  const Result<Topology> topology = Topology::make(2);
  EXPECT_DEATH((void)topology->background_processors(2, Facility::kTry), "soc < socs_");
}

}  // namespace
}  // namespace foedus::numa::topology_test
