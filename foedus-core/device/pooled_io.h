#pragma once
// IoPool: tasks that read and write for all IoQueues of a database, where the system refuses
// io_uring.
//
//   free --add()--> added --send()--> waiting --Reader--> at work --> ended --next()--> free
//
//   A Request belongs to its queue while it is free or added, to the pool while it waits, and to
//   one Reader while that is at work on it. Once it has ended, it belongs to its queue again. It
//   changes hands under the pool's mutex, which guards `waiting_*` and each queue's `ended_`.

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/system/process.h"
#include "foedus-core/base/system/task.h"
#include "foedus-core/device/io_queue.h"

namespace foedus::device {

class PooledIo;

class IoPool {
 public:
  static constexpr std::uint32_t kTasks = 16;

  // Starts its tasks on `runtime`; throws std::bad_alloc if that cannot be.
  explicit IoPool(base::Runtime* runtime, std::uint32_t tasks = kTasks);
  // REQUIRES: all its queues were destroyed.
  ~IoPool() { stop(); }
  IoPool(const IoPool&) = delete;
  IoPool& operator=(const IoPool&) = delete;

  std::unique_ptr<IoQueue> make_queue();

 private:
  friend class PooledIo;
  struct Request {
    PooledIo* queue = nullptr;
    Request* next = nullptr;           // in the list that it is in
    std::shared_ptr<const File> file;  // V10; null: this is a write
    std::shared_ptr<File> to_write;
    std::uint64_t offset = 0;
    std::size_t count = 0;
    IoQueue::Done done;
    Bytes parts[IoQueue::kPartsMax] = {};
    ConstBytes from = {};  // of a write
    void perform();
  };
  class Reader final : public base::Task {
   public:
    explicit Reader(IoPool* pool) : pool_(pool) {}
    const char* name() const override { return "foedus-reader"; }
    std::uint64_t step() override;

   private:
    IoPool* const pool_;
  };

  void stop();
  void send(Request* first, Request* last, std::uint32_t count);
  Request* take();
  void give_back(Request* request);

  base::Runtime* const runtime_;
  std::vector<std::unique_ptr<Reader>> readers_;  // constant after construction

  std::mutex mutex_;
  // Guarded by mutex_.
  Request* waiting_first_ = nullptr;
  Request* waiting_last_ = nullptr;
  std::size_t next_reader_ = 0;  // the next to be woken
};

class PooledIo final : public IoQueue {
 public:
  explicit PooledIo(IoPool* pool);
  ~PooledIo() override;
  PooledIo(const PooledIo&) = delete;
  PooledIo& operator=(const PooledIo&) = delete;

  bool add_read(const std::shared_ptr<const File>& file, std::uint64_t offset, const Bytes* parts,
                std::size_t count, std::uint32_t tag) override;
  bool add_write(const std::shared_ptr<File>& file, std::uint64_t offset, const void* from,
                 std::size_t bytes, std::uint32_t tag) override;
  void send() override;
  bool next(bool waits, Done* done) override;

 private:
  friend class IoPool;

  bool is_of_parent() const { return generation_ != base::process_generation(); }
  // Takes a free read and appends it to those that send() sends. Null: all are in use, or the queue
  // is that of the parent process.
  IoPool::Request* take_free(std::uint64_t offset, std::uint32_t tag);

  IoPool* const pool_;
  const std::uint64_t generation_ = base::process_generation();

  // Used by the thread that owns the queue only.
  IoPool::Request requests_[kRequestsMax];
  IoPool::Request* free_ = nullptr;
  IoPool::Request* added_first_ = nullptr;
  IoPool::Request* added_last_ = nullptr;
  std::uint32_t added_count_ = 0;
  std::uint32_t count_ = 0;  // added and not given back

  // Guarded by the pool's mutex, except when its owner only checks whether a read has ended.
  base::AtomicWord<IoPool::Request*> ended_;
  base::WaitPoint ended_point_;
};

}  // namespace foedus::device
