#pragma once
// Stands in for the runtime: time stands still, a waiter checks again and again, and a notification
// rings a bell at which one thread of the model may sleep. wait_point_model.cc has sleeps and wakes
// of the real one.

#include "foedus-core/base/system/task.h"
#include "tests/models/harness/threads.h"

namespace foedus::base {

struct WaitPoint::Parking {};
inline WaitPoint::WaitPoint() = default;
inline WaitPoint::~WaitPoint() = default;

}  // namespace foedus::base

namespace model {

// A place for one sleeper; a deadlock if no thread rings.
class Bell {
 public:
  void ring() {
    const std::lock_guard lock(lock_);
    rung_ = true;
    awake_.notify_one();
  }
  void sleep() {
    std::unique_lock lock(lock_);
    awake_.wait(lock, [this] { return rung_; });
    rung_ = false;
  }

 private:
  Mutex lock_;
  ConditionVariable awake_;
  bool rung_ = false;  // guarded by lock_
};

// If kRings, notify() rings; otherwise no thread sleeps.
template <bool kRings = false>
class Runtime : public foedus::base::Runtime {
 public:
  std::uint64_t now_us() override { return 0; }
  void start(foedus::base::Task*) override {}
  void stop(foedus::base::Task*) override {}
  void notify(foedus::base::Task*) override {
    if (kRings) bell_.ring();
  }
  bool wait(foedus::base::WaitPoint*, std::uint64_t, foedus::base::Ready ready) override {
    while (!ready()) rl::yield(1, MODEL_HERE);
    return true;
  }
  void wake(foedus::base::WaitPoint*) override {}
  void pause(std::uint64_t) override { rl::yield(1, MODEL_HERE); }

  Bell& bell() { return bell_; }

 private:
  Bell bell_;
};

}  // namespace model
