#pragma once
// StagingBuffer: pages on their way from DRAM to an SSD, in buckets on non-volatile memory (after
// PB-NVM, Nguyen and Lee, JSA 2019). A page is durable once it is in a bucket. Full buckets are
// written to their files in the background, in large batches, while writers go on with others.
//
// The buckets belong to partitions. Each partition has an area of its own (area.h, V27, V28), one
// writer at a time, and a flusher, which it may share with other partitions.
//
//   empty --open_bucket()--> open --seal()--> full --Flusher::step()--> empty
//
//   V29 All versions of a page go to one partition. Its buckets are opened and marked empty in the
//       order of their sequence numbers, each mark durable before the next. Buckets that are full
//       at the same time are flushed as one batch, with the newest version of each page. So when a
//       bucket is marked empty, no bucket holds an older version of its pages. Recovery writes the
//       newest version that it finds, and thus never overwrites a newer one in the file.
//   V30 A bucket is marked empty when each of its pages is durable in its file, or has a newer
//       version in a bucket. So a page that a crash tears in the file is whole in a bucket: the
//       write is atomic, and nothing is written to the SSD twice. After an error the batch is
//       written again from its first page on (V2).
//   V31 Readers hold a lock only to look at the index. A reader that has read a slot checks that
//       the bucket still has its sequence number, and else begins again: the number changes before
//       a slot of the bucket is overwritten.
//
//   word                written by            read by   meaning
//   Bucket::sequence    the partition's writer  readers  of the bucket's last use
//   StagingTarget::staged_  under a partition's mutex  all  how many slots hold its pages

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/system/task.h"
#include "foedus-core/device/staging/area.h"
#include "foedus-core/device/staging/slot_writer.h"
#include "foedus/status.h"

namespace foedus::device {

// Which partition a page goes to.
enum class StagingSpread : std::uint8_t {
  kEven,    // pages of a file are spread over all, one by one
  kSingle,  // all pages of a file go to the same one
  kLess,    // a file is spread over a quarter of them, and neighbours stay together
  kPlaced,  // all pages of a file go to the one that the lower half of its number says
};

struct StagingOptions {
  std::uint32_t partitions = 8;
  std::uint32_t buckets = 4;  // of each partition; with one, writers wait for each flush
  std::uint32_t slots = 64;   // pages of a bucket
  std::uint32_t flushers = 4;  // tasks, at most one for each partition
  StagingSpread spread = StagingSpread::kLess;
};

struct StagingStatistics {
  std::uint64_t written_pages = 0;  // by write()
  std::uint64_t flushed_pages = 0;  // the newest versions of these, written to files
  std::uint64_t flushes = 0;
  std::uint64_t flush_us = 0;       // summed over all flushes
  std::uint64_t waits = 0;          // how often writers waited for an empty bucket
};

class StagingBuffer {
 public:
  // Makes the queue of a flusher; null: there is none, and it writes by calls.
  using MakeQueue = std::function<std::unique_ptr<IoQueue>()>;

  // Recovers what is staged (recover_staged()), makes the areas that are missing or have another
  // shape, and starts the flushers on `runtime`. `device` holds the areas. kOutOfSpace, and the
  // errors of recover_staged(); no staged page is lost by an error. Throws std::bad_alloc.
  static Result<std::unique_ptr<StagingBuffer>> open(Device* device, base::Runtime* runtime,
                                                     const StagingOptions& options,
                                                     const MakeQueue& make_queue,
                                                     const ResolveTarget& resolve);
  // Leaves what is staged in its buckets, for the next buffer that is opened.
  ~StagingBuffer();
  StagingBuffer(const StagingBuffer&) = delete;
  StagingBuffer& operator=(const StagingBuffer&) = delete;

  // Stages pages that follow one another, from number `page` on. On success they are durable, and
  // read() finds them. On failure each of them may be staged or not, as after a write of a file
  // (V4). The error is that of a write to memory; or, if no bucket is empty because a file cannot
  // be written, that of the last flush, which names the file. The next call tries again. Any thread
  // may call this function and those that follow; two writes of one page must not overlap in time.
  // REQUIRES: at most one target at a time has an id.
  Status write(const std::shared_ptr<StagingTarget>& target, std::uint64_t page, const void* pages,
               std::size_t count);
  // Reads a page to `to`; false: it is not staged, and the file has it if it was ever written. Call
  // this before a read of the file, not after it: a page that is not staged any more is in the
  // file. Waits for no flush.
  Result<bool> read(const StagingTarget& target, std::uint64_t page, void* to) const;
  // Waits until all that was staged before is durable in its files; or returns the error of one.
  Status flush();
  // Drops what is staged of a target: waits until no bucket holds any of it. Nothing is written to
  // its file afterwards, not even by recovery. On failure it is to be called again. REQUIRES: no
  // other call about the target meanwhile.
  Status drop(StagingTarget* target);

  StagingStatistics statistics() const;

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  static constexpr std::size_t kPagesAtOnce = 256;  // that one sync of an area makes durable

  struct Bucket {
    base::AtomicWord<std::uint64_t> sequence;
  };
  // Content of a slot. Older versions of a page come after newer ones in the list of their hash.
  struct Slot {
    std::shared_ptr<StagingTarget> target;  // null: it does not count
    std::uint64_t page = 0;
    std::uint32_t next = kNone;
  };
  struct alignas(64) Partition {
    std::unique_ptr<StagingArea> area;
    std::vector<Bucket> buckets;
    std::uint32_t flusher = 0;

    std::mutex writer;  // held by a writer while it stores pages
    std::uint32_t next_slot = 0;  // of the open bucket; guarded by writer

    mutable std::mutex mutex;    // locked after `writer`
    std::uint32_t open = kNone;  // a bucket; changed under both, read under either
    // Guarded by mutex.
    std::vector<Slot> slots;            // of all buckets
    std::vector<std::uint32_t> heads;   // of lists of slots, by hash
    std::vector<std::uint32_t> empty;   // buckets
    std::vector<std::uint32_t> full;    // the oldest first
    std::uint64_t sealed = 0;
    std::uint64_t flushed = 0;
    std::uint64_t failures = 0;  // of flushes
    Status failure;              // the last one
    StagingStatistics statistics;

    base::WaitPoint changed;  // woken when `flushed` or `failures` has changed
  };
  class Flusher final : public base::Task {
   public:
    Flusher(StagingBuffer* buffer, std::uint32_t number, std::unique_ptr<IoQueue> queue);
    const char* name() const override { return "foedus-flusher"; }
    bool is_background() const override { return true; }
    std::uint64_t step() override;

   private:
    bool flush_full(Partition* partition);
    Status write_and_mark(Partition* partition);
    void note_emptied(Partition* partition, std::uint32_t bucket);

    StagingBuffer* const buffer_;
    const std::uint32_t number_;
    SlotWriter writer_;
    // The batch.
    std::vector<std::uint32_t> buckets_;
    std::vector<SlotToWrite> slots_;
  };

  StagingBuffer(base::Runtime* runtime, const StagingOptions& options);
  Status make_areas(Device* device);
  void start(const MakeQueue& make_queue);
  Partition& partition_of(const StagingTarget& target, std::uint64_t page) const;
  Status append(Partition* partition, const std::shared_ptr<StagingTarget>& target,
                const StagedPage* pages, std::size_t count);
  Result<bool> open_bucket(Partition* partition);
  Result<std::size_t> fill(Partition* partition, const std::shared_ptr<StagingTarget>& target,
                           const StagedPage* pages, std::size_t count);
  void seal(Partition* partition);
  Status wait_for_bucket(Partition* partition);
  Status wait_for_flushed(Partition* partition, std::uint64_t wanted);
  void notify_flusher(const Partition& partition);

  // The index, under the partition's mutex.
  std::uint32_t& head_of(Partition* partition, const StagingTarget& target,
                         std::uint64_t page) const;
  std::uint32_t find_locked(const Partition& partition, const StagingTarget& target,
                            std::uint64_t page) const;
  void add_locked(Partition* partition, std::uint32_t slot,
                  const std::shared_ptr<StagingTarget>& target, std::uint64_t page);
  void remove_locked(Partition* partition, std::uint32_t bucket);
  void collect_locked(const Partition& partition, std::uint32_t bucket,
                      std::vector<SlotToWrite>* slots) const;

  base::Runtime* const runtime_;
  const StagingOptions options_;
  std::vector<std::unique_ptr<Partition>> partitions_;  // constant after open()
  std::vector<std::unique_ptr<Flusher>> flushers_;      // constant after open()
  base::AtomicWord<std::uint64_t> next_sequence_;
};

}  // namespace foedus::device
