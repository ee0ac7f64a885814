// ctest-labels: memory
// ctest-timeout: 300
// Power failures, and errors, at every call to the device while a storage is loaded: afterwards
// either the storage is there with all rows, or there is none, and it can be loaded again (E60).
#include <cerrno>

#include "tests/engine/crash/crash_steps.h"

namespace foedus::load_crash_test {
namespace {

using testing::Call;
using testing::difference;
using testing::FailingDevice;
using testing::Life;
using testing::model_of;
using testing::ModelTxn;
using testing::must;

constexpr std::uint64_t kRows = 400;

class LoadCrashTest : public ::testing::Test {
 protected:
  LoadCrashTest() {
    Life life(&prepared_, 3);
    must(life.open(2));
    testing::write(&life, &txns_, 20);
    must(life.glean());
    testing::write(&life, &txns_, 10);
    prepared_.crash_power(FailingDevice::kDropAll);
  }
  static std::string row_of(std::uint64_t i) {
    return std::string(i % 150, 'r') + std::to_string(i);
  }

  // Loads the storage, with a glean amidst. Returns success once it is announced.
  static Status load(Life* life) {
    engine::StorageLoads& loads = life->engine().gleaning()->loads();
    FOEDUS_TRY(const std::shared_ptr<engine::StorageLoad> load, loads.begin("loaded"));
    Status status = add_rows(life, load.get());
    if (status.is_ok()) status = loads.complete(load.get());
    if (status.is_ok()) status = life->glean();
    const bool is_there = loads.control_of(*load) != nullptr;
    loads.withdraw(load);
    return is_there ? Status() : status;
  }
  static Status add_rows(Life* life, engine::StorageLoad* load) {
    for (std::uint64_t i = 0; i < kRows; ++i) {
      FOEDUS_CHECK(load->tree->add(key(big_endian<std::uint64_t>(i)).view(), row_of(i)));
      if (i == kRows / 2) FOEDUS_CHECK(life->glean());
    }
    return {};
  }
  static bool is_loaded(Life* life) {
    for (const StorageInfo& one : life->engine().catalog().list()) {
      if (one.name == "loaded") return true;
    }
    return false;
  }
  static void expect_all_rows(Life* life) {
    storage_meta::StorageMeta meta;
    meta.name = "loaded";
    const auto tree =
        internal::StorageAccess::make<Masstree>(must(life->engine().catalog().open(meta)));
    engine::EngineSession* const session = must(life->engine().take_session());
    {
      Txn txn = must(engine::begin_txn(session, {}));
      std::uint64_t i = 0;
      Scan scan = txn.scan(tree, "", "");
      for (const Row& row : scan) {
        ASSERT_EQ(row.key, key(big_endian<std::uint64_t>(i)).view());
        ASSERT_EQ(row.payload, row_of(i++));
      }
      EXPECT_FALSE(scan.failure().has_value());
      EXPECT_EQ(i, kRows);
      txn.rollback();
    }
    life->engine().give_session(session);
  }
  // Opens the device again. The storage is there as a whole if `was_there`, and perhaps otherwise.
  void expect_all_or_nothing(FailingDevice* device, bool was_there, std::uint64_t* found) {
    Life life(device, 9);
    const Status opened = life.open(2);
    ASSERT_TRUE(opened.is_ok()) << opened.message();
    ASSERT_EQ(difference(life.read(), model_of(txns_)), "");
    const bool is_there = is_loaded(&life);
    ASSERT_TRUE(is_there || !was_there);
    *found += is_there ? 1 : 0;
    if (!is_there) must(load(&life));
    expect_all_rows(&life);
    must(life.glean());
    expect_all_rows(&life);
    must(life.close());
    const std::vector<std::string> names = device->names();
    const auto files = std::count_if(names.begin(), names.end(), [](const std::string& name) {
      return name.starts_with("snapshot-") && name.ends_with("-63");
    });
    EXPECT_LE(files, 1) << "an orphaned file of a load";
  }

  FailingDevice prepared_;
  std::vector<ModelTxn> txns_;
};

TEST_F(LoadCrashTest, a_power_failure_at_any_call_leaves_all_of_it_or_nothing) {
  std::uint64_t found = 0;
  std::uint64_t points = 0;
  for (bool reached_end = false; !reached_end; ++points) {
    SCOPED_TRACE("call " + std::to_string(points));
    const auto device = prepared_.copy();
    bool was_there = false;
    {
      Life life(device.get(), 11);
      must(life.open(2));
      device->lose_power_after(points);
      was_there = load(&life).is_ok();
      reached_end = !device->has_lost_power();
      EXPECT_TRUE(was_there || !reached_end);
    }
    device->crash_power(testing::how_to_crash(points));
    expect_all_or_nothing(device.get(), was_there, &found);
    if (HasFatalFailure()) return;
  }
  std::printf("%llu points, %llu with the storage\n", static_cast<unsigned long long>(points),
              static_cast<unsigned long long>(found));
  EXPECT_GT(points, 20u);
  EXPECT_GT(found, 1u);
  EXPECT_LT(found, points);
}

// The program goes on after the error, and its end is a crash: the load was withdrawn, or its
// storage is there.
TEST_F(LoadCrashTest, an_error_at_any_call_leaves_all_of_it_or_nothing) {
  std::uint64_t found = 0;
  for (const Call call : {Call::kWrite, Call::kSync, Call::kSyncDirectory, Call::kRename,
                          Call::kCreate, Call::kRemove}) {
    bool has_failed = true;
    for (std::uint64_t life_number = 0; has_failed; ++life_number) {
      const std::uint64_t skip = life_number / 2;
      const bool gleans_again = life_number % 2 != 0;
      SCOPED_TRACE("call " + std::to_string(static_cast<int>(call)) + ", " + std::to_string(skip));
      const auto device = prepared_.copy();
      bool was_there = false;
      {
        Life life(device.get(), 11);
        must(life.open(2));
        device->fail(call, skip, ENOSPC);
        was_there = load(&life).is_ok();
        has_failed = !was_there;
        device->clear_faults();
        // Half of the lives end without another glean, after another storage had that name if one
        // could.
        if (!was_there && !gleans_again) {
          storage_meta::StorageMeta meta;
          meta.name = "loaded";
          if (life.engine().catalog().open(meta).is_ok()) {
            must(life.engine().catalog().drop(meta.name));
          }
        } else if (!was_there && life.glean().is_ok()) {
          const bool is_there = is_loaded(&life);
          EXPECT_FALSE(is_there);
          // The name is free once a manifest lacks the load.
          for (int i = 0; i < 3 && !was_there; ++i) was_there = load(&life).is_ok();
          EXPECT_TRUE(was_there);
          if (was_there) expect_all_rows(&life);
        }
      }
      device->crash_power(FailingDevice::kKeepAll);
      expect_all_or_nothing(device.get(), was_there, &found);
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace foedus::load_crash_test
