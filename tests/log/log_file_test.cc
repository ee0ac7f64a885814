// Names and blocks of segment files, and the slots of the savepoint.
#include "foedus-core/log/segments/format.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <new>

#include "foedus-core/base/crc32c.h"
#include "foedus-core/log/savepoint.h"
#include "foedus-core/log/segments/reader.h"
#include "tests/log/log_harness.h"

namespace foedus::log::testing::log_file_test {
namespace {

TEST(LogFileTest, segment_names_are_parsed_as_they_are_made) {
  EXPECT_EQ(segment_name(3, 12), "log-3-00000012");
  const auto parsed = parse_segment_name("log-63-99999999");
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->logger, 63u);
  EXPECT_EQ(parsed->number, kSegmentNumberMax);
  for (const char* const name : {"", "log", "log-", "log-1", "log-1-", "log--00000001",
                                 "log-1-0000001", "log-1-000000001", "log-1-0000000x",
                                 "log-01-00000001", "log-1-00000001 ", "xlog-1-00000001",
                                 "log-1-100000000", "log-100000000-00000001"}) {
    EXPECT_FALSE(parse_segment_name(name).has_value()) << name;
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they need addresses
// Goal: T4 when recovery or a mapper opens a segment. Method: a child without addresses for the
// reader's window.
TEST(LogFileTest, a_reader_without_memory_throws_and_does_not_end_the_process) {
  const auto read = [] {
    const rlimit limit{1u << 20, RLIM_INFINITY};  // less than the process has
    setrlimit(RLIMIT_AS, &limit);
    try {
      const FrameReader reader(nullptr, SegmentHeader{}, 4 * kFrameBytesMax);
      _exit(1);
    } catch (const std::bad_alloc&) {
      _exit(7);
    }
  };
  EXPECT_EXIT(read(), ::testing::ExitedWithCode(7), "");
}
#endif

TEST(LogFileTest, a_block_knows_its_header_and_its_seal) {
  SegmentBlock block;
  EXPECT_EQ(block.header_state(), SegmentBlock::State::kDamaged);
  EXPECT_EQ(block.seal_state(), SegmentBlock::State::kAbsent);
  SegmentHeader header{};
  header.number = 9;
  block.set_header(header);
  EXPECT_EQ(block.header_state(), SegmentBlock::State::kValid);
  EXPECT_EQ(block.header().number, 9u);
  SegmentSeal seal{};
  seal.cut_epoch = 77;
  block.set_seal(seal);
  EXPECT_EQ(block.seal_state(), SegmentBlock::State::kValid);
  EXPECT_EQ(block.seal().cut_epoch, 77u);
  EXPECT_EQ(block.header_state(), SegmentBlock::State::kValid);
  block.bytes()[kSlotBytes + 1'000] = 1;
  EXPECT_EQ(block.seal_state(), SegmentBlock::State::kDamaged);
}

// The bytes that FORMAT.md promises, spelled out: a change of the format must change this test, the
// document and the version.
TEST(LogFileTest, the_first_bytes_of_a_segment_are_those_of_the_format) {
  FailingDevice device;
  LogRun run(&device);
  ASSERT_OK(run.open_and_start());
  ASSERT_OK(run.session(0)->commit(0x0102030405060708, 8));
  run.runtime.run_for(50'000);
  const std::vector<char> bytes = device.bytes_of("log-0-00000001");
  const auto text = [&](std::size_t offset, std::size_t count) {
    return std::string(bytes.data() + offset, count);
  };
  EXPECT_EQ(text(0, 8), "FOEDLOG1");
  EXPECT_EQ(text(8, 4), std::string("\3\0\0\0", 4));             // version
  EXPECT_EQ(text(16, 8), std::string("\0\0\0\0\1\0\0\0", 8));    // SOC, number
  EXPECT_EQ(text(24, 8), std::string("\1\0\0\0\0\0\0\0", 8));    // incarnation
  EXPECT_EQ(text(48, 8), std::string("\0\x10\x10\0\0\0\0\0", 8));  // 1 MiB and a block
  EXPECT_EQ(text(56, 1'992), std::string(1'992, '\0'));
  EXPECT_EQ(text(4096, 4), "FRME");
  EXPECT_EQ(text(4104, 8), std::string("\0\x10\0\0\1\0\1\0", 8));  // bytes, layout, pieces
  EXPECT_EQ(text(4128, 8), std::string("\0\x10\0\0\0\0\0\0", 8));  // offset
  EXPECT_EQ(text(4172, 4), text(8, 4));                            // version
  EXPECT_EQ(text(4180, 4), std::string("\7\0\0\0", 4));           // sectors of zeroes
  EXPECT_EQ(text(4184, 8), std::string("\0\0\0\0\x28\0\0\0", 8));  // session, 40 bytes
  EXPECT_EQ(text(4200, 8), std::string("\x28\0\0\0\7\0\0\0", 8));  // the record
  EXPECT_EQ(text(4224, 8), std::string("\x08\7\6\5\4\3\2\1", 8));  // its key
  std::string sector = text(4096, 512);
  sector.replace(offsetof(FrameHeader, crc), 4, 4, '\0');
  sector.replace(offsetof(FrameHeader, sector_crc), 4, 4, '\0');
  const std::uint32_t crc = base::crc32c(sector.data(), sector.size());
  EXPECT_EQ(text(4176, 4), std::string(reinterpret_cast<const char*>(&crc), 4));
}

TEST(SavepointTest, the_newest_valid_slot_counts_and_a_torn_write_leaves_the_old_one) {
  FailingDevice device;
  Savepoint savepoint = empty_savepoint();
  ASSERT_OK(create_savepoint(&device, &savepoint));
  for (std::uint64_t i = 1; i <= 5; ++i) {
    savepoint.incarnation = i;
    ASSERT_OK(write_savepoint(&device, &savepoint));
    EXPECT_EQ(read_savepoint(&device)->incarnation, i);
  }
  const std::uint64_t slot = savepoint.sequence % kSavepointSlots * 4096;
  device.flip_bit(std::string(kSavepointName), slot + 30, 1);
  EXPECT_EQ(read_savepoint(&device)->incarnation, 4u);
  for (std::uint64_t other = 0; other < slot; other += 4096) {
    device.flip_bit(std::string(kSavepointName), other + 30, 1);
  }
  EXPECT_EQ(read_savepoint(&device).code(), ErrorCode::kCorruption);
}

TEST(SavepointTest, one_that_fails_once_is_written_again) {
  for (const Call kind : {Call::kSync, Call::kWrite}) {
    FailingDevice device;
    Savepoint savepoint = empty_savepoint();
    ASSERT_OK(create_savepoint(&device, &savepoint));
    savepoint.incarnation = 7;
    device.fail(kind, 0, EIO);
    ASSERT_OK(write_savepoint(&device, &savepoint));
    device.crash_power(FailingDevice::kDropAll);
    EXPECT_EQ(read_savepoint(&device)->incarnation, 7u);
  }
}

// Goal: a full device fails when the log is made, not when a savepoint is needed.
TEST(SavepointTest, room_for_all_slots_is_taken_first) {
  FailingDevice device;
  device.set_capacity(kBlockBytes);
  Savepoint savepoint = empty_savepoint();
  EXPECT_EQ(create_savepoint(&device, &savepoint).code(), ErrorCode::kOutOfSpace);
  EXPECT_EQ(device.calls(Call::kWrite), 0u);
}

// Goal: writes seldom change a file's length. Method: the test checks the length before the first
// record.
TEST(LogFileTest, room_is_taken_ahead_of_header_and_frames) {
  FailingDevice device;
  LogRun run(&device, 1, 8u << 20);
  ASSERT_OK(run.open_and_start());
  EXPECT_EQ(device.size_of("log-0-00000001"), (4u << 20) + kBlockBytes);
  TestSession* const session = run.session(0, 16u << 20);
  ASSERT_OK(session->commit(1, 5'000'000));
  run.runtime.run_for(50'000);
  EXPECT_EQ(device.size_of("log-0-00000001"), (8u << 20) + kBlockBytes);
}

// Goal: failed writes never touch the only valid slot. Method: every write and sync fails for a
// while, with a power failure after each.
TEST(SavepointTest, failed_writes_spare_the_valid_slot) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    FailingDevice device;
    Savepoint savepoint = empty_savepoint();
    savepoint.incarnation = 1;
    ASSERT_OK(create_savepoint(&device, &savepoint));
    ASSERT_OK(write_savepoint(&device, &savepoint));
    savepoint.incarnation = 2;
    savepoint.loggers[40].newest = 7;  // in another sector: half a slot is no slot
    device.fail(seed % 2 == 0 ? Call::kWrite : Call::kSync, 0, EIO, true);
    for (std::uint64_t i = 0; i < 1 + seed % 3; ++i) {
      EXPECT_FALSE(write_savepoint(&device, &savepoint).is_ok());
    }
    device.crash_power(seed);
    const auto found = read_savepoint(&device);
    ASSERT_OK(found);
    EXPECT_EQ(found->loggers[40].newest, found->incarnation == 2 ? 7u : 0u);
  }
}

}  // namespace
}  // namespace foedus::log::testing::log_file_test
