#pragma once
// RunReader: a sorted run as a source of a merge. Two chunks of it are in memory. A record larger
// than a chunk has only its first bytes there, until the merge gives it out.

#include <cstdint>
#include <memory>

#include "foedus-core/device/device.h"
#include "foedus/status.h"
#include "gleaner/reduce/run_file.h"
#include "gleaner/reduce/sorted_source.h"

namespace foedus::gleaner {

// Memory for records larger than a chunk, one at a time, shared by all readers of a merge.
struct LargeRoom {
  char* memory = nullptr;   // at a multiple of 64
  std::uint64_t bytes = 0;  // of the largest chunk of all runs
};

class RunReader final : public SortedSource {
 public:
  // Opens the run and reads its first chunk. `memory`: 2 * chunk_bytes, at a multiple of 64.
  // `chunk_bytes`: as the run was written. kCorruption, here and later: a chunk is not as it was
  // written; names the file and the chunk's offset.
  static Result<std::unique_ptr<RunReader>> open(device::Device* device, const RunId& id,
                                                 char* memory, std::uint64_t chunk_bytes,
                                                 const LargeRoom& large);

 private:
  RunReader(std::unique_ptr<device::File> file, const RunId& id, char* memory,
            std::uint64_t chunk_bytes, const LargeRoom& large)
      : file_(std::move(file)),
        id_(id),
        memory_(memory),
        chunk_bytes_(chunk_bytes),
        large_(large) {}
  Status next_piece() override;
  Result<const log::LogRecord*> fetch_cut() override;
  Status load_chunk();
  Status check(const RunChunkHeader& header, std::uint64_t file_bytes) const;
  Status check_rest(const char* chunk) const;
  Status corrupt(std::uint64_t offset, const char* what) const;

  const std::unique_ptr<device::File> file_;
  const RunId id_;
  char* const memory_;
  const std::uint64_t chunk_bytes_;
  const LargeRoom large_;

  RunChunkHeader header_{};   // of the current chunk
  std::uint64_t offset_ = 0;  // of the next chunk
  bool is_last_ = false;      // the current chunk is the last one
  unsigned half_ = 0;         // of memory_, of the current chunk; the other has the previous
};

}  // namespace foedus::gleaner
