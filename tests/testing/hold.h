#pragma once
// Hold: stops the thread that comes to a sync point first, until it is released.

#include <condition_variable>
#include <mutex>
#include <string_view>

#include "foedus-core/base/sync_point.h"

namespace foedus::testing {

class Hold {
 public:
  explicit Hold(std::string_view place) : place_(place) {
    held = this;
    base::set_sync_point_hook([](const char* at) {
      if (held->place_ == at) held->stop_here();
    });
  }
  ~Hold() {
    release();
    base::set_sync_point_hook(nullptr);
  }
  void wait_until_held() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_held_; });
  }
  void release() {
    const std::lock_guard lock(mutex_);
    is_released_ = true;
    changed_.notify_all();
  }

 private:
  void stop_here() {
    std::unique_lock lock(mutex_);
    is_held_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return is_released_; });
  }

  inline static Hold* held = nullptr;
  const std::string_view place_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_held_ = false;
  bool is_released_ = false;
};

}  // namespace foedus::testing
