#pragma once
// InstallThreads: threads that install a snapshot together with the gleaner's thread. Each belongs
// to a SOC, and has a stock of pages and a cache pin of its own (storage/base/install_workers.h).
//
//   E49 A thread lives as long as one installation, and works only during a call of run(). So the
//       pin of the caller (E17) protects the volatile pages that the thread looks at, from before
//       its work begins until after it has ended. The thread's own pin is for pages of the cache.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "foedus-core/base/system/task.h"
#include "foedus-core/epoch/epoch_clock.h"
#include "foedus-core/numa/topology.h"
#include "foedus-core/page/page_pool.h"
#include "foedus-core/page/session_pages.h"
#include "foedus-core/storage/base/install_workers.h"
#include "foedus/options.h"

namespace foedus::engine {

// Frees all retired pages at which no transaction can look any more. One call of
// SessionPages::reclaim() frees only a bounded number of them (P15).
void reclaim_all(page::SessionPages* pages);

class InstallThreads final : public storage::InstallWorkers {
 public:
  struct Parts {
    base::Runtime* runtime = nullptr;
    const numa::Topology* topology = nullptr;
    Facility numa_binding = Facility::kTry;
    epoch::EpochClock* clock = nullptr;
    page::PagePool* pool = nullptr;
    // The threads use the clock's slots from this one on, which are theirs alone.
    std::uint32_t first_slot = 0;
  };
  // `count`: number of installers, more than one; the caller's thread is one of them, with the
  // worker `first`.
  InstallThreads(const Parts& parts, std::uint32_t count, const Worker& first);
  ~InstallThreads() override;

  // Spans one installation: run() starts the threads when there is work for them, and the
  // destructor stops them.
  class Running {
   public:
    explicit Running(InstallThreads* threads) : threads_(threads) {}
    ~Running() {
      if (threads_ != nullptr) threads_->stop();
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    InstallThreads* const threads_;  // null: there are none
  };

  std::span<const Worker> workers() const override { return workers_; }
  void run(const std::function<void(std::size_t)>& work) override;

  // Gives pages that the threads have dropped back to the pool, if no transaction can look at them
  // any more. REQUIRES, as the next two functions do: no run() is in progress.
  void reclaim();
  // Returns the number of dropped pages at which transactions may still look.
  std::uint64_t retired_count() const;
  // Returns the processor time that the threads have taken since the last call. The time of the
  // caller's thread does not count.
  std::uint64_t take_cpu_us();

 private:
  class Thread;

  void start();
  void stop();
  void work(Thread* thread, std::size_t worker);

  const Parts parts_;
  std::vector<Worker> workers_;                   // constant
  std::vector<std::unique_ptr<Thread>> threads_;  // one for each worker but the first; constant
  // Used by the caller's thread.
  std::size_t started_ = 0;
  bool has_tried_ = false;  // start() was called in this installation

  base::WaitPoint done_;
  std::mutex mutex_;
  // Guarded by mutex_.
  const std::function<void(std::size_t)>* work_ = nullptr;  // argument of the last run()
  std::size_t left_ = 0;                                    // threads that have not ended work_
  std::uint64_t cpu_us_ = 0;
};

}  // namespace foedus::engine
