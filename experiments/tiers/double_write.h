#pragma once
// DoubleWrite: a buffer of pages in DRAM that are written to the SSD twice, as InnoDB does it: one
// behind the other to an area, with a sync, and then to their places, with a sync of each file. So
// a page that a crash tears in one of both is whole in the other. One buffer for all threads, which
// wait while it is written.

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "foedus-core/device/device.h"
#include "foedus-core/device/io_queue.h"
#include "foedus/status.h"

namespace experiments::tiers {

class DoubleWrite {
 public:
  using Files = std::vector<std::shared_ptr<foedus::device::File>>;

  // `area` has room for `pages`. `queue` null: pages are written by calls.
  DoubleWrite(std::shared_ptr<foedus::device::File> area, Files files, std::uint32_t pages,
              std::unique_ptr<foedus::device::IoQueue> queue);

  // Adds a page to the buffer. It is durable once the buffer was written. Any thread.
  foedus::Status write(std::uint32_t file, std::uint64_t page, const void* bytes);
  // Writes what is in the buffer.
  foedus::Status flush();

  std::uint64_t flushes() const { return flushes_; }
  std::uint64_t flush_us() const { return flush_us_; }

 private:
  struct alignas(foedus::device::kBlockBytes) Block {
    char bytes[foedus::device::kBlockBytes];
  };
  struct Place {
    std::uint32_t file;
    std::uint64_t page;
    std::uint32_t block;
  };

  foedus::Status flush_locked();
  foedus::Status write_places();

  const std::shared_ptr<foedus::device::File> area_;
  const Files files_;
  const std::uint32_t pages_;
  const std::unique_ptr<foedus::device::IoQueue> queue_;

  std::mutex mutex_;
  // Guarded by mutex_.
  std::unique_ptr<Block[]> blocks_;
  std::vector<Place> places_;  // of blocks in use
  std::uint64_t flushes_ = 0;
  std::uint64_t flush_us_ = 0;
};

}  // namespace experiments::tiers
