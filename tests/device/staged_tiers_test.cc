// ctest-labels: crash memory
// TieredDevice with a staging buffer: pages of a new file for the SSD are durable before the SSD
// has them, and are read from the buffer. They get to the SSD whole whatever call power fails at,
// and not after a removal.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>

#include "foedus-core/device/io_queue.h"
#include "foedus-core/device/tier_names.h"
#include "foedus-core/device/tiers/tiered_device.h"
#include "tests/testing/spread_disk.h"
#include "tests/testing/staged_tiers.h"
#include "tests/testing/test_database.h"
#include "tests/testing/tiered_files.h"

namespace foedus::device::staged_tiers_test {
namespace {

using testing::block_of;
using testing::Call;
using testing::CallSeen;
using testing::difference;
using testing::extents;
using testing::FailingDevice;
using testing::kBlocksPerExtent;
using testing::kFirst;
using testing::kSecond;
using testing::kStagedBytes;
using testing::make_file;
using testing::must;
using testing::SpreadDisk;
using testing::StagedTiers;

constexpr std::uint64_t kOnMemory = 2;  // extents
constexpr std::uint64_t kBlocks = 4 * kBlocksPerExtent - 5;
constexpr const char* kFirstSsd = "ssd-00000001-0";

class StagedTiersTest : public ::testing::Test {
 protected:
  ~StagedTiersTest() override { watch({}); }
  void watch(const FailingDevice::Observer& observer) {
    for (const auto& place : disk.disks()) place->set_observer(observer);
  }
  std::unique_ptr<StagedTiers> open() { return StagedTiers::open(&disk, kOnMemory); }
  // Opens a device and makes a file with two staged extents, which the flusher does not reach.
  std::unique_ptr<StagedTiers> open_with_staged() {
    auto tiers = open();
    tiers->hold(true);
    must(make_file(tiers->get(), kFirst, kBlocks));
    return tiers;
  }
  std::string on_ssd(std::uint64_t block) const {
    const auto bytes = const_cast<SpreadDisk&>(disk).b().bytes_of(kFirstSsd);
    return std::string(bytes.data() + block * kBlockBytes, kBlockBytes);
  }

  SpreadDisk disk;
};

TEST(StagedNamesTest, a_file_has_a_number_if_its_name_follows_from_it) {
  EXPECT_EQ(staged_id("ssd-00000012-3"), std::uint64_t{12} << 32 | 3);
  EXPECT_EQ(staged_name(std::uint64_t{12} << 32 | 3), "ssd-00000012-3");
  EXPECT_EQ(staged_id("ssd-99999999-63"), std::uint64_t{99'999'999} << 32 | 63);
  for (const char* const other : {"ssd-12-3", "ssd-00000012-03", "ssd-00000012-3x", "ssd-00000012",
                                  "snapshot-00000012-3", "ssd- 0000012-3"}) {
    EXPECT_FALSE(staged_id(other).has_value()) << other;
  }
}

// ---- writes and reads --------------------------------------------------------------------------

TEST_F(StagedTiersTest, a_new_file_does_not_wait_for_the_ssd) {
  const auto tiers = open();
  tiers->hold(true);
  std::uint64_t calls = 0;
  watch([&](const CallSeen& call) {
    if (call.name != kFirstSsd) return;
    if (call.kind == Call::kWrite || call.kind == Call::kSync) ++calls;
  });
  must(make_file(tiers->get(), kFirst, kBlocks));
  EXPECT_EQ(calls, 0u);
  EXPECT_EQ(extents(tiers->get()->fill().nvm_bytes), kOnMemory);
  EXPECT_EQ(extents(tiers->get()->fill().ssd_bytes), 2u);
  EXPECT_EQ(difference(tiers->get(), kFirst, kBlocks), "");
  EXPECT_EQ(on_ssd(kBlocks - 1), std::string(kBlockBytes, '\0'));
  tiers->hold(false);
  must(tiers->get()->make_room());
  EXPECT_GT(calls, 1u);
  EXPECT_EQ(on_ssd(kBlocks - 1), block_of(kFirst, kBlocks - 1));
  EXPECT_EQ(difference(tiers->get(), kFirst, kBlocks), "");
}

// Buckets are used again and again.
TEST_F(StagedTiersTest, a_file_is_larger_than_the_buffer) {
  const auto tiers = open();
  must(make_file(tiers->get(), kFirst, 20 * kBlocksPerExtent));
  EXPECT_EQ(difference(tiers->get(), kFirst, 20 * kBlocksPerExtent), "");
  must(tiers->get()->make_room());
  EXPECT_EQ(difference(tiers->get(), kFirst, 20 * kBlocksPerExtent), "");
}

// Staged pages are of the last extent, and one of them was flushed; reads of pages that the buffer
// does not have go to the file.
TEST_F(StagedTiersTest, all_ways_to_read_find_what_is_staged) {
  const auto tiers = open_with_staged();
  const std::shared_ptr<const File> file = must(tiers->get()->open(kFirst, Access::kRead));
  constexpr std::uint64_t kBlock = 3 * kBlocksPerExtent + 7;
  std::string bytes(2 * kBlockBytes, '\0');
  const std::string wanted = block_of(kFirst, kBlock) + block_of(kFirst, kBlock + 1);
  // A read of more than one page begins within a page.
  EXPECT_EQ(must(file->read_at(kBlock * kBlockBytes + 100, bytes.data(), 5000)), 5000u);
  EXPECT_EQ(bytes.substr(0, 5000), wanted.substr(100, 5000));
  const Bytes parts[] = {{bytes.data(), kBlockBytes}, {bytes.data() + kBlockBytes, kBlockBytes}};
  EXPECT_EQ(must(file->read_parts_at(kBlock * kBlockBytes, parts, 2)), 2 * kBlockBytes);
  EXPECT_EQ(bytes, wanted);
  const File::Piece piece{kBlock * kBlockBytes + 64, bytes.data(), 128};
  EXPECT_TRUE(must(file->read_pieces(&piece, 1)));
  EXPECT_EQ(bytes.substr(0, 128), wanted.substr(64, 128));
  EXPECT_FALSE(file->has_small_reads(kBlock * kBlockBytes));
  // A read ends at the end of the file.
  EXPECT_EQ(must(file->read_at((kBlocks - 1) * kBlockBytes, bytes.data(), 2 * kBlockBytes)),
            kBlockBytes);
  EXPECT_EQ(must(file->read_at(kBlocks * kBlockBytes, bytes.data(), kBlockBytes)), 0u);

  const auto queue = tiers->get()->make_io_queue();
  EXPECT_FALSE(queue->add_read(file, kBlock * kBlockBytes, parts, 2, 1));
  tiers->hold(false);
  must(tiers->get()->make_room());
  ASSERT_TRUE(queue->add_read(file, kBlock * kBlockBytes, parts, 2, 1));
  queue->send();
  IoQueue::Done done;
  ASSERT_TRUE(queue->next(true, &done));
  EXPECT_EQ(done.bytes, 2 * kBlockBytes);
  EXPECT_EQ(bytes, wanted);
}

// ---- room --------------------------------------------------------------------------------------

TEST_F(StagedTiersTest, the_area_takes_room_of_memory) {
  const auto tiers = open();
  EXPECT_FALSE(disk.a().exists("staging-0"));
  EXPECT_EQ(tiers->get()->lend_room(8 * kExtentBytes, false) / kExtentBytes, 1u);
  must(make_file(tiers->get(), kFirst, kBlocks));
  EXPECT_LE(disk.a().size_of("staging-0"), kStagedBytes);
  EXPECT_EQ(extents(tiers->get()->fill().nvm_bytes), kOnMemory - 1);
}

TEST_F(StagedTiersTest, a_memory_without_room_for_the_area_stages_nothing) {
  const auto tiers = open();
  disk.a().set_capacity(disk.a().used_bytes() + kOnMemory * kExtentBytes + kStagedBytes / 2);
  must(make_file(tiers->get(), kFirst, kBlocks));
  EXPECT_FALSE(disk.a().exists("staging-0"));
  EXPECT_EQ(on_ssd(kBlocks - 1), block_of(kFirst, kBlocks - 1));
  EXPECT_EQ(difference(tiers->get(), kFirst, kBlocks), "");
}

// A full SSD is an error before pages are acknowledged.
TEST_F(StagedTiersTest, pages_are_staged_only_if_the_ssd_has_room_for_them) {
  const auto tiers = open();
  tiers->hold(true);
  disk.b().set_capacity(3 * kExtentBytes + kExtentBytes / 2);
  const Status made = make_file(tiers->get(), kFirst, kBlocks);
  ASSERT_EQ(made.code(), ErrorCode::kOutOfSpace);
  EXPECT_NE(made.message().find(kFirstSsd), std::string::npos) << made.message();
  tiers->hold(false);
  must(tiers->get()->remove(kFirst));
  must(make_file(tiers->get(), kSecond, 3 * kBlocksPerExtent));
  must(tiers->get()->make_room());
  EXPECT_EQ(difference(tiers->get(), kSecond, 3 * kBlocksPerExtent), "");
}

// ---- open and close ----------------------------------------------------------------------------

TEST_F(StagedTiersTest, what_was_left_staged_is_written_by_the_next_open) {
  open_with_staged().reset();
  // A crash during a flush has torn a page.
  disk.b().overwrite(kFirstSsd, (kBlocks - 3) * kBlockBytes + 512, "torn");
  for (const bool stages : {false, true}) {
    SCOPED_TRACE(stages);
    const auto copy = disk.copy();
    if (stages) {
      EXPECT_EQ(difference(StagedTiers::open(copy.get(), kOnMemory)->get(), kFirst, kBlocks), "");
    } else {
      EXPECT_EQ(difference(copy->open_tiered({}).get(), kFirst, kBlocks), "");
    }
    copy->crash_power(FailingDevice::kDropAll);
    EXPECT_EQ(difference(copy->open_tiered({}).get(), kFirst, kBlocks), "");
  }
}

// V34: an open changes no file if no page is staged.
TEST_F(StagedTiersTest, an_open_changes_nothing_if_nothing_is_staged) {
  {
    const auto tiers = open();
    must(make_file(tiers->get(), kFirst, kBlocks));
    must(tiers->get()->make_room());
  }
  const auto changes = [&] {
    return disk.main().changing_calls() + disk.a().changing_calls() + disk.b().changing_calls();
  };
  const std::uint64_t before = changes();
  open().reset();
  EXPECT_EQ(changes(), before);
}

TEST_F(StagedTiersTest, tasks_write_where_the_device_has_no_queues) {
  disk.main().refuse_io_queues();
  const auto tiers = open();
  must(make_file(tiers->get(), kFirst, kBlocks));
  must(tiers->get()->make_room());
  EXPECT_EQ(difference(tiers->get(), kFirst, kBlocks), "");
  EXPECT_EQ(on_ssd(kBlocks - 1), block_of(kFirst, kBlocks - 1));
}

TEST_F(StagedTiersTest, a_device_that_is_only_read_refuses_what_is_staged) {
  const auto refusal = [&] {
    const std::uint64_t before = disk.a().changing_calls() + disk.b().changing_calls();
    const auto device = disk.make_tiered({});
    const Status looked = device->look_to_read();
    if (looked.is_ok()) {
      EXPECT_EQ(difference(device.get(), kFirst, kBlocks), "");
    }
    EXPECT_EQ(disk.a().changing_calls() + disk.b().changing_calls(), before);
    return looked;
  };
  open_with_staged().reset();
  const Status refused = refusal();
  EXPECT_EQ(refused.code(), ErrorCode::kNotSupported);
  EXPECT_NE(refused.message().find("staging-"), std::string::npos) << refused.message();
  open().reset();
  EXPECT_TRUE(refusal().is_ok());
  const auto tiers = open();
  must(make_file(tiers->get(), kSecond, kBlocks));
  must(tiers->get()->make_room());
  EXPECT_TRUE(refusal().is_ok());
}

// Staged pages of a removed file, and of an unfinished one, are ignored.
TEST_F(StagedTiersTest, leftovers_do_not_keep_readers_out) {
  open_with_staged().reset();
  const auto removed = disk.copy();
  removed->b().drop_file(kFirstSsd);
  must(removed->make_tiered({})->look_to_read());
  disk.a().drop_file("tiers-00000001-0");  // it was not finished
  must(disk.make_tiered({})->look_to_read());
}

// V33. Method: the directories are named in another order the next time.
TEST_F(StagedTiersTest, pages_are_staged_in_the_directory_of_their_file) {
  testing::ManualRuntime runtime;
  for (const bool turned : {false, true}) {
    SCOPED_TRACE(turned);
    TieredDevice device(disk.open(turned), {.nvm_bytes = 2 * kStagedBytes}, Access::kReadDirect,
                        {.runtime = &runtime, .bytes = 2 * kStagedBytes, .directories = 2});
    must(device.look());
    runtime.starve("foedus-flusher");
    for (const int soc : {0, 1, 2, 3}) {
      std::string places;
      for (const bool is_b : {false, true}) {
        (is_b ? disk.b() : disk.a()).set_observer([&, is_b](const CallSeen& call) {
          const bool is_of_bucket = call.kind == Call::kWrite && call.offset != 0;
          if (is_of_bucket && call.name.starts_with("staging-")) {
            places += is_b ? 'b' : 'a';
          }
        });
      }
      const std::string name = "snapshot-0000000" + std::to_string(turned ? 2 : 1) + "-" +
                               std::to_string(soc);
      must(make_file(&device, name, 10));
      watch({});
      ASSERT_FALSE(places.empty());
      const bool is_in_b = disk.b().exists(name);
      EXPECT_NE(is_in_b, disk.a().exists(name));
      EXPECT_EQ(places, std::string(places.size(), is_in_b ? 'b' : 'a')) << name;
    }
    runtime.starve("");
    must(device.make_room());
  }
}

// ---- removal -----------------------------------------------------------------------------------

TEST_F(StagedTiersTest, nothing_is_written_to_a_file_that_was_removed) {
  const auto tiers = open_with_staged();
  tiers->hold(false);
  std::uint64_t writes = 0;
  watch([&](const CallSeen& call) {
    writes += call.kind == Call::kWrite && call.name == kFirstSsd ? 1 : 0;
  });
  must(tiers->get()->remove(kFirst));
  must(tiers->get()->make_room());
  EXPECT_EQ(writes, 0u);
  watch({});
  // Another file of that name has none of its pages, also after a crash.
  must(make_file(tiers->get(), kFirst, 3 * kBlocksPerExtent));
  disk.crash_power(FailingDevice::kKeepAll);
  const auto again = open();
  EXPECT_EQ(difference(again->get(), kFirst, 3 * kBlocksPerExtent), "");
}

TEST_F(StagedTiersTest, a_file_that_has_failed_is_removed_with_what_is_staged) {
  const auto tiers = open();
  tiers->hold(true);
  {
    const auto file = must(tiers->get()->open(kFirst, Access::kCreateDirect));
    const std::string bytes(3 * kExtentBytes, 'x');
    must(file->write_at(0, bytes.data(), bytes.size()));
  }
  tiers->hold(false);
  must(tiers->get()->remove(kFirst));
  EXPECT_EQ(tiers->get()->fill().ssd_bytes, 0u);
  must(make_file(tiers->get(), kFirst, kBlocks));
  must(tiers->get()->make_room());
  EXPECT_EQ(difference(tiers->get(), kFirst, kBlocks), "");
}

// ---- errors and power failures -----------------------------------------------------------------

TEST_F(StagedTiersTest, an_error_of_the_ssd_is_told_and_loses_nothing) {
  must(make_file(open()->get(), kSecond, 1));  // so that directories are marked (V13)
  must(open()->get()->remove(kSecond));
  for (const Call call : {Call::kWrite, Call::kSync}) {
    SCOPED_TRACE(static_cast<int>(call));
    const auto copy = disk.copy();
    const auto tiers = StagedTiers::open(copy.get(), kOnMemory);
    copy->b().fail(call, 0, EIO, true);
    must(make_file(tiers->get(), kFirst, kBlocks));
    const Status moved = tiers->get()->make_room();
    EXPECT_EQ(moved.code(), ErrorCode::kIoError);
    EXPECT_NE(moved.message().find(kFirstSsd), std::string::npos) << moved.message();
    EXPECT_EQ(tiers->get()->fill().moved_bytes, 0u);
    must(tiers->get()->remove(kFirst));  // no page of it may be written
    must(tiers->get()->make_room());
  }
  const auto tiers = open();
  disk.b().fail(Call::kWrite, 0, EIO, true);
  must(make_file(tiers->get(), kFirst, kBlocks));
  EXPECT_EQ(tiers->get()->make_room().code(), ErrorCode::kIoError);
  EXPECT_EQ(difference(tiers->get(), kFirst, kBlocks), "");
  disk.b().clear_faults();
  must(tiers->get()->make_room());
  EXPECT_EQ(difference(tiers->get(), kFirst, kBlocks), "");
  EXPECT_EQ(on_ssd(kBlocks - 1), block_of(kFirst, kBlocks - 1));
}

// V2, V23, V32. Method: two files are made, of which the second one is staged alone, and extents of
// the first one move; a file counts once its directory is synced.
struct Made {
  bool first = false;
  bool second = false;
};

void make_and_move(TieredDevice* device, Made* made) {
  made->first = make_file(device, kFirst, kBlocks).is_ok();
  made->second = make_file(device, kSecond, 2 * kBlocksPerExtent).is_ok();
  static_cast<void>(device->make_room().is_ok());
}

void expect_made(TieredDevice* device, const Made& made) {
  if (made.first) {
    EXPECT_EQ(difference(device, kFirst, kBlocks), "");
  }
  if (made.second) {
    EXPECT_EQ(difference(device, kSecond, 2 * kBlocksPerExtent), "");
  }
}

std::unique_ptr<StagedTiers> not_looked_at(SpreadDisk* disk) {
  return std::make_unique<StagedTiers>(disk, kOnMemory, false);
}

TEST_F(StagedTiersTest, a_power_failure_at_any_call_loses_no_file_that_counts) {
  Made made;
  const auto act = [&](StagedTiers* tiers) {
    made = {};
    if (tiers->get()->look().is_ok()) make_and_move(tiers->get(), &made);
  };
  const auto check = [&](SpreadDisk* left) {
    const auto tiers = StagedTiers::open(left, kOnMemory);
    expect_made(tiers->get(), made);
    for (const std::string_view name : {kFirst, kSecond}) {
      must(unless_gone(tiers->get()->remove(name)));
    }
    must(make_file(tiers->get(), kFirst, kBlocks));
    must(tiers->get()->make_room());
    EXPECT_EQ(difference(tiers->get(), kFirst, kBlocks), "");
  };
  EXPECT_GT(testing::at_each_call(disk, not_looked_at, act, check), 40u);
}

// The first life leaves staged pages, and the second one recovers them.
TEST_F(StagedTiersTest, a_power_failure_at_any_call_of_recovery_loses_nothing) {
  open_with_staged().reset();
  const auto act = [&](StagedTiers* tiers) {
    static_cast<void>(tiers->get()->look().is_ok());
  };
  const auto check = [&](SpreadDisk* left) {
    const auto tiers = StagedTiers::open(left, kOnMemory);
    EXPECT_EQ(difference(tiers->get(), kFirst, kBlocks), "");
  };
  EXPECT_GT(testing::at_each_call(disk, not_looked_at, act, check), 12u);
}

// V2. Writes of an earlier process are visible and perhaps not durable.
TEST_F(StagedTiersTest, failed_syncs_lose_no_file_that_counts) {
  for (const std::uint64_t how : testing::kCrashes) {
    for (std::uint64_t skip = 0; skip < 24; ++skip) {
      SCOPED_TRACE("sync " + std::to_string(skip) + ", crash " + std::to_string(how));
      const auto copy = disk.copy();
      Made made;
      {
        const StagedTiers tiers(copy.get(), kOnMemory);
        for (const auto& place : copy->disks()) place->fail(Call::kSync, skip, EIO);
        if (tiers.get()->look().is_ok()) make_and_move(tiers.get(), &made);
      }
      for (const auto& place : copy->disks()) place->clear_faults();
      for (const auto& place : copy->disks()) place->crash_process();
      must(StagedTiers::open(copy.get(), kOnMemory)->get()->make_room());
      copy->crash_power(how);
      expect_made(StagedTiers::open(copy.get(), kOnMemory)->get(), made);
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace foedus::device::staged_tiers_test
