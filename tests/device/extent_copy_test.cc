// ctest-labels: crash memory
// ExtentCopy, as the mover of a TieredDevice uses it: several writes are in flight, an error of one
// of them names the file and moves no extent, and a power failure at any call loses no byte.
#include "foedus-core/device/tiers/extent_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/testing/spread_disk.h"
#include "tests/testing/test_database.h"
#include "tests/testing/tiered_files.h"

namespace foedus::device::extent_copy_test {
namespace {

using testing::Call;
using testing::CallSeen;
using testing::difference;
using testing::extents;
using testing::FailingDevice;
using testing::kBlocksPerExtent;
using testing::kFirst;
using testing::limit_of;
using testing::make_file;
using testing::must;
using testing::SpreadDisk;

// The mover takes all but one of the file's 26 extents: six writes of four and one of a single one.
constexpr std::uint64_t kBlocks = 26 * kBlocksPerExtent - 5;
constexpr std::uint64_t kWrites = 7;

class ExtentCopyTest : public ::testing::Test {
 protected:
  ExtentCopyTest() {
    must(make_file(disk.open_tiered({.nvm_bytes = 32 * kExtentBytes}).get(), kFirst, kBlocks));
  }
  ~ExtentCopyTest() override { watch({}); }
  void watch(const FailingDevice::Observer& observer) {
    for (const auto& place : disk.disks()) place->set_observer(observer);
  }

  SpreadDisk disk;
};

TEST(RunsOfTest, neighbours_are_of_one_run_up_to_a_limit) {
  const std::vector<std::uint64_t> extents = {1, 2, 3, 4, 5, 7, 9, 10};
  std::string text;
  for (const ExtentRun& run : runs_of(extents, 4)) {
    text += std::to_string(run.first) + "+" + std::to_string(run.count) + " ";
  }
  EXPECT_EQ(text, "1+4 5+1 7+1 9+2 ");
  EXPECT_TRUE(runs_of({}, 4).empty());
}

// Method: a queue of the failing device makes a write when it is waited for, so reads of memory
// before it were made while it was in flight.
TEST_F(ExtentCopyTest, several_writes_are_in_flight_and_one_sync_covers_them) {
  const auto device = disk.open_tiered(limit_of(1));
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t most = 0;
  std::uint64_t syncs = 0;
  watch([&](const CallSeen& call) {
    if (call.name == kFirst && call.kind == Call::kRead) most = std::max(most, ++reads - writes);
    if (call.name != "ssd-00000001-0") return;
    if (call.kind == Call::kWrite) ++writes;
    if (call.kind != Call::kSync) return;
    ++syncs;
    EXPECT_EQ(writes, kWrites);
  });
  must(device->make_room());
  watch({});
  EXPECT_EQ(writes, kWrites);
  EXPECT_EQ(most, 4u);
  EXPECT_EQ(syncs, 1u);
  EXPECT_EQ(difference(device.get(), kFirst, kBlocks), "");
}

TEST_F(ExtentCopyTest, extents_move_without_a_queue) {
  disk.main().refuse_io_queues();
  const auto device = disk.open_tiered(limit_of(1));
  must(device->make_room());
  EXPECT_EQ(extents(device->fill().moved_bytes), 25u);
  EXPECT_EQ(difference(device.get(), kFirst, kBlocks), "");
}

// A write that fails once is repeated.
TEST_F(ExtentCopyTest, a_write_that_fails_once_is_made_again) {
  for (std::uint64_t skip = 0; skip < kWrites; ++skip) {
    SCOPED_TRACE(skip);
    const auto copy = disk.copy();
    const auto device = copy->open_tiered(limit_of(1));
    copy->b().fail(Call::kWrite, skip, EIO);
    must(device->make_room());
    EXPECT_EQ(extents(device->fill().moved_bytes), 25u);
    EXPECT_EQ(difference(device.get(), kFirst, kBlocks), "");
  }
}

// Returns an empty string if an error of the device names `file` and moved no extent.
std::string moved_by_error(SpreadDisk* disk, Call call, std::uint64_t skip, int error_number,
                           ErrorCode code) {
  const bool is_of_memory = call == Call::kRead;
  const auto device = disk->open_tiered(limit_of(1));
  FailingDevice& failing = is_of_memory ? disk->a() : disk->b();
  failing.fail(call, skip, error_number, true);
  const Status moved = device->make_room();
  failing.clear_faults();
  if (moved.code() != code) return "code: " + moved.message();
  const std::string name = is_of_memory ? std::string(kFirst) : "ssd-00000001-0";
  if (moved.message().find(name) == std::string::npos) return "name: " + moved.message();
  if (device->fill().moved_bytes != 0) return "it was moved";
  std::string different = difference(device.get(), kFirst, kBlocks);
  if (!different.empty()) return different;
  const Status again = device->make_room();
  if (!again.is_ok()) return again.message();
  if (extents(device->fill().moved_bytes) != 25) return "it was not moved again";
  return difference(device.get(), kFirst, kBlocks);
}

TEST_F(ExtentCopyTest, an_error_of_one_of_several_writes_moves_nothing) {
  for (std::uint64_t skip = 0; skip < kWrites; ++skip) {
    SCOPED_TRACE(skip);
    for (const Call call : {Call::kWrite, Call::kRead}) {
      EXPECT_EQ(moved_by_error(disk.copy().get(), call, skip, EIO, ErrorCode::kIoError), "");
    }
    EXPECT_EQ(
        moved_by_error(disk.copy().get(), Call::kWrite, skip, ENOSPC, ErrorCode::kOutOfSpace), "");
  }
  EXPECT_EQ(moved_by_error(disk.copy().get(), Call::kSync, 0, EIO, ErrorCode::kIoError), "");
}

// V24: a power failure at any call of the mover loses no byte.
TEST_F(ExtentCopyTest, a_power_failure_at_any_call_loses_nothing) {
  const auto open = [](SpreadDisk* copy) { return copy->open_tiered(limit_of(1)); };
  const auto move = [](TieredDevice* device) {
    static_cast<void>(device->make_room().is_ok());
  };
  const auto check = [](SpreadDisk* left) {
    const auto device = left->open_tiered(limit_of(1));
    EXPECT_EQ(difference(device.get(), kFirst, kBlocks), "");
    must(device->make_room());
    EXPECT_EQ(extents(device->fill().nvm_bytes), 1u);
    EXPECT_EQ(difference(device.get(), kFirst, kBlocks), "");
  };
  EXPECT_GT(testing::at_each_call(disk, open, move, check), kWrites + 8);
}

}  // namespace
}  // namespace foedus::device::extent_copy_test
