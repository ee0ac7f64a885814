#include "gleaner/reduce/run_reader.h"

#include <cstring>
#include <string>
#include <utility>

namespace foedus::gleaner {

Result<std::unique_ptr<RunReader>> RunReader::open(device::Device* device, const RunId& id,
                                                   char* memory, std::uint64_t chunk_bytes) {
  FOEDUS_TRY(auto file, device->open(run_name(id), device::Access::kRead));
  std::unique_ptr<RunReader> reader(new RunReader(std::move(file), id, memory, chunk_bytes));
  FOEDUS_CHECK(reader->advance());
  return reader;
}

Status RunReader::next_piece() {
  while (at_ == end_ && !is_last_) FOEDUS_CHECK(load_chunk());
  return {};
}

Status RunReader::corrupt(const char* what) const {
  return Status::error(ErrorCode::kCorruption, "sorted run " + file_->path() + ", chunk at " +
                                                   std::to_string(offset_) + ": " + what);
}

Status RunReader::check(const RunChunkHeader& header, std::uint64_t file_bytes) const {
  if (header.magic != kRunMagic || header.version != kRunVersion) return corrupt("no chunk");
  const RunId id{page::SnapshotNumber{header.snapshot}, header.soc, header.run};
  if (id != id_ || header.offset != offset_) return corrupt("a chunk of another place");
  const bool is_inside = header.chunk_bytes <= file_bytes - offset_ &&
                         header.chunk_bytes >= sizeof(header) &&
                         header.entry_bytes <= header.chunk_bytes - sizeof(header);
  return is_inside ? Status() : corrupt("its lengths are impossible");
}

Status RunReader::load_chunk() {
  half_ ^= 1;
  large_[half_] = IoMemory();
  char* chunk = memory_ + half_ * chunk_bytes_;
  FOEDUS_TRY(const std::uint64_t file_bytes, file_->size());
  FOEDUS_TRY(const std::size_t bytes, file_->read_at(offset_, chunk, chunk_bytes_));
  if (bytes < sizeof(RunChunkHeader)) return corrupt("the file ends before");
  RunChunkHeader header;
  std::memcpy(&header, chunk, sizeof(header));
  FOEDUS_CHECK(check(header, file_bytes));
  if (header.chunk_bytes > bytes) {
    large_[half_] = IoMemory(header.chunk_bytes);
    chunk = large_[half_].get();
    FOEDUS_TRY(const std::size_t all, file_->read_at(offset_, chunk, header.chunk_bytes));
    if (all != header.chunk_bytes) return corrupt("the file ends in it");
  }
  if (checksum_of_chunk(chunk, header.chunk_bytes) != header.crc) {
    return corrupt("the checksum differs");
  }
  at_ = chunk + sizeof(header);
  end_ = at_ + header.entry_bytes;
  offset_ += header.chunk_bytes;
  is_last_ = (header.flags & kLastChunk) != 0;
  return {};
}

}  // namespace foedus::gleaner
