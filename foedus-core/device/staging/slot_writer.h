#pragma once
// SlotWriter: writes what buckets of a StagingArea hold to the files of the pages, in one batch:
// pages sorted by file and place, neighbours as one write, all writes in flight together, and then
// one sync of each file.

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/device/counted_syncs.h"
#include "foedus-core/device/device.h"
#include "foedus-core/device/io_queue.h"
#include "foedus-core/device/staging/area.h"
#include "foedus/status.h"

namespace foedus::device {

// A file that pages are staged for. REQUIRES: `id` is its number for as long as pages of it are
// staged, also after a restart. Its name is made durable by its maker (V3). No other code syncs it
// meanwhile, or writes pages of it that are staged.
class StagingTarget {
 public:
  StagingTarget(std::uint64_t id, std::shared_ptr<File> file) : id_(id), file_(std::move(file)) {}

  std::uint64_t id() const { return id_; }
  const std::shared_ptr<File>& file() const { return file_; }
  // Returns true if any page is staged. False: what was staged before is in the file, durable.
  bool has_staged() const {
    return staged_.load_acquire() != 0;  // order: acquire, pairs with remove_locked()
  }

 private:
  friend class SlotWriter;
  friend class StagingBuffer;
  const std::uint64_t id_;
  const std::shared_ptr<File> file_;
  CountedSyncs syncs_;
  base::AtomicWord<std::uint64_t> staged_;      // slots with pages of it, older versions included
  base::AtomicWord<std::uint32_t> is_in_doubt_;  // a write has failed: slots may hold its pages
  base::AtomicWord<std::uint32_t> is_dropped_;   // staged pages are not written to file_ any more
};

// Finds the file of a number. Null: it is gone, and what is staged for it may go, too.
using ResolveTarget = std::function<Result<std::shared_ptr<File>>(std::uint64_t id)>;

// A page of a bucket that is to be written.
struct SlotToWrite {
  std::shared_ptr<StagingTarget> target;
  std::uint64_t page;
  std::uint32_t bucket;
  std::uint32_t slot;
};

class SlotWriter {
 public:
  // `queue`: null if there is none; pages are then written by calls, one after the other.
  SlotWriter(std::uint32_t slots_max, std::unique_ptr<IoQueue> queue);
  SlotWriter(const SlotWriter&) = delete;
  SlotWriter& operator=(const SlotWriter&) = delete;

  // Writes the pages of `slots`, at most `slots_max` different ones, and sorts `slots`. On success
  // they are durable in their files. On failure any of them may be written, and none is known to be
  // durable; the error names the file. One thread at a time.
  Status write(const StagingArea& area, std::vector<SlotToWrite>* slots);

 private:
  struct alignas(kBlockBytes) Block {
    char bytes[kBlockBytes];
  };
  // Pages that follow one another in a file.
  struct Run {
    StagingTarget* target;
    std::uint64_t offset;
    const char* from;
    std::size_t bytes;
  };
  struct WrittenFile {
    StagingTarget* target;
    std::uint64_t failed_syncs;  // before the first write
  };

  void collect_runs(const std::vector<SlotToWrite>& slots);
  Status write_runs();
  bool add(std::uint32_t run);

  const std::unique_ptr<IoQueue> queue_;
  const std::unique_ptr<Block[]> blocks_;
  std::vector<Run> runs_;
  std::vector<WrittenFile> files_;
};

// Writes the pages that an earlier process has left in all areas of `device` to their files, and
// marks the buckets empty; pages of files that are gone are dropped. May be repeated after a
// failure at any point. Returns the highest sequence number that a bucket has had. `queue`: as of
// SlotWriter. No other code may write the areas, or the files that `resolve` finds, meanwhile.
// kCorruption, kIoError, kOutOfSpace.
Result<std::uint64_t> recover_staged(Device* device, std::unique_ptr<IoQueue> queue,
                                     const ResolveTarget& resolve);
// Returns true if recover_staged() has anything to write to a file that `resolve` finds. Changes
// nothing.
Result<bool> has_staged_pages(Device* device, const ResolveTarget& resolve);
// Removes all areas of `device`. REQUIRES: nothing is staged in any.
Status remove_areas(Device* device);

}  // namespace foedus::device
