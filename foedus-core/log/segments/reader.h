#pragma once
// Reads a segment back: its frames in order, and where its torn tail begins.
//
//   L17 Bytes that are known to be synced must check out, or the file is corrupt. In a sealed
//       segment these are all up to its valid_bytes. In an unsealed one with a successor they are
//       all up to the end that the successor names. In the last one they are all up to the
//       savepoint's anchor, and up to the synced_bytes of any valid frame. A valid frame after the
//       first invalid one counts for that, too. Only later bytes may be a torn tail; it begins at
//       the first frame that does not check out. A torn frame lacks sectors, which hold zeroes
//       then. One that lacks none has rotted, and the file is corrupt. The first sector, which has
//       a checksum of its own (L12), says how many of the others hold only zeroes; these are not
//       taken for missing ones. The file is corrupt as well if it is shorter than its header or a
//       valid frame says (L27).

#include <cstdint>
#include <memory>

#include "foedus-core/device/device.h"
#include "foedus-core/log/segments/format.h"
#include "foedus/status.h"

namespace foedus::log {

// Reads the frames of one segment, with at most 4 MiB of it in memory.
class FrameReader {
 public:
  // A frame that checked out; its bytes are valid until the next call of the reader.
  struct Frame {
    FrameHeader header;
    const char* bytes;
    FramePiece piece(std::size_t index) const;
    // Returns the bytes of the first piece; those of the others follow.
    const char* data() const;
    // Returns the length of the file, if the frame says it; else 0.
    std::uint64_t file_bytes() const;
  };

  FrameReader(const device::File* file, const SegmentHeader& header, std::uint64_t end_bytes);

  std::uint64_t position() const { return position_; }
  std::uint32_t last_crc() const { return last_crc_; }
  // Lets the reader go on up to `end_bytes`, to which the file has grown. Frames that it returned
  // become invalid.
  void extend(std::uint64_t end_bytes);
  // Reads the frame at position() and moves position() past it; false if none checks out there.
  Result<bool> next(Frame* frame);
  // Returns true if a frame stands at position() that lacks nothing a crash could have kept from
  // the device. Called after next() found none. REQUIRES: the place held zeroes before (L15).
  Result<bool> is_rotten();
  // Finds the first frame at or after `offset` that checks out by itself, whatever precedes it.
  Result<bool> find_from(std::uint64_t offset, Frame* frame);

 private:
  bool is_header_at(const FrameHeader& header, std::uint64_t offset) const;
  Result<bool> check_at(std::uint64_t offset, Frame* frame);
  // Makes bytes [offset, offset + bytes) of the file available; null if the file or end_bytes ends
  // before.
  Result<const char*> load(std::uint64_t offset, std::size_t bytes);

  const device::File* const file_;
  const SegmentHeader header_;
  std::uint64_t end_bytes_;
  std::uint64_t position_ = kBlockBytes;
  std::uint32_t last_crc_;

  struct Free {
    void operator()(char* memory) const;
  };
  std::size_t window_bytes_max_;
  std::unique_ptr<char, Free> window_;
  std::uint64_t window_offset_ = 0;
  std::size_t window_bytes_ = 0;
};

// The contents of an unsealed segment.
struct SegmentTail {
  std::uint64_t valid_bytes = kBlockBytes;
  std::uint64_t synced_bytes = kBlockBytes;  // at least these are on the device
  std::uint64_t mark_epoch = 0;
  std::uint64_t oldest_epoch = 0;
  std::uint64_t newest_epoch = 0;
  std::uint64_t newest_epoch_behind = 0;  // in valid frames after the end
};

// Scans an unsealed segment. `anchor_bytes`: known to be synced (L17). `exact_bytes`: if not 0, the
// segment ends there.
Result<SegmentTail> scan_tail(const device::File& file, const SegmentHeader& header,
                              std::uint64_t anchor_bytes, std::uint64_t exact_bytes);

}  // namespace foedus::log
