// ctest-labels: crash
// ctest-timeout: 300
// Power failures at every call to the device while a database that was opened for its snapshots
// recovers, and while they are read. The next open finds exactly the durable transactions, and each
// read finds the state of one snapshot.
#include <cstddef>
#include <cstring>

#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/snapshot/files/format.h"
#include "foedus-core/snapshot/files/manifest_format.h"
#include "tests/engine/crash/crash_steps.h"

namespace foedus::early_open_crash_test {
namespace {

using testing::difference;
using testing::FailingDevice;
using testing::Life;
using testing::Model;
using testing::model_of;
using testing::ModelTxn;
using testing::must;

// A device with two snapshots and a log after them.
struct Prepared {
  explicit Prepared(std::uint64_t seed) {
    Life life(&device, seed);
    must(life.open(1 + seed % 3));
    write(&life, 60);
    must(life.glean());
    write(&life, 20);
    must(life.glean());
    at_snapshot = txns.size();
    write(&life, static_cast<int>(seed) * 10);
    device.crash_power(FailingDevice::kDropAll);
  }
  void write(Life* life, int transactions) { testing::write(life, &txns, transactions); }

  FailingDevice device;
  std::vector<ModelTxn> txns;
  std::size_t at_snapshot = 0;  // the newest
};

// Reads at every sync point of recovery, by the thread that recovers, in a snapshot transaction.
struct Reader {
  Life* life = nullptr;
  const Model* before = nullptr;
  const Model* after = nullptr;
  std::uint64_t reads_before = 0;
  std::uint64_t reads_after = 0;
  std::uint64_t errors = 0;

  void read() {
    const Result<Model> found = life->read_as(Isolation::kSnapshot);
    if (!found.is_ok()) {
      ++errors;
      return;
    }
    const bool is_after = difference(*found, *after).empty();
    ASSERT_TRUE(is_after || difference(*found, *before).empty());
    ASSERT_FALSE(!is_after && reads_after != 0) << "a read went back";
    ++(is_after ? reads_after : reads_before);
  }
};
Reader* reader = nullptr;

void read_at(const char* place) {
  const bool is_of_recovery = std::string_view(place).starts_with("recovery:");
  if (reader != nullptr && is_of_recovery) reader->read();
}

class EarlyOpenCrashTest : public ::testing::Test {
 protected:
  EarlyOpenCrashTest() { base::set_sync_point_hook(read_at); }
  ~EarlyOpenCrashTest() override {
    reader = nullptr;
    base::set_sync_point_hook(nullptr);
  }

  // Opens for snapshots, reads, recovers, reads.
  Status recover(Life* life, Reader* reads) {
    FOEDUS_CHECK(life->open(2, OpenUntil::kSnapshotReadable));
    reads->life = life;
    reads->read();
    reader = reads;
    Status status = life->engine().wait_recovered(base::Runtime::kForever);
    reader = nullptr;
    reads->read();
    return status;
  }
  void expect_all(FailingDevice* device, const Model& model, std::uint64_t socs) {
    Life life(device, 9);
    const Status opened = life.open(static_cast<std::uint32_t>(socs));
    ASSERT_TRUE(opened.is_ok()) << opened.message();
    ASSERT_EQ(difference(life.read(), model), "");
    must(life.glean());
    ASSERT_EQ(difference(life.read(), model), "");
  }
};

TEST_F(EarlyOpenCrashTest, a_power_failure_at_any_call_loses_nothing_and_no_read_is_wrong) {
  std::uint64_t points_of_all = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const Prepared prepared(seed);
    const Model after = model_of(prepared.txns);
    const Model before =
        model_of({prepared.txns.begin(),
                  prepared.txns.begin() + static_cast<std::ptrdiff_t>(prepared.at_snapshot)});
    std::uint64_t points = 0;
    for (bool reached_end = false; !reached_end; ++points) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", call " + std::to_string(points));
      const auto device = prepared.device.copy();
      Reader reads{.before = &before, .after = &after};
      {
        Life life(device.get(), seed + 7);
        device->lose_power_after(points);
        const Status recovered = recover(&life, &reads);
        reached_end = !device->has_lost_power();
        ASSERT_TRUE(recovered.is_ok() || device->has_lost_power()) << recovered.message();
        ASSERT_TRUE(reads.errors == 0 || device->has_lost_power());
      }
      if (reached_end) {
        ASSERT_GT(reads.reads_before, 2u);
        ASSERT_GT(reads.reads_after, 2u);
      }
      device->crash_power(points % 3 == 0   ? FailingDevice::kDropAll
                          : points % 3 == 1 ? FailingDevice::kKeepAll
                                            : points);
      expect_all(device.get(), after, 1 + points % 3);
      if (HasFatalFailure()) return;
    }
    points_of_all += points;
  }
  std::printf("%llu points\n", static_cast<unsigned long long>(points_of_all));
  EXPECT_GT(points_of_all, 200u);
}

// The process dies at any call, twice in succession, before power fails.
TEST_F(EarlyOpenCrashTest, recoveries_that_end_early_one_after_the_other_lose_nothing) {
  const Prepared prepared(4);
  const Model after = model_of(prepared.txns);
  const Model before =
      model_of({prepared.txns.begin(),
                prepared.txns.begin() + static_cast<std::ptrdiff_t>(prepared.at_snapshot)});
  std::uint64_t point = 0;
  for (bool reached_end = false; !reached_end; point += 3) {
    SCOPED_TRACE("call " + std::to_string(point));
    const auto device = prepared.device.copy();
    for (int round = 0; round < 2; ++round) {
      Reader reads{.before = &before, .after = &after};
      Life life(device.get(), 11 + static_cast<std::uint64_t>(round));
      device->lose_power_after(point);
      static_cast<void>(recover(&life, &reads).is_ok());
      reached_end = !device->has_lost_power();
      device->crash_process();
    }
    device->crash_power(FailingDevice::kDropAll);
    expect_all(device.get(), after, 2);
    if (HasFatalFailure()) return;
  }
}

// An error of the device lets recovery fail; snapshots can still be read, and the database can be
// closed.
TEST_F(EarlyOpenCrashTest, an_error_of_the_device_ends_recovery_and_leaves_the_snapshots) {
  using testing::Call;
  const Prepared prepared(3);
  const Model after = model_of(prepared.txns);
  const Model before =
      model_of({prepared.txns.begin(),
                prepared.txns.begin() + static_cast<std::ptrdiff_t>(prepared.at_snapshot)});
  std::uint64_t failures = 0;
  for (const Call call :
       {Call::kCreate, Call::kWrite, Call::kSync, Call::kRename, Call::kSyncDirectory}) {
    for (std::uint64_t skip = 0; skip < 8; ++skip) {
      SCOPED_TRACE("call " + std::to_string(static_cast<int>(call)) + " after " +
                   std::to_string(skip));
      const auto device = prepared.device.copy();
      {
        Life life(device.get(), 7);
        must(life.open(2, OpenUntil::kSnapshotReadable));
        device->fail(call, skip, 5, true);
        const Status recovered = life.engine().wait_recovered(base::Runtime::kForever);
        EXPECT_TRUE(recovered.is_ok() || recovered.code() == ErrorCode::kIoError);
        if (!recovered.is_ok()) {
          ++failures;
          const Model found = must(life.read_as(Isolation::kSnapshot));
          ASSERT_TRUE(difference(found, before).empty() || difference(found, after).empty());
          ASSERT_EQ(life.read_as(Isolation::kSerializable).code(), ErrorCode::kIoError);
          ASSERT_EQ(life.read_as(Isolation::kDirtyRead).code(), ErrorCode::kIoError);
          must(life.close());
        }
        device->clear_faults();
      }
      device->crash_process();
      expect_all(device.get(), after, 2);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(failures, 15u);
}

// An error of a call that changes nothing loses no data. Method: each such call fails once, from
// open to the end of recovery; of many, a sample.
TEST_F(EarlyOpenCrashTest, an_error_of_a_call_that_looks_is_told_and_costs_nothing) {
  using testing::Call;
  const Prepared prepared(2);
  const Model after = model_of(prepared.txns);
  for (const Call call : {Call::kOpen, Call::kRead, Call::kSize, Call::kList, Call::kRemove}) {
    std::uint64_t failures = 0;
    bool was_met = true;
    for (std::uint64_t skip = 0; was_met; skip += 1 + skip / 16) {
      SCOPED_TRACE("call " + std::to_string(static_cast<int>(call)) + " after " +
                   std::to_string(skip));
      const auto device = prepared.device.copy();
      {
        Life life(device.get(), 7);
        const std::uint64_t before = device->calls(call);
        device->fail(call, skip, 5);
        Status status = life.open(2, OpenUntil::kSnapshotReadable);
        if (status.is_ok()) status = life.engine().wait_recovered(base::Runtime::kForever);
        was_met = device->calls(call) > before + skip;
        EXPECT_TRUE(status.is_ok() || (was_met && status.code() == ErrorCode::kIoError))
            << status.message();
        if (!status.is_ok()) ++failures;
        device->clear_faults();
      }
      device->crash_process();
      expect_all(device.get(), after, 2);
      if (HasFatalFailure()) return;
    }
    EXPECT_GT(failures, 0u) << static_cast<int>(call);
  }
}

// A damaged old snapshot is ignored. A damaged newest one is refused: no older one replaces it,
// even if the damage comes after the open.
TEST_F(EarlyOpenCrashTest, a_damaged_old_snapshot_is_lost_and_a_damaged_newest_one_is_refused) {
  const Prepared prepared(1);
  const Model after = model_of(prepared.txns);
  std::vector<std::string> manifests = prepared.device.names();
  std::erase_if(manifests, [](const std::string& name) { return !name.starts_with("manifest-"); });
  ASSERT_EQ(manifests.size(), 2u);
  const auto with_version_0 = [&] {
    const std::vector<char> found = prepared.device.bytes_of(manifests[0]);
    std::string bytes(found.data(), found.size());
    bytes.replace(offsetof(snapshot::ManifestHeader, version), 4, 4, '\0');
    const std::uint32_t crc = snapshot::checksum_of(bytes.data(), bytes.size());
    std::memcpy(bytes.data() + snapshot::kChecksumOffset, &crc, sizeof(crc));
    return bytes;
  };
  for (const std::string& bytes : {std::string("damaged"), with_version_0()}) {
    const auto device = prepared.device.copy();
    device->overwrite(manifests[0], 0, bytes);
    for (const testing::Call call : {testing::Call::kSyncDirectory, testing::Call::kRemove}) {
      const auto failing = device->copy();
      for (std::uint64_t skip = 0; skip < 4; ++skip) {
        failing->fail(call, skip, 5);
        const Status status = Life(failing.get(), 7).open(2);
        EXPECT_TRUE(status.is_ok() || status.code() == ErrorCode::kIoError) << status.message();
        failing->clear_faults();
        failing->crash_process();
      }
      expect_all(failing.get(), after, 2);
    }
    expect_all(device.get(), after, 2);
  }
  const auto device = prepared.device.copy();
  int opened = 0;
  device->set_observer([&](const testing::CallSeen& call) {
    const bool is_it = call.kind == testing::Call::kOpen && call.name == manifests[1];
    if (is_it && ++opened == 2) device->overwrite(call.name, 0, "damaged");
  });
  EXPECT_EQ(Life(device.get(), 7).open(2).code(), ErrorCode::kCorruption);
  EXPECT_GE(opened, 2);
}

}  // namespace
}  // namespace foedus::early_open_crash_test
