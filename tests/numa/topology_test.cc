#include "foedus-core/numa/topology.h"

#include <gtest/gtest.h>

#include <set>

namespace foedus::numa {
namespace {

TEST(Topology, ZeroStandsForTheMachinesNumber) {
  const Result<Topology> topology = Topology::make(0);
  ASSERT_TRUE(topology.is_ok());
  EXPECT_GE(topology->socs(), 1u);
  EXPECT_LE(topology->socs(), kMaxSocs);
}

TEST(Topology, AnyOtherNumberIsEmulated) {
  const std::uint32_t machine_socs = Topology::make(0)->socs();
  for (const std::uint32_t socs : {1u, 2u, 3u, 8u, kMaxSocs}) {
    const Result<Topology> topology = Topology::make(socs);
    ASSERT_TRUE(topology.is_ok());
    EXPECT_EQ(topology->socs(), socs);
    EXPECT_TRUE(topology->is_emulated() || socs == machine_socs);
  }
}

TEST(Topology, MoreSocsThanTheLimitAreRefusedByName) {
  const Result<Topology> topology = Topology::make(kMaxSocs + 1);
  ASSERT_FALSE(topology.is_ok());
  EXPECT_EQ(topology.code(), ErrorCode::kInvalidArgument);
  EXPECT_NE(topology.status().message().find("Options::socs is 65"), std::string::npos);
}

TEST(Topology, SessionsAreDealtOutInTurn) {
  const Result<Topology> topology = Topology::make(3);
  for (std::uint32_t session = 0; session < 12; ++session) {
    EXPECT_EQ(topology->soc_of_session(session), session % 3);
  }
}

TEST(Topology, BindingToEmulatedSocsIsPossibleForNobodyAndAnErrorOnlyIfRequired) {
  const Result<Topology> topology = Topology::make(kMaxSocs);
  ASSERT_TRUE(topology->is_emulated());
  EXPECT_FALSE(topology->can_bind(Facility::kTry));
  EXPECT_TRUE(topology->check_binding(Facility::kOff).is_ok());
  EXPECT_TRUE(topology->check_binding(Facility::kTry).is_ok());
  EXPECT_EQ(topology->check_binding(Facility::kRequire).code(), ErrorCode::kNotSupported);
  EXPECT_TRUE(topology->pin_thread_to(kMaxSocs - 1).is_ok());
}

// On machines and in containers where policies work, each SOC is another node and takes a thread.
TEST(Topology, RealSocsAreDistinctNodesThatAThreadCanBePinnedTo) {
  const Result<Topology> topology = Topology::make(0);
  if (topology->is_emulated()) GTEST_SKIP() << "memory policies do not work here";
  EXPECT_TRUE(topology->can_bind(Facility::kTry));
  EXPECT_FALSE(topology->can_bind(Facility::kOff));
  EXPECT_TRUE(topology->check_binding(Facility::kRequire).is_ok());
  std::set<int> nodes;
  for (std::uint32_t soc = 0; soc < topology->socs(); ++soc) {
    EXPECT_TRUE(nodes.insert(topology->node_of(soc)).second);
    const Status status = topology->pin_thread_to(soc);
    EXPECT_TRUE(status.is_ok()) << status.message();
  }
}

TEST(TopologyDeathTest, ASocBeyondTheLastIsImpossible) {
  const Result<Topology> topology = Topology::make(2);
  EXPECT_DEATH((void)topology->pin_thread_to(2), "soc < socs_");
}

}  // namespace
}  // namespace foedus::numa
