#pragma once
// Hold: stops the threads that reach a sync point until it is released, as if they had no
// processor. It counts yields and sleeps of threads that wait for them.

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string_view>
#include <thread>

#include "foedus-core/base/system/sync_point.h"

namespace foedus::testing {

class Hold {
 public:
  // Stops threads at one sync point, or at none. Threads that reach the point `until` wait there
  // until one is held.
  explicit Hold(std::string_view place = {}, std::string_view until = {})
      : place_(place), until_(until) {
    held = this;
    base::set_sync_point_hook([](const char* at) {
      held->count(at);
      if (held->place_ == at) held->stop_here();
      if (held->until_ == at) held->wait_until_held();
    });
  }
  ~Hold() {
    release();
    base::set_sync_point_hook(nullptr);
  }
  void wait_until_held() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_held_ || is_released_; });
  }
  // Return how often threads yielded the processor, and slept, in spin loops.
  unsigned yields() const { return yields_.load(); }
  unsigned sleeps() const { return sleeps_.load(); }
  // Returns the number of sleeps that another thread has to end.
  unsigned parks() const { return parks_.load(); }
  void wait_for_sleeps(unsigned wanted) const { wait_for(sleeps_, wanted); }
  void wait_for_parks(unsigned wanted) const { wait_for(parks_, wanted); }
  void release() {
    const std::lock_guard lock(mutex_);
    is_released_ = true;
    changed_.notify_all();
  }

 private:
  static void wait_for(const std::atomic<unsigned>& count, unsigned wanted) {
    while (count.load() < wanted) std::this_thread::yield();
  }
  void count(const char* at) {
    if (std::strcmp(at, "spin:yield") == 0) ++yields_;
    if (std::strcmp(at, "spin:sleep") == 0) ++sleeps_;
    if (std::strcmp(at, "park:sleep") == 0) ++parks_;
  }
  void stop_here() {
    std::unique_lock lock(mutex_);
    is_held_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return is_released_; });
  }

  inline static Hold* held = nullptr;
  const std::string_view place_;
  const std::string_view until_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_held_ = false;
  bool is_released_ = false;
  std::atomic<unsigned> yields_ = 0;
  std::atomic<unsigned> sleeps_ = 0;
  std::atomic<unsigned> parks_ = 0;
};

}  // namespace foedus::testing
