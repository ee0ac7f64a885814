#include "gleaner/reduce/run_reader.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "foedus/options.h"

namespace foedus::gleaner {

// The part of a cut record that is in memory has all by which a merge compares.
static_assert(sizeof(RunChunkHeader) + sizeof(RecordEntry) +
                  log::LogRecord::size_of(kMaxKeyBytes, 0) <=
              device::kBlockBytes);

Result<std::unique_ptr<RunReader>> RunReader::open(device::Device* device, const RunId& id,
                                                   char* memory, std::uint64_t chunk_bytes,
                                                   const LargeRoom& large) {
  FOEDUS_TRY(auto file, device::open_existing(device, run_name(id), device::Access::kRead));
  std::unique_ptr<RunReader> reader(new RunReader(std::move(file), id, memory, chunk_bytes, large));
  FOEDUS_CHECK(reader->advance());
  return reader;
}

Status RunReader::next_piece() {
  while (at_ == end_ && !is_last_) FOEDUS_CHECK(load_chunk());
  return {};
}

Status RunReader::corrupt(std::uint64_t offset, const char* what) const {
  return Status::error(ErrorCode::kCorruption, "sorted run " + file_->path() + ", chunk at " +
                                                   std::to_string(offset) + ": " + what);
}

Status RunReader::check(const RunChunkHeader& header, std::uint64_t file_bytes) const {
  const bool is_chunk = header.magic == kRunMagic && header.version == kRunVersion;
  if (!is_chunk) return corrupt(offset_, "not a chunk");
  const RunId id{page::SnapshotNumber{header.snapshot}, header.soc, header.run};
  if (id != id_ || header.offset != offset_) return corrupt(offset_, "of another run or offset");
  const bool is_inside = header.chunk_bytes <= file_bytes - offset_ &&
                         header.chunk_bytes >= device::kBlockBytes &&
                         header.chunk_bytes <= std::max(chunk_bytes_, large_.bytes) &&
                         header.entry_bytes <= header.chunk_bytes - sizeof(header);
  return is_inside ? Status() : corrupt(offset_, "its lengths are impossible");
}

Status RunReader::load_chunk() {
  half_ ^= 1;
  char* const chunk = memory_ + half_ * chunk_bytes_;
  FOEDUS_TRY(const std::uint64_t file_bytes, file_->size());
  FOEDUS_TRY(const std::size_t bytes, file_->read_at(offset_, chunk, chunk_bytes_));
  if (bytes < device::kBlockBytes) return corrupt(offset_, "the file ends before it");
  std::memcpy(&header_, chunk, sizeof(header_));
  FOEDUS_CHECK(check(header_, file_bytes));
  if (checksum_of_first_block(chunk) != header_.crc) {
    return corrupt(offset_, "the checksum differs");
  }
  const bool is_large = header_.chunk_bytes > chunk_bytes_;
  at_ = chunk + sizeof(header_);
  if (is_large) {
    end_ = chunk + device::kBlockBytes;  // the rest is not checked yet
    const bool is_one = RecordEntry::at(at_)->bytes() == header_.entry_bytes;
    if (!is_one) return corrupt(offset_, "it is larger than others, and has more than one record");
  } else {
    end_ = at_ + header_.entry_bytes;
    FOEDUS_CHECK(check_rest(chunk));
  }
  offset_ += header_.chunk_bytes;
  is_last_ = (header_.flags & kLastChunk) != 0;
  return {};
}

Status RunReader::check_rest(const char* chunk) const {
  const bool is_same = checksum_of_rest(chunk, header_.chunk_bytes) == header_.rest_crc;
  return is_same ? Status() : corrupt(header_.offset, "the checksum of its later blocks differs");
}

// Reads the rest of a large chunk, whose first bytes are in memory already.
Result<const log::LogRecord*> RunReader::fetch_cut() {
  const std::uint64_t rest_bytes = header_.chunk_bytes - chunk_bytes_;
  std::memcpy(large_.memory, memory_ + half_ * chunk_bytes_, chunk_bytes_);
  FOEDUS_TRY(const std::size_t bytes, file_->read_at(header_.offset + chunk_bytes_,
                                                     large_.memory + chunk_bytes_, rest_bytes));
  if (bytes != rest_bytes) return corrupt(header_.offset, "the file ends in it");
  FOEDUS_CHECK(check_rest(large_.memory));
  return RecordEntry::at(large_.memory + sizeof(header_))->log();
}

}  // namespace foedus::gleaner
