#pragma once
// RunWriter writes one sorted run from beginning to end in large direct writes. It syncs nothing,
// because a run left by a crash is removed, not read.

#include <cstdint>
#include <memory>
#include <string>

#include "foedus-core/device/device.h"
#include "foedus/status.h"
#include "gleaner/handoff/record_stream.h"
#include "gleaner/reduce/run_file.h"

namespace foedus::gleaner {

// Memory that is aligned for direct I/O.
class IoMemory {
 public:
  IoMemory() = default;
  explicit IoMemory(std::uint64_t bytes);
  char* get() const { return bytes_.get(); }

 private:
  struct Free {
    void operator()(char* memory) const;
  };
  std::unique_ptr<char, Free> bytes_;
};

class RunWriter {
 public:
  // Creates the file of a run. `chunk_bytes`: size of a chunk, and of the writer's memory; a
  // multiple of the device's block. kAlreadyExists: there is a file of that name.
  static Result<std::unique_ptr<RunWriter>> create(device::Device* device, const RunId& id,
                                                   std::uint64_t chunk_bytes);

  // Appends a record; records come in the order of storage and G2. A record that does not fit into
  // a chunk gets a larger chunk of its own, which is written in pieces as long as the writer's
  // memory. After a failure (kOutOfSpace, kIoError) the file is of no use.
  Status append(const StreamRecord& record);
  // Writes the rest. REQUIRES: no append() afterwards.
  Status close();

  std::uint64_t bytes_written() const { return offset_; }
  // Returns the size of the largest chunk that has a single large record; 0: there is none.
  std::uint64_t large_bytes() const { return large_bytes_; }

 private:
  RunWriter(const RunId& id, std::uint64_t chunk_bytes)
      : id_(id), chunk_bytes_(chunk_bytes), chunk_(chunk_bytes) {}
  RunChunkHeader header_of(std::uint64_t entry_bytes, std::uint32_t flags) const;
  Status write_chunk(std::uint32_t flags);
  Status write_large(const StreamRecord& record);
  Status write_piece(std::uint64_t bytes);

  std::unique_ptr<device::File> file_;
  const RunId id_;
  const std::uint64_t chunk_bytes_;
  const IoMemory chunk_;
  std::uint64_t entry_bytes_ = 0;
  std::uint64_t offset_ = 0;
  std::uint64_t large_bytes_ = 0;
};

}  // namespace foedus::gleaner
