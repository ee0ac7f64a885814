#include "foedus-core/log/segments/writer.h"

#include <algorithm>
#include <cstring>

#include "foedus-core/base/crc32c.h"
#include "foedus-core/base/invariant.h"

namespace foedus::log {

namespace {

// Space is preallocated in pieces of this size, so that the file's length seldom changes, and a
// small log does not take a whole segment.
constexpr std::uint64_t kPreallocateBytes = 4u << 20;

// L31: how many zeroes are written at a time, and up to how many bytes a sync is small.
constexpr std::uint64_t kAheadBytes = 128u << 10;
constexpr std::uint64_t kSmallSyncBytes = 32u << 10;
constexpr std::size_t kAheadParts = 2;
// Source of the zeroes that are written; nothing writes to it.
alignas(kBlockBytes) char zeroes[kAheadBytes / kAheadParts];

// Splits whole blocks of the ring at the ring's end; returns the number of parts.
std::size_t add_ring_parts(const LogBuffer& ring, std::uint64_t begin, std::size_t bytes,
                           device::ConstBytes* parts) {
  if (bytes == 0) return 0;
  const std::size_t to_end = ring.capacity() - (begin & (ring.capacity() - 1));
  parts[0] = {ring.at(begin), std::min(bytes, to_end)};
  if (bytes <= to_end) return 1;
  parts[1] = {ring.at(begin + to_end), bytes - to_end};
  return 2;
}

}  // namespace

void PackedFrame::clear() {
  piece_count_ = 0;
  data_bytes_ = 0;
  epochs_ = {};
}

bool PackedFrame::try_add(const LogBuffer& ring, std::uint64_t begin, std::size_t bytes,
                          const FrameEpochs& epochs) {
  const std::size_t after = sizeof(FrameHeader) + (piece_count_ + 1) * sizeof(FramePiece) +
                            data_bytes_ + bytes;
  if (after > kBlockBytes) return false;
  pieces_[piece_count_++] = {ring.session_number(), static_cast<std::uint32_t>(bytes), begin};
  const std::size_t to_end = ring.capacity() - (begin & (ring.capacity() - 1));
  const std::size_t first = std::min(bytes, to_end);
  std::memcpy(data_ + data_bytes_, ring.at(begin), first);
  std::memcpy(data_ + data_bytes_ + first, ring.at(begin + first), bytes - first);
  data_bytes_ += bytes;
  epochs_.add(epochs);
  return true;
}

SegmentWriter::SegmentWriter(std::unique_ptr<device::File> file, std::uint64_t segment_bytes)
    : file_(std::move(file)),
      segment_bytes_(segment_bytes),
      leading_(std::make_unique<Block>()),
      trailing_(std::make_unique<Block>()),
      block_(std::make_unique<SegmentBlock>()) {}

Result<std::unique_ptr<SegmentWriter>> SegmentWriter::create(device::Device* device,
                                                             const SegmentHeader& header,
                                                             std::uint64_t segment_bytes) {
  FOEDUS_TRY(auto file, device->open(segment_name(header.logger, header.number),
                                     device::Access::kCreateDirect));
  std::unique_ptr<SegmentWriter> writer(new SegmentWriter(std::move(file), segment_bytes));
  FOEDUS_CHECK(writer->write_header(header));
  return writer;
}

Status SegmentWriter::write_header(const SegmentHeader& header) {
  SegmentHeader with_length = header;
  FOEDUS_TRY(with_length.file_bytes, grow(2 * kBlockBytes));  // L27
  block_->set_header(with_length);
  header_ = block_->header();
  file_bytes_ = grown_bytes_ = synced_file_bytes_ = header_.file_bytes;
  mark_epoch_ = synced_mark_epoch_ = header_.mark_epoch;
  last_crc_ = synced_crc_ = header_.crc;
  FOEDUS_CHECK(file_->write_at(0, block_->bytes(), kBlockBytes));
  return file_->sync();
}

std::uint64_t SegmentWriter::piece_bytes() const {
  return std::min(kPreallocateBytes, segment_bytes_) / kBlockBytes * kBlockBytes;
}

// Preallocates whole pieces and one block more: the block that L27 keeps for a growth frame. So a
// segment that is full needs no further piece for that block.
Result<std::uint64_t> SegmentWriter::grow(std::uint64_t end_bytes) {
  const std::uint64_t piece = piece_bytes();
  const std::uint64_t wanted = (end_bytes - kBlockBytes + piece - 1) / piece * piece + kBlockBytes;
  if (file_->preallocate(wanted).is_ok()) return wanted;
  FOEDUS_CHECK(file_->preallocate(end_bytes));  // a whole piece may be too much
  return end_bytes;
}

Status SegmentWriter::make_room(std::uint64_t frame_bytes) {
  FOEDUS_INVARIANT(!is_poisoned_);
  if (remnants_end_ != 0) FOEDUS_CHECK(clear_remnants());  // L15
  if (position_ + frame_bytes + kBlockBytes <= file_bytes_) return {};
  const std::uint64_t end_bytes = position_ + frame_bytes + 2 * kBlockBytes;
  if (grown_bytes_ < end_bytes) {
    FOEDUS_TRY(const std::uint64_t grown, grow(end_bytes));
    if (is_size_lost_) FOEDUS_CHECK(write_size(grown));
    FOEDUS_CHECK(sync_file());  // L27
    grown_bytes_ = grown;
  }
  FOEDUS_CHECK(append_growth(grown_bytes_));
  file_bytes_ = grown_bytes_;
  return {};
}

// Ignores a lack of space, which the frame that needs it will report.
void SegmentWriter::grow_ahead() {
  if (is_size_lost_ || grown_bytes_ >= segment_bytes_) return;
  if (position_ + piece_bytes() / 2 <= grown_bytes_) return;
  const std::uint64_t wanted = grown_bytes_ + piece_bytes();
  if (file_->preallocate(wanted).is_ok()) grown_bytes_ = wanted;
}

// Overwrites the remnants of failed writes with zeroes and syncs (L15). Does not truncate the file,
// which must not become shorter than frames say (L27).
Status SegmentWriter::clear_remnants() {
  constexpr std::size_t kPartsMax = device::File::kWritePartsMax;
  device::ConstBytes parts[kPartsMax];
  std::memset(leading_->bytes, 0, kBlockBytes);
  for (device::ConstBytes& part : parts) part = {leading_->bytes, kBlockBytes};
  for (std::uint64_t at = position_; at < remnants_end_; at += kPartsMax * kBlockBytes) {
    const std::uint64_t blocks = (remnants_end_ - at) / kBlockBytes;
    FOEDUS_CHECK(write_parts(at, parts, std::min<std::uint64_t>(blocks, kPartsMax)));
  }
  FOEDUS_CHECK(sync_file());
  remnants_end_ = 0;
  return {};
}

std::uint64_t SegmentWriter::add_zeroes(std::uint64_t frame_end, device::ConstBytes* parts,
                                        std::size_t* count) const {
  if (!writes_ahead_ || !is_sync_small_ || frame_end <= written_end_) return 0;
  if (frame_end - synced_bytes_ > kSmallSyncBytes) return 0;
  const std::uint64_t end = std::min(frame_end + kAheadBytes, file_bytes_);
  for (std::uint64_t at = frame_end; at < end; at += sizeof(zeroes)) {
    parts[(*count)++] = {zeroes, std::min<std::uint64_t>(end - at, sizeof(zeroes))};
  }
  return end - frame_end;
}

// Writes zeroes to the file's last block, where no frame is. After a failed sync a later sync need
// not make the file's length durable, unless something was written at that end since (V2). The file
// may be longer than any length that a frame names, so each later growth needs such a write, too.
Status SegmentWriter::write_size(std::uint64_t file_bytes) {
  std::memset(leading_->bytes, 0, kBlockBytes);
  const device::ConstBytes part{leading_->bytes, kBlockBytes};
  return write_parts(file_bytes - kBlockBytes, &part, 1);
}

Status SegmentWriter::write_parts(std::uint64_t offset, const device::ConstBytes* parts,
                                  std::size_t count) {
  Status status = file_->write_parts_at(offset, parts, count);
  is_poisoned_ = !status.is_ok() && status.code() != ErrorCode::kOutOfSpace;
  return status;
}

Status SegmentWriter::sync_file() {
  is_poisoned_ = true;  // L16
  Status status = file_->sync();
  is_poisoned_ = !status.is_ok();
  lacks_space_ = status.code() == ErrorCode::kOutOfSpace;
  return status;
}

bool SegmentWriter::try_take_back() {
  FOEDUS_INVARIANT(is_poisoned_);
  if (!lacks_space_) return false;
  remnants_end_ = std::max(remnants_end_, position_);
  position_ = synced_bytes_;
  if (remnants_end_ == position_) remnants_end_ = 0;
  writes_ahead_ = false;
  file_bytes_ = grown_bytes_ = synced_file_bytes_;
  is_size_lost_ = true;
  mark_epoch_ = synced_mark_epoch_;
  last_crc_ = synced_crc_;
  epochs_ = synced_epochs_;
  is_poisoned_ = lacks_space_ = false;
  return true;
}

FrameHeader SegmentWriter::new_frame(FrameLayout layout, std::size_t frame_bytes,
                                     std::size_t piece_count, const FrameEpochs& epochs,
                                     std::uint64_t mark_epoch) const {
  return {.magic = kFrameMagic,
          .crc = 0,
          .frame_bytes = static_cast<std::uint32_t>(frame_bytes),
          .layout = layout,
          .piece_count = static_cast<std::uint16_t>(piece_count),
          .logger = header_.logger,
          .number = header_.number,
          .incarnation = header_.incarnation,
          .offset = position_,
          .oldest_epoch = epochs.oldest,
          .newest_epoch = epochs.newest,
          .mark_epoch = mark_epoch,
          .synced_bytes = synced_bytes_,
          .previous_crc = last_crc_,
          .version = kLogFormatVersion,
          .sector_crc = 0,
          .zero_sectors = 0};
}

Status SegmentWriter::append_growth(std::uint64_t file_bytes) {
  const FrameHeader header = new_frame(FrameLayout::kGrowth, kBlockBytes, 0, {}, 0);
  std::memset(leading_->bytes, 0, kBlockBytes);
  std::memcpy(leading_->bytes, &header, sizeof(header));
  std::memcpy(leading_->bytes + sizeof(header), &file_bytes, sizeof(file_bytes));
  device::ConstBytes parts[1 + kAheadParts] = {{leading_->bytes, kBlockBytes}};
  return write_frame(parts, 1, kBlockBytes, {}, 0);
}

Status SegmentWriter::append_packed(const PackedFrame& packed, std::uint64_t mark_epoch) {
  FOEDUS_CHECK(make_room(kBlockBytes));
  const FrameHeader header = new_frame(FrameLayout::kPacked, kBlockBytes, packed.piece_count_,
                                       packed.epochs_, mark_epoch);
  char* const block = leading_->bytes;
  const std::size_t piece_bytes = packed.piece_count_ * sizeof(FramePiece);
  std::memset(block, 0, kBlockBytes);
  std::memcpy(block, &header, sizeof(header));
  std::memcpy(block + sizeof(header), packed.pieces_, piece_bytes);
  std::memcpy(block + sizeof(header) + piece_bytes, packed.data_, packed.data_bytes_);
  device::ConstBytes parts[1 + kAheadParts] = {{block, kBlockBytes}};
  return write_frame(parts, 1, kBlockBytes, packed.epochs_, mark_epoch);
}

Status SegmentWriter::append_direct(const LogBuffer& ring, std::uint64_t begin, std::size_t bytes,
                                    const FrameEpochs& epochs) {
  FOEDUS_INVARIANT(bytes != 0 && bytes <= kDirectBytesMax && bytes % 8 == 0, bytes);
  const std::size_t data_offset = direct_data_offset(begin);
  const std::size_t frame_bytes = (data_offset + bytes + kBlockBytes - 1) & ~(kBlockBytes - 1);
  FOEDUS_CHECK(make_room(frame_bytes));
  const FrameHeader header = new_frame(FrameLayout::kDirect, frame_bytes, 1, epochs, 0);
  const FramePiece piece{ring.session_number(), static_cast<std::uint32_t>(bytes), begin};
  std::memset(leading_->bytes, 0, kBlockBytes);
  std::memcpy(leading_->bytes, &header, sizeof(header));
  std::memcpy(leading_->bytes + sizeof(header), &piece, sizeof(piece));

  // At most five parts: the block with the header, a block of ring bytes up to the next block
  // border, whole blocks up to the ring's end, whole blocks from its start, and the last block.
  device::ConstBytes parts[5 + kAheadParts];
  static_assert(5 + kAheadParts <= device::File::kWritePartsMax);
  std::size_t count = 0;
  parts[count++] = {leading_->bytes, kBlockBytes};
  std::size_t done = 0;
  Block second;
  if (begin % kBlockBytes != 0) {
    // The ring bytes up to the next block border go through a buffer: in the header's block, or in
    // one of their own after it.
    done = std::min(bytes, kBlockBytes - begin % kBlockBytes);
    char* const to = data_offset < kBlockBytes ? leading_->bytes : second.bytes;
    if (to == second.bytes) {
      std::memset(second.bytes, 0, kBlockBytes);
      parts[count++] = {second.bytes, kBlockBytes};
    }
    std::memcpy(to + begin % kBlockBytes, ring.at(begin), done);
  }
  const std::size_t whole = (bytes - done) & ~(kBlockBytes - 1);
  count += add_ring_parts(ring, begin + done, whole, parts + count);
  const std::size_t rest = bytes - done - whole;
  if (rest != 0) {
    std::memset(trailing_->bytes, 0, kBlockBytes);
    std::memcpy(trailing_->bytes, ring.at(begin + done + whole), rest);
    parts[count++] = {trailing_->bytes, kBlockBytes};
  }
  return write_frame(parts, count, frame_bytes, epochs, 0);
}

// Fills in what the header in leading_ says of all the bytes; returns the frame's checksum.
std::uint32_t SegmentWriter::finish_frame(const device::ConstBytes* parts, std::size_t count,
                                          std::uint64_t frame_bytes) {
  std::uint32_t zero_sectors = 0;
  for (std::size_t i = 0; i < count; ++i) {
    // The first sector of all has the magic, so it does not count.
    zero_sectors += count_zero_sectors(static_cast<const char*>(parts[i].data), parts[i].bytes);
  }
  char* const header = leading_->bytes;
  std::memcpy(header + offsetof(FrameHeader, zero_sectors), &zero_sectors, sizeof(zero_sectors));
  const std::uint32_t sector_crc = crc_of_first_sector(header);
  std::memcpy(header + offsetof(FrameHeader, sector_crc), &sector_crc, sizeof(sector_crc));
  std::uint32_t crc = 0;
  std::size_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    crc = base::crc32c(parts[i].data, parts[i].bytes, crc);
    sum += parts[i].bytes;
  }
  FOEDUS_INVARIANT(sum == frame_bytes, sum, frame_bytes);
  std::memcpy(header + offsetof(FrameHeader, crc), &crc, sizeof(crc));
  return crc;
}

Status SegmentWriter::write_frame(device::ConstBytes* parts, std::size_t count,
                                  std::uint64_t frame_bytes, const FrameEpochs& epochs,
                                  std::uint64_t mark_epoch) {
  FOEDUS_INVARIANT(!is_poisoned_);
  const std::uint32_t crc = finish_frame(parts, count, frame_bytes);
  FOEDUS_INVARIANT(position_ + frame_bytes <= file_bytes_, position_, frame_bytes, file_bytes_);
  const std::uint64_t frame_end = position_ + frame_bytes;
  std::size_t with_zeroes = count;
  std::uint64_t ahead = add_zeroes(frame_end, parts, &with_zeroes);
  remnants_end_ = frame_end;  // the zeroes need no clearing
  Status status = write_parts(position_, parts, with_zeroes);
  if (status.code() == ErrorCode::kOutOfSpace && ahead != 0) {
    writes_ahead_ = false;
    ahead = 0;
    status = write_parts(position_, parts, count);
  }
  FOEDUS_CHECK(std::move(status));
  remnants_end_ = 0;
  position_ = frame_end;
  written_end_ = std::max(written_end_, frame_end + ahead);
  last_crc_ = crc;
  mark_epoch_ = std::max(mark_epoch_, mark_epoch);
  epochs_.add(epochs);
  return {};
}

Status SegmentWriter::sync() {
  FOEDUS_INVARIANT(!is_poisoned_);
  grow_ahead();
  FOEDUS_CHECK(sync_file());
  is_sync_small_ = position_ - synced_bytes_ <= kSmallSyncBytes;
  synced_bytes_ = position_;
  synced_file_bytes_ = file_bytes_;
  synced_mark_epoch_ = mark_epoch_;
  synced_crc_ = last_crc_;
  synced_epochs_ = epochs_;
  return {};
}

Status SegmentWriter::seal(std::uint64_t cut_epoch) {
  FOEDUS_INVARIANT(is_poisoned_ || position_ == synced_bytes_, position_, synced_bytes_);
  epochs_ = synced_epochs_;  // what was not synced went to the next segment
  const SegmentSeal seal{.magic = 0,
                         .flags = 0,
                         .crc = 0,
                         .valid_bytes = synced_bytes_,
                         .cut_epoch = cut_epoch,
                         .mark_epoch = synced_mark_epoch_,
                         .oldest_epoch = epochs_.oldest,
                         .newest_epoch = epochs_.newest};
  return write_seal(file_.get(), block_.get(), seal);
}

Status write_seal(device::File* file, SegmentBlock* block, const SegmentSeal& seal) {
  block->set_seal(seal);
  FOEDUS_CHECK(file->write_at(0, block->bytes(), kBlockBytes));
  FOEDUS_CHECK(file->sync());
  // Space after the last frame is given back, and only now (L27); no harm if that fails.
  [[maybe_unused]] const Status cut = file->truncate(seal.valid_bytes);
  return {};
}

}  // namespace foedus::log
