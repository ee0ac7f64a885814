#pragma once
// SegmentWriter: the segment that a logger writes now. It appends frames and syncs, and knows
// nothing of rings, durable epochs, or other segments.
//
//   L15 A frame whose write failed for lack of space does not exist. The next one is written at the
//       same offset, after the rest of the failed attempt was overwritten with zeroes and this was
//       synced. So every sector after the last frame holds zeroes until its frame is written. By
//       that a reader can tell a frame that a crash has torn from one that rotted (L17). If a sync
//       fails for lack of space, the same holds for all frames since the last sync, once they are
//       taken back.
//   L16 After a failed sync, or a write that failed for another reason than lack of space, the
//       writer is poisoned and refuses everything (V2). Its logger goes on in a new segment, or
//       takes back what was not synced. The writer is poisoned while a sync runs, too: a sync that
//       ends with an exception has failed. A write that ends with an exception counts as one for
//       which there was no space.
//   L27 The header says how long the file is. Before a frame would end beyond that, the file grows,
//       this is synced, and a frame of its own says the new length; space for that frame is kept.
//       So every frame lies within a length that something before it says. If a file was cut in or
//       before a frame, the rest of it says that it was longer (L17). The length that is said is
//       true after any crash: it was synced before, and the file is cut only after a synced seal.
//   L31 Where the last sync and the next one are small, the write of a frame goes on with zeroes.
//       These take 128 KiB, or reach the end of the file. A file system notes which blocks of
//       preallocated space were written. It has to make that note durable when some are written for
//       the first time, by one more write of the device in each sync. A frame that is written over
//       zeroes changes no such note. Zeroes are what a reader finds there anyway (L15), and so is
//       what a crash leaves of them. Where syncs are large, this would double what is written, to
//       save one write of many. If there is no space for the zeroes, the frame is written alone,
//       and so are all later ones: a file system that never writes in place gains nothing.

#include <cstdint>
#include <memory>
#include <vector>

#include "foedus-core/device/device.h"
#include "foedus-core/log/ring/buffer.h"
#include "foedus-core/log/segments/format.h"
#include "foedus/status.h"

namespace foedus::log {

// The range of epochs of the records in a frame.
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

// A frame of layout kPacked that is being filled.
class PackedFrame {
 public:
  PackedFrame() { clear(); }
  void clear();
  bool is_empty() const { return piece_count_ == 0; }
  // The largest piece that an empty frame holds.
  static constexpr std::size_t kPieceBytesMax =
      kBlockBytes - sizeof(FrameHeader) - sizeof(FramePiece);
  // Copies bytes [begin, begin + bytes) of the ring; returns false, with no change, if they do not
  // fit.
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
  // Creates the file, writes its header and syncs it, but not its directory entry. `header`: all
  // but magic, version, crc and file_bytes.
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
  // Goes back to the last sync if a sync has failed for lack of space: the writer is not poisoned
  // any more, and whatever was appended since is to be appended again (L15). Returns false if
  // another error has poisoned it. REQUIRES: is_poisoned().
  bool try_take_back();

  // Appends a frame, which may be empty. `mark_epoch` 0: no mark.
  Status append_packed(const PackedFrame& packed, std::uint64_t mark_epoch);
  // REQUIRES: bytes <= kDirectBytesMax.
  Status append_direct(const LogBuffer& ring, std::uint64_t begin, std::size_t bytes,
                       const FrameEpochs& epochs);
  Status sync();
  // Writes the seal, slot B, for all up to synced_bytes(). Works for a poisoned writer, too: these
  // bytes were synced before the failure.
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
  // Writes a frame whose parts[0] is leading_, which begins with the frame's header. `parts` has
  // space for two more parts, of zeroes.
  Status write_frame(device::ConstBytes* parts, std::size_t count, std::uint64_t frame_bytes,
                     const FrameEpochs& epochs, std::uint64_t mark_epoch);
  // Clears the place of the next frame and makes the file long enough for it. Called before that
  // frame is built, because this uses leading_ and may append a growth frame.
  Status make_room(std::uint64_t frame_bytes);
  Status clear_remnants();
  // Adds zeroes (L31) to the parts of a frame that ends at `frame_end`; returns how many bytes.
  std::uint64_t add_zeroes(std::uint64_t frame_end, device::ConstBytes* parts,
                           std::size_t* count) const;
  Status write_parts(std::uint64_t offset, const device::ConstBytes* parts, std::size_t count);
  Status sync_file();  // L16
  std::uint64_t piece_bytes() const;
  // Makes the file at least `end_bytes` long; returns how long it is now.
  Result<std::uint64_t> grow(std::uint64_t end_bytes);
  // Makes the file longer before a sync if frames need this soon, so that the growth needs no sync
  // of its own. If that sync fails, no frame names the new length: the writer is poisoned, or goes
  // back to the synced length (L16).
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
  std::uint64_t grown_bytes_ = 0;  // length of the file; synced before a frame says it
  std::uint64_t synced_file_bytes_ = 0;
  std::uint64_t mark_epoch_ = 0;
  std::uint64_t synced_mark_epoch_ = 0;
  std::uint32_t last_crc_ = 0;
  std::uint32_t synced_crc_ = 0;
  bool is_poisoned_ = false;
  bool lacks_space_ = false;       // the reason why it is poisoned
  bool is_size_lost_ = false;      // by a failed sync: from then on each growth needs a write
  std::uint64_t written_end_ = 0;  // of frames and zeroes (L31)
  bool is_sync_small_ = false;     // whether the last sync was small (L31)
  bool writes_ahead_ = true;       // false once there was no space for it
  std::uint64_t remnants_end_ = 0;  // of frames that did not fit, from position_ on; 0: none
  FrameEpochs epochs_;
  FrameEpochs synced_epochs_;
  std::unique_ptr<Block> leading_;
  std::unique_ptr<Block> trailing_;
  std::unique_ptr<SegmentBlock> block_;
};

// Writes slot B beside the slot A that is in `block`, and syncs. REQUIRES: all before valid_bytes
// is synced.
Status write_seal(device::File* file, SegmentBlock* block, const SegmentSeal& seal);

}  // namespace foedus::log
