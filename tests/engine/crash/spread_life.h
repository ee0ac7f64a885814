#pragma once
// Power failures of a database whose files lie in several directories, over simulated devices and
// one thread. A test supplies the function that opens the directories as one device.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/engine/crash/crash_steps.h"
#include "tests/testing/spread_disk.h"

namespace foedus::testing {

// Runs four lives that power failures at random calls end. The database comes back as after some
// transaction that is no older than the last one reported durable. `open` gets the disk and a
// random generator. A glean follows one of `steps_per_glean` transactions.
template <typename Open>
void run_spread_lives(std::uint64_t seed, std::uint64_t steps_per_glean, Open open) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  SpreadDisk disk;
  base::Random random(seed);
  std::vector<ModelTxn> txns;
  for (int crash = 0; crash < 4; ++crash) {
    SCOPED_TRACE("crash " + std::to_string(crash));
    std::size_t durable = 0;
    {
      const auto device = open(&disk, &random);
      Life life(device.get(), random.next());
      life.set_loggers(static_cast<std::uint32_t>(random.below(4)));
      if (random.below(3) == 0) disk.lose_power_after(random.below(100));
      durable = change_until_power_fails(&life, disk, steps_per_glean, &random, &txns,
                                         [&] { disk.lose_power_after(random.below(300)); });
    }
    const std::uint64_t how = random.below(4);
    disk.crash_power(how == 0   ? FailingDevice::kDropAll
                     : how == 1 ? FailingDevice::kKeepAll
                                : random.next());
    const auto device = open(&disk, &random);
    Life after(device.get(), random.next());
    after.set_loggers(static_cast<std::uint32_t>(random.below(4)));
    ASSERT_NO_FATAL_FAILURE(expect_prefix(&after, &txns, durable));
  }
}

// Lets power fail at each call of a glean of the database on `prepared`, which is as after
// `written`, and checks that no commit is lost. `open` gets the disk, the number of the call, and
// whether that is still to come. Returns the number of calls.
template <typename Open>
std::uint64_t cut_glean_at_each_call(const SpreadDisk& prepared,
                                     const std::vector<ModelTxn>& written, Open open) {
  std::uint64_t points = 0;
  for (bool reached_end = false; !reached_end && !::testing::Test::HasFailure(); ++points) {
    SCOPED_TRACE("call " + std::to_string(points));
    std::vector<ModelTxn> txns = written;
    const auto disk = prepared.copy();
    {
      const auto device = open(disk.get(), points, true);
      Life life(device.get(), 8);
      must(life.open(2));
      write(&life, &txns, 10);
      disk->lose_power_after(points);
      static_cast<void>(life.glean().is_ok());
      reached_end = !disk->has_lost_power();
    }
    disk->crash_power(how_to_crash(points));
    const auto device = open(disk.get(), points, false);
    Life life(device.get(), 9);
    const Status opened = life.open(1 + points % 3);
    EXPECT_TRUE(opened.is_ok()) << opened.message();
    if (!opened.is_ok()) break;
    EXPECT_EQ(difference(life.read(), model_of(txns)), "");
    must(life.glean());
    EXPECT_EQ(difference(life.read(), model_of(txns)), "");
  }
  return points;
}

}  // namespace foedus::testing
