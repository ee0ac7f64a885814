// ctest-labels: crash memory
// TieredDevice where a call of the devices behind it fails: the error is told, and no byte of a
// file that counts is lost.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <string>

#include "foedus-core/device/tiers/tiered_device.h"
#include "tests/testing/spread_disk.h"
#include "tests/testing/staged_tiers.h"
#include "tests/testing/test_database.h"
#include "tests/testing/tiered_files.h"

namespace foedus::device::tier_errors_test {
namespace {

using testing::block_of;
using testing::Call;
using testing::difference;
using testing::FailingDevice;
using testing::kBlocksPerExtent;
using testing::kFirst;
using testing::kSecond;
using testing::limit_of;
using testing::make_file;
using testing::must;
using testing::SpreadDisk;
using testing::StagedTiers;

constexpr std::uint64_t kOnMemory = 2;  // extents
constexpr std::uint64_t kBlocks = 4 * kBlocksPerExtent - 5;

class TierErrorsTest : public ::testing::Test {
 protected:
  SpreadDisk disk;
};

// Goal: space is freed only after each call that makes the map durable has succeeded. Method: a
// call fails in the mover, and perhaps one of the next process; then power fails.
TEST_F(TierErrorsTest, a_call_that_fails_before_the_map_is_durable_frees_nothing) {
  must(make_file(disk.open_tiered({.nvm_bytes = 8 * kExtentBytes}).get(), kFirst, kBlocks));
  constexpr Call kCalls[] = {Call::kCreate, Call::kWrite, Call::kSync, Call::kSyncDirectory};
  for (const Call first : kCalls) {
    for (std::uint64_t skip = 0; skip < 4; ++skip) {
      const auto failed = disk.copy();
      {
        const auto device = failed->open_tiered(limit_of(1));
        for (const auto& place : failed->disks()) place->fail(first, skip, EIO);
        static_cast<void>(device->make_room().is_ok());
      }
      for (const auto& place : failed->disks()) place->clear_faults();
      for (const Call second : kCalls) {
        SCOPED_TRACE(std::to_string(static_cast<int>(first)) + " after " + std::to_string(skip) +
                     ", then " + std::to_string(static_cast<int>(second)));
        // A copy has the bytes that are visible and not durable, as after a process was killed.
        const auto next = failed->copy();
        {
          const auto device = next->open_tiered(limit_of(1));
          for (const auto& place : next->disks()) place->fail(second, 0, EIO);
          static_cast<void>(device->make_room().is_ok());
        }
        for (const std::uint64_t how : testing::kCrashes) {
          const auto left = next->copy();
          left->crash_power(how);
          ASSERT_EQ(difference(left->open_tiered(limit_of(1)).get(), kFirst, kBlocks), "") << how;
        }
      }
      for (const std::uint64_t how : testing::kCrashes) {
        const auto left = failed->copy();
        left->crash_power(how);
        ASSERT_EQ(difference(left->open_tiered(limit_of(1)).get(), kFirst, kBlocks), "") << how;
      }
    }
  }
}

// V26: each part of a file can fail to be removed, and a later removal does the rest.
TEST_F(TierErrorsTest, a_removal_that_fails_is_an_error_and_is_done_by_the_next) {
  must(make_file(disk.open_tiered({.nvm_bytes = kExtentBytes}).get(), kFirst, kBlocks));
  EXPECT_EQ(disk.open_tiered({})->remove("savepoint").code(), ErrorCode::kNotFound);
  for (const std::size_t place : {1, 2}) {
    bool has_failed = true;
    for (std::uint64_t skip = 0; has_failed; ++skip) {
      SCOPED_TRACE(std::to_string(place) + " after " + std::to_string(skip));
      const auto copy = disk.copy();
      FailingDevice& failing = *copy->disks()[place];
      const auto device = copy->open_tiered({});
      failing.fail(Call::kRemove, skip, EIO);
      const Status removed = device->remove(kFirst);
      has_failed = failing.calls(Call::kRemove) > skip;
      EXPECT_EQ(removed.code(), has_failed ? ErrorCode::kIoError : ErrorCode::kOk);
      failing.clear_faults();
      must(unless_gone(device->remove(kFirst)));
      EXPECT_EQ(device->remove(kFirst).code(), ErrorCode::kNotFound);
    }
  }
}

// ---- staged pages

TEST_F(TierErrorsTest, a_file_whose_pages_cannot_be_dropped_is_not_removed) {
  const auto tiers = StagedTiers::open(&disk, kOnMemory);
  tiers->hold(true);
  must(make_file(tiers->get(), kFirst, kBlocks));
  tiers->hold(false);
  disk.a().fail(Call::kWrite, 0, EIO, true);
  EXPECT_EQ(tiers->get()->remove(kFirst).code(), ErrorCode::kIoError);
  disk.a().clear_faults();
  EXPECT_EQ(difference(tiers->get(), kFirst, kBlocks), "");
  must(tiers->get()->remove(kFirst));
}

// Goal: an open that cannot flush what is staged fails, and the next one finds all pages. Method:
// each call of a kind fails in turn, with all after it.
TEST_F(TierErrorsTest, an_open_that_cannot_flush_is_an_error_and_loses_nothing) {
  {
    const auto tiers = StagedTiers::open(&disk, kOnMemory);
    tiers->hold(true);
    must(make_file(tiers->get(), kFirst, kBlocks));
  }
  struct Case {
    Call call;
    std::size_t place;  // index of the directory
    bool is_to_read;
  };
  for (const Case& tried :
       {Case{Call::kList, 0, false}, Case{Call::kList, 1, false}, Case{Call::kOpen, 2, false},
        Case{Call::kWrite, 2, false}, Case{Call::kSync, 2, false}, Case{Call::kOpen, 2, true}}) {
    bool has_failed = true;
    for (std::uint64_t skip = 0; has_failed; ++skip) {
      SCOPED_TRACE(std::to_string(static_cast<int>(tried.call)) + " after " +
                   std::to_string(skip));
      const auto copy = disk.copy();
      FailingDevice& failing = *copy->disks()[tried.place];
      {
        const StagedTiers tiers(copy.get(), kOnMemory, false);
        const std::uint64_t before = failing.calls(tried.call);
        failing.fail(tried.call, skip, EIO, true);
        const Status looked = tried.is_to_read ? tiers->look_to_read() : tiers->look();
        has_failed = failing.calls(tried.call) - before > skip;
        const ErrorCode whole = tried.is_to_read ? ErrorCode::kNotSupported : ErrorCode::kOk;
        EXPECT_EQ(looked.code(), has_failed ? ErrorCode::kIoError : whole);
      }
      failing.clear_faults();
      ASSERT_EQ(difference(StagedTiers::open(copy.get(), kOnMemory)->get(), kFirst, kBlocks), "");
    }
  }
}

TEST_F(TierErrorsTest, a_reader_that_cannot_list_files_is_an_error) {
  for (std::uint64_t skip = 0; skip < 2; ++skip) {
    const auto device = disk.make_tiered({});
    disk.a().fail(Call::kList, skip, EIO);
    EXPECT_EQ(device->look_to_read().code(), ErrorCode::kIoError) << skip;
  }
  must(disk.make_tiered({})->look_to_read());
}

// Nothing has to move, and staged pages still must get to the SSD.
TEST_F(TierErrorsTest, an_error_of_the_ssd_is_told_where_nothing_moves) {
  const auto tiers = StagedTiers::open(&disk, kOnMemory);
  tiers->hold(true);
  must(make_file(tiers->get(), kSecond, kOnMemory * kBlocksPerExtent));
  must(make_file(tiers->get(), kFirst, kBlocksPerExtent));
  must(tiers->get()->remove(kSecond));
  tiers->hold(false);
  disk.b().fail(Call::kSync, 0, EIO, true);
  EXPECT_EQ(tiers->get()->make_room().code(), ErrorCode::kIoError);
  disk.b().clear_faults();
  must(tiers->get()->make_room());
  EXPECT_EQ(tiers->get()->fill().moved_bytes, 0u);
  const auto bytes = disk.b().bytes_of("ssd-00000001-0");
  constexpr std::uint64_t kLast = kBlocksPerExtent - 1;
  EXPECT_EQ(std::string(bytes.data() + kLast * kBlockBytes, kBlockBytes), block_of(kFirst, kLast));
}

}  // namespace
}  // namespace foedus::device::tier_errors_test
