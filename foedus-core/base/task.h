#pragma once
// Task and Runtime: all background work and all waiting of the engine.
//
//   T1  Background work is a Task, a thing with a step() that does a bounded piece of work. No
//       other file of the engine starts a thread.
//   T2  Whoever waits, waits through Runtime::wait(). No other file sleeps or blocks on a
//       condition.
//   T3  So one runtime gives each task a thread, and another drives all tasks and all waits of an
//       engine from one thread in an order that a seed decides (the test runtime).

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/out_of_memory.h"

namespace foedus::base {

class Task {
 public:
  // What step() returns: microseconds until the next step at the latest. 0: call again at once.
  static constexpr std::uint64_t kUntilNotified = ~std::uint64_t{0};

  virtual ~Task() = default;
  // For thread names and messages; at most 15 bytes are shown. Constant.
  virtual const char* name() const = 0;
  // Long work that nobody waits for soon, and that holds no lock which others spin for: its thread
  // gives way to those of users where there are more threads than processors.
  virtual bool is_background() const { return false; }
  // Never called by two threads at the same time.
  virtual std::uint64_t step() = 0;
  // In place of the rest of a step that threw std::bad_alloc (T4): tells whoever waits for it, or
  // leaves it to the next step, which must find everything valid. Returns as step() does.
  virtual std::uint64_t step_failed(const std::bad_alloc&) noexcept { return kAfterFailureUs; }
  // What a runtime calls for each step.
  std::uint64_t take_step() noexcept;

 protected:
  static constexpr std::uint64_t kAfterFailureUs = 10'000;
};

// A condition that is waited for: refers to a function for as long as the call takes.
class Ready {
 public:
  template <typename Function>
  requires(!std::is_same_v<Function, Ready>)
  Ready(const Function& function)  // NOLINT: implicit, as std::function would be
      : function_(&function),
        call_([](const void* called) -> bool {
          return (*static_cast<const Function*>(called))();
        }) {}
  bool operator()() const { return call_(function_); }

 private:
  const void* function_;
  bool (*call_)(const void*);
};

// A place where threads wait for something to become true.
class WaitPoint {
 public:
  WaitPoint();
  ~WaitPoint();
  WaitPoint(const WaitPoint&) = delete;
  WaitPoint& operator=(const WaitPoint&) = delete;

 private:
  friend class Runtime;
  friend class ThreadRuntime;
  struct Parking;
  std::unique_ptr<Parking> parking_;
  AtomicWord<std::uint32_t> waiters_;  // threads that are about to park or parked
};

class Runtime {
 public:
  static constexpr std::uint64_t kForever = ~std::uint64_t{0};

  virtual ~Runtime() = default;

  // Monotonic microseconds.
  virtual std::uint64_t now_us() = 0;
  // Begins to step `task`, which must outlive stop(). Throws std::bad_alloc if there is no memory
  // or no thread for it (T5): it was not started.
  virtual void start(Task* task) = 0;
  // Begins to step `task` as start() does, on `processors` alone where its thread can be bound to
  // them. Empty: anywhere. A runtime whose tasks have no threads does not ask.
  virtual void start_on(Task* task, std::span<const std::uint32_t>) { start(task); }
  // Returns when step() is not running and will not run again. The task is not stepped once more.
  // Does nothing about a task that was not started.
  virtual void stop(Task* task) = 0;
  // Makes a started task step soon, also if it is in a step now. Cheap if it is not asleep.
  virtual void notify(Task* task) = 0;
  // Returns true once ready() does, false if `timeout_us` passes before. ready() must become true
  // by another thread or task that calls wake() afterwards; it must not block. Allocates nothing,
  // as all from here on.
  virtual bool wait(WaitPoint* point, std::uint64_t timeout_us, Ready ready) = 0;
  virtual void wake(WaitPoint* point) = 0;
  // Steps `tasks` in the calling thread, the first one at least once and the others as they are
  // notified, until ready() is true, which it returns; or until there is nothing to step, or one of
  // them is at work in a thread of its own. What a waiter does who would else wake one thread after
  // the other and sleep until the last of them is done. Steps that are still due are left to the
  // tasks' threads. A runtime need not help, and none does with more than kHelpedMax tasks.
  static constexpr std::size_t kHelpedMax = 2;
  virtual bool help(const std::vector<Task*>&, Ready) { return false; }
  // Waits for about that long: a back-off.
  virtual void pause(std::uint64_t microseconds) = 0;

  // Returns how many processors threads run on, which are numbered from 0; 0: those of the machine.
  // Constant.
  virtual std::uint32_t processors() const { return 1; }
  // Returns the processor that the calling thread runs on at this moment.
  virtual std::uint32_t processor() { return 0; }
};

// Every task has a thread of its own.
std::unique_ptr<Runtime> make_thread_runtime();

}  // namespace foedus::base
