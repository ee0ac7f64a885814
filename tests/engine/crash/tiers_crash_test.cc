// ctest-labels: crash memory
// ctest-timeout: 300
// Power failures of a database whose snapshots lie on two tiers, at any call to any directory, over
// simulated devices and one thread. The database comes back as after some transaction that is no
// older than the last one reported durable, whichever tiers its pages are on.
#include "tests/engine/crash/spread_life.h"
#include "tests/testing/staged_tiers.h"

namespace foedus::tiers_crash_test {
namespace {

using testing::FailingDevice;
using testing::Life;
using testing::ModelTxn;
using testing::must;
using testing::SpreadDisk;
using testing::StagedTiers;

// Limits of one to three extents. A file of these tests is an extent: all move to the SSD, or some
// of them stay.
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

// Pages that do not fit on memory are staged on their way to the SSD.
TEST(TiersCrashTest, staged_pages_of_a_snapshot_are_as_those_on_the_ssd) {
  for (std::uint64_t seed = 1; seed <= 100 && !HasFailure(); ++seed) {
    testing::run_spread_lives(seed, 5, [](SpreadDisk* disk, base::Random* random) {
      return StagedTiers(disk, random->next() % 3);
    });
  }
}

// Goal: a power failure at any call of a glean all of whose pages are staged loses no snapshot.
// Method: memory has space for staged pages only.
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

// Goal: a glean that writes to both tiers, and the moves after it, lose no page of existing
// snapshots. Method: power fails at each of its calls.
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
}  // namespace foedus::tiers_crash_test
