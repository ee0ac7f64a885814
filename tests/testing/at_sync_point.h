#pragma once
// AtSyncPoint: runs an action at a sync point. Any thread may reach the point, several at once.

#include <atomic>
#include <functional>
#include <string>
#include <utility>

#include "foedus-core/base/system/sync_point.h"

namespace foedus::testing {

// Runs the action once unless it is to be repeated, and never from within the action itself.
class AtSyncPoint {
 public:
  AtSyncPoint(std::string place, std::function<void()> action, bool repeat = false) {
    active_ = this;
    place_ = std::move(place);
    action_ = std::move(action);
    repeat_ = repeat;
    base::set_sync_point_hook(&AtSyncPoint::hook);
  }
  ~AtSyncPoint() {
    base::set_sync_point_hook(nullptr);
    active_ = nullptr;
  }
  AtSyncPoint(const AtSyncPoint&) = delete;
  AtSyncPoint& operator=(const AtSyncPoint&) = delete;
  unsigned runs() const { return runs_; }

 private:
  static void hook(const char* place) {
    AtSyncPoint* const self = active_;
    if (self->place_ != place || self->is_running_.exchange(true)) return;
    if (self->runs_ == 0 || self->repeat_) {
      ++self->runs_;
      self->action_();
    }
    self->is_running_ = false;
  }

  static inline AtSyncPoint* active_ = nullptr;
  std::string place_;
  std::function<void()> action_;
  bool repeat_ = false;
  std::atomic<bool> is_running_ = false;
  std::atomic<unsigned> runs_ = 0;
};

}  // namespace foedus::testing
