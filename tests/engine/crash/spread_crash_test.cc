// ctest-labels: memory
// ctest-timeout: 300
// Power failures of a database whose files lie in several directories, at any call to any of them,
// over simulated devices and one thread. The database comes back as after some transaction that is
// no older than the last one reported durable, in whatever order the directories are named, and
// with any number of loggers.
#include "tests/engine/crash/spread_life.h"

namespace foedus::spread_crash_test {
namespace {

using testing::difference;
using testing::FailingDevice;
using testing::Life;
using testing::model_of;
using testing::ModelTxn;
using testing::must;
using testing::SpreadDisk;
using testing::write;

TEST(SpreadCrashTest, database_is_a_prefix_that_holds_every_acknowledged_transaction) {
  for (std::uint64_t seed = 1; seed <= 150 && !HasFailure(); ++seed) {
    testing::run_spread_lives(seed, 10, [](SpreadDisk* disk, base::Random* random) {
      const bool is_turned = random->below(2) == 0;
      return disk->open(is_turned, random->next());
    });
  }
}

// A database of two loggers and two directories that a crash has ended.
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
  const auto open = [](SpreadDisk* disk, std::uint64_t point, bool is_before) {
    return disk->open(!is_before && point % 2 == 0);
  };
  EXPECT_GT(testing::cut_glean_at_each_call(prepared.disk, prepared.txns, open), 20u);
}

// Orphaned files of a glean that a crash cut short are removed from all directories, and no file of
// an older snapshot or of covered log stays in any of them.
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

// A full directory of one SOC counts as a full device: commits wait to become durable and go on.
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
}  // namespace foedus::spread_crash_test
