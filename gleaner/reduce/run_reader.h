#pragma once
// RunReader: a sorted run as a source of a merge, two chunks of it in memory.

#include <cstdint>
#include <memory>

#include "foedus-core/device/device.h"
#include "foedus/status.h"
#include "gleaner/reduce/run_file.h"
#include "gleaner/reduce/run_writer.h"
#include "gleaner/reduce/sorted_source.h"

namespace foedus::gleaner {

class RunReader final : public SortedSource {
 public:
  // Opens the run and reads its first chunk. `memory`: 2 * chunk_bytes, at a multiple of 64; it is
  // not enough for chunks of one large record, which get their own while they are needed.
  // kCorruption, here and later: file and offset of a chunk that is not what was written.
  static Result<std::unique_ptr<RunReader>> open(device::Device* device, const RunId& id,
                                                 char* memory, std::uint64_t chunk_bytes);

 private:
  RunReader(std::unique_ptr<device::File> file, const RunId& id, char* memory,
            std::uint64_t chunk_bytes)
      : file_(std::move(file)), id_(id), memory_(memory), chunk_bytes_(chunk_bytes) {}
  Status next_piece() override;
  Status load_chunk();
  Status check(const RunChunkHeader& header, std::uint64_t file_bytes) const;
  Status corrupt(const char* what) const;

  const std::unique_ptr<device::File> file_;
  const RunId id_;
  char* const memory_;
  const std::uint64_t chunk_bytes_;

  std::uint64_t offset_ = 0;  // of the next chunk
  bool is_last_ = false;      // the chunk at hand is the last one
  unsigned half_ = 0;         // of memory_, where the chunk at hand is; the other one has the last
  IoMemory large_[2];         // instead, for a large chunk
};

}  // namespace foedus::gleaner
