#include "foedus-core/device/pooled_io.h"

#include <algorithm>
#include <new>
#include <utility>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/out_of_memory.h"

namespace foedus::device {

IoPool::IoPool(base::Runtime* runtime, std::uint32_t tasks) : runtime_(runtime) {
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

void IoPool::stop() {
  for (const auto& reader : readers_) runtime_->stop(reader.get());
}

std::unique_ptr<IoQueue> IoPool::make_queue() { return std::make_unique<PooledIo>(this); }

// Performs one waiting read or write. If none waits, other tasks have taken those for which this
// one was woken.
std::uint64_t IoPool::Reader::step() {
  Request* const request = pool_->take();
  if (request == nullptr) return kUntilNotified;
  base::trying([request] { request->perform(); });
  request->file.reset();
  request->to_write.reset();
  pool_->give_back(request);
  return 0;
}

void IoPool::Request::perform() {
  if (to_write != nullptr) {
    if (to_write->write_at(offset, from.data, from.bytes).is_ok()) done.bytes = from.bytes;
    return;
  }
  const Result<std::size_t> bytes = file->read_parts_at(offset, parts, count);
  if (bytes.is_ok()) done.bytes = *bytes;
}

void IoPool::send(Request* first, Request* last, std::uint32_t count) {
  std::size_t reader = 0;
  {
    const std::lock_guard lock(mutex_);
    Request*& before = waiting_first_ == nullptr ? waiting_first_ : waiting_last_->next;
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

IoPool::Request* IoPool::take() {
  const std::lock_guard lock(mutex_);
  Request* const request = waiting_first_;
  if (request != nullptr) waiting_first_ = std::exchange(request->next, nullptr);
  return request;
}

// Gives a read back to its queue. The queue may be destroyed once its next() has taken the last
// read, for which next() needs the lock. So the waiter is woken while this thread holds the lock.
void IoPool::give_back(Request* request) {
  PooledIo* const queue = request->queue;
  const std::lock_guard lock(mutex_);
  request->next = queue->ended_.load_relaxed();  // order: relaxed; changed under the lock only
  queue->ended_.store_relaxed(request);          // order: relaxed; next() takes the lock to use it
  runtime_->wake(&queue->ended_point_);
}

PooledIo::PooledIo(IoPool* pool) : pool_(pool) {
  for (IoPool::Request& request : requests_) {
    request.queue = this;
    request.next = std::exchange(free_, &request);
  }
}

// Waits for what is in flight (V9).
PooledIo::~PooledIo() {
  Done done;
  while (next(true, &done)) {
  }
}

bool PooledIo::add_read(const std::shared_ptr<const File>& file, std::uint64_t offset,
                        const Bytes* parts, std::size_t count, std::uint32_t tag) {
  FOEDUS_INVARIANT(count >= 1 && count <= kPartsMax, count);
  IoPool::Request* const request = take_free(offset, tag);
  if (request == nullptr) return false;
  request->file = file;
  request->count = count;
  std::copy_n(parts, count, request->parts);
  return true;
}

bool PooledIo::add_write(const std::shared_ptr<File>& file, std::uint64_t offset, const void* from,
                         std::size_t bytes, std::uint32_t tag) {
  IoPool::Request* const write = take_free(offset, tag);
  if (write == nullptr) return false;
  write->to_write = file;
  write->from = {from, bytes};
  return true;
}

IoPool::Request* PooledIo::take_free(std::uint64_t offset, std::uint32_t tag) {
  if (free_ == nullptr || is_of_parent()) return nullptr;
  IoPool::Request* const request = free_;
  free_ = std::exchange(request->next, nullptr);
  request->offset = offset;
  request->done = Done{tag, 0};
  (added_first_ == nullptr ? added_first_ : added_last_->next) = request;
  added_last_ = request;
  ++added_count_;
  ++count_;
  return request;
}

void PooledIo::send() {
  if (added_count_ == 0 || is_of_parent()) return;
  pool_->send(std::exchange(added_first_, nullptr), added_last_, std::exchange(added_count_, 0));
}

bool PooledIo::next(bool waits, Done* done) {
  if (count_ == 0 || is_of_parent()) return false;
  // order: relaxed; the lock below makes visible what the Reader did.
  const auto has_ended = [&] { return ended_.load_relaxed() != nullptr; };
  if (!has_ended()) {
    if (!waits) return false;
    send();
    pool_->runtime_->wait(&ended_point_, base::Runtime::kForever, has_ended);
  }
  IoPool::Request* request = nullptr;
  {
    const std::lock_guard lock(pool_->mutex_);
    request = ended_.load_relaxed();      // order: relaxed; changed under the lock only
    ended_.store_relaxed(request->next);  // order: relaxed; under the lock
  }
  *done = request->done;
  request->next = std::exchange(free_, request);
  --count_;
  return true;
}

}  // namespace foedus::device
