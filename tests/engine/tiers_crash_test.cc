// ctest-labels: crash memory
// ctest-timeout: 300
// Power failures of a database whose snapshots lie on two tiers, at any call to any directory, over
// simulated devices and one thread: it comes back as after some transaction that is no older than
// the last one reported durable, whichever tiers its pages had come to.
#include "tests/engine/crash_steps.h"
#include "tests/testing/spread_disk.h"

namespace foedus {
namespace {

using testing::change_until_power_fails;
using testing::difference;
using testing::expect_prefix;
using testing::FailingDevice;
using testing::how_to_crash;
using testing::Life;
using testing::model_of;
using testing::ModelTxn;
using testing::must;
using testing::SpreadDisk;
using testing::write;

// A file of these tests is an extent: each moves, one may stay, or the first of two does.
device::TierLimits limits_of(std::uint64_t n) {
  return {.nvm_bytes = (1 + n % 3) * device::kExtentBytes};
}

void run_seed(std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  SpreadDisk disk;
  base::Random random(seed);
  std::vector<ModelTxn> txns;
  for (int crash = 0; crash < 4; ++crash) {
    SCOPED_TRACE("crash " + std::to_string(crash));
    std::size_t durable = 0;
    {
      const auto device = disk.open_tiered(limits_of(random.next()));
      Life life(device.get(), random.next());
      if (random.below(3) == 0) disk.lose_power_after(random.below(100));
      durable = change_until_power_fails(&life, disk, 5, &random, &txns,
                                         [&] { disk.lose_power_after(random.below(400)); });
    }
    disk.crash_power(how_to_crash(random.next()));
    const auto device = disk.open_tiered(limits_of(random.next()));
    Life after(device.get(), random.next());
    ASSERT_NO_FATAL_FAILURE(expect_prefix(&after, &txns, durable));
  }
}

TEST(TiersCrashTest, database_is_a_prefix_that_holds_every_acknowledged_transaction) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    run_seed(seed);
    if (HasFailure()) return;
  }
}

// Goal: what a glean writes to both tiers, and moves behind it, loses nothing of the snapshots that
// are there. Method: power fails at each of its calls.
TEST(TiersCrashTest, a_power_failure_at_any_call_of_a_glean_loses_nothing) {
  SpreadDisk prepared;
  std::vector<ModelTxn> written;
  {
    const auto device = prepared.open_tiered(limits_of(1));
    Life life(device.get(), 3);
    must(life.open(2));
    for (int glean = 0; glean < 2; ++glean) {
      write(&life, &written, 40);
      must(life.glean());
    }
    EXPECT_GT(device->fill().moved_bytes, 0u);
    write(&life, &written, 30);
  }
  prepared.crash_power(FailingDevice::kDropAll);
  std::uint64_t points = 0;
  for (bool reached_end = false; !reached_end; ++points) {
    SCOPED_TRACE("call " + std::to_string(points));
    std::vector<ModelTxn> txns = written;
    const auto disk = prepared.copy();
    {
      const auto device = disk->open_tiered(limits_of(points));
      Life life(device.get(), 8);
      must(life.open(2));
      write(&life, &txns, 10);
      disk->lose_power_after(points);
      static_cast<void>(life.glean().is_ok());
      reached_end = !disk->has_lost_power();
    }
    disk->crash_power(how_to_crash(points));
    const auto device = disk->open_tiered(limits_of(points + 1));
    Life life(device.get(), 9);
    const Status opened = life.open(1 + points % 3);
    ASSERT_TRUE(opened.is_ok()) << opened.message();
    ASSERT_EQ(difference(life.read(), model_of(txns)), "");
    must(life.glean());
    ASSERT_EQ(difference(life.read(), model_of(txns)), "");
  }
  EXPECT_GT(points, 30u);
}

}  // namespace
}  // namespace foedus
