// FrameReader and scan_tail: which frames a segment has.
#include <algorithm>
#include <cstring>
#include <new>

#include "foedus-core/base/crc32c.h"
#include "foedus-core/base/invariant.h"
#include "foedus-core/log/segments/reader.h"

namespace foedus::log {

namespace {

constexpr std::size_t kWindowBytesMax = 4 * kFrameBytesMax;
constexpr std::align_val_t kWindowAlignment{kBlockBytes};

std::uint32_t crc_of_frame(const char* frame, std::size_t frame_bytes) {
  constexpr std::size_t kOffset = offsetof(FrameHeader, crc);
  constexpr char kZero[4] = {};
  std::uint32_t crc = base::crc32c(frame, kOffset);
  crc = base::crc32c(kZero, sizeof(kZero), crc);
  return base::crc32c(frame + kOffset + 4, frame_bytes - kOffset - 4, crc);
}

// Returns true if all pieces lie within the frame, as in every frame that a writer wrote.
bool has_sound_pieces(const FrameReader::Frame& frame) {
  const std::size_t piece_end =
      sizeof(FrameHeader) + frame.header.piece_count * sizeof(FramePiece);
  if (piece_end > kBlockBytes) return false;
  std::size_t data_bytes = 0;
  for (std::size_t i = 0; i < frame.header.piece_count; ++i) {
    const FramePiece piece = frame.piece(i);
    if (piece.bytes == 0 || piece.bytes % 8 != 0 || piece.ring_offset % 8 != 0) return false;
    data_bytes += piece.bytes;
  }
  if (frame.header.layout == FrameLayout::kPacked) {
    return frame.header.frame_bytes == kBlockBytes && data_bytes <= kBlockBytes - piece_end;
  }
  if (frame.header.layout == FrameLayout::kGrowth) {
    return frame.header.frame_bytes == kBlockBytes && frame.header.piece_count == 0;
  }
  if (frame.header.layout != FrameLayout::kDirect || frame.header.piece_count != 1) return false;
  return direct_data_offset(frame.piece(0).ring_offset) + data_bytes <= frame.header.frame_bytes;
}

// Returns the size of the window. A small segment needs no large one: every frame lies before
// `end_bytes`.
std::size_t window_bytes_for(std::uint64_t end_bytes) {
  const std::uint64_t bytes = std::min<std::uint64_t>(end_bytes, kWindowBytesMax);
  return (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
}

}  // namespace

FramePiece FrameReader::Frame::piece(std::size_t index) const {
  FramePiece piece;
  std::memcpy(&piece, bytes + sizeof(FrameHeader) + index * sizeof(piece), sizeof(piece));
  return piece;
}

const char* FrameReader::Frame::data() const {
  if (header.layout == FrameLayout::kDirect) {
    return bytes + direct_data_offset(piece(0).ring_offset);
  }
  return bytes + sizeof(FrameHeader) + header.piece_count * sizeof(FramePiece);
}

std::uint64_t FrameReader::Frame::file_bytes() const {
  std::uint64_t said = 0;
  if (header.layout == FrameLayout::kGrowth) {
    std::memcpy(&said, bytes + sizeof(FrameHeader), sizeof(said));
  }
  return said;
}

void FrameReader::Free::operator()(char* memory) const {
  ::operator delete(memory, kWindowAlignment);
}

FrameReader::FrameReader(const device::File* file, const SegmentHeader& header,
                         std::uint64_t end_bytes)
    : file_(file),
      header_(header),
      end_bytes_(end_bytes),
      last_crc_(header.crc),
      window_bytes_max_(window_bytes_for(end_bytes)),
      window_(static_cast<char*>(::operator new(window_bytes_max_, kWindowAlignment))) {}

void FrameReader::extend(std::uint64_t end_bytes) {
  FOEDUS_INVARIANT(end_bytes >= end_bytes_, end_bytes, end_bytes_);
  const std::size_t needed = window_bytes_for(end_bytes);
  if (needed > window_bytes_max_) {
    // Twice the need: a segment that grows by a block at a time takes few windows in all.
    const std::size_t larger = std::min<std::size_t>(2 * needed, kWindowBytesMax);
    window_.reset(static_cast<char*>(::operator new(larger, kWindowAlignment)));
    window_bytes_max_ = larger;
    window_bytes_ = 0;
  }
  end_bytes_ = end_bytes;
}

Result<const char*> FrameReader::load(std::uint64_t offset, std::size_t bytes) {
  FOEDUS_INVARIANT(bytes <= kFrameBytesMax && offset % kBlockBytes == 0, offset, bytes);
  if (offset + bytes > end_bytes_) return static_cast<const char*>(nullptr);
  if (offset < window_offset_ || offset + bytes > window_offset_ + window_bytes_) {
    const std::size_t wanted = std::min<std::uint64_t>(window_bytes_max_, end_bytes_ - offset);
    window_bytes_ = 0;
    FOEDUS_TRY(const std::size_t read, file_->read_at(offset, window_.get(), wanted));
    window_offset_ = offset;
    window_bytes_ = read;
    if (bytes > read) return static_cast<const char*>(nullptr);
  }
  return static_cast<const char*>(window_.get() + (offset - window_offset_));
}

bool FrameReader::is_header_at(const FrameHeader& header, std::uint64_t offset) const {
  return header.magic == kFrameMagic && header.version == kLogFormatVersion &&
         header.logger == header_.logger && header.number == header_.number &&
         header.incarnation == header_.incarnation && header.offset == offset &&
         header.frame_bytes >= kBlockBytes && header.frame_bytes <= kFrameBytesMax &&
         header.frame_bytes % kBlockBytes == 0;
}

Result<bool> FrameReader::check_at(std::uint64_t offset, Frame* frame) {
  FOEDUS_TRY(const char* const first, load(offset, kBlockBytes));
  if (first == nullptr) return false;
  std::memcpy(&frame->header, first, sizeof(frame->header));
  const FrameHeader& header = frame->header;
  if (!is_header_at(header, offset)) return false;
  FOEDUS_TRY(const char* const whole, load(offset, header.frame_bytes));
  if (whole == nullptr || crc_of_frame(whole, header.frame_bytes) != header.crc) return false;
  frame->bytes = whole;
  return has_sound_pieces(*frame);
}

Result<bool> FrameReader::next(Frame* frame) {
  FOEDUS_TRY(const bool is_valid, check_at(position_, frame));
  if (!is_valid || frame->header.previous_crc != last_crc_) return false;
  position_ += frame->header.frame_bytes;
  last_crc_ = frame->header.crc;
  return true;
}

Result<bool> FrameReader::is_rotten() {
  FOEDUS_TRY(const char* const first, load(position_, kBlockBytes));
  if (first == nullptr) return false;
  // On persistent memory a frame's first word is written after the rest is persistent (V17).
  static constexpr char kZeroes[device::kFirstWordBytes] = {};
  if (std::memcmp(first, kZeroes, sizeof(kZeroes)) == 0) return false;
  FrameHeader header;
  std::memcpy(&header, first, sizeof(header));
  // The fields must look like a frame's: a flipped bit in unused space is no rotten frame.
  const bool is_frame =
      header.magic == kFrameMagic ||
      (header.offset == position_ && header.incarnation == header_.incarnation);
  if (!is_frame) return false;
  if (crc_of_first_sector(first) != header.sector_crc) return true;
  if (!is_header_at(header, position_) || header.previous_crc != last_crc_) return true;
  FOEDUS_TRY(const char* const whole, load(position_, header.frame_bytes));
  if (whole == nullptr) return false;
  return count_zero_sectors(whole + kSectorBytes, header.frame_bytes - kSectorBytes) <=
         header.zero_sectors;
}

Result<bool> FrameReader::find_from(std::uint64_t offset, Frame* frame) {
  for (; offset + kBlockBytes <= end_bytes_; offset += kBlockBytes) {
    FOEDUS_TRY(const bool is_valid, check_at(offset, frame));
    if (is_valid) return true;
  }
  return false;
}

Result<SegmentTail> scan_tail(const device::File& file, const SegmentHeader& header,
                              std::uint64_t anchor_bytes, std::uint64_t exact_bytes) {
  FOEDUS_TRY(const std::uint64_t file_bytes, file.size());
  FrameReader reader(&file, header, file_bytes);
  SegmentTail tail;
  tail.mark_epoch = header.mark_epoch;
  tail.synced_bytes = std::max<std::uint64_t>({anchor_bytes, exact_bytes, kBlockBytes});
  std::uint64_t said_bytes = header.file_bytes;  // L27
  FrameReader::Frame frame;
  while (exact_bytes == 0 || reader.position() < exact_bytes) {
    FOEDUS_TRY(const bool is_valid, reader.next(&frame));
    if (!is_valid) break;
    tail.mark_epoch = std::max(tail.mark_epoch, frame.header.mark_epoch);
    tail.newest_epoch = std::max(tail.newest_epoch, frame.header.newest_epoch);
    tail.synced_bytes = std::max(tail.synced_bytes, frame.header.synced_bytes);
    said_bytes = std::max(said_bytes, frame.file_bytes());
    const std::uint64_t oldest = frame.header.oldest_epoch;
    if (oldest != 0 && (tail.oldest_epoch == 0 || oldest < tail.oldest_epoch)) {
      tail.oldest_epoch = oldest;
    }
  }
  tail.valid_bytes = reader.position();
  if (exact_bytes == 0) {
    FOEDUS_TRY(const bool is_rotten, reader.is_rotten());
    if (is_rotten) {
      return Status::error(ErrorCode::kCorruption,
                           file.path() + ": the frame at offset " +
                               std::to_string(tail.valid_bytes) +
                               " does not check out, though no sector of it is missing");
    }
  }
  // Looks at valid frames after the end, too: synced_bytes that they name have to be valid (L17),
  // and new epochs begin above theirs (L10).
  std::uint64_t at = tail.valid_bytes;
  for (;;) {
    FOEDUS_TRY(const bool is_found, reader.find_from(at, &frame));
    if (!is_found) break;
    tail.synced_bytes = std::max(tail.synced_bytes, frame.header.synced_bytes);
    tail.newest_epoch_behind = std::max(
        {tail.newest_epoch_behind, frame.header.newest_epoch, frame.header.mark_epoch});
    at = frame.header.offset + frame.header.frame_bytes;
  }
  if (file_bytes < said_bytes) {
    return Status::error(ErrorCode::kCorruption,
                         file.path() + " ends at offset " + std::to_string(file_bytes) +
                             ", but was " + std::to_string(said_bytes) + " bytes long");
  }
  const bool is_whole = tail.valid_bytes >= tail.synced_bytes;
  if (is_whole && (exact_bytes == 0 || tail.valid_bytes == exact_bytes)) return tail;
  return Status::error(ErrorCode::kCorruption,
                       file.path() + ": no valid frame at offset " +
                           std::to_string(tail.valid_bytes) + ", but all was synced up to " +
                           std::to_string(tail.synced_bytes));
}

}  // namespace foedus::log
