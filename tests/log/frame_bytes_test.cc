// The bytes of frames: a piece around the ring's end, and a frame that is used again. Method: the
// frames of a segment are read back, and what they hold is compared with the ring.
#include <algorithm>
#include <memory>
#include <string>

#include "foedus-core/log/segments/format.h"
#include "foedus-core/log/segments/reader.h"
#include "foedus-core/log/segments/writer.h"
#include "tests/log/log_harness.h"

namespace foedus::log::testing::frame_bytes_test {
namespace {

constexpr std::size_t kRingBytes = 2 * kBlockBytes;
constexpr std::uint64_t kNoMark = 0;

// A file that was cut. A read leaves what was cut off in memory, where it may be by chance.
class CutFile : public device::File {
 public:
  CutFile(const device::File* whole, std::uint64_t bytes) : whole_(whole), bytes_(bytes) {}

  const std::string& path() const override { return whole_->path(); }
  Result<std::size_t> read_at(std::uint64_t offset, void* to, std::size_t bytes) const override {
    FOEDUS_TRY(const std::size_t read, whole_->read_at(offset, to, bytes));
    return std::min<std::size_t>(read, bytes_ - std::min(bytes_, offset));
  }
  Status write_parts_at(std::uint64_t, const device::ConstBytes*, std::size_t) override {
    return ErrorCode::kNotSupported;
  }
  Status sync() override { return ErrorCode::kNotSupported; }
  Status preallocate(std::uint64_t) override { return ErrorCode::kNotSupported; }
  Status truncate(std::uint64_t) override { return ErrorCode::kNotSupported; }
  Result<std::uint64_t> size() const override { return bytes_; }
  bool is_direct() const override { return false; }

 private:
  const device::File* const whole_;
  const std::uint64_t bytes_;
};

class FrameBytesTest : public ::testing::Test {
 protected:
  FrameBytesTest() : memory_(kRingBytes), ring_(memory_.get(), kRingBytes, 0, nullptr) {
    for (std::size_t i = 0; i < kRingBytes; ++i) memory_.get()[i] = byte_at(i);
    header_.number = 1;
    auto made = SegmentWriter::create(&device_, header_, 64u << 10);
    EXPECT_TRUE(made.is_ok());
    writer_ = *std::move(made);
  }
  // A sector of zeroes begins with the ring's second block.
  static char byte_at(std::uint64_t offset) {
    const std::uint64_t at = offset % kRingBytes;
    return at / kSectorBytes == kBlockBytes / kSectorBytes ? '\0' : static_cast<char>(at % 251 + 1);
  }
  bool try_add(std::uint64_t begin, std::size_t bytes, std::uint64_t epoch) {
    FrameEpochs epochs;
    epochs.add(epoch);
    return packed_.try_add(ring_, begin, bytes, epochs);
  }
  // Appends the frame and reads it back; `data` gets the bytes of its first piece.
  Result<FrameHeader> append(std::string* data) {
    FOEDUS_CHECK(writer_->append_packed(packed_, kNoMark));
    FOEDUS_TRY(auto file, device_.open(segment_name(0, 1), device::Access::kRead));
    SegmentBlock block;
    FOEDUS_TRY([[maybe_unused]] const std::size_t read,
               file->read_at(0, block.bytes(), kBlockBytes));
    FrameReader reader(file.get(), block.header(), writer_->position());
    FrameReader::Frame frame;
    growths_ = 0;
    while (reader.position() < writer_->position()) {
      FOEDUS_TRY(const bool is_valid, reader.next(&frame));
      if (!is_valid) return ErrorCode::kCorruption;
      expect_rest_is_zero(frame);
      EXPECT_EQ(frame.header.zero_sectors, zero_sectors(frame)) << frame.header.offset;
    }
    data->assign(frame.data(), frame.header.piece_count == 0 ? 0 : frame.piece(0).bytes);
    return frame.header;
  }
  // Returns whether a reader finds the first frame in the file if that has only `bytes` bytes, and
  // a seal says that frames end at `end_bytes`.
  Result<bool> has_frame_in(std::uint64_t bytes, std::uint64_t end_bytes) {
    FOEDUS_TRY(auto file, device_.open(segment_name(0, 1), device::Access::kRead));
    SegmentBlock block;
    FOEDUS_TRY([[maybe_unused]] const std::size_t read,
               file->read_at(0, block.bytes(), kBlockBytes));
    const CutFile cut(file.get(), bytes);
    FrameReader reader(&cut, block.header(), end_bytes);
    FrameReader::Frame frame;
    return reader.next(&frame);
  }
  Status append_direct(std::uint64_t begin, std::size_t bytes) {
    return writer_->append_direct(ring_, begin, bytes, {.oldest = 7, .newest = 7});
  }
  void expect_rest_is_zero(const FrameReader::Frame& frame) {
    std::string bytes(frame.bytes, frame.header.frame_bytes);
    const std::size_t pieces = frame.header.piece_count * sizeof(FramePiece);
    bytes.replace(0, sizeof(FrameHeader) + pieces, sizeof(FrameHeader) + pieces, '\0');
    if (frame.header.layout == FrameLayout::kGrowth) {
      ++growths_;
      bytes.replace(sizeof(FrameHeader), sizeof(std::uint64_t), sizeof(std::uint64_t), '\0');
    }
    if (frame.header.piece_count != 0) {
      const std::size_t count = frame.piece(0).bytes;
      bytes.replace(static_cast<std::size_t>(frame.data() - frame.bytes), count, count, '\0');
    }
    EXPECT_EQ(bytes, std::string(bytes.size(), '\0')) << frame.header.offset;
  }

  static std::size_t zero_sectors(const FrameReader::Frame& frame) {
    const std::string zeroes(kSectorBytes, '\0');
    std::size_t count = 0;
    for (std::size_t at = kSectorBytes; at < frame.header.frame_bytes; at += kSectorBytes) {
      count += zeroes.compare(0, kSectorBytes, frame.bytes + at, kSectorBytes) == 0 ? 1 : 0;
    }
    return count;
  }

  std::size_t growths_ = 0;  // in the segment that append() has read
  PackedFrame packed_;

 private:
  FailingDevice device_;
  SegmentHeader header_{};
  RingMemory memory_;
  LogBuffer ring_;
  std::unique_ptr<SegmentWriter> writer_;
};

TEST_F(FrameBytesTest, a_piece_around_the_end_of_the_ring_has_the_bytes_of_both_sides) {
  for (const std::uint64_t begin : {kRingBytes - 96, 3 * kRingBytes - 8, kRingBytes}) {
    packed_.clear();
    ASSERT_TRUE(try_add(begin, 200, 7));
    std::string data;
    ASSERT_OK(append(&data));
    std::string expected;
    for (std::uint64_t at = begin; at < begin + 200; ++at) expected += byte_at(at);
    EXPECT_EQ(data, expected);
  }
}

TEST_F(FrameBytesTest, a_frame_that_was_cleared_says_nothing_of_what_it_held) {
  ASSERT_TRUE(try_add(0, 200, 5));
  packed_.clear();
  EXPECT_TRUE(packed_.is_empty());
  std::string data;
  const auto empty = append(&data);
  ASSERT_OK(empty);
  EXPECT_EQ(empty->piece_count, 0u);
  EXPECT_EQ(empty->oldest_epoch, 0u);
  EXPECT_EQ(empty->newest_epoch, 0u);
  ASSERT_TRUE(try_add(200, 96, 8));
  const auto next = append(&data);
  ASSERT_OK(next);
  EXPECT_EQ(next->piece_count, 1u);
  EXPECT_EQ(data.size(), 96u);
  EXPECT_EQ(next->oldest_epoch, 8u);
  EXPECT_EQ(next->newest_epoch, 8u);
}

// Unused bytes are zero (FORMAT.md), also where a longer frame was written from the same memory.
TEST_F(FrameBytesTest, what_a_frame_does_not_use_is_zero) {
  std::string data;
  for (const std::size_t bytes : {3'000, 8, 3'000}) {
    packed_.clear();
    ASSERT_TRUE(try_add(0, bytes, 7));
    do {
      ASSERT_OK(append(&data));
    } while (growths_ == 0);
  }
  // In the header's block; in one of its own after it; in the last block of a frame.
  ASSERT_OK(append_direct(2'048, 1'000));
  ASSERT_OK(append_direct(8, 3'000));
  ASSERT_OK(append_direct(2'048, 4'000));
  ASSERT_OK(append_direct(2'048, 3'000));
  packed_.clear();
  ASSERT_OK(append(&data));
}

TEST_F(FrameBytesTest, a_frame_whose_last_byte_is_not_in_the_file_is_none) {
  ASSERT_OK(append_direct(0, 3'000));
  const std::uint64_t end = 3 * kBlockBytes;
  EXPECT_TRUE(*has_frame_in(end, end));
  for (const std::uint64_t bytes : {end - 1, 2 * kBlockBytes, 2 * kBlockBytes - 1}) {
    EXPECT_FALSE(*has_frame_in(bytes, end)) << bytes;
  }
}

// Goal: the memory of a reader has a bound, whatever length a forged seal names.
TEST_F(FrameBytesTest, a_segment_that_is_said_to_be_huge_is_read_in_little_memory) {
  ASSERT_OK(append_direct(0, 3'000));
  EXPECT_TRUE(*has_frame_in(3 * kBlockBytes, std::uint64_t{1} << 60));
}

}  // namespace
}  // namespace foedus::log::testing::frame_bytes_test
