// ctest-labels: memory
// A segment whose syncs find no space: frames since the last sync are taken back and appended
// again. A crash leaves a prefix of one of the attempts, and of the last one once that was synced.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "foedus-core/log/segments/format.h"
#include "foedus-core/log/segments/reader.h"
#include "foedus-core/log/segments/writer.h"
#include "tests/log/log_harness.h"

namespace foedus::log::testing::segment_writer_test {
namespace {

constexpr std::size_t kRingBytes = 1u << 20;
constexpr std::uint64_t kNoMark = 0;
// Slow builds try every third pair of attempts, the release build all.
#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kStride = 3;
#else
constexpr std::size_t kStride = 1;
#endif
const std::string kName = segment_name(0, 1);

// A frame, which is identified by its epoch.
struct Frame {
  std::uint64_t epoch;
  std::size_t bytes;
  bool is_direct;
  std::uint64_t mark;
};
using Attempt = std::vector<Frame>;

Attempt packed(std::uint64_t epoch, std::size_t count, std::uint64_t mark) {
  Attempt frames;
  for (std::size_t i = 0; i < count; ++i) frames.push_back({epoch + i, 200, false, kNoMark});
  frames.back().mark = mark;
  return frames;
}
Attempt direct(std::uint64_t epoch, std::size_t bytes) {
  return {{epoch, bytes, true, kNoMark}};
}
Attempt both(Attempt one, const Attempt& other) {
  one.insert(one.end(), other.begin(), other.end());
  return one;
}

// Returns the ring from which all frames are made.
char* ring_memory() {
  static const RingMemory memory(kRingBytes);
  static std::once_flag filled;
  std::call_once(filled, [] {
    for (std::size_t i = 0; i < kRingBytes; ++i) memory.get()[i] = static_cast<char>(i % 251 + 1);
  });
  return memory.get();
}

struct Segment {
  Segment(FailingDevice* device, std::uint64_t segment_bytes)
      : ring(ring_memory(), kRingBytes, 0, nullptr) {
    SegmentHeader header{};
    header.number = 1;
    header.incarnation = 5;
    header.mark_epoch = 3;
    auto made = SegmentWriter::create(device, header, segment_bytes);
    EXPECT_TRUE(made.is_ok() && device->sync_directory().is_ok());
    writer = *std::move(made);
  }
  Status append(const Frame& frame) {
    FrameEpochs epochs;
    epochs.add(frame.epoch);
    if (frame.is_direct) return writer->append_direct(ring, 512, frame.bytes, epochs);
    PackedFrame pack;
    EXPECT_TRUE(pack.try_add(ring, 0, frame.bytes, epochs));
    return writer->append_packed(pack, frame.mark);
  }
  // Repeats an attempt for which a sync found no space, as a logger does.
  Status append_and_sync(const Attempt& frames) {
    for (;;) {
      Status status;
      for (const Frame& frame : frames) {
        if (status.is_ok()) status = append(frame);
      }
      if (status.is_ok()) status = writer->sync();
      if (status.is_ok() || !writer->is_poisoned()) return status;
      if (!writer->try_take_back()) return status;
    }
  }

  LogBuffer ring;
  std::unique_ptr<SegmentWriter> writer;
};

struct Found {
  std::vector<std::uint64_t> epochs;  // of frames with records, in order
  SegmentTail tail;
};
Result<Found> look(FailingDevice* device) {
  FOEDUS_TRY(auto file, device->open(kName, device::Access::kRead));
  SegmentBlock block;
  FOEDUS_TRY(const std::size_t read, file->read_at(0, block.bytes(), kBlockBytes));
  if (read != kBlockBytes) return ErrorCode::kCorruption;
  const SegmentHeader header = block.header();
  Found found;
  FOEDUS_TRY(found.tail, scan_tail(*file, header, 0, 0));
  FrameReader reader(file.get(), header, found.tail.valid_bytes);
  FrameReader::Frame frame;
  while (reader.position() < found.tail.valid_bytes) {
    FOEDUS_TRY(const bool is_valid, reader.next(&frame));
    EXPECT_TRUE(is_valid);
    if (!is_valid) break;
    if (frame.header.newest_epoch != 0) found.epochs.push_back(frame.header.newest_epoch);
  }
  return found;
}

SegmentSeal seal_of(FailingDevice* device) {
  const auto file = device->open(kName, device::Access::kRead);
  SegmentBlock block;
  EXPECT_TRUE(file.is_ok() && (*file)->read_at(0, block.bytes(), kBlockBytes).is_ok());
  return block.seal();
}

// Returns whether `found` is a prefix of `all`, with its marks.
bool is_prefix(const Found& found, const Attempt& all) {
  if (found.epochs.size() > all.size()) return false;
  std::uint64_t mark = 3;
  for (std::size_t i = 0; i < found.epochs.size(); ++i) {
    if (found.epochs[i] != all[i].epoch) return false;
    mark = std::max(mark, all[i].mark);
  }
  return found.tail.mark_epoch == mark;
}

struct Setting {
  std::uint64_t segment_bytes;
  Attempt begun;  // begun and synced
  std::vector<Attempt> attempts;
  std::vector<std::uint64_t> rereads;  // seeds of reads after a failed sync
  std::vector<std::uint64_t> seeds;    // of crashes
};

constexpr std::uint64_t kProcessEnds = 1;

// A file that grows by all of its length when necessary.
const Setting kSmall{64u << 10,
                     packed(10, 2, 10),
                     {packed(20, 1, 19), packed(20, 3, 19), packed(20, 5, kNoMark),
                      direct(20, 2'000), both(direct(20, 30'000), packed(21, 1, 20)),
                      both(packed(20, 1, 19), direct(21, 50'000)),
                      both(direct(20, 100'000), packed(21, 2, 21))},  // grows
                     {FailingDevice::kKeepAll, FailingDevice::kDropAll},
                     {FailingDevice::kDropAll, FailingDevice::kKeepAll, kProcessEnds, 7, 8}};
// A file that grows ahead, by the sync that fails, and then by the frames.
const Setting kLarge{16u << 20,
                     both(direct(10, 900'000), direct(11, 900'000)),
                     {both(direct(20, 400'000), packed(21, 1, 21)),
                      both(both(direct(20, 900'000), direct(21, 900'000)), direct(22, 900'000))},
                     {FailingDevice::kKeepAll},
                     {FailingDevice::kDropAll}};

// The parameters of a case, which a failure prints.
struct Case {
  const Setting* setting;
  std::size_t first, second;  // attempts
  std::uint64_t failing;      // sync of the first one
  std::uint64_t failures;     // of later syncs
  std::uint64_t reread;
  std::uint64_t skip;         // calls from there to the end of power
  std::uint64_t seed;
  std::string text() const {
    std::string text = "attempts";
    for (const std::uint64_t value : {first, second}) text += " " + std::to_string(value);
    text += ", failing, failures, reread, skip, seed";
    for (const std::uint64_t value : {failing, failures, reread, skip, seed}) {
      text += " " + std::to_string(value);
    }
    return text;
  }
};

// Returns frames with other epochs, so that the second attempt differs from the first.
Attempt renamed(Attempt frames) {
  for (Frame& frame : frames) {
    frame.epoch += 100;
    if (frame.mark != kNoMark) frame.mark += 100;
  }
  return frames;
}

// Returns false once power lasts to the end.
bool try_case(const Case& c) {
  FailingDevice device;
  const Attempt& begun = c.setting->begun;
  const Attempt& first = c.setting->attempts[c.first];
  const Attempt second = renamed(c.setting->attempts[c.second]);
  bool is_done = false;
  {
    Segment segment(&device, c.setting->segment_bytes);
    EXPECT_TRUE(segment.append_and_sync(begun).is_ok());
    device.reread_after_failed_sync(c.reread);
    device.fail(Call::kSync, c.failing, ENOSPC);
    Status status;
    for (const Frame& frame : first) {
      if (status.is_ok()) status = segment.append(frame);
    }
    if (status.is_ok()) status = segment.writer->sync();
    if (status.is_ok()) return false;  // has fewer syncs
    EXPECT_TRUE(segment.writer->try_take_back());
    for (std::uint64_t i = 0; i < c.failures; ++i) device.fail(Call::kSync, i, ENOSPC);
    device.lose_power_after(c.skip);
    is_done = segment.append_and_sync(second).is_ok();
    if (is_done) is_done = segment.append_and_sync(packed(200, 2, 200)).is_ok();
    if (c.seed == kProcessEnds) {
      device.crash_process();
    } else {
      device.crash_power(c.seed);
    }
  }
  const auto found = look(&device);
  EXPECT_TRUE(found.is_ok()) << found.status().message();
  if (!found.is_ok()) return false;
  const Attempt all = both(both(begun, second), packed(200, 2, 200));
  EXPECT_TRUE(is_prefix(*found, all) || is_prefix(*found, both(begun, first)));
  EXPECT_GE(found->epochs.size(), is_done ? all.size() : begun.size());
  return !is_done;
}

// Tries each attempt after each other one.
std::uint64_t try_cases(const Setting& setting) {
  const std::size_t count = setting.attempts.size();
  std::uint64_t cases = 0;
  for (std::size_t i = 0; i < count * count * 4; i += kStride) {
    for (const std::uint64_t reread : setting.rereads) {
      for (const std::uint64_t seed : setting.seeds) {
        Case c{&setting, i / 4 / count, i / 4 % count, i % 2, i / 2 % 2, reread, 0, seed};
        for (;; ++c.skip, ++cases) {
          SCOPED_TRACE(c.text());
          const bool goes_on = try_case(c);
          if (::testing::Test::HasFailure()) return cases;
          if (!goes_on) break;
        }
      }
    }
  }
  return cases;
}

// Goal: L15, L27. Method: each pair of attempts, with different frames and lengths; power fails, or
// the process ends, at each call of the second.
TEST(SegmentWriterTest, what_is_left_of_an_attempt_that_was_taken_back_is_in_nobodys_way) {
  EXPECT_GE(try_cases(kSmall), 1'000u);
}
TEST(SegmentWriterTest, what_a_file_grew_ahead_by_is_taken_back_as_well) {
  EXPECT_GE(try_cases(kLarge), 100u);
}

// Goal: L27, also for the growth of an attempt that was taken back. Method: the file is cut at each
// block.
TEST(SegmentWriterTest, a_file_that_was_cut_is_known_also_if_it_grew_twice_for_the_same_frames) {
  for (const std::uint64_t reread : {FailingDevice::kKeepAll, FailingDevice::kDropAll}) {
    for (std::uint64_t failing = 0; failing < 2; ++failing) {
      FailingDevice device;
      Segment segment(&device, kSmall.segment_bytes);
      ASSERT_OK(segment.append_and_sync(kSmall.begun));
      device.reread_after_failed_sync(reread);
      device.fail(Call::kSync, failing, ENOSPC);
      ASSERT_OK(segment.append_and_sync(direct(20, 100'000)));
      ASSERT_OK(segment.append_and_sync(packed(21, 1, kNoMark)));
      device.crash_power(FailingDevice::kDropAll);
      const auto found = look(&device);
      ASSERT_TRUE(found.is_ok()) << found.status().message();
      ASSERT_EQ(found->epochs.size(), kSmall.begun.size() + 2);
      for (std::uint64_t bytes = device.size_of(kName); bytes > kBlockBytes;) {
        bytes -= kBlockBytes;
        device.set_size(kName, bytes);
        ASSERT_EQ(look(&device).status().code(), ErrorCode::kCorruption)
            << "reread " << reread << " failing " << failing << " bytes " << bytes;
      }
    }
  }
}

// Goal: L27. Method: after a sync that found no space, the write at the file's end fails, without
// which a later sync need not make the length durable.
TEST(SegmentWriterTest, a_frame_is_refused_while_the_length_of_the_file_cannot_be_written) {
  for (const int error_number : {EIO, ENOSPC}) {
    FailingDevice device;
    Segment segment(&device, kSmall.segment_bytes);
    ASSERT_OK(segment.append_and_sync(kSmall.begun));
    const Frame frame = direct(20, 100'000).front();  // the file has to grow
    device.fail(Call::kSync, 0, ENOSPC);
    EXPECT_EQ(segment.append(frame).code(), ErrorCode::kOutOfSpace);
    ASSERT_TRUE(segment.writer->try_take_back());
    device.fail(Call::kWrite, 0, error_number);
    EXPECT_EQ(segment.append(frame).error_number(), error_number);
    EXPECT_EQ(segment.writer->is_poisoned(), error_number == EIO);
  }
}

// Goal: the next incarnation begins above all epochs of a crashed segment, also if the last frame
// has older ones, as frames of several rings do.
TEST(SegmentWriterTest, a_tail_has_the_newest_epoch_of_all_its_frames) {
  FailingDevice device;
  Segment segment(&device, kSmall.segment_bytes);
  ASSERT_OK(segment.append_and_sync({{50, 200, false, kNoMark}, {20, 200, false, kNoMark}}));
  const Result<Found> found = look(&device);
  ASSERT_OK(found.status());
  EXPECT_EQ(found->epochs, (std::vector<std::uint64_t>{50, 20}));
  EXPECT_EQ(found->tail.newest_epoch, 50u);
}

// Goal: a seal does not have marks and epochs that were taken back.
TEST(SegmentWriterTest, a_seal_says_nothing_of_what_was_taken_back) {
  FailingDevice device;
  Segment segment(&device, kSmall.segment_bytes);
  ASSERT_OK(segment.append_and_sync(kSmall.begun));
  EXPECT_EQ(segment.writer->mark_epoch(), 10u);
  device.fail(Call::kSync, 0, ENOSPC);
  ASSERT_OK(segment.append({50, 200, false, 49}));
  EXPECT_FALSE(segment.writer->sync().is_ok());
  ASSERT_TRUE(segment.writer->try_take_back());
  ASSERT_OK(segment.append_and_sync(packed(20, 1, kNoMark)));
  EXPECT_EQ(segment.writer->mark_epoch(), 10u);
  EXPECT_EQ(segment.writer->epochs().newest, 20u);
  ASSERT_OK(segment.writer->seal(Epoch::kMax));
  EXPECT_EQ(seal_of(&device).mark_epoch, 10u);
  EXPECT_EQ(seal_of(&device).newest_epoch, 20u);
}

// Goal: a seal does not have what follows the last sync, if a sync fails for good.
TEST(SegmentWriterTest, a_seal_says_nothing_of_what_a_failed_sync_has_lost) {
  FailingDevice device;
  Segment segment(&device, kSmall.segment_bytes);
  ASSERT_OK(segment.append_and_sync(kSmall.begun));
  device.fail(Call::kSync, 0, EIO);
  ASSERT_OK(segment.append({50, 200, false, 49}));
  EXPECT_FALSE(segment.writer->sync().is_ok());
  ASSERT_FALSE(segment.writer->try_take_back());
  ASSERT_OK(segment.writer->seal(Epoch::kMax));
  EXPECT_EQ(seal_of(&device).valid_bytes, segment.writer->synced_bytes());
  EXPECT_EQ(seal_of(&device).mark_epoch, 10u);
  EXPECT_EQ(seal_of(&device).newest_epoch, 11u);
  EXPECT_EQ(segment.writer->epochs().newest, 11u);
}

}  // namespace
}  // namespace foedus::log::testing::segment_writer_test
