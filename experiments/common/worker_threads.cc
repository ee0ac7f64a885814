#include "experiments/common/worker_threads.h"

#include <chrono>
#include <thread>
#include <utility>

#include "experiments/common/placement.h"

namespace experiments {

void WorkerThreads::Gate::arrive_and_wait() {
  arrived_ = true;
  threads_->arrive();
  threads_->wait_until_started();
}

WorkerThreads::WorkerThreads(std::uint32_t workers, Body body)
    : workers_(workers), body_(std::move(body)) {
  threads_.reserve(workers);
  for (std::uint32_t i = 0; i < workers; ++i) threads_.emplace_back([this, i] { run(i); });
}

WorkerThreads::~WorkerThreads() {
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void WorkerThreads::arrive() {
  const std::lock_guard guard(mutex_);
  if (++arrived_ == workers_) all_arrived_.notify_all();
}

void WorkerThreads::wait_until_started() {
  std::unique_lock guard(mutex_);
  all_arrived_.wait(guard, [this] { return arrived_ >= workers_; });
}

bool WorkerThreads::has_failed() const {
  return failed_.load(std::memory_order_relaxed);  // order: a hint; join() has the error itself.
}

void WorkerThreads::run(std::uint32_t worker) {
  bind_worker_by_flags(worker, workers_);
  Gate gate(this);
  foedus::Status status = body_(worker, gate);
  if (!status.is_ok()) {
    const std::lock_guard guard(mutex_);
    if (first_error_.is_ok()) first_error_ = std::move(status);
    failed_.store(true, std::memory_order_relaxed);  // order: see has_failed().
  }
  if (!gate.arrived_) arrive();
}

foedus::Result<double> WorkerThreads::work_for(double seconds, std::atomic<bool>* stop) {
  wait_until_started();
  const auto start = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  stop->store(true, std::memory_order_relaxed);  // order: a wish to stop, some time
  const std::chrono::duration<double> worked = std::chrono::steady_clock::now() - start;
  FOEDUS_CHECK(join());
  return worked.count();
}

foedus::Status WorkerThreads::join() {
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
  const std::lock_guard guard(mutex_);
  return first_error_;
}

foedus::Status run_workers(std::uint32_t workers,
                           const std::function<foedus::Status(std::uint32_t worker)>& body) {
  WorkerThreads threads(
      workers, [&body](std::uint32_t worker, WorkerThreads::Gate&) { return body(worker); });
  return threads.join();
}

}  // namespace experiments
