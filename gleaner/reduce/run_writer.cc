#include "gleaner/reduce/run_writer.h"

#include <cstring>
#include <new>
#include <utility>

#include "foedus-core/base/invariant.h"
#include "gleaner/handoff/bucket.h"

namespace foedus::gleaner {

namespace {

constexpr std::align_val_t kAlignment{device::kBlockBytes};

std::uint64_t blocks_of(std::uint64_t bytes) {
  return (bytes + device::kBlockBytes - 1) / device::kBlockBytes * device::kBlockBytes;
}

void put_entry(const StreamRecord& record, char* to) {
  const RecordEntry entry{record.position, record.sequence, record.session, 0};
  std::memcpy(to, &entry, sizeof(entry));
  std::memcpy(to + sizeof(entry), record.log, record.log->record_bytes);
}

}  // namespace

IoMemory::IoMemory(std::uint64_t bytes)
    : bytes_(static_cast<char*>(::operator new(bytes, kAlignment))) {}
void IoMemory::Free::operator()(char* memory) const { ::operator delete(memory, kAlignment); }

Result<std::unique_ptr<RunWriter>> RunWriter::create(device::Device* device, const RunId& id,
                                                     std::uint64_t chunk_bytes) {
  FOEDUS_INVARIANT(chunk_bytes % device::kBlockBytes == 0, chunk_bytes);
  FOEDUS_INVARIANT(chunk_bytes != 0);
  FOEDUS_TRY(auto file, device->open(run_name(id), device::Access::kCreateDirect));
  return std::unique_ptr<RunWriter>(new RunWriter(std::move(file), id, chunk_bytes));
}

RunWriter::RunWriter(std::unique_ptr<device::File> file, const RunId& id,
                     std::uint64_t chunk_bytes)
    : file_(std::move(file)), id_(id), chunk_bytes_(chunk_bytes), chunk_(chunk_bytes) {}

Status RunWriter::append(const StreamRecord& record) {
  const std::uint64_t bytes = sizeof(RecordEntry) + record.log->record_bytes;
  if (sizeof(RunChunkHeader) + entry_bytes_ + bytes > chunk_bytes_) {
    if (entry_bytes_ != 0) {
      FOEDUS_CHECK(write_chunk(chunk_.get(), std::exchange(entry_bytes_, 0), 0));
    }
    if (sizeof(RunChunkHeader) + bytes > chunk_bytes_) {
      const IoMemory large(blocks_of(sizeof(RunChunkHeader) + bytes));
      put_entry(record, large.get() + sizeof(RunChunkHeader));
      return write_chunk(large.get(), bytes, 0);
    }
  }
  put_entry(record, chunk_.get() + sizeof(RunChunkHeader) + entry_bytes_);
  entry_bytes_ += bytes;
  return {};
}

Status RunWriter::close() {
  return write_chunk(chunk_.get(), std::exchange(entry_bytes_, 0), kLastChunk);
}

// Of `chunk`, the entries are there; header and the zeroes behind are made here.
Status RunWriter::write_chunk(char* chunk, std::uint64_t entry_bytes, std::uint32_t flags) {
  const std::uint64_t used_bytes = sizeof(RunChunkHeader) + entry_bytes;
  const std::uint64_t chunk_bytes = blocks_of(used_bytes);
  std::memset(chunk + used_bytes, 0, chunk_bytes - used_bytes);
  RunChunkHeader header{kRunMagic,   0,       kRunVersion,
                        flags,       chunk_bytes, entry_bytes,
                        offset_,     static_cast<std::uint32_t>(id_.snapshot),
                        id_.soc,     id_.run, 0};
  std::memcpy(chunk, &header, sizeof(header));
  header.crc = checksum_of_chunk(chunk, chunk_bytes);
  std::memcpy(chunk, &header, sizeof(header));
  FOEDUS_CHECK(file_->write_at(offset_, chunk, chunk_bytes));
  offset_ += chunk_bytes;
  return {};
}

}  // namespace foedus::gleaner
