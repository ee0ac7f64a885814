// ctest-timeout: 300
// Damaged directories: a torn tail ends the log; all other damage is refused with file and offset.
#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include "foedus-core/base/crc32c.h"
#include "foedus-core/log/savepoint.h"
#include "foedus-core/log/segments/format.h"
#include "tests/log/log_harness.h"

namespace foedus::log::testing::log_corruption_test {
namespace {

// Makes a small log. If `waits`, each commit is durable before the next one.
History make_log(FailingDevice* device, bool close, std::uint64_t commits = 6,
                 std::uint64_t segment_bytes = 64u << 10, std::size_t bytes = 40) {
  LogRun run(device, 1, segment_bytes);
  EXPECT_TRUE(run.open_and_start().is_ok());
  TestSession* const session = run.session(0);
  for (std::uint64_t i = 0; i < commits; ++i) {
    const auto epoch = session->commit(i, i % 3 == 2 ? 5'000 : bytes);
    EXPECT_TRUE(epoch.is_ok());
    EXPECT_TRUE(run.wait(*epoch).is_ok());
  }
  if (close) {
    EXPECT_TRUE(run.close().is_ok());
  } else {
    device->crash_power(FailingDevice::kDropAll);
  }
  return run.history(1);
}

Status recover(FailingDevice* device, History* found) {
  LogRun run(device);
  FOEDUS_CHECK(run.open());
  return read_all(*run.log, found);
}

bool is_prefix(const History& found, const History& all) {
  for (const auto& [key, list] : found) {
    const auto whole = all.find(key);
    if (whole == all.end() || list.size() > whole->second.size()) return false;
    if (!std::equal(list.begin(), list.end(), whole->second.begin())) return false;
  }
  return true;
}

// Most slots of the savepoint were never written, and differ by their number alone. Each of their
// bytes is tried in one of these slots.
bool is_tried_elsewhere(const std::vector<char>& savepoint, std::uint64_t offset) {
  const std::uint64_t slot = offset / kBlockBytes;
  const std::uint64_t slots = savepoint.size() / kBlockBytes;
  const auto begin = savepoint.begin() + static_cast<std::ptrdiff_t>(slot * kBlockBytes);
  const bool is_unwritten = std::all_of(begin, begin + kBlockBytes, [](char c) { return c == 0; });
  return is_unwritten && offset % (slots / 2) != slot % (slots / 2);
}

TEST(LogCorruptionTest, a_flipped_bit_anywhere_in_a_closed_log_is_detected_or_harmless) {
  FailingDevice made;
  const History expected = make_log(&made, true);
  const std::vector<char> savepoint = made.bytes_of(std::string(kSavepointName));
  std::uint64_t detected = 0;
  for (const std::string& name : made.names()) {
    const std::uint64_t size = made.size_of(name);
    for (std::uint64_t offset = 0; offset < size; ++offset) {
      if (name == kSavepointName && is_tried_elsewhere(savepoint, offset)) continue;
      const unsigned bit = static_cast<unsigned>(offset * 7 % 8);
      made.flip_bit(name, offset, bit);
      History found;
      const Status status = recover(&made, &found);
      made.flip_bit(name, offset, bit);
      if (status.is_ok()) {
        ASSERT_EQ(found, expected) << name << " offset " << offset;
        ASSERT_EQ(name, kSavepointName) << "offset " << offset;  // the other slot is used
      } else {
        ++detected;
        ASSERT_EQ(status.code(), ErrorCode::kCorruption) << status.message();
        ASSERT_NE(status.message().find(name == kSavepointName ? "/failing/" : name),
                  std::string::npos)
            << status.message();
      }
    }
  }
  EXPECT_GT(detected, 20'000u);
}

// Goal: a flipped bit is detected in a log that was not closed, too. In the last frame, which has
// no successor to prove that it was synced, it is detected because no sector is missing, so the
// frame is not torn. Only a bit of the length or place of its piece may make it look torn.
TEST(LogCorruptionTest, a_flipped_bit_in_a_crashed_log_is_detected_or_harmless) {
  FailingDevice made;
  const History expected = make_log(&made, false);
  const std::string name = "log-0-00000001";
  const std::uint64_t size = made.size_of(name);
  const std::uint64_t last_piece = 8 * kBlockBytes + sizeof(FrameHeader);
  std::uint64_t detected = 0;
  for (std::uint64_t offset = 0; offset < size; offset += 3) {
    made.flip_bit(name, offset, 2);
    History found;
    const Status status = recover(&made, &found);
    made.flip_bit(name, offset, 2);
    if (status.is_ok()) {
      ASSERT_TRUE(is_prefix(found, expected)) << offset;
      const bool is_in_piece = offset >= last_piece && offset < last_piece + sizeof(FramePiece);
      ASSERT_TRUE(found == expected || is_in_piece) << offset;
    } else {
      ++detected;
      ASSERT_EQ(status.code(), ErrorCode::kCorruption) << status.message();
      ASSERT_NE(status.message().find(name), std::string::npos) << status.message();
    }
  }
  EXPECT_GT(detected, 10'000u);
}

// Goal: a frame that lacks a sector is corrupt if a later one proves that it was synced.
TEST(LogCorruptionTest, a_frame_before_the_last_that_lacks_a_sector_is_refused) {
  FailingDevice device;
  make_log(&device, false);
  device.overwrite("log-0-00000001", 2 * kBlockBytes, std::string(512, '\0'));
  History found;
  const Status status = recover(&device, &found);
  EXPECT_EQ(status.code(), ErrorCode::kCorruption);
  EXPECT_NE(status.message().find("all was synced up to"), std::string::npos) << status.message();
}

// Goal: a last frame that lacks a sector is torn and cut, not refused. Method: each of its sectors
// in turn.
TEST(LogCorruptionTest, a_last_frame_that_lacks_a_sector_is_cut) {
  for (const std::uint64_t sector : {0, 1, 4, 9}) {
    FailingDevice device;
    const std::string name = "log-0-00000001";
    const History expected = make_log(&device, false, 3);  // the last one is larger than a block
    device.overwrite(name, 3 * kBlockBytes + sector * 512, std::string(512, '\0'));
    device.overwrite(name, 5 * kBlockBytes, std::string(kBlockBytes, '\0'));  // its mark
    History found;
    ASSERT_OK(recover(&device, &found));
    EXPECT_TRUE(is_prefix(found, expected)) << sector;
    EXPECT_NE(found, expected) << sector;
  }
}

// Goal: a damaged last frame is refused, whatever its records hold: zeroes of a record are not
// taken for missing sectors. Method: records of zeroes in frames of both layouts; every byte of the
// last frames is changed, those of their headers to many values.
TEST(LogCorruptionTest, a_last_frame_of_zeroes_that_rotted_is_refused) {
  for (const std::size_t bytes : {8, 3'000, 9'000}) {
    FailingDevice device;
    {
      LogRun run(&device);
      ASSERT_OK(run.open_and_start());
      TestSession* const session = run.session(0);
      ASSERT_OK(run.commit_durably(session, 1, 10));
      ASSERT_OK(run.commit_durably(session, kKeyOfZeroes, bytes));
      device.crash_power(FailingDevice::kDropAll);
    }
    const std::string name = "log-0-00000001";
    std::string log(device.bytes_of(name).data(), device.size_of(name));
    const std::uint64_t end = log.rfind("FRME", log.find_last_not_of('\0')) + kBlockBytes;
    for (std::uint64_t at = 2 * kBlockBytes; at < end; ++at) {
      const bool is_header = at % kBlockBytes < kDirectHeadBytes;
      const char before = log[at];
      for (int change = 1; change < 256; change += is_header ? 7 : 255) {
        const char other = static_cast<char>(before ^ change);
        device.overwrite(name, at, std::string(1, other));
        History found;
        ASSERT_EQ(recover(&device, &found).code(), ErrorCode::kCorruption)
            << bytes << " bytes, byte " << at << " = " << +other;
      }
      device.overwrite(name, at, std::string(1, before));
    }
    History found;
    ASSERT_OK(recover(device.copy().get(), &found));
  }
}

TEST(LogCorruptionTest, a_file_that_ends_anywhere_is_refused) {
  FailingDevice made;
  make_log(&made, false);
  const std::string name = "log-0-00000001";
  for (std::uint64_t bytes = 0; bytes < made.size_of(name); bytes += 256) {
    const auto device = made.copy();
    device->set_size(name, bytes);
    History found;
    const Status status = recover(device.get(), &found);
    ASSERT_EQ(status.code(), ErrorCode::kCorruption) << bytes << status.message();
    ASSERT_NE(status.message().find(name), std::string::npos) << status.message();
  }
}

TEST(LogCorruptionTest, a_torn_tail_of_any_sectors_is_cut_and_the_log_goes_on) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    FailingDevice device;
    History all;
    Epoch announced;
    {
      LogRun run(&device, 2, 64u << 10, seed);
      ASSERT_OK(run.open_and_start());
      base::Random random(seed);
      for (std::uint32_t i = 0; i < 3; ++i) run.session(i % 2);
      for (std::uint64_t i = 0; i < 20; ++i) {
        ASSERT_OK(run.sessions[i % 3]->commit(i, random.below(6'000)));
        run.runtime.run_for(random.below(5'000));
      }
      announced = run.log->durability().durable();
      all = run.history(1);
      device.lose_power_after(random.below(3));
      run.runtime.run_for(30'000);
      announced = std::max(announced, run.log->durability().durable());
      device.crash_power(seed);
    }
    LogRun run(&device, 2);
    ASSERT_OK(run.open());
    const Epoch cut = run.log->durable_epoch_found();
    EXPECT_EQ(cut_at(all, std::max(cut, announced)), cut_at(all, cut));
    History found;
    ASSERT_OK(read_all(*run.log, &found));
    ASSERT_EQ(found, cut_at(all, cut)) << "seed " << seed;
    ASSERT_OK(run.start());
    ASSERT_OK(run.session(0)->commit(1, 1));
    ASSERT_OK(run.close());
  }
}

TEST(LogCorruptionTest, a_missing_segment_is_refused_by_name) {
  for (const bool close : {false, true}) {
    FailingDevice made;
    make_log(&made, close, 40);
    ASSERT_TRUE(made.exists("log-0-00000002"));
    for (const std::string& name : made.names()) {
      if (!parse_segment_name(name)) continue;
      const auto device = made.copy();
      device->drop_file(name);
      History found;
      const Status status = recover(device.get(), &found);
      EXPECT_EQ(status.code(), ErrorCode::kCorruption);
      EXPECT_NE(status.message().find(name + " is missing"), std::string::npos)
          << status.message();
    }
    const auto device = made.copy();
    device->drop_file(std::string(kSavepointName));
    History found;
    const Status status = recover(device.get(), &found);
    EXPECT_EQ(status.code(), ErrorCode::kCorruption);
    EXPECT_NE(status.message().find("savepoint is missing"), std::string::npos);
  }
}

TEST(LogCorruptionTest, two_segments_that_changed_places_are_refused) {
  FailingDevice made;
  make_log(&made, true, 40);
  ASSERT_OK(made.rename("log-0-00000001", "x"));
  ASSERT_OK(made.rename("log-0-00000002", "log-0-00000001"));
  ASSERT_OK(made.rename("x", "log-0-00000002"));
  History found;
  EXPECT_EQ(recover(&made, &found).code(), ErrorCode::kCorruption);
}

void store_crc(FailingDevice* device, const std::string& name, std::uint64_t offset,
               std::size_t bytes, std::size_t crc_offset) {
  device->overwrite(name, offset + crc_offset, std::string(4, '\0'));
  const std::vector<char> all = device->bytes_of(name);
  const std::uint32_t crc = base::crc32c(all.data() + offset, bytes);
  std::string text(4, '\0');
  std::memcpy(text.data(), &crc, 4);
  device->overwrite(name, offset + crc_offset, text);
}

// Goal: bytes that look like a frame, as a payload can, are none if they do not have the checksum
// of the frame before. Method: the second frame gets another predecessor and a right checksum.
TEST(LogCorruptionTest, a_frame_that_does_not_follow_the_one_before_it_is_refused) {
  const std::string name = "log-0-00000001";
  for (const bool close : {false, true}) {
    FailingDevice device;
    make_log(&device, close, 2);
    device.flip_bit(name, 2 * kBlockBytes + offsetof(FrameHeader, previous_crc), 3);
    store_crc(&device, name, 2 * kBlockBytes, kBlockBytes, offsetof(FrameHeader, crc));
    History found;
    const Status status = recover(&device, &found);
    EXPECT_EQ(status.code(), ErrorCode::kCorruption);
    EXPECT_NE(status.message().find(name), std::string::npos) << status.message();
  }
}

TEST(LogCorruptionTest, another_format_version_is_refused_and_not_called_corrupt) {
  FailingDevice made;
  make_log(&made, true);
  for (const char version : {'\1', '\2', '\4'}) {
    const std::string other{version, '\0', '\0', '\0'};
    const auto device = made.copy();
    const std::string name = "log-0-00000001";
    device->overwrite(name, offsetof(SegmentHeader, version), other);
    store_crc(device.get(), name, 0, kSlotBytes, offsetof(SegmentHeader, crc));
    History found;
    const Status status = recover(device.get(), &found);
    EXPECT_EQ(status.code(), ErrorCode::kWrongVersion) << status.message();
    EXPECT_NE(status.message().find(name), std::string::npos);
  }
  for (const char version : {'\1', '\2', '\3', '\5'}) {
    const std::string other{version, '\0', '\0', '\0'};
    const auto device = made.copy();
    const std::string name(kSavepointName);
    for (std::uint64_t i = 0; i < kSavepointSlots; ++i) {
      const std::uint64_t offset = i * kBlockBytes;
      device->overwrite(name, offset + offsetof(Savepoint, version), other);
      store_crc(device.get(), name, offset, kBlockBytes, offsetof(Savepoint, crc));
    }
    const std::uint64_t before = device->changing_calls();
    History found;
    EXPECT_EQ(recover(device.get(), &found).code(), ErrorCode::kWrongVersion);
    EXPECT_EQ(device->changing_calls(), before);
  }
}

TEST(LogCorruptionTest, foreign_files_are_left_alone) {
  FailingDevice device;
  const History expected = make_log(&device, true);
  for (const char* const name : {"log-", "log-0", "log-0-1", "log-x-00000001", "LOG", "manifest",
                                 "log-0-000000001", "log-00-00000001", "log-0-00000001.bak"}) {
    ASSERT_OK(device.open(name, device::Access::kCreate).status());
  }
  LogRun run(&device);
  ASSERT_OK(run.open_and_start());
  History found;
  ASSERT_OK(read_all(*run.log, &found));
  EXPECT_EQ(found, expected);
  EXPECT_TRUE(device.exists("log-0-000000001"));
  EXPECT_TRUE(device.exists("log-0-1"));
}

}  // namespace
}  // namespace foedus::log::testing::log_corruption_test
