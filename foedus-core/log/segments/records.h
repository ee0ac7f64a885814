#pragma once
// SegmentRecords: the log records of one segment, out of the pieces of its frames.

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "foedus-core/device/device.h"
#include "foedus-core/log/ring/record.h"
#include "foedus-core/log/segments/reader.h"
#include "foedus/epoch.h"
#include "foedus/status.h"

namespace foedus::log {

// Used by one thread.
class SegmentRecords {
 public:
  // Reads the frames up to `valid_bytes`, and hands out the records of epochs up to `cut`.
  SegmentRecords(std::unique_ptr<device::File> file, const SegmentHeader& header,
                 std::uint64_t valid_bytes, Epoch cut);
  SegmentRecords(const SegmentRecords&) = delete;
  SegmentRecords& operator=(const SegmentRecords&) = delete;

  // Returns the next record and its session, valid until the next call; null at the end. Records of
  // one session come in the order in which it published them; fillers are left out. kCorruption: a
  // frame does not check out, a record up to the cut is not whole, or no session logs such a
  // record.
  Result<const LogRecord*> next(std::uint32_t* session) {
    const LogRecord* const record = try_next(session);
    if (record != nullptr) return record;
    return next_in_full(session);
  }
  // Returns the next record if all of it lies in the current piece and it breaks no rule, which
  // holds for nearly all. Null: call next().
  const LogRecord* try_next(std::uint32_t* session) {
    if (whole_ != nullptr || static_cast<std::size_t>(piece_end_ - at_) < sizeof(LogRecord)) {
      return nullptr;
    }
    const auto* const record = reinterpret_cast<const LogRecord*>(at_);
    if (!stream_->part.empty() || !is_expected(*record)) return nullptr;
    at_ += record->record_bytes;
    *session = session_;
    return record;
  }

  // Lets next() go on up to `valid_bytes`, for a segment that is still being written. A record that
  // is not whole at the end is no error from now on: the rest of it comes later. REQUIRES: next()
  // was not called yet or returned null.
  void go_on_to(std::uint64_t valid_bytes);
  std::uint64_t valid_bytes() const { return valid_bytes_; }
  // Returns the newest mark of the header and of the frames that were read to their end: all
  // commits of the segment's logger up to it were handed out, or stand in segments before.
  Epoch mark() const { return Epoch(mark_epoch_); }

  // Returns kCorruption with `what`, the file and the frame, for a caller that knows storages and
  // cannot accept the record that was handed out last.
  Status corrupt(const std::string& what) const;

 private:
  Result<const LogRecord*> next_in_full(std::uint32_t* session);
  bool is_expected(const LogRecord& record) const;

  // State of one session between two of its pieces.
  struct Stream {
    std::uint64_t next_offset = 0;
    bool has_begun = false;
    std::vector<std::uint64_t> part;  // the begun record, in words; empty: between two records
  };

  const LogRecord* whole_in_piece();
  Result<const LogRecord*> next_in_parts();
  Result<bool> next_piece();
  void forget_whole();
  Status check_end() const;

  const std::unique_ptr<device::File> file_;
  std::uint64_t valid_bytes_;
  const Epoch cut_;
  std::uint64_t mark_epoch_;
  bool is_growing_ = false;
  FrameReader frames_;
  FrameReader::Frame frame_{};
  std::size_t piece_ = 0;             // next piece of the frame
  const char* at_ = nullptr;          // next byte of the current piece
  const char* piece_end_ = nullptr;
  std::uint32_t session_ = 0;         // of the current piece
  Stream* stream_ = nullptr;          // of session_: looked up once for all records of a piece
  Stream* whole_ = nullptr;           // holds the record that was handed out
  std::unordered_map<std::uint32_t, Stream> streams_;
};

}  // namespace foedus::log
