#include "foedus-core/device/pooled_reads.h"

#include <algorithm>
#include <new>
#include <utility>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/out_of_memory.h"

namespace foedus::device {

ReadPool::ReadPool(base::Runtime* runtime, std::uint32_t tasks) : runtime_(runtime) {
  FOEDUS_INVARIANT(tasks >= 1, tasks);
  readers_.reserve(tasks);
  try {
    for (std::uint32_t i = 0; i < tasks; ++i) {
      readers_.push_back(std::make_unique<Reader>(this));
      runtime_->start(readers_.back().get());
    }
  } catch (const std::bad_alloc&) {
    stop();
    throw;
  }
}

void ReadPool::stop() {
  for (const auto& reader : readers_) runtime_->stop(reader.get());
}

std::unique_ptr<ReadQueue> ReadPool::make_queue() { return std::make_unique<PooledReads>(this); }

// Performs one waiting read or write. If none waits, other tasks have taken those for which this
// one was woken.
std::uint64_t ReadPool::Reader::step() {
  Read* const read = pool_->take();
  if (read == nullptr) return kUntilNotified;
  base::trying([read] { read->perform(); });
  read->file.reset();
  read->to_write.reset();
  pool_->give_back(read);
  return 0;
}

void ReadPool::Read::perform() {
  if (to_write != nullptr) {
    if (to_write->write_at(offset, from.data, from.bytes).is_ok()) done.bytes = from.bytes;
    return;
  }
  const Result<std::size_t> bytes = file->read_parts_at(offset, parts, count);
  if (bytes.is_ok()) done.bytes = *bytes;
}

void ReadPool::send(Read* first, Read* last, std::uint32_t count) {
  std::size_t reader = 0;
  {
    const std::lock_guard lock(mutex_);
    Read*& before = waiting_first_ == nullptr ? waiting_first_ : waiting_last_->next;
    before = first;
    waiting_last_ = last;
    reader = next_reader_;
    next_reader_ = (reader + count) % readers_.size();
  }
  const std::size_t woken = std::min<std::size_t>(count, readers_.size());
  for (std::size_t i = 0; i < woken; ++i) {
    runtime_->notify(readers_[(reader + i) % readers_.size()].get());
  }
}

ReadPool::Read* ReadPool::take() {
  const std::lock_guard lock(mutex_);
  Read* const read = waiting_first_;
  if (read != nullptr) waiting_first_ = std::exchange(read->next, nullptr);
  return read;
}

// Gives a read back to its queue. The queue may be destroyed once its next() has taken the last
// read, for which next() needs the lock. So the waiter is woken while this thread holds the lock.
void ReadPool::give_back(Read* read) {
  PooledReads* const queue = read->queue;
  const std::lock_guard lock(mutex_);
  read->next = queue->ended_.load_relaxed();  // order: relaxed; changed under the lock only
  queue->ended_.store_relaxed(read);          // order: relaxed; next() takes the lock to use it
  runtime_->wake(&queue->ended_point_);
}

PooledReads::PooledReads(ReadPool* pool) : pool_(pool) {
  for (ReadPool::Read& read : reads_) {
    read.queue = this;
    read.next = std::exchange(free_, &read);
  }
}

// Waits for what is in flight (V9).
PooledReads::~PooledReads() {
  Done done;
  while (next(true, &done)) {
  }
}

bool PooledReads::add(const std::shared_ptr<const File>& file, std::uint64_t offset,
                      const Bytes* parts, std::size_t count, std::uint32_t tag) {
  FOEDUS_INVARIANT(count >= 1 && count <= kPartsMax, count);
  ReadPool::Read* const read = take_free(offset, tag);
  if (read == nullptr) return false;
  read->file = file;
  read->count = count;
  std::copy_n(parts, count, read->parts);
  return true;
}

bool PooledReads::add_write(const std::shared_ptr<File>& file, std::uint64_t offset,
                            const void* from, std::size_t bytes, std::uint32_t tag) {
  ReadPool::Read* const write = take_free(offset, tag);
  if (write == nullptr) return false;
  write->to_write = file;
  write->from = {from, bytes};
  return true;
}

ReadPool::Read* PooledReads::take_free(std::uint64_t offset, std::uint32_t tag) {
  if (free_ == nullptr || is_of_parent()) return nullptr;
  ReadPool::Read* const read = free_;
  free_ = std::exchange(read->next, nullptr);
  read->offset = offset;
  read->done = Done{tag, 0};
  (added_first_ == nullptr ? added_first_ : added_last_->next) = read;
  added_last_ = read;
  ++added_count_;
  ++count_;
  return read;
}

void PooledReads::send() {
  if (added_count_ == 0 || is_of_parent()) return;
  pool_->send(std::exchange(added_first_, nullptr), added_last_, std::exchange(added_count_, 0));
}

bool PooledReads::next(bool waits, Done* done) {
  if (count_ == 0 || is_of_parent()) return false;
  // order: relaxed; the lock below makes visible what the Reader did.
  const auto has_ended = [&] { return ended_.load_relaxed() != nullptr; };
  if (!has_ended()) {
    if (!waits) return false;
    send();
    pool_->runtime_->wait(&ended_point_, base::Runtime::kForever, has_ended);
  }
  ReadPool::Read* read = nullptr;
  {
    const std::lock_guard lock(pool_->mutex_);
    read = ended_.load_relaxed();  // order: relaxed; changed under the lock only
    ended_.store_relaxed(read->next);  // order: relaxed; under the lock
  }
  *done = read->done;
  read->next = std::exchange(free_, read);
  --count_;
  return true;
}

}  // namespace foedus::device
