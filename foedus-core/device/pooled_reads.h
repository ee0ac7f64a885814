#pragma once
// ReadPool: tasks that read and write for all ReadQueues of a database, where the system refuses
// io_uring.
//
//   free --add()--> added --send()--> waiting --Reader--> at work --> ended --next()--> free
//
//   A Read belongs to its queue while it is free or added, to the pool while it waits, and to one
//   Reader while that is at work on it. Once it has ended, it belongs to its queue again. It
//   changes hands under the pool's mutex, which guards `waiting_*` and each queue's `ended_`.

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/system/process.h"
#include "foedus-core/base/system/task.h"
#include "foedus-core/device/read_queue.h"

namespace foedus::device {

class PooledReads;

class ReadPool {
 public:
  static constexpr std::uint32_t kTasks = 16;

  // Starts its tasks on `runtime`; throws std::bad_alloc if that cannot be.
  explicit ReadPool(base::Runtime* runtime, std::uint32_t tasks = kTasks);
  // REQUIRES: all its queues were destroyed.
  ~ReadPool() { stop(); }
  ReadPool(const ReadPool&) = delete;
  ReadPool& operator=(const ReadPool&) = delete;

  std::unique_ptr<ReadQueue> make_queue();

 private:
  friend class PooledReads;
  struct Read {
    PooledReads* queue = nullptr;
    Read* next = nullptr;  // in the list that it is in
    std::shared_ptr<const File> file;  // V10; null: this is a write
    std::shared_ptr<File> to_write;
    std::uint64_t offset = 0;
    std::size_t count = 0;
    ReadQueue::Done done;
    Bytes parts[ReadQueue::kPartsMax] = {};
    ConstBytes from = {};  // of a write
    void perform();
  };
  class Reader final : public base::Task {
   public:
    explicit Reader(ReadPool* pool) : pool_(pool) {}
    const char* name() const override { return "foedus-reader"; }
    std::uint64_t step() override;

   private:
    ReadPool* const pool_;
  };

  void stop();
  void send(Read* first, Read* last, std::uint32_t count);
  Read* take();
  void give_back(Read* read);

  base::Runtime* const runtime_;
  std::vector<std::unique_ptr<Reader>> readers_;  // constant after construction

  std::mutex mutex_;
  // Guarded by mutex_.
  Read* waiting_first_ = nullptr;
  Read* waiting_last_ = nullptr;
  std::size_t next_reader_ = 0;  // the next to be woken
};

class PooledReads final : public ReadQueue {
 public:
  explicit PooledReads(ReadPool* pool);
  ~PooledReads() override;
  PooledReads(const PooledReads&) = delete;
  PooledReads& operator=(const PooledReads&) = delete;

  bool add(const std::shared_ptr<const File>& file, std::uint64_t offset, const Bytes* parts,
           std::size_t count, std::uint32_t tag) override;
  bool add_write(const std::shared_ptr<File>& file, std::uint64_t offset, const void* from,
                 std::size_t bytes, std::uint32_t tag) override;
  void send() override;
  bool next(bool waits, Done* done) override;

 private:
  friend class ReadPool;

  bool is_of_parent() const { return generation_ != base::process_generation(); }
  // Takes a free read and appends it to those that send() sends. Null: all are in use, or the queue
  // is that of the parent process.
  ReadPool::Read* take_free(std::uint64_t offset, std::uint32_t tag);

  ReadPool* const pool_;
  const std::uint64_t generation_ = base::process_generation();

  // Used by the thread that owns the queue only.
  ReadPool::Read reads_[kReadsMax];
  ReadPool::Read* free_ = nullptr;
  ReadPool::Read* added_first_ = nullptr;
  ReadPool::Read* added_last_ = nullptr;
  std::uint32_t added_count_ = 0;
  std::uint32_t count_ = 0;  // added and not given back

  // Guarded by the pool's mutex, except when its owner only checks whether a read has ended.
  base::AtomicWord<ReadPool::Read*> ended_;
  base::WaitPoint ended_point_;
};

}  // namespace foedus::device
