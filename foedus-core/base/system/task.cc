// The runtime of production: a thread per task, a mutex and a condition variable per sleeper.
#include "foedus-core/base/system/task.h"

#include <unistd.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/system/clock.h"
#include "foedus-core/base/system/processor.h"
#include "foedus-core/base/system/thread.h"

namespace foedus::base {

struct WaitPoint::Parking {
  std::mutex mutex;
  std::condition_variable awake;
};

WaitPoint::WaitPoint() : parking_(std::make_unique<Parking>()) {}
WaitPoint::~WaitPoint() = default;

std::uint64_t Task::take_step() noexcept {
  try {
    return step();
  } catch (const std::bad_alloc& thrown) {
    return step_failed(thrown);
  }
}

namespace {

// The niceness of background tasks: a tenth of the processor where another thread wants it.
constexpr int kBackgroundNice = 10;

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

}  // namespace

// TaskThread: the thread of one task.
class TaskThread {
 public:
  TaskThread(Task* task, std::span<const std::uint32_t> processors)
      : task_(task),
        processors_(processors.begin(), processors.end()),
        thread_(task->name(), [this] { run(); }) {}

  void notify() {
    const std::lock_guard lock(mutex_);
    notified_ = true;
    if (!claimed_) awake_.notify_one();
  }

  // Lets the caller step the task, until give_back(). Returns false if another thread does, or the
  // task stops.
  bool try_claim() {
    const std::lock_guard lock(mutex_);
    if (claimed_ || stopping_) return false;
    claimed_ = true;
    return true;
  }
  // Returns whether the task was notified since its last step. Called by the claimant.
  bool is_notified() {
    const std::lock_guard lock(mutex_);
    return notified_;
  }
  std::uint64_t step_claimed() {
    {
      const std::lock_guard lock(mutex_);
      notified_ = false;
    }
    const std::uint64_t rest_us = task_->take_step();
    due_us_ = due_after(rest_us);
    return rest_us;
  }
  void give_back() {
    const std::lock_guard lock(mutex_);
    claimed_ = false;
    if (notified_ || stopping_ || due_us_ < wakes_us_) awake_.notify_one();
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
    // Niceness is the calling thread's alone. The system lets every thread raise it; if not,
    // nothing is lost.
    if (task_->is_background()) {
      [[maybe_unused]] const int ignored = ::nice(kBackgroundNice);
    }
    // The system refuses if it has taken the processors from the process. The task then runs on
    // others.
    if (!processors_.empty()) static_cast<void>(run_on(processors_));
    std::unique_lock lock(mutex_);
    for (;;) {
      if (!claimed_ && stopping_) return;
      if (!claimed_ && (notified_ || system_now_us() >= due_us_)) {
        claimed_ = true;
        notified_ = false;
        lock.unlock();
        const std::uint64_t rest_us = task_->take_step();
        lock.lock();
        claimed_ = false;
        due_us_ = due_after(rest_us);
        continue;
      }
      // A thread that has claimed the task meanwhile wakes this one if anything is left to do.
      const std::uint64_t now_us = system_now_us();
      wakes_us_ = claimed_ ? Task::kUntilNotified : due_us_;
      const std::uint64_t rest_us = wakes_us_ > now_us ? wakes_us_ - now_us : 0;
      wait_for(&awake_, &lock, rest_us, [this] {
        return !claimed_ && (notified_ || stopping_ || due_us_ < wakes_us_);
      });
      wakes_us_ = 0;
    }
  }

  static std::uint64_t due_after(std::uint64_t rest_us) {
    return rest_us == Task::kUntilNotified ? rest_us : system_now_us() + rest_us;
  }

  Task* const task_;
  const std::vector<std::uint32_t> processors_;  // empty: any
  std::mutex mutex_;
  std::condition_variable awake_;
  // Guarded by mutex_.
  bool notified_ = false;
  bool stopping_ = false;
  bool claimed_ = false;        // a thread is in a step, or about to be
  std::uint64_t wakes_us_ = 0;  // when the thread wakes by itself; 0: it does not sleep
  // Written by the claimant, read under mutex_ while there is none.
  std::uint64_t due_us_ = 0;  // when the next step is due
  Thread thread_;             // last: run() uses all of the above
};

class ThreadRuntime : public Runtime {
 public:
  ~ThreadRuntime() override { FOEDUS_INVARIANT(threads_.empty(), threads_.size()); }

  std::uint64_t now_us() override { return system_now_us(); }

  void start(Task* task) override { start_on(task, {}); }

  void start_on(Task* task, std::span<const std::uint32_t> processors) override {
    const std::lock_guard lock(mutex_);
    const auto [at, is_new] = threads_.try_emplace(task);
    FOEDUS_INVARIANT(is_new, task->name());
    try {
      at->second = std::make_unique<TaskThread>(task, processors);
    } catch (const std::bad_alloc&) {
      threads_.erase(at);
      throw;
    }
  }

  void stop(Task* task) override {
    std::unique_ptr<TaskThread> thread;
    {
      const std::lock_guard lock(mutex_);
      const auto found = threads_.find(task);
      if (found == threads_.end()) return;
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

  bool wait(WaitPoint* point, std::uint64_t timeout_us, Ready ready) override {
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

  bool help(const std::vector<Task*>& tasks, Ready ready) override {
    Claimed claimed;
    if (tasks.empty() || tasks.size() > kHelpedMax || !claim_all(tasks, &claimed)) return false;
    const bool became_ready = step_all(claimed, ready);
    give_back(claimed);
    return became_ready;
  }

  void pause(std::uint64_t microseconds) override { system_sleep_us(microseconds); }

  std::uint32_t processors() const override { return 0; }
  std::uint32_t processor() override { return current_processor(); }

 private:
  struct Claimed {
    std::array<TaskThread*, kHelpedMax> threads{};
    std::size_t count = 0;
  };

  // A step that asks to be called again this soon waits for what takes no longer.
  static constexpr std::uint64_t kShortRestUs = 20;
  static constexpr unsigned kShortRests = 50;

  // All or none.
  bool claim_all(const std::vector<Task*>& tasks, Claimed* claimed) {
    const std::lock_guard lock(mutex_);
    for (Task* const task : tasks) {
      const auto found = threads_.find(task);
      if (found == threads_.end() || !found->second->try_claim()) {
        give_back(*claimed);
        return false;
      }
      claimed->threads[claimed->count++] = found->second.get();
    }
    return true;
  }

  static void give_back(const Claimed& claimed) {
    for (std::size_t i = 0; i < claimed.count; ++i) claimed.threads[i]->give_back();
  }

  static bool step_all(const Claimed& claimed, Ready ready) {
    SpinWait spin;
    unsigned short_rests = 0;
    TaskThread* const first = claimed.threads[0];
    std::uint64_t rest_us = first->step_claimed();
    for (;;) {
      bool stepped = false;
      for (std::size_t i = 0; i < claimed.count; ++i) {
        TaskThread* const thread = claimed.threads[i];
        if (!thread->is_notified()) continue;
        const std::uint64_t rest = thread->step_claimed();
        if (thread == first) rest_us = rest;
        stepped = true;
      }
      if (ready()) return true;
      if (stepped) continue;
      if (rest_us > kShortRestUs || ++short_rests > kShortRests) return false;
      spin.once();
      rest_us = first->step_claimed();
    }
  }

  std::mutex mutex_;
  std::map<Task*, std::unique_ptr<TaskThread>> threads_;  // guarded by mutex_
};

std::unique_ptr<Runtime> make_thread_runtime() { return std::make_unique<ThreadRuntime>(); }

}  // namespace foedus::base
