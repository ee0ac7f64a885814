#pragma once
// Stands in for the thread support of the standard library. To be included before the macros below
// rename std::mutex and its like in the engine's code.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "tests/models/harness/model.h"

namespace model {

class Mutex {
 public:
  void lock() { mutex_.lock(MODEL_HERE); }
  void unlock() { mutex_.unlock(MODEL_HERE); }
  bool try_lock() { return mutex_.try_lock(MODEL_HERE); }
  rl::mutex& of_relacy() { return mutex_; }

 private:
  rl::mutex mutex_;
};

// A condition variable with spurious wakes. Timed waits end only by a wake, which tests that no
// waiter needs the timeout.
class ConditionVariable {
 public:
  void notify_one() { awake_.notify_one(MODEL_HERE); }
  void notify_all() { awake_.notify_all(MODEL_HERE); }
  template <typename Ready>
  void wait(std::unique_lock<Mutex>& lock, Ready ready) {
    while (!ready()) awake_.wait(lock.mutex()->of_relacy(), MODEL_HERE);
  }
  template <typename Duration, typename Ready>
  bool wait_for(std::unique_lock<Mutex>& lock, const Duration&, Ready ready) {
    wait(lock, ready);
    return true;
  }

 private:
  rl::condition_variable_any awake_;
};

// The code that a thread would run; a thread of the model runs it.
class Thread {
 public:
  explicit Thread(std::function<void()> run) { last = this, run_ = std::move(run); }
  void join() {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return has_ended_; });
  }
  // Runs the thread that was made last.
  static void run_last() {
    Thread* const thread = last;
    thread->run_();
    const std::lock_guard lock(thread->mutex_);
    thread->has_ended_ = true;
    thread->ended_.notify_one();
  }

 private:
  static inline Thread* last = nullptr;

  std::function<void()> run_;
  Mutex mutex_;
  ConditionVariable ended_;
  bool has_ended_ = false;  // guarded by mutex_
};

}  // namespace model

namespace std {
using model_mutex = ::model::Mutex;
using model_condition_variable = ::model::ConditionVariable;
}  // namespace std

#define mutex model_mutex
#define condition_variable model_condition_variable
