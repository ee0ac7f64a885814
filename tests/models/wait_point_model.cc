// Sleeps and wakes: the runtime of production, base/system/task.{h,cc} itself. A lost wake-up is a
// deadlock. Waiters check a relaxed word, so that all order comes from the runtime.
#include <unistd.h>

#include <chrono>
#include <map>

#include "tests/models/harness/threads.h"

#include "foedus-core/base/system/task.cc"

namespace {

using namespace foedus;

struct Word {
  rl::atomic<int> word{0};

  int get() { return word.load(rl::mo_relaxed, MODEL_HERE); }
  void set(int value) { word.store(value, rl::mo_relaxed, MODEL_HERE); }
};

// All but the last thread wait for a condition that the last one makes true.
template <rl::thread_id_t kThreads>
struct Waiting : model::Suite<Waiting<kThreads>, kThreads> {
  std::unique_ptr<base::Runtime> runtime = base::make_thread_runtime();
  base::WaitPoint point;
  Word is_ready;

  void thread(unsigned index) {
    if (index == kThreads - 1) {
      is_ready.set(1);
      runtime->wake(&point);
      return;
    }
    const bool waited =
        runtime->wait(&point, base::Runtime::kForever, [this] { return is_ready.get() != 0; });
    model::require(waited, "a wait without a timeout has no other end");
  }
};

// A task whose step makes the condition true and wakes its waiters.
struct Work : base::Task {
  base::Runtime* runtime = nullptr;
  base::WaitPoint done;
  Word wanted;
  Word made;

  const char* name() const override { return "work"; }
  std::uint64_t step() override {
    if (wanted.get() != made.get()) {
      made.set(wanted.get());
      runtime->wake(&done);
    }
    return kUntilNotified;
  }
};

// Thread 0 is the task's own. The other requests work, waits for it, and stops the task; if kHelps,
// it tries to do the step itself first.
template <bool kHelps>
struct Notifying : model::Suite<Notifying<kHelps>, 2> {
  std::unique_ptr<base::Runtime> runtime = base::make_thread_runtime();
  Work work;

  void before() {
    work.runtime = runtime.get();
    runtime->start(&work);
  }
  void thread(unsigned index) {
    if (index == 0) return model::Thread::run_last();
    const auto is_made = [this] { return work.made.get() == 1; };
    work.wanted.set(1);
    const bool helped = kHelps && runtime->help({&work}, is_made);
    if (!helped) {
      runtime->notify(&work);
      runtime->wait(&work.done, base::Runtime::kForever, is_made);
    }
    runtime->stop(&work);
    model::require(is_made(), "the work is done");
  }
};

}  // namespace

int main(int argc, char** argv) {
  model::Protocol protocol{
      "sleeping and waking",
      {model::scenario<Waiting<2>, 6>("one waits"), model::scenario<Waiting<3>, 4>("two wait"),
       model::scenario<Notifying<false>, 4>("a task is notified"),
       model::scenario<Notifying<true>, 4>("a task is helped")},
      {}};
  return protocol.check(argc, argv);
}
