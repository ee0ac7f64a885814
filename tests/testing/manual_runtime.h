#pragma once
// ManualRuntime: a Runtime without threads. Time is virtual; tasks run when the test steps them, or
// during a wait, in an order that the seed decides. Waits may be nested: a task that waits inside
// its step is not stepped again until it returns.

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/base/system/task.h"

namespace foedus::testing {

class ManualRuntime : public base::Runtime {
 public:
  explicit ManualRuntime(std::uint64_t seed = 1) : random_(seed) {}

  // Steps one task that is due, chosen by the seed. If none is due, time moves to the next one, but
  // not beyond `until_us`. Returns false if there was nothing to do.
  bool step_one(std::uint64_t until_us = ~std::uint64_t{0});
  // Steps tasks until `microseconds` have passed.
  void run_for(std::uint64_t microseconds);
  // Steps tasks that are due now until none is, at most `steps_max` times.
  void run_due(std::uint64_t steps_max = 10'000);
  // Steps `task` now, due or not.
  void step(base::Task* task);
  std::uint64_t step_count() const { return step_count_; }
  // Returns how many tasks were started and not stopped.
  std::size_t task_count() const { return entries_.size(); }
  // Stops stepping tasks of that name, also later ones, as if their threads had no processor.
  // Empty: none.
  void starve(std::string_view name);
  // The longest time of a wait() without a limit; after it the test is stopped as hanging.
  void set_patience_us(std::uint64_t patience_us) { patience_us_ = patience_us; }

  std::uint64_t now_us() override { return now_us_; }
  void start(base::Task* task) override;
  void stop(base::Task* task) override;
  void notify(base::Task* task) override;
  bool wait(base::WaitPoint* point, std::uint64_t timeout_us, base::Ready ready) override;
  void wake(base::WaitPoint* point) override;
  void pause(std::uint64_t microseconds) override { run_for(microseconds); }

  // Threads run on processor 0 of 1 unless a test sets the number before a database is opened. The
  // test can then move the calling thread to another processor at any time.
  void set_processors(std::uint32_t processors) { processors_ = processors; }
  void move_to(std::uint32_t processor) { processor_ = processor; }
  std::uint32_t processors() const override { return processors_; }
  std::uint32_t processor() override { return processor_; }

 private:
  struct Entry {
    base::Task* task;
    std::uint64_t due_us;
    bool is_running;
    bool notified;  // while it was running
    bool is_starved;
  };
  void step_entry(std::size_t index);
  std::size_t index_of(base::Task* task) const;

  base::Random random_;
  std::string starved_;  // a name; empty: none
  std::vector<Entry> entries_;
  std::vector<std::size_t> due_;  // of step_one(); room for all tasks: only start() allocates
  // Sessions of other threads read it while one thread steps tasks.
  std::atomic<std::uint64_t> now_us_ = 1'000'000;
  std::atomic<std::uint32_t> processor_ = 0;
  std::uint32_t processors_ = 1;
  std::uint64_t step_count_ = 0;
  std::uint64_t patience_us_ = 3'600'000'000;
};

}  // namespace foedus::testing
