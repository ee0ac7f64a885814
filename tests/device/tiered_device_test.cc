// ctest-labels: crash memory
// TieredDevice: reads of a file return the same bytes wherever its extents lie and whenever they
// move, also after a power failure at any call; a full or a lost tier is an error with its name.
#include "foedus-core/device/tiers/tiered_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "foedus-core/device/io_queue.h"
#include "tests/testing/spread_disk.h"
#include "tests/testing/test_database.h"
#include "tests/testing/tiered_files.h"

namespace foedus::device::tiered_device_test {
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
using testing::limit_of;
using testing::make_file;
using testing::must;
using testing::SpreadDisk;

class TieredDeviceTest : public ::testing::Test {
 protected:
  std::unique_ptr<TieredDevice> open(const TierLimits& limits) {
    return disk.open_tiered(limits);
  }

  SpreadDisk disk;
};

TEST_F(TieredDeviceTest, what_memory_has_no_room_for_is_written_to_the_ssd) {
  {
    const auto device = open({.nvm_bytes = 4 * kExtentBytes});
    must(make_file(device.get(), kFirst, 10 * kBlocksPerExtent - 3));
    EXPECT_EQ(extents(device->fill().nvm_bytes), 4u);
    EXPECT_EQ(extents(device->fill().ssd_bytes), 6u);
    EXPECT_EQ(difference(device.get(), kFirst, 10 * kBlocksPerExtent - 3), "");
    EXPECT_TRUE(disk.b().exists("ssd-00000001-0"));
    EXPECT_TRUE(disk.a().exists("tiers-00000001-0"));
    EXPECT_EQ(must(must(device->open(kFirst, Access::kRead))->size()),
              (10 * kBlocksPerExtent - 3) * kBlockBytes);
  }
  const auto again = open({.nvm_bytes = 4 * kExtentBytes});
  EXPECT_EQ(extents(again->fill().nvm_bytes), 4u);
  EXPECT_EQ(extents(again->fill().ssd_bytes), 6u);
  EXPECT_EQ(difference(again.get(), kFirst, 10 * kBlocksPerExtent - 3), "");
}

TEST_F(TieredDeviceTest, a_file_that_fits_into_memory_has_one_part) {
  const auto device = open({.nvm_bytes = 4 * kExtentBytes});
  must(make_file(device.get(), kFirst, 3 * kBlocksPerExtent));
  EXPECT_FALSE(disk.b().exists("ssd-00000001-0"));
  EXPECT_FALSE(disk.a().exists("tiers-00000001-0"));
  EXPECT_EQ(difference(device.get(), kFirst, 3 * kBlocksPerExtent), "");
}

// Space that files do not use is lent, except for an eighth, and files cannot use it then.
TEST_F(TieredDeviceTest, room_that_is_lent_is_not_for_files) {
  const auto device = open({.nvm_bytes = 16 * kExtentBytes});
  must(make_file(device.get(), kFirst, 4 * kBlocksPerExtent));
  EXPECT_EQ(extents(device->lend_room(3 * kExtentBytes + 1, true)), 3u);
  EXPECT_FALSE(device->wants_room());
  EXPECT_EQ(extents(device->lend_room(100 * kExtentBytes, false)), 7u);
  EXPECT_EQ(device->lend_room(kExtentBytes, false), 0u);
  EXPECT_FALSE(device->wants_room());
  must(make_file(device.get(), kSecond, 5 * kBlocksPerExtent));
  EXPECT_EQ(extents(device->fill().nvm_bytes), 6u);
  EXPECT_EQ(extents(device->fill().ssd_bytes), 3u);
  device->return_room(2 * kExtentBytes);
  must(make_file(device.get(), "snapshot-00000003-0", 5 * kBlocksPerExtent));
  EXPECT_EQ(extents(device->fill().nvm_bytes), 8u);
}

// Extents on memory move for a borrower, a part at a time, until none is left.
TEST_F(TieredDeviceTest, extents_move_for_a_borrower) {
  const auto device = open({.nvm_bytes = 64 * kExtentBytes});
  must(make_file(device.get(), kFirst, 56 * kBlocksPerExtent));
  must(device->make_room());
  EXPECT_EQ(device->fill().moved_bytes, 0u);
  std::uint64_t lent = 0;
  while (device->fill().nvm_bytes != 0) {
    EXPECT_EQ(device->lend_room(4 * kExtentBytes, true), 0u);
    ASSERT_TRUE(device->wants_room());
    must(device->make_room());
    EXPECT_FALSE(device->wants_room());
    const std::uint64_t more = extents(device->lend_room(4 * kExtentBytes, false));
    ASSERT_EQ(more, 2u);  // a thirty-second part
    lent += more;
  }
  EXPECT_EQ(lent, 56u);
  EXPECT_EQ(device->lend_room(kExtentBytes, true), 0u);
  EXPECT_FALSE(device->wants_room());  // no extent is left
  EXPECT_EQ(difference(device.get(), kFirst, 56 * kBlocksPerExtent), "");
}

// A mover that fails gets only requests for files.
TEST_F(TieredDeviceTest, a_full_ssd_lends_no_room) {
  const auto device = open({.nvm_bytes = 64 * kExtentBytes, .ssd_bytes = kExtentBytes});
  must(make_file(device.get(), kFirst, 56 * kBlocksPerExtent));
  EXPECT_EQ(device->lend_room(kExtentBytes, true), 0u);
  EXPECT_TRUE(device->wants_room());
  EXPECT_EQ(device->make_room().code(), ErrorCode::kOutOfSpace);
  EXPECT_FALSE(device->wants_room());
  EXPECT_EQ(device->lend_room(kExtentBytes, true), 0u);
  EXPECT_FALSE(device->wants_room());
  must(device->make_room());  // no extent must move for files
  EXPECT_EQ(device->lend_room(kExtentBytes, true), 0u);
  EXPECT_TRUE(device->wants_room());
}

// Space that was lent before a restart stays lent.
TEST_F(TieredDeviceTest, a_borrower_keeps_its_room) {
  const auto device = open({.nvm_bytes = 8 * kExtentBytes});
  device->keep_lent(6 * kExtentBytes);
  must(make_file(device.get(), kFirst, 4 * kBlocksPerExtent));
  EXPECT_EQ(extents(device->fill().nvm_bytes), 2u);
  must(device->make_room());
  EXPECT_EQ(extents(device->fill().nvm_bytes), 1u);
}

// An eighth of memory is free afterwards, extents that were read stay, and the space of the others
// is freed.
TEST_F(TieredDeviceTest, the_mover_takes_what_was_not_read) {
  const auto device = open({.nvm_bytes = 8 * kExtentBytes});
  must(make_file(device.get(), kFirst, 8 * kBlocksPerExtent));
  must(device->make_room());  // all were new: one of them moved
  EXPECT_EQ(extents(device->fill().nvm_bytes), 7u);
  EXPECT_EQ(extents(device->fill().moved_bytes), 1u);
  EXPECT_EQ(extents(device->fill().ssd_bytes), 1u);
  must(make_file(device.get(), kSecond, kBlocksPerExtent));
  std::string bytes(kBlockBytes, '\0');
  const auto file = must(device->open(kFirst, Access::kRead));
  // The hand is after the extent that moved; the next ones have been read.
  for (const std::uint64_t extent : {0, 1, 2, 6, 7}) {
    must(file->read_at(extent * kExtentBytes, bytes.data(), kBlockBytes));
  }
  for (const std::uint64_t extent : {3, 4}) {
    const File::Piece piece{extent * kExtentBytes, bytes.data(), 64};
    EXPECT_TRUE(must(file->read_pieces(&piece, 1)));
  }
  const std::uint64_t used = disk.a().used_bytes();
  must(device->make_room());
  EXPECT_EQ(extents(device->fill().nvm_bytes), 7u);
  EXPECT_EQ(used - disk.a().used_bytes(), kExtentBytes);
  EXPECT_FALSE(file->has_small_reads(5 * kExtentBytes));
  EXPECT_TRUE(file->has_small_reads(4 * kExtentBytes));
  EXPECT_EQ(difference(device.get(), kFirst, 8 * kBlocksPerExtent), "");
  EXPECT_EQ(difference(device.get(), kSecond, kBlocksPerExtent), "");
}

// An extent that the hand has passed is taken in the hand's next round, not before.
TEST_F(TieredDeviceTest, the_hand_goes_on_where_it_stopped) {
  const auto device = open({.nvm_bytes = 8 * kExtentBytes});
  must(make_file(device.get(), kFirst, 8 * kBlocksPerExtent));
  must(device->make_room());  // all were new: one of them moved
  const auto file = must(device->open(kFirst, Access::kRead));
  std::string bytes(kBlockBytes, '\0');
  for (const std::uint64_t extent : {1, 2}) {
    must(file->read_at(extent * kExtentBytes, bytes.data(), kBlockBytes));
  }
  for (const std::uint64_t moved : {3, 4}) {
    must(make_file(device.get(), moved == 3 ? kSecond : "snapshot-00000003-0", kBlocksPerExtent));
    must(device->make_room());
    for (std::uint64_t extent = 1; extent < 8; ++extent) {
      EXPECT_EQ(file->has_small_reads(extent * kExtentBytes), extent < 3 || extent > moved);
    }
  }
}

// Goal: parts of one read lie on different tiers, with no move meanwhile.
TEST_F(TieredDeviceTest, parts_of_a_read_may_lie_on_both_tiers) {
  const auto device = open({.nvm_bytes = 2 * kExtentBytes});
  must(make_file(device.get(), kFirst, 4 * kBlocksPerExtent - 3));
  const auto file = must(device->open(kFirst, Access::kRead));
  for (std::uint64_t extent = 1; extent < 4; ++extent) {
    const std::uint64_t block = extent * kBlocksPerExtent - 1;
    std::string bytes(2 * kBlockBytes, '\0');
    const Bytes parts[] = {{bytes.data(), kBlockBytes}, {bytes.data() + kBlockBytes, kBlockBytes}};
    EXPECT_EQ(must(file->read_parts_at(block * kBlockBytes, parts, 2)), 2 * kBlockBytes);
    EXPECT_EQ(bytes, block_of(kFirst, block) + block_of(kFirst, block + 1)) << block;
  }
  std::string line(64, '\0');
  const File::Piece behind{4 * kExtentBytes - 2 * kBlockBytes, line.data(), line.size()};
  EXPECT_FALSE(must(file->read_pieces(&behind, 1)));
}

TEST_F(TieredDeviceTest, a_queue_keeps_no_file_of_a_read_that_has_ended) {
  const auto device = open({.nvm_bytes = 4 * kExtentBytes});
  must(make_file(device.get(), kFirst, 2 * kBlocksPerExtent));
  const std::shared_ptr<const File> file = must(device->open(kFirst, Access::kRead));
  const auto queue = device->make_io_queue();
  std::string bytes(kBlockBytes, '\0');
  const Bytes part{bytes.data(), bytes.size()};
  for (std::uint32_t i = 0; i < 2 * IoQueue::kRequestsMax; ++i) {
    ASSERT_TRUE(queue->add_read(file, 0, &part, 1, i)) << i;
    queue->send();
    IoQueue::Done done;
    ASSERT_TRUE(queue->next(true, &done));
    EXPECT_EQ(done.bytes, kBlockBytes);
    EXPECT_EQ(file.use_count(), 1);
  }
}

TEST_F(TieredDeviceTest, everything_moves_when_nothing_may_stay) {
  {
    const auto device = open({.nvm_bytes = kExtentBytes});
    must(make_file(device.get(), kFirst, 100));
    must(make_file(device.get(), kSecond, 70));
    must(device->make_room());
    EXPECT_EQ(device->fill().nvm_bytes, 0u);
  }
  const auto again = open({});
  EXPECT_EQ(difference(again.get(), kFirst, 100), "");
  EXPECT_EQ(difference(again.get(), kSecond, 70), "");
}

// Goal: V25. Method: the mover runs after a reader has read the map and before its read of the
// bytes, within that call of the device, and frees the space.
class TieredMoveTest : public TieredDeviceTest {
 protected:
  TieredMoveTest() : device(open(limit_of(2))) {
    must(make_file(device.get(), kFirst, 2 * kBlocksPerExtent));
    must(make_file(device.get(), kSecond, kBlocksPerExtent));
    file = must(device->open(kFirst, Access::kRead));
    disk.a().set_observer([this](const CallSeen& call) {
      if (call.kind != Call::kRead || call.name != kFirst || has_moved) return;
      has_moved = true;
      while (device->fill().nvm_bytes != 0) {
        must(make_file(device.get(), "snapshot-0000001" + std::to_string(files++) + "-0", 1));
        must(device->make_room());
        if (files == 9) break;
      }
    });
  }
  ~TieredMoveTest() override { disk.a().set_observer({}); }

  std::unique_ptr<TieredDevice> device;
  std::unique_ptr<File> file;
  bool has_moved = false;
  int files = 0;
};

TEST_F(TieredMoveTest, a_read_finds_what_was_moved_meanwhile) {
  std::string bytes(kBlockBytes, '\0');
  EXPECT_EQ(must(file->read_at(kBlockBytes, bytes.data(), kBlockBytes)), kBlockBytes);
  EXPECT_TRUE(has_moved);
  EXPECT_FALSE(file->has_small_reads(0));
  EXPECT_EQ(bytes, block_of(kFirst, 1));
}

TEST_F(TieredMoveTest, parts_of_a_read_are_of_one_place) {
  std::string one(kBlockBytes, '\0');
  std::string two(kBlockBytes, '\0');
  const Bytes parts[] = {{one.data(), one.size()}, {two.data(), two.size()}};
  EXPECT_EQ(must(file->read_parts_at(kExtentBytes - kBlockBytes, parts, 2)), 2 * kBlockBytes);
  EXPECT_TRUE(has_moved);
  EXPECT_EQ(one, block_of(kFirst, kBlocksPerExtent - 1));
  EXPECT_EQ(two, block_of(kFirst, kBlocksPerExtent));
}

TEST_F(TieredMoveTest, lines_are_read_of_a_block_of_the_ssd) {
  std::string lines(192, '\0');
  const std::uint64_t offset = 3 * kBlockBytes + 64;
  const File::Piece pieces[] = {{offset, lines.data(), 128},
                                {offset + 256, lines.data() + 128, 64}};
  EXPECT_TRUE(must(file->read_pieces(pieces, 2)));
  EXPECT_TRUE(has_moved);
  const std::string block = block_of(kFirst, 3);
  EXPECT_EQ(lines, block.substr(64, 128) + block.substr(64 + 256, 64));
}

TEST_F(TieredMoveTest, a_queued_read_of_what_was_moved_brings_nothing) {
  std::string bytes(kBlockBytes, '\0');
  const std::shared_ptr<const File> shared = must(device->open(kFirst, Access::kRead));
  const auto queue = device->make_io_queue();
  const Bytes part{bytes.data(), bytes.size()};
  ASSERT_TRUE(queue->add_read(shared, 0, &part, 1, 7));
  queue->send();
  IoQueue::Done done;
  ASSERT_TRUE(queue->next(true, &done));
  EXPECT_EQ(done.tag, 7u);
  EXPECT_TRUE(has_moved);
  EXPECT_EQ(done.bytes, 0u);
  ASSERT_TRUE(queue->add_read(shared, 0, &part, 1, 8));
  queue->send();
  ASSERT_TRUE(queue->next(true, &done));
  EXPECT_EQ(done.bytes, kBlockBytes);
  EXPECT_EQ(bytes, block_of(kFirst, 0));
}

// ---- power failures and errors -----------------------------------------------------------------

constexpr std::uint64_t kBlocks = 3 * kBlocksPerExtent - 5;

template <typename Act, typename Check>
std::uint64_t at_each_call(const SpreadDisk& disk, Act act, Check check) {
  const auto open = [](SpreadDisk* copy) { return copy->open_tiered(limit_of(1)); };
  return testing::at_each_call(disk, open, act, check);
}

// V24: a power failure at any call of the mover loses no byte.
TEST_F(TieredDeviceTest, a_power_failure_at_any_call_of_the_mover_loses_nothing) {
  must(make_file(open({.nvm_bytes = 8 * kExtentBytes}).get(), kFirst, kBlocks));
  must(make_file(open({.nvm_bytes = 8 * kExtentBytes}).get(), kSecond, kBlocks));
  const auto move = [](TieredDevice* device) {
    static_cast<void>(device->make_room().is_ok());
  };
  const auto check = [](SpreadDisk* left) {
    const auto device = left->open_tiered(limit_of(1));
    EXPECT_EQ(difference(device.get(), kFirst, kBlocks), "");
    EXPECT_EQ(difference(device.get(), kSecond, kBlocks), "");
    must(device->make_room());
    EXPECT_EQ(extents(device->fill().nvm_bytes), 1u);
    EXPECT_LE(left->a().used_bytes(), 2 * kExtentBytes);
    EXPECT_EQ(difference(device.get(), kFirst, kBlocks), "");
    EXPECT_EQ(difference(device.get(), kSecond, kBlocks), "");
  };
  EXPECT_GT(at_each_call(disk, move, check), 10u);
}

// V23: a file that was synced together with its directory is there; any other can be removed by its
// name.
TEST_F(TieredDeviceTest, a_power_failure_at_any_call_of_a_writer_leaves_a_file_or_leftovers) {
  bool is_made = false;
  const auto make = [&](TieredDevice* device) {
    is_made = make_file(device, kFirst, kBlocks).is_ok();
  };
  const auto check = [&](SpreadDisk* left) {
    const auto device = left->open_tiered(limit_of(1));
    if (is_made) {
      EXPECT_EQ(difference(device.get(), kFirst, kBlocks), "");
    }
    must(unless_gone(device->remove(kFirst)));
    for (const std::string& name : must(device->list())) {
      EXPECT_FALSE(name.starts_with("snapshot")) << name;
    }
    must(make_file(device.get(), kFirst, kBlocks));
    EXPECT_EQ(difference(device.get(), kFirst, kBlocks), "");
  };
  EXPECT_GT(at_each_call(disk, make, check), 5u);
}

// V26: after a power failure in a removal the rest can be removed.
TEST_F(TieredDeviceTest, a_power_failure_at_any_call_of_a_removal_leaves_what_can_be_removed) {
  must(make_file(open(limit_of(1)).get(), kFirst, kBlocks));
  const auto remove = [](TieredDevice* device) {
    if (device->remove(kFirst).is_ok()) static_cast<void>(device->sync_directory().is_ok());
  };
  const auto check = [](SpreadDisk* left) {
    const auto device = left->open_tiered(limit_of(1));
    for (const std::string& name : must(device->list())) {
      if (name.starts_with("snapshot")) must(device->remove(name));
    }
    for (const auto& place : left->disks()) {
      for (const std::string& name : place->names()) {
        EXPECT_TRUE(name.starts_with("foedus")) << name;
      }
    }
    EXPECT_EQ(device->fill().nvm_bytes + device->fill().ssd_bytes, 0u);
  };
  EXPECT_GE(at_each_call(disk, remove, check), 4u);
}

TEST_F(TieredDeviceTest, an_error_of_the_mover_leaves_everything_readable) {
  must(make_file(open({.nvm_bytes = 8 * kExtentBytes}).get(), kFirst, kBlocks));
  for (const Call call : {Call::kOpen, Call::kCreate, Call::kRead, Call::kWrite, Call::kSync,
                          Call::kSyncDirectory, Call::kDiscard}) {
    for (std::uint64_t skip = 0; skip < 4; ++skip) {
      SCOPED_TRACE(std::to_string(static_cast<int>(call)) + " after " + std::to_string(skip));
      const auto copy = disk.copy();
      const auto device = copy->open_tiered(limit_of(1));
      for (const auto& place : copy->disks()) place->fail(call, skip, EIO);
      const Status moved = device->make_room();
      for (const auto& place : copy->disks()) place->clear_faults();
      EXPECT_TRUE(moved.is_ok() || moved.code() == ErrorCode::kIoError) << moved.message();
      ASSERT_EQ(difference(device.get(), kFirst, kBlocks), "");
      must(device->make_room());
      ASSERT_EQ(difference(device.get(), kFirst, kBlocks), "");
    }
  }
}

// Goal: space is freed only by a durable map. The map of a killed process, or of one whose sync
// failed, may be visible and not durable. Method: after such an end another process frees space,
// and then power fails.
TEST_F(TieredDeviceTest, room_is_given_back_only_when_the_map_is_durable) {
  must(make_file(open({.nvm_bytes = 8 * kExtentBytes}).get(), kFirst, kBlocks));
  for (const std::uint64_t how : testing::kCrashes) {
    for (std::uint64_t skip = 0; skip < 6; ++skip) {
      SCOPED_TRACE("sync " + std::to_string(skip) + ", crash " + std::to_string(how));
      const auto copy = disk.copy();
      for (const auto& place : copy->disks()) place->fail(Call::kSync, skip, EIO);
      static_cast<void>(copy->open_tiered(limit_of(1))->make_room().is_ok());
      for (const auto& place : copy->disks()) place->crash_process();
      static_cast<void>(copy->open_tiered(limit_of(1))->make_room().is_ok());
      copy->crash_power(how);
      ASSERT_EQ(difference(copy->open_tiered(limit_of(1)).get(), kFirst, kBlocks), "");
    }
  }
}

// Space that could not be freed is not used, and is freed before the next move.
TEST_F(TieredDeviceTest, room_that_is_not_given_back_stops_the_mover) {
  must(make_file(open({.nvm_bytes = 8 * kExtentBytes}).get(), kFirst, kBlocks));
  must(make_file(open({.nvm_bytes = 8 * kExtentBytes}).get(), kSecond, kBlocks));
  const auto device = open(limit_of(1));
  disk.a().fail(Call::kDiscard, 0, EIO, true);
  EXPECT_EQ(device->make_room().code(), ErrorCode::kIoError);
  const std::uint64_t moved = device->fill().moved_bytes;
  EXPECT_EQ(device->make_room().code(), ErrorCode::kIoError);
  EXPECT_EQ(device->fill().moved_bytes, moved);
  disk.a().clear_faults();
  must(device->make_room());
  EXPECT_EQ(extents(device->fill().nvm_bytes), 1u);
  EXPECT_LE(disk.a().used_bytes(), 2 * kExtentBytes);
  EXPECT_EQ(difference(device.get(), kFirst, kBlocks), "");
}

TEST_F(TieredDeviceTest, a_full_tier_has_a_name) {
  const TierLimits limits{.nvm_bytes = 2 * kExtentBytes, .ssd_bytes = 3 * kExtentBytes};
  const auto device = open(limits);
  const Status made = make_file(device.get(), kFirst, 6 * kBlocksPerExtent);
  EXPECT_EQ(made.code(), ErrorCode::kOutOfSpace);
  EXPECT_NE(made.message().find("ssd_bytes"), std::string::npos) << made.message();
  EXPECT_EQ(device->fill().nvm_bytes + device->fill().ssd_bytes, 0u);  // not counted as a file
  must(device->remove(kFirst));
  must(make_file(device.get(), kFirst, 5 * kBlocksPerExtent));
  EXPECT_EQ(device->make_room().code(), ErrorCode::kOutOfSpace);
  EXPECT_EQ(difference(device.get(), kFirst, 5 * kBlocksPerExtent), "");
}

// The file system of memory is full before the limit is reached.
TEST_F(TieredDeviceTest, a_full_memory_is_written_around) {
  const auto device = open({.nvm_bytes = 8 * kExtentBytes});
  disk.a().set_capacity(disk.a().used_bytes() + 2 * kExtentBytes);
  must(make_file(device.get(), kFirst, 7 * kBlocksPerExtent));
  disk.a().set_capacity(FailingDevice::kUnlimited);
  EXPECT_EQ(difference(device.get(), kFirst, 7 * kBlocksPerExtent), "");
  EXPECT_EQ(extents(device->fill().nvm_bytes + device->fill().ssd_bytes), 7u);
}

TEST_F(TieredDeviceTest, a_lost_part_has_a_name) {
  const auto device = open({.nvm_bytes = kExtentBytes});
  must(make_file(device.get(), kFirst, kBlocks));
  disk.b().drop_file("ssd-00000001-0");
  const auto file = device->open(kFirst, Access::kRead);
  EXPECT_EQ(file.code(), ErrorCode::kCorruption);
  EXPECT_NE(file.status().message().find("ssd-00000001-0 is missing"), std::string::npos);
}

TEST_F(TieredDeviceTest, a_damaged_map_is_refused) {
  must(make_file(open({.nvm_bytes = kExtentBytes}).get(), kFirst, kBlocks));
  const auto refusal = [&](std::uint64_t offset, unsigned bit) {
    const auto copy = disk.copy();
    copy->a().flip_bit("tiers-00000001-0", offset, bit);
    const auto device = copy->open_tiered({});
    const auto file = device->open(kFirst, Access::kRead);
    EXPECT_NE(file.status().message().find("tiers-00000001-0"), std::string::npos);
    must(device->remove(kFirst));
    return file.code();
  };
  EXPECT_EQ(refusal(0, 3), ErrorCode::kCorruption);
  EXPECT_EQ(refusal(8, 3), ErrorCode::kCorruption);    // the size of extents
  EXPECT_EQ(refusal(12, 1), ErrorCode::kWrongVersion);
  EXPECT_EQ(refusal(16, 2), ErrorCode::kCorruption);   // an extent
  EXPECT_EQ(refusal(21, 7), ErrorCode::kCorruption);   // its checksum
}

void expect_refused(const Status& status) {
  EXPECT_EQ(status.code(), ErrorCode::kNotSupported) << status.message();
}

TEST_F(TieredDeviceTest, files_are_made_front_to_back_and_then_only_read) {
  const auto device = open(limit_of(1));
  const auto file = must(device->open(kFirst, Access::kCreate));
  const std::string block = block_of(kFirst, 0);
  expect_refused(file->write_at(kBlockBytes, block.data(), kBlockBytes));
  must(file->write_at(0, block.data(), kBlockBytes));
  must(file->sync());
  expect_refused(file->write_at(kBlockBytes, block.data(), kBlockBytes));
  const auto read = must(device->open(kFirst, Access::kRead));
  expect_refused(read->write_at(0, block.data(), kBlockBytes));
  expect_refused(device->open(kFirst, Access::kReadWrite).status());
}

}  // namespace
}  // namespace foedus::device::tiered_device_test
