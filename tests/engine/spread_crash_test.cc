// ctest-labels: memory
// ctest-timeout: 300
// Power failures of a database whose files lie in several directories, at any call to any of them,
// over simulated devices and one thread: it comes back as after some transaction that is no older
// than the last one reported durable, in whatever order the directories are named, and with any
// number of loggers.
#include "tests/engine/crash_life.h"
#include "tests/testing/spread_disk.h"

namespace foedus {
namespace {

using testing::difference;
using testing::FailingDevice;
using testing::Life;
using testing::Model;
using testing::model_of;
using testing::ModelTxn;
using testing::must;
using testing::SpreadDisk;

void run_seed(std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  SpreadDisk disk;
  base::Random random(seed);
  std::vector<ModelTxn> txns;
  for (int crash = 0; crash < 4; ++crash) {
    std::size_t acknowledged = txns.size();
    {
      std::vector<Epoch> epochs(txns.size(), Epoch(0));
      const auto device = disk.open(random.below(2) == 0, random.next());
      Life life(device.get(), random.next());
      life.set_loggers(static_cast<std::uint32_t>(random.below(4)));
      if (random.below(3) == 0) disk.lose_power_after(random.below(100));
      if (life.open().is_ok()) {
        EXPECT_EQ(difference(life.read(), model_of(txns)), "") << "after crash " << crash;
        if (!disk.has_lost_power()) disk.lose_power_after(random.below(300));
        for (int i = 0; i < 60 && !disk.has_lost_power(); ++i) {
          ModelTxn change;
          Ticket ticket;
          if (!life.step(txns.size(), &change, &ticket).is_ok()) break;
          txns.push_back(std::move(change));
          epochs.push_back(ticket.epoch());
          if (random.below(3) == 0) life.run_for(random.below(3000));
          if (random.below(10) == 0) static_cast<void>(life.glean().is_ok());
          while (acknowledged < epochs.size() && epochs[acknowledged] <= life.durable()) {
            ++acknowledged;
          }
        }
      }
    }
    const std::uint64_t how = random.below(4);
    disk.crash_power(how == 0   ? FailingDevice::kDropAll
                     : how == 1 ? FailingDevice::kKeepAll
                                : random.next());
    const auto device = disk.open(random.below(2) == 0, random.next());
    Life after(device.get(), random.next());
    after.set_loggers(static_cast<std::uint32_t>(random.below(4)));
    const Status opened = after.open();
    ASSERT_TRUE(opened.is_ok()) << opened.message();
    const Model found = after.read();
    std::size_t kept = 0;
    for (const std::string& entry : found.log) kept += entry.starts_with("end of ") ? 1 : 0;
    EXPECT_GE(kept, acknowledged) << "an acknowledged transaction was lost";
    ASSERT_LE(kept, txns.size());
    txns.resize(kept);
    ASSERT_EQ(difference(found, model_of(txns)), "") << "not the state after transaction " << kept;
  }
}

TEST(SpreadCrashTest, database_is_a_prefix_that_holds_every_acknowledged_transaction) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    run_seed(seed);
    if (HasFailure()) return;
  }
}

class SpreadGleanCrashTest : public ::testing::Test {
 protected:
  void write(Life* life, int transactions) {
    for (int i = 0; i < transactions; ++i) {
      ModelTxn change;
      Ticket ticket;
      must(life->step(txns_.size(), &change, &ticket));
      txns_.push_back(std::move(change));
      if (i + 1 == transactions) must(ticket.wait_durable());
    }
  }
  std::vector<ModelTxn> txns_;
};

// Goal: segments, snapshot files and runs of two directories count only once all are durable.
// Method: power fails at each call of a glean that makes a snapshot of both and cuts the log.
TEST_F(SpreadGleanCrashTest, a_power_failure_at_any_call_of_a_glean_loses_nothing) {
  SpreadDisk prepared;
  {
    const auto device = prepared.open();
    Life life(device.get(), 3);
    must(life.open(2));
    write(&life, 60);
    must(life.glean());
    write(&life, 30);
  }
  prepared.crash_power(FailingDevice::kDropAll);
  const std::vector<ModelTxn> before = txns_;
  std::uint64_t points = 0;
  for (bool reached_end = false; !reached_end; ++points) {
    SCOPED_TRACE("call " + std::to_string(points));
    txns_ = before;
    const auto disk = prepared.copy();
    {
      const auto device = disk->open();
      Life life(device.get(), 8);
      must(life.open(2));
      write(&life, 10);
      disk->lose_power_after(points);
      static_cast<void>(life.glean().is_ok());
      reached_end = !disk->has_lost_power();
    }
    disk->crash_power(points % 3 == 0   ? FailingDevice::kDropAll
                      : points % 3 == 1 ? FailingDevice::kKeepAll
                                        : points);
    const auto device = disk->open(points % 2 == 0);
    Life life(device.get(), 9);
    const Status opened = life.open(1 + points % 3);
    ASSERT_TRUE(opened.is_ok()) << opened.message();
    ASSERT_EQ(difference(life.read(), model_of(txns_)), "");
    must(life.glean());
    ASSERT_EQ(difference(life.read(), model_of(txns_)), "");
  }
  EXPECT_GT(points, 20u);
}

// Leftovers of a glean that a crash cut short are removed from where they lie, and nothing of an
// older snapshot or of the log stays in any directory.
TEST_F(SpreadGleanCrashTest, leftovers_go_from_all_directories) {
  SpreadDisk disk;
  {
    const auto device = disk.open();
    Life life(device.get(), 3);
    must(life.open(2));
    write(&life, 60);
  }
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
  ASSERT_EQ(difference(life.read(), model_of(txns_)), "");
  for (const std::string& name : must(device->list())) {
    EXPECT_FALSE(name.starts_with("snapshot-00000009") || name.starts_with("run-") ||
                 name.ends_with("-00000077"))
        << name;
  }
}

// A full directory of one SOC is a full device: commits wait to be durable and go on.
TEST_F(SpreadGleanCrashTest, a_full_directory_is_waited_out) {
  SpreadDisk disk;
  const auto device = disk.open();
  Life life(device.get(), 3);
  must(life.open(2));
  write(&life, 5);
  for (const auto& one : disk.disks()) one->set_capacity(one->used_bytes());
  bool is_full = false;
  for (int i = 0; i < 2000 && !is_full; ++i) {
    ModelTxn change;
    Ticket ticket;
    const Status done = life.step(txns_.size(), &change, &ticket);
    if (!done.is_ok()) {
      EXPECT_EQ(done.code(), ErrorCode::kOutOfSpace) << done.message();
      is_full = true;
      continue;
    }
    txns_.push_back(std::move(change));
    const Status durable = ticket.wait_durable(1'000'000);
    is_full = durable.code() == ErrorCode::kOutOfSpace;
    EXPECT_TRUE(durable.is_ok() || is_full) << durable.message();
  }
  EXPECT_TRUE(is_full);
  for (const auto& one : disk.disks()) one->set_capacity(FailingDevice::kUnlimited);
  life.run_for(1'000'000);
  write(&life, 10);
  ASSERT_EQ(difference(life.read(), model_of(txns_)), "");
}

}  // namespace
}  // namespace foedus
