// ctest-labels: crash
// A segment has the length of its file (L27): a file that was cut anywhere is refused, and the
// length is right after a crash at any call. Most devices here have no space for whole pieces, so
// that the file grows before every frame.
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <functional>

#include "foedus-core/base/crc32c.h"
#include "foedus-core/log/segments/format.h"
#include "tests/log/log_harness.h"

namespace foedus::log::testing::log_growth_test {
namespace {

constexpr std::uint64_t kTight = 848u << 10;  // less than a piece of the segments here

FrameHeader frame_at(const std::vector<char>& bytes, std::uint64_t offset) {
  FrameHeader frame;
  std::memcpy(&frame, bytes.data() + offset, sizeof(frame));
  return frame;
}

// Returns where the frames of a segment begin, and where the last one ends.
std::vector<std::uint64_t> frames_of(const std::vector<char>& bytes, std::size_t* growths) {
  std::vector<std::uint64_t> offsets;
  std::uint64_t at = kBlockBytes;
  *growths = 0;
  while (at < bytes.size() && frame_at(bytes, at).magic == kFrameMagic) {
    offsets.push_back(at);
    if (frame_at(bytes, at).layout == FrameLayout::kGrowth) ++*growths;
    at += frame_at(bytes, at).frame_bytes;
  }
  offsets.push_back(at);
  return offsets;
}

// Makes commits, each waited for, then lets power fail.
History make_log(FailingDevice* device, std::uint64_t segment_bytes, std::uint64_t commits,
                 std::size_t bytes) {
  LogRun run(device, 1, segment_bytes);
  EXPECT_TRUE(run.open_and_start().is_ok());
  TestSession* const session = run.session(0, 4u << 20);
  for (std::uint64_t i = 0; i < commits; ++i) {
    const auto epoch = session->commit(i, i % 3 == 1 ? bytes : 40);
    EXPECT_TRUE(epoch.is_ok());
    EXPECT_TRUE(run.wait(*epoch).is_ok());
  }
  device->crash_power(FailingDevice::kDropAll);
  return run.history(1);
}

Status recover(FailingDevice* device, History* found) {
  LogRun run(device);
  FOEDUS_CHECK(run.open());
  return read_all(*run.log, found);
}

void expect_cut_refused(const FailingDevice& made, std::uint64_t bytes) {
  const auto device = made.copy();
  device->set_size(kFirst, bytes);
  History found;
  const Status status = recover(device.get(), &found);
  EXPECT_EQ(status.code(), ErrorCode::kCorruption) << "cut to " << bytes << status.message();
  EXPECT_NE(status.message().find(kFirst), std::string::npos) << status.message();
}

TEST(LogGrowthTest, a_segment_without_a_seal_that_was_cut_anywhere_is_refused) {
  for (const bool is_tight : {false, true}) {
    FailingDevice made;
    if (is_tight) made.set_capacity(kTight);
    const History expected = make_log(&made, is_tight ? 1u << 20 : 128u << 10, 6, 20'000);
    History found;
    ASSERT_OK(recover(made.copy().get(), &found));
    ASSERT_EQ(found, expected);
    const std::uint64_t size = made.size_of(kFirst);
    for (std::uint64_t bytes = 0; bytes < size && !HasFailure(); ++bytes) {
      if (bytes % 512 <= 1 || bytes % 37 == 0) expect_cut_refused(made, bytes);
    }
  }
}

// Goal: a segment of several whole pieces that was cut is refused. Method: cuts in and around every
// frame.
TEST(LogGrowthTest, a_segment_of_many_pieces_that_was_cut_is_refused) {
  FailingDevice made;
  const History expected = make_log(&made, 32u << 20, 27, 1'000'000);
  const std::vector<char> bytes = made.bytes_of(kFirst);
  EXPECT_EQ(bytes.size(), (12u << 20) + kBlockBytes);
  std::size_t growths = 0;
  const std::vector<std::uint64_t> frames = frames_of(bytes, &growths);
  EXPECT_EQ(growths, 2u);
  History found;
  ASSERT_OK(recover(made.copy().get(), &found));
  ASSERT_EQ(found, expected);
  for (const std::uint64_t at : frames) {
    for (const std::uint64_t cut : {at - kBlockBytes, at - 1, at, at + 1, at + 512}) {
      expect_cut_refused(made, cut);
    }
  }
  for (std::uint64_t piece = 1; piece <= 3; ++piece) expect_cut_refused(made, piece << 22);
  expect_cut_refused(made, bytes.size() - 1);
}

// The bytes that FORMAT.md promises, spelled out.
TEST(LogGrowthTest, the_bytes_of_a_growth_are_those_of_the_format) {
  FailingDevice device;
  device.set_capacity(kTight);
  make_log(&device, 1u << 20, 1, 40);
  const std::vector<char> bytes = device.bytes_of(kFirst);
  const auto text = [&](std::size_t offset, std::size_t count) {
    return std::string(bytes.data() + offset, count);
  };
  EXPECT_EQ(text(48, 8), std::string("\0\x20\0\0\0\0\0\0", 8));    // header and one block
  EXPECT_EQ(text(4096, 4), "FRME");
  EXPECT_EQ(text(4104, 8), std::string("\0\x10\0\0\3\0\0\0", 8));  // bytes, layout, no pieces
  EXPECT_EQ(text(4136, 24), std::string(24, '\0'));                // no epochs, no mark
  EXPECT_EQ(text(4184, 8), std::string("\0\x40\0\0\0\0\0\0", 8));  // this, the next, one more
  EXPECT_EQ(text(4192, 4'000), std::string(4'000, '\0'));
  EXPECT_EQ(bytes.size(), 16'384u);
}

TEST(LogGrowthTest, a_growth_that_is_not_laid_out_as_one_is_refused) {
  const auto forge = [](std::size_t field, char value, std::size_t frame_bytes,
                        const std::string& why, char piece_bytes = 0) {
    FailingDevice device;
    device.set_capacity(kTight);
    make_log(&device, 1u << 20, 1, 40);
    device.overwrite(kFirst, kBlockBytes + field, std::string(1, value));
    device.overwrite(kFirst, kBlockBytes + sizeof(FrameHeader) + offsetof(FramePiece, bytes),
                     std::string(1, piece_bytes));
    device.overwrite(kFirst, 2 * kBlockBytes, std::string(kBlockBytes, '\0'));  // nothing follows
    device.overwrite(kFirst, kBlockBytes + offsetof(FrameHeader, crc), std::string(4, '\0'));
    const std::vector<char> bytes = device.bytes_of(kFirst);
    const std::uint32_t crc = base::crc32c(bytes.data() + kBlockBytes, frame_bytes);
    device.overwrite(kFirst, kBlockBytes + offsetof(FrameHeader, crc),
                     std::string(reinterpret_cast<const char*>(&crc), sizeof(crc)));
    History found;
    const Status status = recover(&device, &found);
    EXPECT_EQ(status.code(), ErrorCode::kCorruption) << field;
    EXPECT_NE(status.message().find(why), std::string::npos) << field << status.message();
  };
  const std::string here = "offset 4096 does not check out";
  forge(offsetof(FrameHeader, piece_count), 1, kBlockBytes, here);
  forge(offsetof(FrameHeader, piece_count), 1, kBlockBytes, here, 8);  // otherwise a sound piece
  forge(offsetof(FrameHeader, frame_bytes) + 1, 0x20, 2 * kBlockBytes, here);
  forge(sizeof(FrameHeader) + 1, 0x50, kBlockBytes, "was 20480 bytes long");
}

// Makes a run whose segment grows much.
Committed run_and_grow(FailingDevice* device, bool is_tight, const std::function<void()>& begun) {
  LogRun run(device, 1, is_tight ? 1u << 20 : 64u << 10);
  EXPECT_TRUE(run.open_and_start().is_ok());
  TestSession* const session = run.session(0, 1u << 20);
  begun();
  for (std::uint64_t i = 0; i < 6; ++i) {
    if (!session->commit(i, i % 3 == 1 ? 90'000 : 40).is_ok()) break;
    run.runtime.run_for(15'000);
  }
  run.runtime.run_for(500'000);
  return {run.history(1), run.log->durability().durable()};
}

TEST(LogGrowthTest, power_fails_at_every_call_while_a_segment_grows) {
  for (const bool is_tight : {false, true}) {
    for (const std::uint64_t seed : {FailingDevice::kDropAll, FailingDevice::kKeepAll,
                                     std::uint64_t{3}, std::uint64_t{4}, std::uint64_t{5}}) {
      bool was_lost = true;
      for (std::uint64_t skip = 0; was_lost && !HasFailure(); ++skip) {
        SCOPED_TRACE("skip " + std::to_string(skip) + " seed " + std::to_string(seed));
        FailingDevice device;
        if (is_tight) device.set_capacity(kTight);
        const Committed grown =
            run_and_grow(&device, is_tight, [&] { device.lose_power_after(skip); });
        was_lost = device.has_lost_power();
        device.crash_power(seed);
        device.set_capacity(FailingDevice::kUnlimited);
        expect_kept(&device, grown);
      }
    }
  }
}

TEST(LogGrowthTest, one_failing_call_while_a_segment_grows_loses_nothing) {
  for (const Call kind : {Call::kSync, Call::kWrite, Call::kPreallocate}) {
    for (const int error_number : {EIO, ENOSPC}) {
      for (const bool is_tight : {false, true}) {
        bool was_met = true;
        for (std::uint64_t skip = 0; was_met && !HasFailure(); ++skip) {
          SCOPED_TRACE("kind " + std::to_string(static_cast<int>(kind)) + " skip " +
                       std::to_string(skip) + " errno " + std::to_string(error_number));
          FailingDevice device;
          if (is_tight) device.set_capacity(kTight);
          std::uint64_t before = 0;
          const Committed grown = run_and_grow(&device, is_tight, [&] {
            before = device.calls(kind);
            device.fail(kind, skip, error_number);
          });
          was_met = device.calls(kind) - before > skip;
          EXPECT_EQ(grown.all, cut_at(grown.all, grown.announced));  // all of it survived
          device.crash_power(FailingDevice::kDropAll);
          device.set_capacity(FailingDevice::kUnlimited);
          expect_kept(&device, grown);
        }
      }
    }
  }
}

TEST(LogGrowthTest, a_device_without_room_for_one_frame_more_is_waited_for) {
  FailingDevice device;
  device.set_capacity(kTight);
  LogRun run(&device);
  ASSERT_OK(run.open_and_start());
  TestSession* const session = run.session(0);
  device.set_capacity(device.used_bytes() + kBlockBytes);
  const auto epoch = session->commit(1, 40);
  ASSERT_OK(epoch);
  EXPECT_EQ(run.wait(*epoch).code(), ErrorCode::kOutOfSpace);
  device.set_capacity(device.used_bytes() + 2 * kBlockBytes);  // the growth, and the frame
  run.runtime.run_for(200'000);
  ASSERT_OK(run.wait(*epoch));
}

// Goal: each commit with a wait costs one sync, also when the file grows, and the file grows no
// further than its segment.
TEST(LogGrowthTest, a_piece_is_added_with_a_sync_that_is_needed_anyway) {
  FailingDevice device;
  LogRun run(&device, 1, 16u << 20);
  ASSERT_OK(run.open_and_start());
  TestSession* const session = run.session(0, 4u << 20);
  for (std::uint64_t i = 0; i < 14; ++i) {
    const std::uint64_t before = device.calls(Call::kSync);
    ASSERT_OK(run.commit_durably(session, i, 1'000'000));
    EXPECT_EQ(device.calls(Call::kSync) - before, 1u) << i;
    if (i != 0) continue;
    EXPECT_EQ(device.size_of(kFirst), (4u << 20) + kBlockBytes);
  }
  const std::vector<char> bytes = device.bytes_of(kFirst);
  EXPECT_EQ(bytes.size(), (16u << 20) + kBlockBytes);
  std::size_t growths = 0;
  frames_of(bytes, &growths);
  EXPECT_EQ(growths, 3u);
}

// Goal: a length that was preallocated is recorded only when its sync was successful. Method: that
// sync fails, or there is no space for the piece; then enough is written to need it.
TEST(LogGrowthTest, a_piece_that_was_added_in_vain_is_not_told) {
  for (const Call kind : {Call::kSync, Call::kPreallocate}) {
    FailingDevice device;
    Committed grown;
    {
      LogRun run(&device, 1, 16u << 20);
      ASSERT_OK(run.open_and_start());
      TestSession* const session = run.session(0, 4u << 20);
      for (std::uint64_t i = 0; i < 6; ++i) {
        const std::uint64_t ahead = device.calls(Call::kPreallocate);
        if (i == 2) device.fail(kind, 0, ENOSPC);
        ASSERT_OK(session->commit(i, 1'000'000));
        run.runtime.run_for(500'000);
        EXPECT_TRUE(i != 2 || device.calls(Call::kPreallocate) > ahead);
      }
      grown = {run.history(1), run.log->durability().durable()};
    }
    EXPECT_EQ(grown.all, cut_at(grown.all, grown.announced));
    device.crash_power(FailingDevice::kDropAll);
    expect_kept(&device, grown);
  }
}

// Goal: no crash leaves a segment that is shorter than its recorded length. Method: the test checks
// the synced state whenever a file is to be cut: at the end, and by the start after a crash.
TEST(LogGrowthTest, a_segment_is_cut_only_behind_a_seal_that_is_synced) {
  FailingDevice device;
  int cuts = 0;
  device.set_observer([&](const foedus::testing::CallSeen& call) {
    if (call.kind != Call::kTruncate) return;
    ++cuts;
    SegmentBlock block;
    std::memcpy(block.bytes(), device.synced_copy()->bytes_of(call.name).data(), kBlockBytes);
    EXPECT_EQ(block.seal_state(), SegmentBlock::State::kValid);
  });
  make_log(&device, 128u << 10, 6, 20'000);
  EXPECT_EQ(cuts, 0);
  LogRun run(&device);
  ASSERT_OK(run.open_and_start());
  EXPECT_EQ(cuts, 1);
  ASSERT_OK(run.commit_durably(run.session(0), 1, 40));
  ASSERT_OK(run.close());
  EXPECT_EQ(cuts, 2);
}

// Goal: before a frame is written a second time, its place is zero, and the file is as long as
// before (L15). Method: a frame of many blocks fails half way; the test checks the synced state of
// its place when it is written again.
TEST(LogGrowthTest, the_place_of_a_frame_that_failed_is_cleared_and_stays) {
  FailingDevice device;
  LogRun run(&device);
  ASSERT_OK(run.open_and_start());
  const std::uint64_t size = device.size_of(kFirst);
  int attempts = 0;
  std::size_t frame_bytes = 0;
  device.set_observer([&](const foedus::testing::CallSeen& call) {
    if (call.name != kFirst || call.kind == Call::kTruncate) return;
    EXPECT_EQ(device.size_of(kFirst), size);
    const bool is_frame = call.kind == Call::kWrite && call.offset == kBlockBytes &&
                          frame_at(*call.bytes, 0).magic == kFrameMagic;
    if (!is_frame || ++attempts == 1) {
      if (is_frame) frame_bytes = call.bytes->size();
      return;
    }
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      const auto crashed = device.copy();
      crashed->crash_power(seed);
      const std::vector<char> place = crashed->bytes_of(kFirst);
      const auto begin = place.begin() + kBlockBytes;
      EXPECT_EQ(std::count(begin, begin + static_cast<std::ptrdiff_t>(frame_bytes), '\0'),
                static_cast<std::ptrdiff_t>(frame_bytes));
    }
  });
  device.fail(Call::kWrite, 0, ENOSPC);
  device.fail(Call::kWrite, 3, ENOSPC);  // within the clearing
  const auto epoch = run.session(0, 1u << 20)->commit(1, 500'000);
  ASSERT_OK(epoch);
  run.runtime.run_for(1'000'000);
  EXPECT_TRUE(run.log->durability().is_durable(*epoch));
  EXPECT_EQ(attempts, 2);
  EXPECT_GT(frame_bytes, 400'000u);
}

// Goal: after an error other than a full device the place is abandoned with its segment.
TEST(LogGrowthTest, a_place_that_cannot_be_cleared_is_given_up) {
  for (const Call kind : {Call::kWrite, Call::kSync}) {
    FailingDevice device;
    Committed grown;
    {
      LogRun run(&device);
      ASSERT_OK(run.open_and_start());
      device.fail(Call::kWrite, 0, ENOSPC);
      device.fail(kind, kind == Call::kWrite ? 1 : 0, EIO);
      const auto epoch = run.session(0, 1u << 20)->commit(1, 100'000);
      ASSERT_OK(epoch);
      run.runtime.run_for(1'000'000);
      grown = {run.history(1), run.log->durability().durable()};
      EXPECT_GE(grown.announced, *epoch);
      EXPECT_TRUE(device.exists("log-0-00000002"));
    }
    device.crash_power(FailingDevice::kDropAll);
    expect_kept(&device, grown);
  }
}

}  // namespace
}  // namespace foedus::log::testing::log_growth_test
