// The runtime of production: a thread per task, a mutex and a condition variable per sleeper.
#include "foedus-core/base/task.h"

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#include "foedus-core/base/clock.h"
#include "foedus-core/base/invariant.h"

namespace foedus::base {

struct WaitPoint::Parking {
  std::mutex mutex;
  std::condition_variable awake;
};

WaitPoint::WaitPoint() : parking_(std::make_unique<Parking>()) {}
WaitPoint::~WaitPoint() = default;

namespace {

template <typename Ready>
bool wait_for(std::condition_variable* awake, std::unique_lock<std::mutex>* lock,
              std::uint64_t timeout_us, const Ready& ready) {
  constexpr std::uint64_t kLongest = 1'000'000'000'000;  // more would overflow the clock's type
  if (timeout_us > kLongest) {
    awake->wait(*lock, ready);
    return true;
  }
  return awake->wait_for(*lock, std::chrono::microseconds(timeout_us), ready);
}

// The thread of one task.
class TaskThread {
 public:
  explicit TaskThread(Task* task) : task_(task), thread_([this] { run(); }) {
    char name[16];
    std::strncpy(name, task->name(), sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    pthread_setname_np(thread_.native_handle(), name);
  }

  void notify() {
    const std::lock_guard lock(mutex_);
    notified_ = true;
    awake_.notify_one();
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      awake_.notify_one();
    }
    thread_.join();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      notified_ = false;
      lock.unlock();
      const std::uint64_t rest_us = task_->step();
      lock.lock();
      if (rest_us != 0) {
        wait_for(&awake_, &lock, rest_us, [this] { return notified_ || stopping_; });
      }
    }
  }

  Task* const task_;
  std::mutex mutex_;
  std::condition_variable awake_;
  bool notified_ = false;  // guarded by mutex_
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;     // last: run() uses all of the above
};

}  // namespace

class ThreadRuntime : public Runtime {
 public:
  ~ThreadRuntime() override { FOEDUS_INVARIANT(threads_.empty(), threads_.size()); }

  std::uint64_t now_us() override { return system_now_us(); }

  void start(Task* task) override {
    const std::lock_guard lock(mutex_);
    FOEDUS_INVARIANT(!threads_.contains(task), task->name());
    threads_.emplace(task, std::make_unique<TaskThread>(task));
  }

  void stop(Task* task) override {
    std::unique_ptr<TaskThread> thread;
    {
      const std::lock_guard lock(mutex_);
      const auto found = threads_.find(task);
      FOEDUS_INVARIANT(found != threads_.end(), task->name());
      thread = std::move(found->second);
      threads_.erase(found);
    }
    thread->stop();
  }

  void notify(Task* task) override {
    const std::lock_guard lock(mutex_);
    const auto found = threads_.find(task);
    if (found != threads_.end()) found->second->notify();
  }

  bool wait(WaitPoint* point, std::uint64_t timeout_us,
            const std::function<bool()>& ready) override {
    if (ready()) return true;
    WaitPoint::Parking& parking = *point->parking_;
    std::unique_lock lock(parking.mutex);
    point->waiters_.fetch_add_relaxed(1);
    // order: Dekker with wake(): here the count is raised before ready() looks; there the condition
    // is made true before the count is looked at. One of the two sees the other.
    fence_seq_cst();
    const bool became_ready = wait_for(&parking.awake, &lock, timeout_us, ready);
    point->waiters_.fetch_add_relaxed(~std::uint32_t{0});
    return became_ready;
  }

  void wake(WaitPoint* point) override {
    fence_seq_cst();  // order: see wait()
    if (point->waiters_.load_relaxed() == 0) return;
    const std::lock_guard lock(point->parking_->mutex);
    point->parking_->awake.notify_all();
  }

  void pause(std::uint64_t microseconds) override { system_sleep_us(microseconds); }

 private:
  std::mutex mutex_;
  std::map<Task*, std::unique_ptr<TaskThread>> threads_;  // guarded by mutex_
};

std::unique_ptr<Runtime> make_thread_runtime() { return std::make_unique<ThreadRuntime>(); }

}  // namespace foedus::base
