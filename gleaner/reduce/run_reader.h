#pragma once
// RunReader: a sorted run as a source of a merge, two chunks of it in memory; but of a record that
// is larger than a chunk only the first bytes, until the merge gives it out.

#include <cstdint>
#include <memory>

#include "foedus-core/device/device.h"
#include "foedus/status.h"
#include "gleaner/reduce/run_file.h"
#include "gleaner/reduce/sorted_source.h"

namespace foedus::gleaner {

// Where records lie that are larger than a chunk, one at a time; of all readers of a merge.
struct LargeRoom {
  char* memory = nullptr;   // at a multiple of 64
  std::uint64_t bytes = 0;  // of the largest chunk of all runs that are read
};

class RunReader final : public SortedSource {
 public:
  // Opens the run and reads its first chunk. `memory`: 2 * chunk_bytes, at a multiple of 64;
  // `chunk_bytes`: as it was written with.
  // kCorruption, here and later: file and offset of a chunk that is not what was written.
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

  RunChunkHeader header_{};   // of the chunk at hand
  std::uint64_t offset_ = 0;  // of the next chunk
  bool is_last_ = false;      // the chunk at hand is the last one
  unsigned half_ = 0;         // of memory_, where the chunk at hand is; the other one has the last
};

}  // namespace foedus::gleaner
