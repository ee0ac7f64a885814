#include "gleaner/reduce/run_writer.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "foedus-core/base/crc32c.h"
#include "foedus-core/base/invariant.h"
#include "gleaner/handoff/block.h"

namespace foedus::gleaner {

namespace {

constexpr std::align_val_t kAlignment{device::kBlockBytes};

std::uint64_t blocks_of(std::uint64_t bytes) {
  return (bytes + device::kBlockBytes - 1) / device::kBlockBytes * device::kBlockBytes;
}

void put_entry(const StreamRecord& record, char* to) {
  const RecordEntry entry{record.position, record.sequence, record.session, 0};
  std::memcpy(to, &entry, sizeof(entry));
}

// Writes the header, with the checksum of the first block. REQUIRES: the rest of that block is in
// place.
void put_header(RunChunkHeader header, char* to) {
  std::memcpy(to, &header, sizeof(header));
  header.crc = checksum_of_first_block(to);
  std::memcpy(to, &header, sizeof(header));
}

}  // namespace

IoMemory::IoMemory(std::uint64_t bytes)
    : bytes_(static_cast<char*>(::operator new(bytes, kAlignment))) {}
void IoMemory::Free::operator()(char* memory) const { ::operator delete(memory, kAlignment); }

Result<std::unique_ptr<RunWriter>> RunWriter::create(device::Device* device, const RunId& id,
                                                     std::uint64_t chunk_bytes) {
  FOEDUS_INVARIANT(chunk_bytes % device::kBlockBytes == 0, chunk_bytes);
  FOEDUS_INVARIANT(chunk_bytes != 0);
  // All memory first, so that a failed allocation leaves no file.
  std::unique_ptr<RunWriter> writer(new RunWriter(id, chunk_bytes));
  FOEDUS_TRY(writer->file_, device->open(run_name(id), device::Access::kCreateDirect));
  return writer;
}

Status RunWriter::append(const StreamRecord& record) {
  const std::uint64_t bytes = sizeof(RecordEntry) + record.log->record_bytes;
  if (sizeof(RunChunkHeader) + entry_bytes_ + bytes > chunk_bytes_) {
    if (entry_bytes_ != 0) FOEDUS_CHECK(write_chunk(0));
    if (sizeof(RunChunkHeader) + bytes > chunk_bytes_) return write_large(record);
  }
  char* const to = chunk_.get() + sizeof(RunChunkHeader) + entry_bytes_;
  put_entry(record, to);
  std::memcpy(to + sizeof(RecordEntry), record.log, record.log->record_bytes);
  entry_bytes_ += bytes;
  return {};
}

Status RunWriter::close() { return write_chunk(kLastChunk); }

RunChunkHeader RunWriter::header_of(std::uint64_t entry_bytes, std::uint32_t flags) const {
  return {kRunMagic, 0,       kRunVersion,
          flags,     blocks_of(sizeof(RunChunkHeader) + entry_bytes), entry_bytes,
          offset_,   static_cast<std::uint32_t>(id_.snapshot),
          id_.soc,   id_.run, 0};
}

// Writes a chunk of the entries in memory, with its header and the zeroes after them.
Status RunWriter::write_chunk(std::uint32_t flags) {
  char* const chunk = chunk_.get();
  RunChunkHeader header = header_of(std::exchange(entry_bytes_, 0), flags);
  const std::uint64_t used_bytes = sizeof(header) + header.entry_bytes;
  std::memset(chunk + used_bytes, 0, header.chunk_bytes - used_bytes);
  header.rest_crc = checksum_of_rest(chunk, header.chunk_bytes);
  put_header(header, chunk);
  return write_piece(header.chunk_bytes);
}

// Writes a chunk of that record alone, in pieces as long as the writer's memory.
Status RunWriter::write_large(const StreamRecord& record) {
  char* const piece = chunk_.get();
  const char* from = reinterpret_cast<const char*>(record.log);
  std::uint64_t left = record.log->record_bytes;
  RunChunkHeader header = header_of(sizeof(RecordEntry) + left, 0);
  std::uint64_t used_bytes = sizeof(header) + sizeof(RecordEntry);
  const std::uint64_t in_first_block = device::kBlockBytes - used_bytes;
  const std::uint64_t zeroes = header.chunk_bytes - used_bytes - left;
  std::memset(piece, 0, zeroes);
  header.rest_crc = base::crc32c(from + in_first_block, left - in_first_block);
  header.rest_crc = base::crc32c(piece, zeroes, header.rest_crc);
  put_entry(record, piece + sizeof(header));
  while (left != 0) {
    const std::uint64_t bytes = std::min(left, chunk_bytes_ - used_bytes);
    std::memcpy(piece + used_bytes, from, bytes);
    from += bytes;
    left -= bytes;
    const std::uint64_t piece_bytes = blocks_of(used_bytes + bytes);
    std::memset(piece + used_bytes + bytes, 0, piece_bytes - used_bytes - bytes);
    if (offset_ == header.offset) put_header(header, piece);
    FOEDUS_CHECK(write_piece(piece_bytes));
    used_bytes = 0;
  }
  FOEDUS_INVARIANT(offset_ == header.offset + header.chunk_bytes, offset_, header.chunk_bytes);
  large_bytes_ = std::max(large_bytes_, header.chunk_bytes);
  return {};
}

Status RunWriter::write_piece(std::uint64_t bytes) {
  FOEDUS_CHECK(file_->write_at(offset_, chunk_.get(), bytes));
  offset_ += bytes;
  return {};
}

}  // namespace foedus::gleaner
