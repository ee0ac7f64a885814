// ctest-labels: crash memory
// ctest-timeout: 300
// Power failures of a database whose snapshots lie on two tiers, at any call to any directory, over
// simulated devices and one thread: it comes back as after some transaction that is no older than
// the last one reported durable, whichever tiers its pages had come to.
#include "tests/engine/spread_life.h"
#include "tests/testing/staged_tiers.h"

namespace foedus {
namespace {

using testing::FailingDevice;
using testing::Life;
using testing::ModelTxn;
using testing::must;
using testing::SpreadDisk;
using testing::StagedTiers;

// A file of these tests is an extent: each moves, one may stay, or the first of two does.
device::TierLimits limits_of(std::uint64_t n) {
  return {.nvm_bytes = (1 + n % 3) * device::kExtentBytes};
}

TEST(TiersCrashTest, database_is_a_prefix_that_holds_every_acknowledged_transaction) {
  for (std::uint64_t seed = 1; seed <= 100 && !HasFailure(); ++seed) {
    testing::run_spread_lives(seed, 5, [](SpreadDisk* disk, base::Random* random) {
      return disk->open_tiered(limits_of(random->next()));
    });
  }
}

// What memory has no room for is staged on its way to the SSD.
TEST(TiersCrashTest, staged_pages_of_a_snapshot_are_as_those_on_the_ssd) {
  for (std::uint64_t seed = 1; seed <= 100 && !HasFailure(); ++seed) {
    testing::run_spread_lives(seed, 5, [](SpreadDisk* disk, base::Random* random) {
      return StagedTiers(disk, random->next() % 3);
    });
  }
}

// Goal: as below, of a glean all of whose pages are staged. Method: memory has room for no others.
TEST(TiersCrashTest, a_power_failure_at_any_call_of_a_glean_that_stages_loses_nothing) {
  SpreadDisk prepared;
  std::vector<ModelTxn> written;
  {
    const StagedTiers device(&prepared, 0);
    Life life(device.get(), 3);
    must(life.open(2));
    for (int glean = 0; glean < 2; ++glean) {
      testing::write(&life, &written, 40);
      must(life.glean());
    }
    EXPECT_GT(device->fill().ssd_bytes, 0u);
    EXPECT_EQ(device->fill().nvm_bytes, 0u);
    testing::write(&life, &written, 30);
  }
  prepared.crash_power(FailingDevice::kDropAll);
  const auto open = [](SpreadDisk* disk, std::uint64_t, bool) { return StagedTiers(disk, 0); };
  EXPECT_GT(testing::cut_glean_at_each_call(prepared, written, open), 30u);
}

// Goal: a glean writes to both tiers, and moves behind it, and loses nothing of the snapshots that
// are there. Method: power fails at each of its calls.
TEST(TiersCrashTest, a_power_failure_at_any_call_of_a_glean_loses_nothing) {
  SpreadDisk prepared;
  std::vector<ModelTxn> written;
  {
    const auto device = prepared.open_tiered(limits_of(1));
    Life life(device.get(), 3);
    must(life.open(2));
    for (int glean = 0; glean < 2; ++glean) {
      testing::write(&life, &written, 40);
      must(life.glean());
    }
    EXPECT_GT(device->fill().moved_bytes, 0u);
    testing::write(&life, &written, 30);
  }
  prepared.crash_power(FailingDevice::kDropAll);
  const auto open = [](SpreadDisk* disk, std::uint64_t point, bool is_before) {
    return disk->open_tiered(limits_of(is_before ? point : point + 1));
  };
  EXPECT_GT(testing::cut_glean_at_each_call(prepared, written, open), 30u);
}

}  // namespace
}  // namespace foedus
