#pragma once
// SegmentWriter: the segment that a logger writes now. Appends frames and syncs; knows nothing of
// rings, epochs that are durable, or other segments.
//
//   L15 A frame whose write failed for lack of space is not there: the next one is written at the
//       same offset, after zeroes were written over what is left of the first attempt and were
//       synced. So every sector behind the last frame holds zeroes until its frame is written, and
//       a reader can tell a frame that a crash has torn from one that rotted (L17). So it is with
//       all frames since the last sync, if a sync fails for that reason: once they are taken back.
//   L16 After a failed sync, or a failed write for another reason than lack of space, the writer is
//       poisoned and refuses everything (V2): its logger goes on in a new segment, or takes back
//       what was not synced. So it is while a sync is at work: one that is left by an exception has
//       failed. A write that is left so is one for which there was no space.
//   L27 The header says how long the file is, and before a frame would end beyond that, the file
//       grows, this is synced, and a frame of its own says the new length; room for that frame is
//       kept. So every frame lies within a length that something before it says: of a file that
//       was cut in or before a frame, what is left says that it was longer (L17). What is said is
//       true after any crash: it was synced before, and the file is cut only behind a synced seal.
//   L31 Where syncs are for little, the last one and the one to come, the write of a frame goes on
//       with zeroes behind it, 128 KiB or up to the end of the file. A file system notes which
//       blocks of preallocated room were written, and has to make that note durable when some are
//       written for the first time: one more write of the device, for each sync. A frame that is
//       written over zeroes changes no such note. To a reader they are what was there before (L15),
//       and so is what a crash leaves of them. Where syncs are for much, it would double what is
//       written, to save one write of many. If there is no room for them, the frame is written
//       alone, and so are all that follow: a file system that never writes in place gains nothing.

#include <cstdint>
#include <memory>
#include <vector>

#include "foedus-core/device/device.h"
#include "foedus-core/log/log_buffer.h"
#include "foedus-core/log/log_file.h"
#include "foedus/status.h"

namespace foedus::log {

// What a frame says about the records in it.
struct FrameEpochs {
  std::uint64_t oldest = 0;  // 0: no record
  std::uint64_t newest = 0;
  void add(std::uint64_t epoch) {
    if (oldest == 0 || epoch < oldest) oldest = epoch;
    if (epoch > newest) newest = epoch;
  }
  void add(const FrameEpochs& other) {
    if (other.oldest == 0) return;
    add(other.oldest);
    add(other.newest);
  }
};

// The frame of kPacked that is being filled.
class PackedFrame {
 public:
  PackedFrame() { clear(); }
  void clear();
  bool is_empty() const { return piece_count_ == 0; }
  // The largest piece that an empty frame holds.
  static constexpr std::size_t kPieceBytesMax =
      kBlockBytes - sizeof(FrameHeader) - sizeof(FramePiece);
  // Copies bytes [begin, begin + bytes) of the ring; false and no change if they do not fit.
  bool try_add(const LogBuffer& ring, std::uint64_t begin, std::size_t bytes,
               const FrameEpochs& epochs);

 private:
  friend class SegmentWriter;
  // Pieces and bytes are kept apart until the number of pieces is known.
  FramePiece pieces_[kBlockBytes / (sizeof(FramePiece) + 8)];
  std::size_t piece_count_ = 0;
  std::size_t data_bytes_ = 0;
  FrameEpochs epochs_;
  char data_[kBlockBytes];
};

class SegmentWriter {
 public:
  // Makes the file, writes its header and syncs it; not its directory entry. `header`: all but
  // magic, version, crc and file_bytes.
  static Result<std::unique_ptr<SegmentWriter>> create(device::Device* device,
                                                       const SegmentHeader& header,
                                                       std::uint64_t segment_bytes);
  SegmentWriter(const SegmentWriter&) = delete;
  SegmentWriter& operator=(const SegmentWriter&) = delete;

  std::uint32_t number() const { return header_.number; }
  // End of the last frame, and of the last frame that was synced.
  std::uint64_t position() const { return position_; }
  std::uint64_t synced_bytes() const { return synced_bytes_; }
  // Newest mark that is synced.
  std::uint64_t mark_epoch() const { return synced_mark_epoch_; }
  const FrameEpochs& epochs() const { return epochs_; }
  const std::string& path() const { return file_->path(); }
  bool is_poisoned() const { return is_poisoned_; }
  // For a poisoned one: if a sync has failed for lack of space, it is as it was at the sync before,
  // and not poisoned any more. Whatever was appended since is to be appended again (L15).
  bool try_take_back();

  // `mark_epoch` 0: no mark. The frame may be empty.
  Status append_packed(const PackedFrame& packed, std::uint64_t mark_epoch);
  // REQUIRES: bytes <= kDirectBytesMax.
  Status append_direct(const LogBuffer& ring, std::uint64_t begin, std::size_t bytes,
                       const FrameEpochs& epochs);
  Status sync();
  // Writes slot B: all up to synced_bytes(). Also for a poisoned one, whose bytes up to there were
  // synced before the failure.
  Status seal(std::uint64_t cut_epoch);

 private:
  struct Block {
    alignas(kBlockBytes) char bytes[kBlockBytes];
  };

  SegmentWriter(std::unique_ptr<device::File> file, std::uint64_t segment_bytes);
  Status write_header(const SegmentHeader& header);
  FrameHeader new_frame(FrameLayout layout, std::size_t frame_bytes, std::size_t piece_count,
                        const FrameEpochs& epochs, std::uint64_t mark_epoch) const;
  std::uint32_t finish_frame(const device::ConstBytes* parts, std::size_t count,
                             std::uint64_t frame_bytes);
  // parts[0] is leading_, which begins with the frame's header. There is room for two parts more,
  // of zeroes.
  Status write_frame(device::ConstBytes* parts, std::size_t count, std::uint64_t frame_bytes,
                     const FrameEpochs& epochs, std::uint64_t mark_epoch);
  // Before a frame is built: clears its place, and makes the file long enough for it.
  Status make_room(std::uint64_t frame_bytes);
  Status clear_remnants();
  // L31. Adds zeroes to the parts of a frame that ends there; returns how many bytes of them.
  std::uint64_t add_zeroes(std::uint64_t frame_end, device::ConstBytes* parts,
                           std::size_t* count) const;
  Status write_parts(std::uint64_t offset, const device::ConstBytes* parts, std::size_t count);
  Status sync_file();  // L16
  std::uint64_t piece_bytes() const;
  // Makes the file at least `end_bytes` long; how long it is now.
  Result<std::uint64_t> grow(std::uint64_t end_bytes);
  // Before a sync: makes the file longer if this is needed soon, so that it needs no sync of its
  // own. If that sync fails, nothing is said any more (L16).
  void grow_ahead();
  Status append_growth(std::uint64_t file_bytes);
  Status write_size(std::uint64_t file_bytes);

  // Constant after create().
  const std::unique_ptr<device::File> file_;
  const std::uint64_t segment_bytes_;
  SegmentHeader header_{};

  // Used by the logger.
  std::uint64_t position_ = kBlockBytes;
  std::uint64_t synced_bytes_ = kBlockBytes;
  std::uint64_t file_bytes_ = 0;   // length of the file, as the header or a frame says
  std::uint64_t grown_bytes_ = 0;  // the same, as it is; synced before the next frame
  std::uint64_t synced_file_bytes_ = 0;
  std::uint64_t mark_epoch_ = 0;
  std::uint64_t synced_mark_epoch_ = 0;
  std::uint32_t last_crc_ = 0;
  std::uint32_t synced_crc_ = 0;
  bool is_poisoned_ = false;
  bool lacks_space_ = false;   // is why
  bool is_size_lost_ = false;  // once, by a failed sync: each growth needs a write of its own
  std::uint64_t written_end_ = 0;  // of frames and zeroes (L31)
  bool is_sync_small_ = false;     // the last one was for little
  bool writes_ahead_ = true;       // until there is no room for it
  std::uint64_t remnants_end_ = 0;  // of frames that did not fit, from position_ on; 0: none
  FrameEpochs epochs_;
  FrameEpochs synced_epochs_;
  std::unique_ptr<Block> leading_;
  std::unique_ptr<Block> trailing_;
  std::unique_ptr<SegmentBlock> block_;
};

// Writes slot B beside the slot A that is in `block`, and syncs. All before valid_bytes is synced.
Status write_seal(device::File* file, SegmentBlock* block, const SegmentSeal& seal);

}  // namespace foedus::log
