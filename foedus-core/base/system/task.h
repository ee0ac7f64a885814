#pragma once
// Task and Runtime: all background work and all waiting of the engine.
//
//   T1  Background work is a Task, a thing with a step() that does a bounded piece of work. No
//       other file of the engine starts a thread.
//   T2  All waits go through Runtime::wait(). No other file sleeps or blocks on a condition.
//   T3  Because of T1 and T2 there can be two runtimes. One gives each task a thread. The test
//       runtime drives all tasks and all waits of an engine from one thread, in an order that a
//       seed decides.

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
  // A result of step(), which returns microseconds until the next step at the latest. 0: call again
  // at once.
  static constexpr std::uint64_t kUntilNotified = ~std::uint64_t{0};

  virtual ~Task() = default;
  // Returns a name for threads and messages, of which at most 15 bytes are shown. Constant.
  virtual const char* name() const = 0;
  // Returns true for long work that no thread waits for soon, and that holds no lock which others
  // spin for. The task's thread then gives way to those of users where threads outnumber
  // processors.
  virtual bool is_background() const { return false; }
  // Does a bounded piece of work. Never called by two threads at the same time.
  virtual std::uint64_t step() = 0;
  // Ends a step that threw std::bad_alloc (T4). Tells the threads that wait for the task, or leaves
  // it to the next step, which must find everything valid. Returns as step() does.
  virtual std::uint64_t step_failed(const std::bad_alloc&) noexcept { return kAfterFailureUs; }
  // Runs a step; a runtime calls it for each.
  std::uint64_t take_step() noexcept;

 protected:
  static constexpr std::uint64_t kAfterFailureUs = 10'000;
};

// Ready: a condition that is waited for. It refers to a function for as long as the call takes.
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

// WaitPoint: a place where threads wait for something to become true.
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

  // Returns monotonic microseconds.
  virtual std::uint64_t now_us() = 0;
  // Begins to step `task`, which must outlive stop(). Throws std::bad_alloc if there is no memory
  // or no thread for it (T5): it was not started.
  virtual void start(Task* task) = 0;
  // Begins to step `task` as start() does, on `processors` alone where its thread can be bound to
  // them. Empty: anywhere. A runtime whose tasks have no threads ignores `processors`.
  virtual void start_on(Task* task, std::span<const std::uint32_t>) { start(task); }
  // Returns when step() is not running and will not run again. The task is not stepped once more.
  // Does nothing about a task that was not started.
  virtual void stop(Task* task) = 0;
  // Makes a started task step soon, also if it is in a step now. Cheap if it is not asleep.
  virtual void notify(Task* task) = 0;
  // Waits until ready() is true. Returns true once it is, false if `timeout_us` passes before.
  // ready() must become true by another thread or task that calls wake() afterwards; it must not
  // block. This call and all below allocate nothing.
  virtual bool wait(WaitPoint* point, std::uint64_t timeout_us, Ready ready) = 0;
  virtual void wake(WaitPoint* point) = 0;
  // Steps `tasks` in the calling thread, so that a waiter need not wake one thread after the other
  // and sleep until the last is done. Steps the first task at least once, and the others as they
  // are notified. Returns true once ready() is true. Returns false if there is nothing to step
  // before, or if one of the tasks is at work in a thread of its own. Steps that are still due are
  // left to the tasks' threads. A runtime need not help, and none does with more than kHelpedMax
  // tasks.
  static constexpr std::size_t kHelpedMax = 2;
  virtual bool help(const std::vector<Task*>&, Ready) { return false; }
  // Waits for about that long, as a back-off.
  virtual void pause(std::uint64_t microseconds) = 0;

  // Returns how many processors threads run on, which are numbered from 0; 0: those of the machine.
  // Constant.
  virtual std::uint32_t processors() const { return 1; }
  // Returns the processor that the calling thread runs on at this moment.
  virtual std::uint32_t processor() { return 0; }
};

// Makes a runtime in which every task has a thread of its own.
std::unique_ptr<Runtime> make_thread_runtime();

}  // namespace foedus::base
