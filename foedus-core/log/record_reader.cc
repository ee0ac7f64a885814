// read_records: records out of the pieces of frames.
#include <algorithm>
#include <cstring>

#include "foedus-core/log/segment_reader.h"

namespace foedus::log {

namespace {

constexpr std::size_t kFillerHeadBytes = 8;       // L3
constexpr std::size_t kRecordBytesMax = 1u << 30;  // a ring has no larger one

// What is known of one session between two of its pieces.
struct Stream {
  std::uint64_t next_offset = 0;
  bool has_begun = false;
  std::vector<std::uint64_t> part;  // the begun record, in words; empty: between two records
};

struct Reading {
  const std::string& path;
  const Epoch cut;
  const SessionRecordVisitor& visit;
  std::unordered_map<std::uint32_t, Stream> streams;
};

Status corrupt(const Reading& reading, std::uint64_t offset, const std::string& what) {
  return Status::error(ErrorCode::kCorruption,
                       reading.path + ": " + what + " in the frame at offset " +
                           std::to_string(offset));
}

bool is_sound(const LogRecord& record) {
  if (record.is_filler()) return true;
  if (record.record_bytes < sizeof(LogRecord) || record.padding_bytes > 7) return false;
  const std::size_t head = sizeof(LogRecord) + LogRecord::aligned(record.key_bytes);
  return record.record_bytes >= head + record.padding_bytes;
}

Status deliver(const Reading& reading, std::uint32_t session, const char* bytes,
               std::uint64_t frame_offset) {
  const LogRecord& record = *reinterpret_cast<const LogRecord*>(bytes);
  if (record.is_filler()) return {};
  if (!is_sound(record)) return corrupt(reading, frame_offset, "a record without sense");
  if (page::Tid(record.tid).epoch() > reading.cut) return {};
  return reading.visit(session, record);
}

// Length of the record that begins at `at`, 0 if it makes no sense.
std::size_t record_bytes_at(const char* at) {
  std::uint32_t bytes;
  std::memcpy(&bytes, at, sizeof(bytes));
  return bytes % 8 == 0 && bytes >= kFillerHeadBytes && bytes <= kRecordBytesMax ? bytes : 0;
}

// Takes what belongs to the begun record; its length is in its first word.
std::size_t take_part(Stream* stream, const char* data, std::size_t bytes) {
  const std::size_t whole = record_bytes_at(reinterpret_cast<const char*>(stream->part.data()));
  const std::size_t taken = std::min(bytes, whole - stream->part.size() * 8);
  const std::size_t words = stream->part.size();
  stream->part.resize(words + taken / 8);
  std::memcpy(stream->part.data() + words, data, taken);
  return taken;
}

Status add_piece(Reading* reading, const FramePiece& piece, const char* data,
                 std::uint64_t frame_offset) {
  Stream& stream = reading->streams[piece.session];
  // A session that is attached again begins where its ring stands, or with a new ring at 0.
  const bool continues = piece.ring_offset == stream.next_offset;
  const bool may_begin = stream.part.empty() && (!stream.has_begun || piece.ring_offset == 0 ||
                                                 piece.ring_offset > stream.next_offset);
  if (!continues && !may_begin) {
    return corrupt(*reading, frame_offset, "a gap in session " + std::to_string(piece.session));
  }
  stream.has_begun = true;
  stream.next_offset = piece.ring_offset + piece.bytes;
  const char* const end = data + piece.bytes;
  if (!stream.part.empty()) {
    data += take_part(&stream, data, piece.bytes);
    const char* const part = reinterpret_cast<const char*>(stream.part.data());
    if (stream.part.size() * 8 < record_bytes_at(part)) return {};
    FOEDUS_CHECK(deliver(*reading, piece.session, part, frame_offset));
    stream.part.clear();
  }
  while (data < end) {
    const auto left = static_cast<std::size_t>(end - data);
    const std::size_t record_bytes = record_bytes_at(data);
    if (record_bytes == 0) return corrupt(*reading, frame_offset, "a record without length");
    if (record_bytes > left) {
      stream.part.resize(left / 8);
      std::memcpy(stream.part.data(), data, left);
      return {};
    }
    FOEDUS_CHECK(deliver(*reading, piece.session, data, frame_offset));
    data += record_bytes;
  }
  return {};
}

}  // namespace

Status read_records(const device::File& file, const SegmentHeader& header,
                    std::uint64_t valid_bytes, Epoch cut, const SessionRecordVisitor& visit) {
  Reading reading{file.path(), cut, visit, {}};
  FrameReader reader(&file, header, valid_bytes);
  FrameReader::Frame frame;
  while (reader.position() < valid_bytes) {
    FOEDUS_TRY(const bool is_valid, reader.next(&frame));
    if (!is_valid) {
      return Status::error(ErrorCode::kCorruption, file.path() + ": no valid frame at offset " +
                                                       std::to_string(reader.position()));
    }
    const char* data = frame.data();
    for (std::size_t i = 0; i < frame.header.piece_count; ++i) {
      const FramePiece piece = frame.piece(i);
      FOEDUS_CHECK(add_piece(&reading, piece, data, frame.header.offset));
      data += piece.bytes;
    }
  }
  // A record that the crash cut in two is of an epoch behind the cut, if the cut is right.
  for (const auto& [session, stream] : reading.streams) {
    if (stream.part.size() < 2) continue;
    const LogRecord& record = *reinterpret_cast<const LogRecord*>(stream.part.data());
    if (!record.is_filler() && page::Tid(record.tid).epoch() <= cut) {
      return corrupt(reading, valid_bytes, "the end is missing of a record of session " +
                                               std::to_string(session));
    }
  }
  return {};
}

}  // namespace foedus::log
