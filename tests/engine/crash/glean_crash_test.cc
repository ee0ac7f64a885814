// ctest-labels: memory
// ctest-timeout: 300
// Power failures at every call to the device while a snapshot is made and installed and the log is
// cut, and while a recovery does so: the next open finds exactly the durable transactions.
#include "foedus-core/snapshot/files/orphaned_files.h"
#include "tests/engine/crash/crash_steps.h"

namespace foedus::glean_crash_test {
namespace {

using testing::difference;
using testing::FailingDevice;
using testing::Life;
using testing::Model;
using testing::model_of;
using testing::ModelTxn;

// A value of touch_bytes with which recovery makes the snapshot itself, however long the log.
constexpr std::uint64_t kAny = ~std::uint64_t{0};

class GleanCrashTest : public ::testing::Test {
 protected:
  void write(Life* life, int transactions) { testing::write(life, &txns_, transactions); }
  // Makes a device with a snapshot and `after` transactions in the log after it; the life ends
  // without a close.
  void prepare(FailingDevice* device, int after, std::uint64_t seed = 5) {
    txns_.clear();
    Life life(device, seed);
    testing::must(life.open(1 + seed % 3));
    write(&life, 60);
    testing::must(life.glean());
    write(&life, after);
    device->crash_power(FailingDevice::kDropAll);
  }
  // Crashes `device`, opens it again and checks that all transactions are there.
  void expect_all(FailingDevice* device, std::uint64_t how) {
    device->crash_power(how);
    Life life(device, 9);
    const Status opened = life.open(1 + how % 3);
    ASSERT_TRUE(opened.is_ok()) << opened.message();
    ASSERT_EQ(difference(life.read(), model_of(txns_)), "");
    // The recovered state can be gleaned and read again.
    testing::must(life.glean());
    ASSERT_EQ(difference(life.read(), model_of(txns_)), "");
  }
  static std::vector<std::string> manifests_of(const FailingDevice& device) {
    std::vector<std::string> names = device.names();
    std::erase_if(names, [](const std::string& name) { return !name.starts_with("manifest"); });
    return names;
  }
  static std::uint64_t how(std::uint64_t n) { return testing::how_to_crash(n); }

  std::vector<ModelTxn> txns_;
};

TEST_F(GleanCrashTest, a_power_failure_at_any_call_of_a_glean_loses_nothing) {
  std::uint64_t points_of_all = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    FailingDevice prepared;
    prepare(&prepared, static_cast<int>(seed * 10), seed);
    const std::vector<ModelTxn> before = txns_;
    std::uint64_t points = 0;
    for (bool reached_end = false; !reached_end; ++points) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", call " + std::to_string(points));
      txns_ = before;
      const auto device = prepared.copy();
      {
        Life life(device.get(), seed + 7);
        testing::must(life.open(2));
        write(&life, 10);
        device->lose_power_after(points);
        static_cast<void>(life.glean().is_ok());
        reached_end = !device->has_lost_power();
      }
      expect_all(device.get(), how(points));
      if (HasFatalFailure()) return;
    }
    points_of_all += points;
  }
  std::printf("%llu points\n", static_cast<unsigned long long>(points_of_all));
  EXPECT_GT(points_of_all, 100u);
}

TEST_F(GleanCrashTest, a_power_failure_at_any_call_of_a_recovery_loses_nothing) {
  std::uint64_t points_of_all = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    FailingDevice prepared;
    prepare(&prepared, static_cast<int>(seed * 10), seed);
    std::uint64_t points = 0;
    for (bool reached_end = false; !reached_end; ++points) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", call " + std::to_string(points));
      const auto device = prepared.copy();
      {
        Life life(device.get(), seed + 7);
        life.set_touch_bytes(kAny);  // of recovery, and not of a later glean
        device->lose_power_after(points);
        static_cast<void>(life.open(2).is_ok());
        reached_end = !device->has_lost_power();
      }
      expect_all(device.get(), how(points));
      if (HasFatalFailure()) return;
    }
    points_of_all += points;
  }
  std::printf("%llu points\n", static_cast<unsigned long long>(points_of_all));
  EXPECT_GT(points_of_all, 200u);
}

// Goal: no segment waits for a snapshot to cover records that a crash cut off. Method: power fails
// at any call, and all writes survive, so the segment of one logger may be ahead of the other's
// mark. Opens without new commits add no segments.
TEST_F(GleanCrashTest, opens_behind_a_crash_leave_no_segments_behind) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    FailingDevice device;
    txns_.clear();
    {
      Life life(&device, seed);
      testing::must(life.open(2));
      write(&life, 20);
      device.lose_power_after(seed);
      for (std::uint64_t i = 20; !device.has_lost_power(); ++i) {
        ModelTxn change;
        Ticket ticket;
        if (!life.step(i, &change, &ticket).is_ok()) break;
        life.run_for(300);
      }
    }
    device.crash_power(FailingDevice::kKeepAll);
    std::ptrdiff_t segments = 0;
    for (int i = 0; i < 5; ++i) {
      Life life(&device, seed);
      life.set_touch_bytes(kAny);  // a log whose rows wait stays until it is gleaned
      testing::must(life.open(2));
      testing::must(life.close());
      const std::vector<std::string> names = device.names();
      segments = std::count_if(names.begin(), names.end(),
                               [](const std::string& name) { return name.starts_with("log-"); });
    }
    EXPECT_LE(segments, 2);
  }
}

// The process dies in a glean, the database is opened, and then power fails. The open must make the
// remains in the system's cache durable before it relies on them, above all the manifest's name.
TEST_F(GleanCrashTest, a_process_that_dies_in_a_glean_and_a_power_failure_later_lose_nothing) {
  FailingDevice prepared;
  prepare(&prepared, 30, 3);
  const std::vector<ModelTxn> before = txns_;
  std::uint64_t point = 0;
  for (bool reached_end = false; !reached_end; ++point) {
    SCOPED_TRACE("call " + std::to_string(point));
    txns_ = before;
    const auto device = prepared.copy();
    {
      Life life(device.get(), 11);
      testing::must(life.open(2));
      write(&life, 10);
      device->lose_power_after(point);
      static_cast<void>(life.glean().is_ok());
      reached_end = !device->has_lost_power();
    }
    device->crash_process();
    {
      Life life(device.get(), 12);
      testing::must(life.open(2));
      ASSERT_EQ(difference(life.read(), model_of(txns_)), "");
    }
    expect_all(device.get(), FailingDevice::kDropAll);
    if (HasFatalFailure()) return;
  }
}

// The process dies with its manifest's new name in the system's cache only, and power fails while
// the database is opened again: some names survive, some do not. No old file may be removed because
// of a new name that can still be lost.
TEST_F(GleanCrashTest, a_name_that_only_the_system_holds_replaces_none_that_the_device_has) {
#if defined(__SANITIZE_ADDRESS__)
  constexpr std::uint64_t kWays = 4;  // in which names survive, for each pair of calls
#else
  constexpr std::uint64_t kWays = 12;
#endif
  FailingDevice prepared;
  prepare(&prepared, 30, 3);
  const std::vector<ModelTxn> before = txns_;
  std::uint64_t points = 0;
  bool reached_end = false;
  for (std::uint64_t death = 0; !reached_end; ++death) {
    txns_ = before;
    const auto device = prepared.copy();
    {
      Life life(device.get(), 11);
      testing::must(life.open(2));
      write(&life, 10);
      device->lose_power_after(death);
      static_cast<void>(life.glean().is_ok());
      reached_end = !device->has_lost_power();
    }
    device->crash_process();
    if (manifests_of(*device) == manifests_of(*device->synced_copy())) continue;
    bool is_open = false;
    for (std::uint64_t call = 0; !is_open; ++call) {
      const auto second = device->copy();
      {
        Life life(second.get(), 12);
        second->lose_power_after(call);
        static_cast<void>(life.open(2).is_ok());
        is_open = !second->has_lost_power();
      }
      for (std::uint64_t how = 1; how <= kWays; ++how) {
        SCOPED_TRACE("dies at call " + std::to_string(death) + ", power fails at " +
                     std::to_string(call) + " of open, seed " + std::to_string(how));
        expect_all(second->copy().get(), how);
        if (HasFatalFailure()) return;
        ++points;
      }
    }
  }
  EXPECT_GT(points, 100u);
}

// The directory cannot be synced after the manifest's new name. The next glean finds the manifest
// and cuts the log because of it: a requested glean, or one by time that has no new log, as no
// epoch has ended since.
TEST_F(GleanCrashTest, a_manifest_of_unknown_durability_is_made_durable_before_the_log_is_cut) {
  FailingDevice prepared;
  prepare(&prepared, 30, 4);
  const std::vector<ModelTxn> before = txns_;
  for (std::uint64_t n = 0; n < 12; ++n) {
    const std::uint64_t skip = n / 2;
    const bool by_time = n % 2 == 0;
    SCOPED_TRACE("sync of the directory " + std::to_string(skip) + (by_time ? ", by time" : ""));
    txns_ = before;
    const auto device = prepared.copy();
    {
      Life life(device.get(), 13);
      testing::must(life.open(2));
      write(&life, 10);
      device->fail(testing::Call::kSyncDirectory, skip, 5);
      static_cast<void>(life.glean().is_ok());
      device->clear_faults();
      if (by_time) {
        life.runtime().starve("foedus-clock");
        life.run_for(3 * GleanOptions().interval_us);
        device->lose_power_after(0);
        life.runtime().starve("");
      } else {
        static_cast<void>(life.glean().is_ok());
      }
    }
    expect_all(device.get(), FailingDevice::kDropAll);
    if (HasFatalFailure()) return;
  }
}

// An error of the device during a glean is reported, unless the log did not need the call; the
// database goes on, and the next glean succeeds.
TEST_F(GleanCrashTest, a_glean_that_fails_is_reported_and_the_next_one_succeeds) {
  using testing::Call;
  FailingDevice prepared;
  prepare(&prepared, 40);
  const std::vector<ModelTxn> before = txns_;
  std::uint64_t failures = 0;
  for (const Call call : {Call::kCreate, Call::kWrite, Call::kSync, Call::kRename,
                          Call::kSyncDirectory, Call::kRead, Call::kOpen, Call::kList}) {
    for (std::uint64_t skip = 0; skip < 8; ++skip) {
      SCOPED_TRACE("call " + std::to_string(static_cast<int>(call)) + " after " +
                   std::to_string(skip));
      txns_ = before;
      const auto device = prepared.copy();
      Life life(device.get(), 7);
      testing::must(life.open(2));
      write(&life, 3);
      device->fail(call, skip, 5);
      const Status failed = life.glean();
      device->clear_faults();
      EXPECT_TRUE(failed.is_ok() || failed.code() == ErrorCode::kIoError) << failed.message();
      failures += failed.is_ok() ? 0 : 1;
      ASSERT_EQ(difference(life.read(), model_of(txns_)), "");
      const Status again = life.glean();
      ASSERT_TRUE(again.is_ok()) << again.message();
      ASSERT_EQ(difference(life.read(), model_of(txns_)), "");
    }
  }
  EXPECT_GT(failures, 15u);
}

// Goal: a glean that finds the device full gives the space that it took back to the log. Method:
// tries with more and more free space, until there is enough.
TEST_F(GleanCrashTest, a_glean_that_finds_no_room_gives_back_what_it_took) {
  FailingDevice prepared;
  prepare(&prepared, 40);
  const std::vector<ModelTxn> before = txns_;
  std::uint64_t refused = 0;
  for (std::uint64_t capacity = 2176u << 10;; capacity += 4u << 10) {
    SCOPED_TRACE(capacity);
    txns_ = before;
    const auto device = prepared.copy();
    Life life(device.get(), 7);
    testing::must(life.open(2));
    write(&life, 3);
    device->set_capacity(capacity);
    const Status status = life.glean();
    if (status.is_ok()) break;
    ASSERT_EQ(status.code(), ErrorCode::kOutOfSpace) << status.message();
    ++refused;
    EXPECT_EQ(testing::must(snapshot::find_orphaned_files(device.get())),
              std::vector<std::string>());
    device->set_capacity(FailingDevice::kUnlimited);
    ASSERT_EQ(difference(life.read(), model_of(txns_)), "");
  }
  EXPECT_GT(refused, 5u);
}

// Goal: close() makes a last snapshot, cuts the log for it and removes older snapshots; a crash at
// any call of that loses nothing.
TEST_F(GleanCrashTest, a_power_failure_at_any_call_of_close_loses_nothing) {
  std::uint64_t points_of_all = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    FailingDevice prepared;
    prepare(&prepared, static_cast<int>(seed * 10), seed);
    const std::vector<ModelTxn> before = txns_;
    std::uint64_t points = 0;
    for (bool reached_end = false; !reached_end; ++points) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", call " + std::to_string(points));
      txns_ = before;
      const auto device = prepared.copy();
      {
        Life life(device.get(), seed + 7);
        life.set_close_us(60'000'000);
        testing::must(life.open(2));
        write(&life, 10);
        device->lose_power_after(points);
        static_cast<void>(life.close().is_ok());
        reached_end = !device->has_lost_power();
      }
      expect_all(device.get(), how(points));
      if (HasFatalFailure()) return;
    }
    points_of_all += points;
  }
  std::printf("%llu points\n", static_cast<unsigned long long>(points_of_all));
  EXPECT_GT(points_of_all, 80u);
}

// Goal: open() on a full device makes the snapshot of the log's tail in the space of older
// snapshots and of covered log, and a crash at any call of that loses nothing. Method: the device
// has no free space, but two snapshots and a tail after them.
TEST_F(GleanCrashTest, open_on_a_full_device_gives_up_older_snapshots_and_loses_nothing) {
  FailingDevice prepared;
  {
    Life life(&prepared, 5);
    life.set_touch_bytes(kAny);
    testing::must(life.open(1));
    for (int glean = 0; glean < 2; ++glean) {
      write(&life, 300);
      testing::must(life.glean());
    }
    write(&life, 4);
    prepared.crash_power(FailingDevice::kKeepAll);
  }
  ASSERT_EQ(manifests_of(prepared).size(), 2u);
  const std::uint64_t grown_ahead = (1u << 20) - (16u << 10);  // by a segment of 1 MiB
  std::uint64_t points = 0;
  for (bool reached_end = false; !reached_end; ++points) {
    SCOPED_TRACE("call " + std::to_string(points));
    const auto device = prepared.copy();
    device->set_capacity(device->used_bytes() - grown_ahead);
    {
      Life life(device.get(), 7);
      life.set_touch_bytes(kAny);  // its snapshot would come later
      device->lose_power_after(points);
      const Status opened = life.open(1);
      reached_end = !device->has_lost_power();
      if (reached_end) {
        ASSERT_TRUE(opened.is_ok()) << opened.message();
        ASSERT_EQ(difference(life.read(), model_of(txns_)), "");
      }
    }
    device->set_capacity(FailingDevice::kUnlimited);
    expect_all(device.get(), how(points));
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(points, 20u);
}

}  // namespace
}  // namespace foedus::glean_crash_test
