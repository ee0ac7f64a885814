#pragma once
// StagedFiles: the staging buffer of a TieredDevice. Pages of a new snapshot file for the SSD go
// through it; those that a crash has left in it reach the SSD at the next open.
//
//   V32 A new file's pages for the SSD are staged (staging/buffer.h): they are durable in buckets
//       when they are written, and reach the SSD in the background. Their space on the SSD is
//       allocated before they are staged. Readers ask the buffer first while any page of the file
//       is staged (V31). A flush comes before each move of extents, so that flushers and mover
//       never sync one file at the same time (V2). A removal begins with drop(), so that nothing is
//       written to a file that is gone, or to another one of its name.
//   V33 All staged pages of a file are in one area, in the directory where its part on memory is
//       made; therefore all areas are made anew when the first file is staged. So if a directory
//       with staged pages that count is left out, an open also misses a file that a manifest lists.
//   V34 If no bucket is in use, recover() changes nothing: an open that fails later must not have
//       changed the directories (V13).

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "foedus-core/base/system/process.h"
#include "foedus-core/base/system/task.h"
#include "foedus-core/device/device.h"
#include "foedus-core/device/pooled_io.h"
#include "foedus-core/device/staging/buffer.h"
#include "foedus-core/device/tiers/tiered_file.h"
#include "foedus/status.h"

namespace foedus::device {

// Memory for pages that are on their way to the SSD.
struct TierStaging {
  base::Runtime* runtime = nullptr;  // of the tasks that write them; it outlives the device
  std::uint64_t bytes = 0;           // part of TierLimits::nvm_bytes; too few, or 0: none is staged
  std::uint32_t directories = 1;     // how many directories files of memory are made in
};

class StagedFiles {
 public:
  // `behind` has the files of both tiers, and outlives this.
  StagedFiles(Device* behind, const TierStaging& options);
  // Leaves what is staged in its buckets, for the next recover().
  ~StagedFiles();
  StagedFiles(const StagedFiles&) = delete;
  StagedFiles& operator=(const StagedFiles&) = delete;

  // Writes the pages that an earlier process has left staged to their files. Errors: those of
  // recover_staged(). No other function may be called before.
  Status recover();
  // Returns kNotSupported if pages of files are staged, which a device that is only read would
  // lack. Changes nothing.
  Status check_none();
  // Returns how many bytes of memory the areas take, or will take.
  std::uint64_t bytes() const;

  // Makes a queue for writes to the SSD. Null: there is none. Any thread.
  std::unique_ptr<IoQueue> make_queue();
  // Returns where pages of the new file `name` are staged that belong to `ssd`, its part on the
  // SSD. No target: nothing is staged, mostly because memory has no space for areas, and they are
  // written to `ssd` at once. Errors: those of StagingBuffer::open().
  Result<StagedPart> add(const std::string& name, const std::shared_ptr<File>& ssd);
  // Returns the pages of a file that may be staged. No target: there are none.
  StagedPart find(std::string_view name) const;
  // Drops what is staged of a file, before it is removed. On failure it is still there, and the
  // call has to be repeated.
  Status drop(std::string_view name);
  // Waits until nothing is staged. On an error of a file, its pages stay staged. REQUIRES: no file
  // is made or removed meanwhile.
  Status flush();

 private:
  ResolveTarget resolve() const;
  Status make_buffer_locked();

  Device* const behind_;
  const TierStaging options_;
  const std::uint32_t slots_;  // of a bucket; 0: nothing is staged
  const std::uint64_t generation_ = base::process_generation();

  std::mutex pool_mutex_;
  std::unique_ptr<IoPool> pool_;  // in place of queues of the device; guarded by pool_mutex_

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  bool has_no_room_ = false;               // memory has no space for areas
  std::unique_ptr<StagingBuffer> buffer_;  // null: nothing was staged yet; then constant
  // By name: the files that have pages staged, or may have.
  std::map<std::string, std::shared_ptr<StagingTarget>, std::less<>> targets_;
};

}  // namespace foedus::device
