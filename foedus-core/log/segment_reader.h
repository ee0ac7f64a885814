#pragma once
// Reading a segment back: frames in their order, and what a torn tail is.
//
//   L17 Bytes that are known to be synced must check out, or the file is corrupt: all of a sealed
//       segment up to its valid_bytes, all of an unsealed one that has a successor up to the end
//       that the successor names, and of the last one all up to the savepoint's anchor and up to
//       the synced_bytes of any valid frame, also of one behind the first invalid frame. Only what
//       comes later may be a torn tail, and ends before the first frame that does not check out.
//       A torn frame lacks sectors, which hold zeroes then: one that lacks none has rotted, and the
//       file is corrupt. Whether one is lacking is said by the first sector, which has a checksum
//       of its own (L12), so zeroes that belong there are not taken for lacking. The file is
//       corrupt as well if it is shorter than its header or a valid frame says (L27).

#include <cstdint>
#include <memory>

#include "foedus-core/device/device.h"
#include "foedus-core/log/log_file.h"
#include "foedus/status.h"

namespace foedus::log {

// Reads the frames of one segment, at most some MiB in memory.
class FrameReader {
 public:
  // A frame that checked out; its bytes are valid until the next call of the reader.
  struct Frame {
    FrameHeader header;
    const char* bytes;
    FramePiece piece(std::size_t index) const;
    // Where the bytes of the first piece are; those of the others follow.
    const char* data() const;
    // How long the file is, if the frame says it; else 0.
    std::uint64_t file_bytes() const;
  };

  FrameReader(const device::File* file, const SegmentHeader& header, std::uint64_t end_bytes);

  std::uint64_t position() const { return position_; }
  std::uint32_t last_crc() const { return last_crc_; }
  // The frame at position(), behind which position() moves; false if none checks out there.
  Result<bool> next(Frame* frame);
  // After next() found none: true if a frame stands at position() of which nothing is missing that
  // a crash could have kept from the device. REQUIRES: the place held zeroes before (L15).
  Result<bool> is_rotten();
  // The first frame at or behind `offset` that checks out for itself, whatever stands before it.
  Result<bool> find_from(std::uint64_t offset, Frame* frame);

 private:
  bool is_header_at(const FrameHeader& header, std::uint64_t offset) const;
  Result<bool> check_at(std::uint64_t offset, Frame* frame);
  // Makes bytes [offset, offset + bytes) of the file available; null if the file or end_bytes ends
  // before.
  Result<const char*> load(std::uint64_t offset, std::size_t bytes);

  const device::File* const file_;
  const SegmentHeader header_;
  const std::uint64_t end_bytes_;
  std::uint64_t position_ = kBlockBytes;
  std::uint32_t last_crc_;

  struct Free {
    void operator()(char* memory) const;
  };
  const std::size_t window_bytes_max_;
  std::unique_ptr<char, Free> window_;
  std::uint64_t window_offset_ = 0;
  std::size_t window_bytes_ = 0;
};

// What an unsealed segment holds.
struct SegmentTail {
  std::uint64_t valid_bytes = kBlockBytes;
  std::uint64_t synced_bytes = kBlockBytes;  // at least these are on the device
  std::uint64_t mark_epoch = 0;
  std::uint64_t oldest_epoch = 0;
  std::uint64_t newest_epoch = 0;
  std::uint64_t newest_epoch_behind = 0;  // in whole frames behind the end
};

// `anchor_bytes`: known to be synced (L17). `exact_bytes`: if not 0, the segment ends there.
Result<SegmentTail> scan_tail(const device::File& file, const SegmentHeader& header,
                              std::uint64_t anchor_bytes, std::uint64_t exact_bytes);

}  // namespace foedus::log
