// ctest-labels: crash
// A snapshot is installed while storages are dropped, or while the device fails: memory stays
// consistent, and the next glean installs the rest. One thread and a simulated device.
#include <cerrno>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "foedus-core/base/system/sync_point.h"
#include "tests/engine/crash/crash_life.h"

namespace foedus::glean_install_test {
namespace {

using testing::Call;
using testing::difference;
using testing::FailingDevice;
using testing::Life;
using testing::model_of;
using testing::ModelTxn;
using testing::must;

// Runs an action once, at a sync point.
std::string place;
std::function<void()> action;

void act(const char* at) {
  if (place != at || !action) return;
  std::exchange(action, nullptr)();
}

class GleanInstallTest : public ::testing::Test {
 protected:
  GleanInstallTest() { base::set_sync_point_hook(act); }
  ~GleanInstallTest() override {
    base::set_sync_point_hook(nullptr);
    action = nullptr;
  }
  static void at(const char* where, std::function<void()> what) {
    place = where;
    action = std::move(what);
  }
  void write(Life* life, int transactions) {
    Ticket ticket;
    for (int i = 0; i < transactions; ++i) {
      ModelTxn change;
      must(life->step(txns_.size(), &change, &ticket));
      txns_.push_back(std::move(change));
    }
    must(ticket.wait_durable());
  }
  std::string difference_now(Life* life) { return difference(life->read(), model_of(txns_)); }

  std::vector<ModelTxn> txns_;
};

// Method: each read of the device fails once, of many a sample, from the first pointer on.
TEST_F(GleanInstallTest, an_error_of_a_read_is_told_and_the_next_glean_installs) {
  FailingDevice prepared;
  {
    Life life(&prepared, 5);
    must(life.open(2));
    write(&life, 150);
    must(life.glean());
    must(life.close());
  }
  const std::vector<ModelTxn> before = txns_;
  std::uint64_t failures = 0;
  bool was_met = true;
  for (std::uint64_t skip = 0; was_met; skip += 1 + skip / 8) {
    SCOPED_TRACE("read " + std::to_string(skip));
    txns_ = before;
    const auto device = prepared.copy();
    Life life(device.get(), 7);
    must(life.open(2));
    write(&life, 10);
    std::uint64_t reads = 0;
    at("gleaning:log_cut", [&] {
      reads = device->calls(Call::kRead);
      device->fail(Call::kRead, skip, EIO);
    });
    const Status status = life.glean();
    was_met = device->calls(Call::kRead) > reads + skip;
    device->clear_faults();
    EXPECT_EQ(status.code(), was_met ? ErrorCode::kIoError : ErrorCode::kOk) << status.message();
    failures += was_met ? 1 : 0;
    ASSERT_EQ(difference_now(&life), "");
    write(&life, 1);
    must(life.glean());
    ASSERT_EQ(difference_now(&life), "");
  }
  EXPECT_GT(failures, 3u);
}

// Goal: commits that become durable while a snapshot is made are not in it, and their log stays.
// Method: they fill segments, some of which could be removed, then power fails.
TEST_F(GleanInstallTest, what_is_committed_while_a_snapshot_is_made_keeps_its_log) {
  FailingDevice device;
  {
    Life life(&device, 5);
    must(life.open(1));
    write(&life, 60);
    at("gleaning:manifest_durable", [&] {
      write(&life, 3000);
      EXPECT_TRUE(device.exists("log-0-00000002"));
    });
    must(life.glean());
    ASSERT_FALSE(action);
    device.crash_power(FailingDevice::kDropAll);
  }
  Life life(&device, 6);
  must(life.open(1));
  EXPECT_EQ(difference_now(&life), "");
}

TEST_F(GleanInstallTest, a_storage_that_goes_before_its_pages_are_installed_is_passed_over) {
  FailingDevice device;
  {
    Life life(&device, 5);
    must(life.open(1));
    write(&life, 60);
    at("gleaning:log_cut", [&] { must(life.engine().catalog().drop("tree")); });
    must(life.glean());
    EXPECT_EQ(life.engine().catalog().list().size(), 3u);
    at("catalog:drop_marked", [&] { must(life.glean()); });
    must(life.engine().catalog().drop("hash"));
    EXPECT_FALSE(action);
    EXPECT_EQ(life.engine().catalog().list().size(), 2u);
    must(life.glean());
    must(life.close());
  }
  Life life(&device, 6);
  must(life.open(1));  // and makes the missing storages
  EXPECT_EQ(life.engine().catalog().list().size(), 4u);
}

}  // namespace
}  // namespace foedus::glean_install_test
