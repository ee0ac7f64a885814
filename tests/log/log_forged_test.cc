// Files with right checksums and impossible contents: written by a faulty program, put together
// from two directories, or with lost blocks. Each is refused by name, and never read as another
// log.
#include <array>
#include <cstddef>
#include <cstring>

#include "foedus-core/base/crc32c.h"
#include "foedus-core/log/savepoint.h"
#include "foedus-core/log/segments/format.h"
#include "tests/log/log_harness.h"

namespace foedus::log::testing::log_forged_test {
namespace {

constexpr std::uint64_t kLastFrame = 2 * kBlockBytes;  // of a log with two commits

template <typename T>
void poke(FailingDevice* device, const std::string& name, std::uint64_t offset, T value) {
  device->overwrite(name, offset, std::string(reinterpret_cast<const char*>(&value), sizeof(T)));
}

// Recomputes the checksum of `bytes` bytes at `offset`.
void reseal(FailingDevice* device, const std::string& name, std::uint64_t offset,
            std::size_t bytes, std::size_t crc_offset) {
  poke(device, name, offset + crc_offset, std::uint32_t{0});
  const std::vector<char> all = device->bytes_of(name);
  poke(device, name, offset + crc_offset, base::crc32c(all.data() + offset, bytes));
}
void reseal_header(FailingDevice* device, const std::string& name) {
  reseal(device, name, 0, kSlotBytes, offsetof(SegmentHeader, crc));
}
void reseal_seal(FailingDevice* device, const std::string& name) {
  reseal(device, name, kSlotBytes, kSlotBytes, offsetof(SegmentSeal, crc));
}
// Returns the offsets of the slots.
std::vector<std::uint64_t> savepoint_slots() {
  std::vector<std::uint64_t> slots;
  for (std::uint64_t i = 0; i < kSavepointSlots; ++i) slots.push_back(i * kBlockBytes);
  return slots;
}
void reseal_savepoint(FailingDevice* device) {
  for (const std::uint64_t slot : savepoint_slots()) {
    reseal(device, std::string(kSavepointName), slot, kBlockBytes, offsetof(Savepoint, crc));
  }
}

// Makes a run with one commit after another, each waited for; power fails unless it is closed.
void make_log(FailingDevice* device, bool close, std::uint64_t commits = 2,
              std::size_t bytes = 40) {
  LogRun run(device, 1, 64u << 10);
  ASSERT_OK(run.open_and_start());
  TestSession* const session = run.session(0, 8u << 20);
  for (std::uint64_t i = 0; i < commits; ++i) {
    ASSERT_OK(run.commit_durably(session, i, bytes));
  }
  if (close) {
    ASSERT_OK(run.close());
  } else {
    device->crash_power(FailingDevice::kDropAll);
  }
}

void expect_refused(FailingDevice* device, const std::string& why) {
  LogRun run(device);
  Status status = run.open();
  History found;
  if (status.is_ok()) status = read_all(*run.log, &found);
  EXPECT_EQ(status.code(), ErrorCode::kCorruption) << "expected: " << why;
  EXPECT_NE(status.message().find(why), std::string::npos) << status.message();
}

template <typename T>
void expect_frame_refused(std::size_t field, T value, const std::string& why) {
  SCOPED_TRACE("field at " + std::to_string(field));
  FailingDevice device;
  make_log(&device, true);
  poke(&device, kFirst, kLastFrame + field, value);
  reseal(&device, kFirst, kLastFrame, kBlockBytes, offsetof(FrameHeader, crc));
  expect_refused(&device, why);
}

// Goal: a frame of another place whose first sector is whole is not taken for a torn one. Method:
// the last frame of a log that was not closed, which has no successor to prove that it was synced.
TEST(LogForgedTest, a_last_frame_of_another_place_is_refused) {
  for (const std::size_t field :
       {offsetof(FrameHeader, number), offsetof(FrameHeader, offset),
        offsetof(FrameHeader, previous_crc), offsetof(FrameHeader, version)}) {
    FailingDevice device;
    make_log(&device, false, 1);
    const std::vector<char> all = device.bytes_of(kFirst);
    const std::string log(all.data(), all.size());
    const std::uint64_t last = log.rfind("FRME") / kBlockBytes * kBlockBytes;
    poke(&device, kFirst, last + field, std::uint32_t{0x55AA55AA});
    const std::uint32_t sector_crc = crc_of_first_sector(device.bytes_of(kFirst).data() + last);
    poke(&device, kFirst, last + offsetof(FrameHeader, sector_crc), sector_crc);
    reseal(&device, kFirst, last, kBlockBytes, offsetof(FrameHeader, crc));
    expect_refused(&device, "though no sector of it is missing");
  }
}

// Goal: a torn frame whose first sector is whole is that of its place. Method: the last frame of a
// log lacks a later sector, and its first one says another predecessor or an impossible length.
TEST(LogForgedTest, a_torn_last_frame_of_another_place_is_refused) {
  for (const std::size_t field :
       {offsetof(FrameHeader, previous_crc), offsetof(FrameHeader, frame_bytes)}) {
    FailingDevice device;
    make_log(&device, false, 1, 3'900);
    const auto header = load<FrameHeader>(device, kFirst, kBlockBytes);
    ASSERT_EQ(header.layout, FrameLayout::kDirect);
    const std::uint64_t end = kBlockBytes + header.frame_bytes;
    device.overwrite(kFirst, end, std::string(device.size_of(kFirst) - end, '\0'));
    device.overwrite(kFirst, 2 * kBlockBytes + kSectorBytes, std::string(kSectorBytes, '\0'));
    poke(&device, kFirst, kBlockBytes + field, std::uint32_t{0x55AA5000});
    const std::uint32_t sector_crc =
        crc_of_first_sector(device.bytes_of(kFirst).data() + kBlockBytes);
    poke(&device, kFirst, kBlockBytes + offsetof(FrameHeader, sector_crc), sector_crc);
    expect_refused(&device, "though no sector of it is missing");
  }
}

// Goal: a few bytes after the last frame are no frame. Method: they have the incarnation of one,
// but neither magic nor place.
TEST(LogForgedTest, bytes_after_the_last_frame_are_no_rotten_frame) {
  FailingDevice device;
  make_log(&device, false);
  const std::vector<char> all = device.bytes_of(kFirst);
  const std::uint64_t last = std::string(all.data(), all.size()).rfind("FRME");
  poke(&device, kFirst, last + kBlockBytes, std::uint64_t{1});
  poke(&device, kFirst, last + kBlockBytes + offsetof(FrameHeader, incarnation),
       std::uint64_t{1});
  LogRun run(&device);
  ASSERT_OK(run.open());
}

// No epoch may be so high that a clock cannot begin above it.
TEST(LogForgedTest, an_epoch_beyond_all_others_is_refused) {
  for (const std::uint64_t epoch : {Epoch::kMax + 1, ~std::uint64_t{0}}) {
    FailingDevice device;
    make_log(&device, true);
    for (const std::uint64_t slot : savepoint_slots()) {
      poke(&device, std::string(kSavepointName), slot + offsetof(Savepoint, durable_epoch), epoch);
    }
    reseal_savepoint(&device);
    expect_refused(&device, "an epoch");
  }
}

TEST(LogForgedTest, a_frame_of_another_place_is_refused) {
  const std::string why = kFirst + ": no valid frame at offset 8192";
  expect_frame_refused(offsetof(FrameHeader, magic), std::uint32_t{1}, why);
  expect_frame_refused(offsetof(FrameHeader, version), std::uint32_t{1}, why);
  expect_frame_refused(offsetof(FrameHeader, logger), std::uint32_t{1}, why);
  expect_frame_refused(offsetof(FrameHeader, number), std::uint32_t{2}, why);
  expect_frame_refused(offsetof(FrameHeader, incarnation), std::uint64_t{2}, why);
  expect_frame_refused(offsetof(FrameHeader, offset), std::uint64_t{4096}, why);
  expect_frame_refused(offsetof(FrameHeader, frame_bytes), std::uint32_t{0}, why);
}

// Goal: a layout must fit the frame's length and pieces. Method: a packed frame that includes the
// next one, and direct ones of an unknown layout, without a piece, with one that is too long, and
// of half a block more.
TEST(LogForgedTest, a_frame_that_is_not_laid_out_as_it_says_is_refused) {
  const std::string why = kFirst + ": no valid frame at offset 4096";
  FailingDevice packed;
  make_log(&packed, true);
  poke(&packed, kFirst, kBlockBytes + offsetof(FrameHeader, frame_bytes), std::uint32_t{8192});
  reseal(&packed, kFirst, kBlockBytes, 8192, offsetof(FrameHeader, crc));
  expect_refused(&packed, why);

  FailingDevice made;
  make_log(&made, true, 2, 3'900);
  const auto header = load<FrameHeader>(made, kFirst, kBlockBytes);
  ASSERT_EQ(header.layout, FrameLayout::kDirect);
  const auto expect_direct_refused = [&](std::size_t field, auto value, std::uint32_t bytes) {
    SCOPED_TRACE("field at " + std::to_string(field));
    const auto device = made.copy();
    poke(device.get(), kFirst, kBlockBytes + field, value);
    reseal(device.get(), kFirst, kBlockBytes, bytes, offsetof(FrameHeader, crc));
    expect_refused(device.get(), why);
  };
  const std::uint32_t bytes = header.frame_bytes;
  const std::uint32_t longer = bytes + kBlockBytes / 2;
  expect_direct_refused(offsetof(FrameHeader, layout), std::uint16_t{4}, bytes);
  expect_direct_refused(offsetof(FrameHeader, piece_count), std::uint16_t{0}, bytes);
  expect_direct_refused(sizeof(FrameHeader) + offsetof(FramePiece, bytes), bytes, bytes);
  expect_direct_refused(offsetof(FrameHeader, frame_bytes), longer, longer);
}

TEST(LogForgedTest, a_closed_segment_that_ends_before_its_frames_is_refused) {
  FailingDevice device;
  make_log(&device, true);
  device.set_size(kFirst, kBlockBytes + 100);
  expect_refused(&device, kFirst + ": no valid frame at offset 4096");
}

TEST(LogForgedTest, pieces_that_do_not_fit_are_refused) {
  constexpr std::size_t kPiece = sizeof(FrameHeader);
  const std::string why = kFirst + ": no valid frame at offset 8192";
  for (const std::uint32_t bytes : {0u, 12u, 5'000u}) {
    expect_frame_refused(kPiece + offsetof(FramePiece, bytes), bytes, why);
  }
  expect_frame_refused(offsetof(FrameHeader, piece_count), std::uint16_t{300}, why);
  expect_frame_refused(kPiece + offsetof(FramePiece, ring_offset), std::uint64_t{60}, why);
  expect_frame_refused(kPiece + offsetof(FramePiece, ring_offset), std::uint64_t{64}, "a gap");
}

// Goal: all pieces of a frame are described in its block. Method: the next block goes on with
// descriptions that are sound.
TEST(LogForgedTest, pieces_that_are_described_after_the_frame_are_refused) {
  FailingDevice device;
  make_log(&device, true);
  constexpr std::uint64_t kFrame = kLastFrame - kBlockBytes;
  constexpr std::size_t kPieces = kBlockBytes / sizeof(FramePiece);
  poke(&device, kFirst, kFrame + offsetof(FrameHeader, piece_count), std::uint16_t{kPieces});
  for (std::size_t i = 0; i < kPieces; ++i) {
    poke(&device, kFirst, kFrame + sizeof(FrameHeader) + i * sizeof(FramePiece),
         FramePiece{0, 8, 8 * i});
  }
  reseal(&device, kFirst, kFrame, kBlockBytes, offsetof(FrameHeader, crc));
  expect_refused(&device, kFirst + ": no valid frame at offset " + std::to_string(kFrame));
}

TEST(LogForgedTest, records_without_sense_are_refused) {
  constexpr std::size_t kRecord = sizeof(FrameHeader) + sizeof(FramePiece);
  expect_frame_refused(kRecord + offsetof(LogRecord, record_bytes), std::uint32_t{0},
                       "a record without length");
  expect_frame_refused(kRecord + offsetof(LogRecord, record_bytes), std::uint64_t{0x80000000},
                       "a record without length");  // of storage 0: a filler
  expect_frame_refused(kRecord + offsetof(LogRecord, record_bytes), std::uint32_t{68},
                       "a record without length");
  expect_frame_refused(kRecord + offsetof(LogRecord, key_bytes), std::uint16_t{60'000},
                       "a record without sense");
  // Shorter than a record's head, and it would be refused for its TID if it were longer.
  constexpr std::array<std::uint64_t, 2> kShort = {16 | std::uint64_t{7} << 32, ~std::uint64_t{0}};
  expect_frame_refused(kRecord, kShort, "a record without sense");
  expect_frame_refused(kRecord + offsetof(LogRecord, padding_bytes), std::uint8_t{8},
                       "a record without sense");
  expect_frame_refused(kRecord + offsetof(LogRecord, record_bytes), std::uint32_t{4'096},
                       "the end is missing");
}

// Goal: a logged record has an epoch of its frame, and a TID that a page may have. Method: changed
// fields of a whole record.
TEST(LogForgedTest, records_that_no_session_logs_are_refused) {
  constexpr std::size_t kRecord = sizeof(FrameHeader) + sizeof(FramePiece);
  constexpr std::size_t kTid = kRecord + offsetof(LogRecord, tid);
  FailingDevice device;
  make_log(&device, true);
  const auto tid = load<std::uint64_t>(device, kFirst, kLastFrame + kTid);
  for (const std::uint64_t flag : {1u, 2u, 4u, 8u}) {
    expect_frame_refused(kTid, tid | flag, kFirst + ": a record whose TID has flags");
  }
  constexpr std::uint64_t kEpoch = page::Tid(Epoch(1), 0).word();
  expect_frame_refused(kTid, tid + kEpoch, kFirst + ": a record of another epoch");
  expect_frame_refused(kTid, tid - kEpoch, kFirst + ": a record of another epoch");
  for (const std::uint8_t type : {0, 8, 255}) {
    expect_frame_refused(kRecord + offsetof(LogRecord, type), type, "a record of an unknown type");
  }
  const std::string why = "a record whose padding is not zero";
  expect_frame_refused(kRecord + offsetof(LogRecord, padding_bytes), std::uint8_t{3}, why);
  constexpr std::array<char, 14> kShorterKey = {5, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1};
  expect_frame_refused(kRecord + offsetof(LogRecord, key_bytes), kShorterKey, why);
}

TEST(LogForgedTest, slots_of_another_kind_are_refused) {
  FailingDevice made;
  make_log(&made, true);
  const auto header = made.copy();
  poke(header.get(), kFirst, offsetof(SegmentHeader, magic), std::uint64_t{1});
  reseal_header(header.get(), kFirst);
  expect_refused(header.get(), kFirst + ": no valid header");
  const auto seal = made.copy();
  poke(seal.get(), kFirst, kSlotBytes + offsetof(SegmentSeal, magic), std::uint64_t{1});
  reseal_seal(seal.get(), kFirst);
  expect_refused(seal.get(), kFirst + ": no valid seal");
  const auto savepoint = made.copy();
  for (const std::uint64_t slot : savepoint_slots()) {
    poke(savepoint.get(), std::string(kSavepointName), slot, std::uint64_t{1});
  }
  reseal_savepoint(savepoint.get());
  expect_refused(savepoint.get(), "savepoint: no valid slot");
}

TEST(LogForgedTest, a_segment_that_ends_in_its_first_block_is_refused) {
  for (const bool close : {false, true}) {
    FailingDevice device;
    make_log(&device, close);
    device.set_size(kFirst, 1'000);
    expect_refused(&device, kFirst + " ends at offset 1000");
  }
}

TEST(LogForgedTest, a_header_that_does_not_check_out_is_refused) {
  FailingDevice device;
  make_log(&device, true);
  device.overwrite(kFirst, kSlotBytes - 1, "x");
  expect_refused(&device, kFirst + ": no valid header");
}

// Goal: a seal is whole or absent. Method: a seal of a log that was not closed, which is not
// needed, in a damaged sector.
TEST(LogForgedTest, half_a_seal_is_refused) {
  FailingDevice device;
  make_log(&device, false);
  device.overwrite(kFirst, kSlotBytes + 5, "x");
  expect_refused(&device, kFirst + ": no valid seal at offset 2048");
}

// V17: persistent memory writes the magic last.
TEST(LogForgedTest, a_seal_without_a_magic_is_none) {
  FailingDevice device;
  make_log(&device, false);
  device.overwrite(kFirst, kSlotBytes + 100, "x");
  LogRun run(&device);
  ASSERT_OK(run.open());
}

TEST(LogForgedTest, savepoints_in_each_others_slot_are_refused) {
  FailingDevice device;
  make_log(&device, true);
  const std::vector<char> bytes = device.bytes_of(std::string(kSavepointName));
  const std::string all(bytes.data(), bytes.size());
  device.overwrite(std::string(kSavepointName), 0,
                   all.substr(kBlockBytes) + all.substr(0, kBlockBytes));
  expect_refused(&device, "savepoint: no valid slot");
}

// Goal: an old savepoint does not take segments with data for orphaned files.
TEST(LogForgedTest, an_older_savepoint_is_refused) {
  FailingDevice device;
  make_log(&device, true);
  const std::vector<char> bytes = device.bytes_of(std::string(kSavepointName));
  make_log(&device, true);
  device.overwrite(std::string(kSavepointName), 0, std::string(bytes.data(), bytes.size()));
  expect_refused(&device, kSecond + " holds data at offset 4096, but savepoint does not count it");
}

TEST(LogForgedTest, a_savepoint_with_too_many_loggers_is_refused) {
  FailingDevice device;
  make_log(&device, false);
  for (const std::uint64_t slot : savepoint_slots()) {
    poke(&device, std::string(kSavepointName), slot + offsetof(Savepoint, logger_count), 65u);
  }
  reseal_savepoint(&device);
  expect_refused(&device, "savepoint counts 65 loggers");
}

TEST(LogForgedTest, a_segment_that_says_it_is_another_one_is_refused) {
  FailingDevice made;
  make_log(&made, true);
  const auto number = made.copy();
  poke(number.get(), kFirst, offsetof(SegmentHeader, number), 2u);
  reseal_header(number.get(), kFirst);
  expect_refused(number.get(), kFirst + " is another segment");
  const auto soc = made.copy();
  poke(soc.get(), kFirst, offsetof(SegmentHeader, logger), 1u);
  reseal_header(soc.get(), kFirst);
  expect_refused(soc.get(), kFirst + " is another segment");
  const auto incarnation = made.copy();
  poke(incarnation.get(), kFirst, offsetof(SegmentHeader, incarnation), std::uint64_t{2});
  reseal_header(incarnation.get(), kFirst);
  expect_refused(incarnation.get(), kFirst + " is newer than savepoint");
}

TEST(LogForgedTest, a_seal_that_must_be_there_and_is_not_is_refused) {
  const std::string none(kSlotBytes, '\0');
  FailingDevice closed;
  make_log(&closed, true);
  const auto device = closed.copy();
  device->overwrite(kFirst, kSlotBytes, none);
  expect_refused(device.get(), kFirst + ": the seal at offset 2048 is missing");
  make_log(&closed, false);  // a second incarnation, which crashes
  closed.overwrite(kFirst, kSlotBytes, none);
  expect_refused(&closed, kFirst + ": the seal at offset 2048 is missing");
}

// Makes two segments of one incarnation that crashed; the first one has lost its seal.
void make_unsealed_pair(FailingDevice* device) {
  make_log(device, false, 18, 5'000);
  ASSERT_TRUE(device->exists(kSecond));
  device->overwrite(kFirst, kSlotBytes, std::string(kSlotBytes, '\0'));
}

TEST(LogForgedTest, a_successor_that_names_no_end_or_a_wrong_one_is_refused) {
  FailingDevice made;
  make_unsealed_pair(&made);
  const auto none = made.copy();
  constexpr std::size_t kEnd = offsetof(SegmentHeader, previous_valid_bytes);
  poke(none.get(), kSecond, kEnd, std::uint64_t{0});
  reseal_header(none.get(), kSecond);
  expect_refused(none.get(), kFirst + " has no valid successor");
  std::uint64_t end;
  std::memcpy(&end, made.bytes_of(kSecond).data() + kEnd, sizeof(end));
  // The wrong ends are after the last frame, which is a mark, and within the one before.
  for (const std::uint64_t wrong : {end + kBlockBytes, end - 2 * kBlockBytes}) {
    const auto device = made.copy();
    poke(device.get(), kSecond, kEnd, wrong);
    reseal_header(device.get(), kSecond);
    expect_refused(device.get(), kFirst + ": no valid frame");
  }
}

// Goal: frames that a savepoint proves to be synced are not taken for a torn tail. Method: one
// logger loses all its frames, all after the first, or one of three with the same synced_bytes and
// all after these. The other logger has begun a segment since, and written a savepoint.
TEST(LogForgedTest, frames_up_to_the_anchor_of_the_savepoint_must_be_there) {
  FailingDevice made;
  {
    LogRun run(&made, 2, 64u << 10);
    ASSERT_OK(run.open_and_start());
    TestSession* const session = run.session(0);
    for (int i = 0; i < 3; ++i) run.session(1);
    ASSERT_OK(run.commit_durably(run.sessions[1].get(), 0, 4'000));
    for (int i = 1; i < 4; ++i) ASSERT_OK(run.sessions[i]->commit(1, 4'000));
    for (std::uint64_t i = 1; i < 6; ++i) ASSERT_OK(run.commit_durably(session, i, 16'000));
    ASSERT_TRUE(made.exists(kSecond));
    ASSERT_FALSE(made.exists("log-1-00000002"));
    made.crash_power(FailingDevice::kDropAll);
  }
  const std::string other = "log-1-00000001";
  std::vector<std::uint64_t> places;  // of frames with records, and the end of the last one
  std::uint64_t end = kBlockBytes;
  for (auto frame = load<FrameHeader>(made, other, end); frame.magic == kFrameMagic;
       frame = load<FrameHeader>(made, other, end)) {
    if (frame.layout == FrameLayout::kDirect) places.push_back(end);
    end += frame.frame_bytes;
    if (places.size() == 4 && frame.layout == FrameLayout::kDirect) {
      ASSERT_LE(frame.synced_bytes, places[1]);
      places.push_back(end);
    }
  }
  ASSERT_EQ(places.size(), 5u);
  const auto expect_lost = [&](std::uint64_t from, std::uint64_t to, std::uint64_t rest) {
    const auto device = made.copy();
    device->overwrite(other, from, std::string(to - from, '\0'));
    device->overwrite(other, rest, std::string(end - rest, '\0'));
    expect_refused(device.get(), other + ": no valid frame at offset " + std::to_string(from));
  };
  expect_lost(kBlockBytes, end, end);
  expect_lost(places[1], end, end);
  expect_lost(places[1], places[2], places[4]);
}

// Goal: the newest cut in another segment's seal is durable. Method: the segment with the mark of
// that cut loses its frames. The last seal that is read may be an older one of another logger.
TEST(LogForgedTest, marks_below_the_cut_of_a_seal_are_refused) {
  for (const bool has_older_seal : {false, true}) {
    const std::string last = has_older_seal ? "log-0-00000003" : kSecond;
    FailingDevice device;
    {
      LogRun run(&device, has_older_seal ? 2 : 1, 64u << 10);
      ASSERT_OK(run.open_and_start());
      for (int i = 0; i < 2; ++i) run.session(0, 1u << 20);
      if (has_older_seal) {
        ASSERT_OK(run.commit_durably(run.session(1), 3, 10));
        run.log->roll_segments();
        run.runtime.run_for(50'000);
        ASSERT_EQ(run.log->segments().size(), 4u);
      }
      ASSERT_OK(run.sessions[0]->commit(1, 30'000));
      const auto epoch = run.sessions[1]->commit(2, 50'000);  // does not fit into the first segment
      ASSERT_OK(epoch);
      ASSERT_OK(run.wait(*epoch));
      run.runtime.run_for(50'000);
      ASSERT_TRUE(device.exists(last));
      device.crash_power(FailingDevice::kDropAll);
    }
    device.overwrite(last, kBlockBytes, std::string(60'000, '\0'));
    expect_refused(&device, "the marks in the segments end at epoch");
  }
}

TEST(LogForgedTest, marks_below_what_the_savepoint_knows_to_be_durable_are_refused) {
  FailingDevice device;
  {
    LogRun run(&device);  // the last records have epochs above the last mark
    ASSERT_OK(run.open_and_start());
    run.runtime.run_for(30'000);
    TestSession* const session = run.session(0);
    for (std::uint64_t i = 0; i < 100; ++i) ASSERT_OK(session->commit(i, 4'000));
    device.crash_power(FailingDevice::kDropAll);
  }
  {
    LogRun run(&device);
    ASSERT_OK(run.open_and_start());
    device.crash_power(FailingDevice::kDropAll);
  }
  poke(&device, kSecond, offsetof(SegmentHeader, mark_epoch), std::uint64_t{1});
  reseal_header(&device, kSecond);
  expect_refused(&device, "the marks in the segments end at epoch");
}

}  // namespace
}  // namespace foedus::log::testing::log_forged_test
