// ctest-labels: memory
// ctest-timeout: 300
// Power failures of a database whose files lie in several directories, at any call to any of them,
// over simulated devices and one thread: it comes back as after some transaction that is no older
// than the last one reported durable, in whatever order the directories are named, and with any
// number of loggers.
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

void run_seed(std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  SpreadDisk disk;
  base::Random random(seed);
  std::vector<ModelTxn> txns;
  for (int crash = 0; crash < 4; ++crash) {
    SCOPED_TRACE("crash " + std::to_string(crash));
    std::size_t durable = 0;
    {
      const auto device = disk.open(random.below(2) == 0, random.next());
      Life life(device.get(), random.next());
      life.set_loggers(static_cast<std::uint32_t>(random.below(4)));
      if (random.below(3) == 0) disk.lose_power_after(random.below(100));
      durable = change_until_power_fails(&life, disk, 10, &random, &txns,
                                         [&] { disk.lose_power_after(random.below(300)); });
    }
    const std::uint64_t how = random.below(4);
    disk.crash_power(how == 0   ? FailingDevice::kDropAll
                     : how == 1 ? FailingDevice::kKeepAll
                                : random.next());
    const auto device = disk.open(random.below(2) == 0, random.next());
    Life after(device.get(), random.next());
    after.set_loggers(static_cast<std::uint32_t>(random.below(4)));
    ASSERT_NO_FATAL_FAILURE(expect_prefix(&after, &txns, durable));
  }
}

TEST(SpreadCrashTest, database_is_a_prefix_that_holds_every_acknowledged_transaction) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    run_seed(seed);
    if (HasFailure()) return;
  }
}

// Two loggers and two directories, with a database of so many transactions, closed by a crash.
struct Prepared {
  explicit Prepared(int before_glean, int behind_it) {
    const auto device = disk.open();
    Life life(device.get(), 3);
    must(life.open(2));
    write(&life, &txns, before_glean);
    if (behind_it > 0) must(life.glean());
    write(&life, &txns, behind_it);
  }

  SpreadDisk disk;
  std::vector<ModelTxn> txns;
};

// Goal: segments, snapshot files and runs of two directories count only once all are durable.
// Method: power fails at each call of a glean that makes a snapshot of both and cuts the log.
TEST(SpreadGleanCrashTest, a_power_failure_at_any_call_of_a_glean_loses_nothing) {
  Prepared prepared(60, 30);
  prepared.disk.crash_power(FailingDevice::kDropAll);
  std::uint64_t points = 0;
  for (bool reached_end = false; !reached_end; ++points) {
    SCOPED_TRACE("call " + std::to_string(points));
    std::vector<ModelTxn> txns = prepared.txns;
    const auto disk = prepared.disk.copy();
    {
      const auto device = disk->open();
      Life life(device.get(), 8);
      must(life.open(2));
      write(&life, &txns, 10);
      disk->lose_power_after(points);
      static_cast<void>(life.glean().is_ok());
      reached_end = !disk->has_lost_power();
    }
    disk->crash_power(how_to_crash(points));
    const auto device = disk->open(points % 2 == 0);
    Life life(device.get(), 9);
    const Status opened = life.open(1 + points % 3);
    ASSERT_TRUE(opened.is_ok()) << opened.message();
    ASSERT_EQ(difference(life.read(), model_of(txns)), "");
    must(life.glean());
    ASSERT_EQ(difference(life.read(), model_of(txns)), "");
  }
  EXPECT_GT(points, 20u);
}

// Leftovers of a glean that a crash cut short are removed from where they lie, and nothing of an
// older snapshot or of the log stays in any directory.
TEST(SpreadGleanCrashTest, leftovers_go_from_all_directories) {
  Prepared prepared(60, 0);
  SpreadDisk& disk = prepared.disk;
  disk.crash_power(FailingDevice::kDropAll);
  for (auto* const place : {&disk.a(), &disk.b()}) {
    const std::string soc = place == &disk.a() ? "0" : "1";
    for (const std::string& name :
         {"snapshot-00000009-" + soc, "run-00000009-" + soc + "-0", "log-" + soc + "-00000077"}) {
      must(must(place->open(name, device::Access::kCreate))->sync());
    }
    must(place->sync_directory());
  }
  const auto device = disk.open(true);
  Life life(device.get(), 4);
  must(life.open(2));
  must(life.glean());
  ASSERT_EQ(difference(life.read(), model_of(prepared.txns)), "");
  for (const std::string& name : must(device->list())) {
    EXPECT_FALSE(name.starts_with("snapshot-00000009") || name.starts_with("run-") ||
                 name.ends_with("-00000077"))
        << name;
  }
}

// A full directory of one SOC is a full device: commits wait to be durable and go on.
TEST(SpreadGleanCrashTest, a_full_directory_is_waited_out) {
  SpreadDisk disk;
  const auto device = disk.open();
  Life life(device.get(), 3);
  must(life.open(2));
  std::vector<ModelTxn> txns;
  write(&life, &txns, 5);
  for (const auto& one : disk.disks()) one->set_capacity(one->used_bytes());
  bool is_full = false;
  for (int i = 0; i < 2000 && !is_full; ++i) {
    ModelTxn change;
    Ticket ticket;
    const Status done = life.step(txns.size(), &change, &ticket);
    if (!done.is_ok()) {
      EXPECT_EQ(done.code(), ErrorCode::kOutOfSpace) << done.message();
      is_full = true;
      continue;
    }
    txns.push_back(std::move(change));
    const Status durable = ticket.wait_durable(1'000'000);
    is_full = durable.code() == ErrorCode::kOutOfSpace;
    EXPECT_TRUE(durable.is_ok() || is_full) << durable.message();
  }
  EXPECT_TRUE(is_full);
  for (const auto& one : disk.disks()) one->set_capacity(FailingDevice::kUnlimited);
  life.run_for(1'000'000);
  write(&life, &txns, 10);
  ASSERT_EQ(difference(life.read(), model_of(txns)), "");
}

}  // namespace
}  // namespace foedus
