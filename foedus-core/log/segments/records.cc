#include "foedus-core/log/segments/records.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "foedus-core/base/invariant.h"

namespace foedus::log {

namespace {

constexpr std::size_t kFillerHeadBytes = 8;       // L3
constexpr std::size_t kRecordBytesMax = 1u << 30;  // a ring has no larger one

// Returns true if the lengths in the record agree. REQUIRES: it is no filler.
bool is_sound(const LogRecord& record) {
  if (record.record_bytes < sizeof(LogRecord) || record.padding_bytes > 7) return false;
  const std::size_t after_head = record.record_bytes - sizeof(LogRecord);
  return LogRecord::aligned(record.key_bytes) + record.padding_bytes <= after_head;
}

// Returns true if all padding of a field is zero. The field has `bytes` bytes and is padded to a
// multiple of 8; the padding ends at `word_end`.
bool has_zeroes_behind(const char* word_end, std::size_t bytes) {
  std::uint64_t word;
  std::memcpy(&word, word_end - sizeof(word), sizeof(word));
  return bytes % 8 == 0 || word >> (bytes % 8 * 8) == 0;
}

// Returns true if all padding of key and payload is zero (L1). REQUIRES: is_sound().
bool is_padded(const LogRecord& record) {
  const char* const end = reinterpret_cast<const char*>(&record) + record.record_bytes;
  return has_zeroes_behind(record.payload_data(), record.key_bytes) &&
         has_zeroes_behind(end, record.payload_bytes());
}

// Returns what is wrong with the record, by rules for records of all storages; null if nothing is.
// A TID must have no flags, because they would become flags of the record in a page, where readers
// could wait for ever. REQUIRES: is_sound().
const char* broken_rule(const LogRecord& record, const FrameHeader& frame) {
  const page::Tid tid(record.tid);
  if ((tid.word() & page::Tid::kFlags) != 0) return "a record whose TID has flags";
  const std::uint64_t epoch = tid.epoch().number();
  if (epoch < frame.oldest_epoch || epoch > frame.newest_epoch) {
    return "a record of another epoch";
  }
  if (record.type < LogRecordType::kPut || record.type > LogRecordType::kDropStorage) {
    return "a record of an unknown type";
  }
  return is_padded(record) ? nullptr : "a record whose padding is not zero";
}

// Returns the length of the record that begins at `at`, 0 if it makes no sense.
std::size_t record_bytes_at(const char* at) {
  std::uint32_t bytes;
  std::memcpy(&bytes, at, sizeof(bytes));
  return bytes % 8 == 0 && bytes >= kFillerHeadBytes && bytes <= kRecordBytesMax ? bytes : 0;
}

// Appends to `part`, a begun record, the bytes of `data` that belong to it, and returns their
// number. The length of the record is in its first word.
std::size_t take_part(std::vector<std::uint64_t>* part, const char* data, std::size_t bytes) {
  const std::size_t whole = record_bytes_at(reinterpret_cast<const char*>(part->data()));
  const std::size_t taken = std::min(bytes, whole - part->size() * 8);
  const std::size_t words = part->size();
  part->resize(words + taken / 8);
  std::memcpy(part->data() + words, data, taken);
  return taken;
}

}  // namespace

SegmentRecords::SegmentRecords(std::unique_ptr<device::File> file, const SegmentHeader& header,
                               std::uint64_t valid_bytes, Epoch cut)
    : file_(std::move(file)),
      valid_bytes_(valid_bytes),
      cut_(cut),
      mark_epoch_(header.mark_epoch),
      frames_(file_.get(), header, valid_bytes) {}

// Returns the next record, which may lie in several pieces. Skips fillers and records after the
// cut. kCorruption: the next record breaks a rule.
Result<const LogRecord*> SegmentRecords::next_in_full(std::uint32_t* session) {
  for (;;) {
    forget_whole();  // the caller is done with it
    while (at_ == piece_end_) {
      FOEDUS_TRY(const bool has_piece, next_piece());
      if (!has_piece) return static_cast<const LogRecord*>(nullptr);
    }
    const LogRecord* record = whole_in_piece();
    if (record == nullptr) {
      FOEDUS_TRY(record, next_in_parts());
    }
    if (record == nullptr || record->is_filler()) continue;
    if (!is_sound(*record)) return corrupt("a record without sense");
    const char* const broken = broken_rule(*record, frame_.header);
    if (broken != nullptr) return corrupt(broken);
    if (page::Tid(record->tid).epoch() > cut_) continue;
    *session = session_;
    return record;
  }
}

// Returns true if the record lies whole in the piece, breaks no rule, and is neither filler nor
// after the cut. REQUIRES: its LogRecord is in the piece.
bool SegmentRecords::is_expected(const LogRecord& record) const {
  const std::uint64_t left = static_cast<std::uint64_t>(piece_end_ - at_);
  const page::Tid tid(record.tid);
  const std::uint64_t epoch = tid.epoch().number();
  return record_bytes_at(at_) != 0 && record.record_bytes <= left && !record.is_filler() &&
         is_sound(record) && broken_rule(record, frame_.header) == nullptr &&
         epoch <= cut_.number();
}

void SegmentRecords::go_on_to(std::uint64_t valid_bytes) {
  FOEDUS_INVARIANT(at_ == piece_end_ && whole_ == nullptr);
  FOEDUS_INVARIANT(piece_ == frame_.header.piece_count, piece_);
  frames_.extend(valid_bytes);
  valid_bytes_ = valid_bytes;
  is_growing_ = true;
}

void SegmentRecords::forget_whole() {
  if (whole_ != nullptr) std::exchange(whole_, nullptr)->part.clear();
}

// Returns the next record if all of it lies in the piece, as nearly all do. Null: it does not, or
// makes no sense.
const LogRecord* SegmentRecords::whole_in_piece() {
  const std::size_t record_bytes = record_bytes_at(at_);
  const bool is_whole = stream_->part.empty() && record_bytes != 0 &&
                        record_bytes <= static_cast<std::size_t>(piece_end_ - at_);
  if (!is_whole) return nullptr;
  const auto* const record = reinterpret_cast<const LogRecord*>(at_);
  at_ += record_bytes;
  return record;
}

// Takes the rest of a record that began in another piece, or the beginning of one that goes on in
// another. Returns the record if it is whole now, else null.
Result<const LogRecord*> SegmentRecords::next_in_parts() {
  Stream& stream = *stream_;
  if (!stream.part.empty()) {
    at_ += take_part(&stream.part, at_, static_cast<std::size_t>(piece_end_ - at_));
    const char* const part = reinterpret_cast<const char*>(stream.part.data());
    if (stream.part.size() * 8 < record_bytes_at(part)) {
      return static_cast<const LogRecord*>(nullptr);
    }
    whole_ = &stream;
    return reinterpret_cast<const LogRecord*>(part);
  }
  const auto left = static_cast<std::size_t>(piece_end_ - at_);
  const std::size_t record_bytes = record_bytes_at(at_);
  if (record_bytes == 0) return corrupt("a record without length");
  FOEDUS_INVARIANT(record_bytes > left, record_bytes, left);
  stream.part.resize(left / 8);
  std::memcpy(stream.part.data(), at_, left);
  at_ = piece_end_;
  return static_cast<const LogRecord*>(nullptr);
}

// Moves to the next piece; false: the segment ends.
Result<bool> SegmentRecords::next_piece() {
  if (piece_ == frame_.header.piece_count) {
    mark_epoch_ = std::max(mark_epoch_, frame_.header.mark_epoch);
    if (frames_.position() >= valid_bytes_) {
      if (!is_growing_) FOEDUS_CHECK(check_end());
      return false;
    }
    FOEDUS_TRY(const bool is_valid, frames_.next(&frame_));
    if (!is_valid) {
      return Status::error(ErrorCode::kCorruption, file_->path() + ": no valid frame at offset " +
                                                       std::to_string(frames_.position()));
    }
    piece_ = 0;
    at_ = piece_end_ = frame_.data();
    if (frame_.header.piece_count == 0) return true;  // a mark alone
  }
  const FramePiece piece = frame_.piece(piece_++);
  session_ = piece.session;
  at_ = piece_end_;
  piece_end_ = at_ + piece.bytes;
  stream_ = &streams_[session_];
  Stream& stream = *stream_;
  // A session that is attached again begins where its ring stands, or with a new ring at 0.
  const bool continues = piece.ring_offset == stream.next_offset;
  const bool may_begin = stream.part.empty() && (!stream.has_begun || piece.ring_offset == 0 ||
                                                 piece.ring_offset > stream.next_offset);
  if (!continues && !may_begin) return corrupt("a gap in session " + std::to_string(session_));
  stream.has_begun = true;
  stream.next_offset = piece.ring_offset + piece.bytes;
  return true;
}

// Returns kCorruption if a record up to the cut is incomplete at the end of the segment. A crash
// can cut only a record after the cut in two: epochs up to it were durable.
Status SegmentRecords::check_end() const {
  for (const auto& [session, stream] : streams_) {
    if (stream.part.size() < 2) continue;
    const LogRecord& record = *reinterpret_cast<const LogRecord*>(stream.part.data());
    if (record.is_filler() || page::Tid(record.tid).epoch() > cut_) continue;
    return Status::error(ErrorCode::kCorruption,
                         file_->path() + ": the end is missing of a record of session " +
                             std::to_string(session) + " at offset " +
                             std::to_string(valid_bytes_));
  }
  return {};
}

Status SegmentRecords::corrupt(const std::string& what) const {
  return Status::error(ErrorCode::kCorruption, file_->path() + ": " + what +
                                                   " in the frame at offset " +
                                                   std::to_string(frame_.header.offset));
}

}  // namespace foedus::log
