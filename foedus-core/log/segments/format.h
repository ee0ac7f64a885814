#pragma once
// Bytes of a log segment file, and nothing else. Byte-exact description: FORMAT.md.
//
//   block 0        slot A (offset 0): which segment it is, written when it is made
//                  slot B (offset 2048): the seal, zero until it is written once
//   block 1 ...    frames, one after the other, each a whole number of blocks
//
//   L12 Slots and frames carry a CRC32C over all their bytes, with its own four taken as zero. A
//       frame also carries the checksum of the frame before it: a valid frame follows valid frames
//       only. The first sector of a frame has a checksum of its own. So a reader can trust the
//       header of a torn frame whose first sector was written.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "foedus-core/device/device.h"

namespace foedus::log {

inline constexpr std::uint32_t kLogFormatVersion = 3;
inline constexpr std::uint64_t kSegmentMagic = 0x31474f4c44454f46;  // "FOEDLOG1"
inline constexpr std::uint64_t kSealMagic = 0x4c41455344454f46;     // "FOEDSEAL"
inline constexpr std::uint32_t kFrameMagic = 0x454d5246;            // "FRME"
inline constexpr std::size_t kBlockBytes = device::kBlockBytes;
using device::kSectorBytes;  // V1: written as a whole or not at all
inline constexpr std::size_t kSlotBytes = 2048;
inline constexpr std::size_t kFrameBytesMax = 1u << 20;
inline constexpr std::uint32_t kSegmentNumberMax = 99'999'999;

// Slot A.
struct SegmentHeader {
  std::uint64_t magic;        // +8 -> 8
  std::uint32_t version;      // +4 -> 12
  std::uint32_t crc;          // +4 -> 16  of the slot's 2048 bytes
  std::uint32_t logger;          // +4 -> 20
  std::uint32_t number;       // +4 -> 24
  std::uint64_t incarnation;  // +8 -> 32
  // The logger had synced all commits of epochs up to this one when it made the segment.
  std::uint64_t mark_epoch;   // +8 -> 40
  // End of segment number - 1 if it is of the same incarnation, else 0. Bytes after that were given
  // up after a failed write or sync and are written again in this segment.
  std::uint64_t previous_valid_bytes;  // +8 -> 48
  std::uint64_t file_bytes;   // +8 -> 56  length of the file when it was made (L27)
};
static_assert(sizeof(SegmentHeader) == 56);

// Slot B.
struct SegmentSeal {
  std::uint64_t magic;         // +8 -> 8
  std::uint32_t flags;         // +4 -> 12
  std::uint32_t crc;           // +4 -> 16  of the slot's 2048 bytes
  std::uint64_t valid_bytes;   // +8 -> 24  end of the last frame, from the start of the file
  std::uint64_t cut_epoch;     // +8 -> 32  records of later epochs do not exist
  std::uint64_t mark_epoch;    // +8 -> 40  newest mark in header and frames
  std::uint64_t oldest_epoch;  // +8 -> 48  of all records, cut ones included; 0: there are none
  std::uint64_t newest_epoch;  // +8 -> 56
};
static_assert(sizeof(SegmentSeal) == 56);
inline constexpr std::uint32_t kSealedByRecovery = 1;

enum class FrameLayout : std::uint16_t {
  // One block: header, pieces, then the bytes of the pieces one after the other.
  kPacked = 1,
  // One piece. Its bytes stand where file offset and ring offset are congruent modulo 4096: in the
  // header's block if they begin after header and piece there, else from the next block on.
  kDirect = 2,
  // One block without pieces. The 8 bytes after the header are the new length of the file (L27).
  kGrowth = 3,
};

struct FrameHeader {
  std::uint32_t magic;          // +4 -> 4
  std::uint32_t crc;            // +4 -> 8   of the whole frame
  std::uint32_t frame_bytes;    // +4 -> 12
  FrameLayout layout;           // +2 -> 14
  std::uint16_t piece_count;    // +2 -> 16
  std::uint32_t logger;            // +4 -> 20
  std::uint32_t number;         // +4 -> 24  of the segment
  std::uint64_t incarnation;    // +8 -> 32
  std::uint64_t offset;         // +8 -> 40  of this frame in the segment
  std::uint64_t oldest_epoch;   // +8 -> 48  of the records that have bytes here; 0: none
  std::uint64_t newest_epoch;   // +8 -> 56
  std::uint64_t mark_epoch;     // +8 -> 64  all commits up to it end here or before; 0: none
  std::uint64_t synced_bytes;   // +8 -> 72  of this segment, when the frame was written
  std::uint32_t previous_crc;   // +4 -> 76  of the frame before, of the header for the first one
  std::uint32_t version;        // +4 -> 80
  // The next two fields tell a torn frame from a rotten one (L17). If the first sector of a torn
  // frame was written, sector_crc is right, and some other sectors are missing. These hold zeroes,
  // so more sectors do than the writer counted.
  std::uint32_t sector_crc;    // +4 -> 84  of the frame's first sector
  std::uint32_t zero_sectors;  // sectors after the first that hold only zeroes
};
static_assert(sizeof(FrameHeader) == 88);

// Returns the checksum of a frame's first sector, with both checksums in the header taken as zero.
std::uint32_t crc_of_first_sector(const char* frame);
// REQUIRES: `bytes` is a multiple of kSectorBytes.
std::uint32_t count_zero_sectors(const char* begin, std::size_t bytes);

// Some bytes of one session's ring.
struct FramePiece {
  std::uint32_t session;      // +4 -> 4
  std::uint32_t bytes;        // +4 -> 8   a positive multiple of 8
  std::uint64_t ring_offset;  // +8 -> 16  of the first byte
};
static_assert(sizeof(FramePiece) == 16);

inline constexpr std::size_t kDirectHeadBytes = sizeof(FrameHeader) + sizeof(FramePiece);
// Ring bytes that surely fit into one frame of kDirect, whatever their alignment.
inline constexpr std::size_t kDirectBytesMax = kFrameBytesMax - 3 * kBlockBytes;

// Returns where the ring bytes of a kDirect frame begin, from the frame's start.
inline constexpr std::size_t direct_data_offset(std::uint64_t ring_offset) {
  const std::size_t in_block = ring_offset % kBlockBytes;
  return in_block >= kDirectHeadBytes ? in_block : kBlockBytes + in_block;
}

// "log-<logger>-<8 digits>".
std::string segment_name(std::uint32_t logger, std::uint32_t number);
struct SegmentName {
  std::uint32_t logger;
  std::uint32_t number;
};
// Returns the arguments for which segment_name() gives `name`; nothing if there are none.
std::optional<SegmentName> parse_segment_name(std::string_view name);

// Block 0 of a segment as it is read and written.
class SegmentBlock {
 public:
  enum class State : std::uint8_t { kAbsent, kValid, kWrongVersion, kDamaged };

  SegmentBlock();
  const char* bytes() const { return bytes_; }
  char* bytes() { return bytes_; }

  // Set header or seal, with magic and checksum filled in, and the version of the header.
  void set_header(SegmentHeader header);
  void set_seal(SegmentSeal seal);
  State header_state() const;
  State seal_state() const;
  SegmentHeader header() const;
  SegmentSeal seal() const;

 private:
  alignas(kBlockBytes) char bytes_[kBlockBytes];
};

}  // namespace foedus::log
