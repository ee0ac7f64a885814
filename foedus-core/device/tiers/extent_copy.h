#pragma once
// ExtentCopy: copies extents of snapshot files from memory to the SSD. Several writes, each of up
// to 1 MiB, are in flight while the next bytes are read from memory.
//
//   buffer: free --begin_write()--> in flight --end_write()--> free

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "foedus-core/device/device.h"
#include "foedus-core/device/io_queue.h"
#include "foedus-core/device/tiers/extent_map.h"
#include "foedus/status.h"

namespace foedus::device {

class ExtentCopy {
 public:
  // `behind` has both parts of the files, and outlives the copy. `queue`: made by `behind`; null:
  // writes are made by calls, one after the other. Throws std::bad_alloc.
  ExtentCopy(Device* behind, std::unique_ptr<IoQueue> queue);
  ExtentCopy(const ExtentCopy&) = delete;
  ExtentCopy& operator=(const ExtentCopy&) = delete;

  // Copies `extents`, which ascend, of the snapshot file `name`, whose part on the SSD exists. On
  // success they are durable there. On failure any of them may be written and none is known to be
  // durable; no write is in flight, and the error names the file. kOutOfSpace, kIoError. One thread
  // at a time.
  Status copy(std::string_view name, const std::vector<std::uint64_t>& extents);

 private:
  static constexpr std::uint64_t kWriteExtents = 4;
  static constexpr std::size_t kWriteBytes = kWriteExtents * kExtentBytes;
  static constexpr std::uint32_t kWritesMax = 4;  // in flight

  struct Free {
    void operator()(char* memory) const;
  };
  struct Write {
    std::uint64_t offset = 0;
    std::size_t bytes = 0;
  };

  Status write_runs(const File& nvm, const std::vector<ExtentRun>& runs);
  Status begin_write(const File& nvm, const ExtentRun& run);
  Status end_write();
  char* buffer_of(std::uint32_t write) const { return buffers_.get() + write * kWriteBytes; }

  Device* const behind_;
  const std::unique_ptr<char, Free> buffers_;  // kWritesMax of kWriteBytes
  Write writes_[kWritesMax];                   // by buffer
  std::vector<std::uint32_t> free_;            // buffers
  std::shared_ptr<File> ssd_;                  // of the copy in work
  // Destroyed before buffers_: its destructor waits for the writes in flight, which use them (V9).
  const std::unique_ptr<IoQueue> queue_;  // null: there is none
};

}  // namespace foedus::device
