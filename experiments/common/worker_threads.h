#pragma once
// WorkerThreads: N threads that get ready, start work at the same moment, and report one Status.
//
//   getting ready ──arrive_and_wait()──► working ──return──► ended
//
// A body that returns before it arrives counts as arrived, so one failure never blocks the others.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "foedus/status.h"

namespace experiments {

class WorkerThreads {
 public:
  class Gate {
   public:
    // Waits until all workers are here. At most once per body; may be left out.
    void arrive_and_wait();

   private:
    friend class WorkerThreads;
    explicit Gate(WorkerThreads* threads) : threads_(threads) {}
    WorkerThreads* threads_;
    bool arrived_ = false;
  };
  using Body = std::function<foedus::Status(std::uint32_t worker, Gate& gate)>;

  WorkerThreads(std::uint32_t workers, Body body);
  ~WorkerThreads();
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  // Waits until all workers are at the gate or have ended.
  void wait_until_started();
  // True once a worker has ended with an error: the others should be told to stop. Never waits.
  bool has_failed() const;
  // Lets the workers work for `seconds`, then sets *stop and waits for all. Returns how long they
  // worked, in seconds; or the first error.
  foedus::Result<double> work_for(double seconds, std::atomic<bool>* stop);
  // Waits for all; the first error, or success.
  foedus::Status join();

 private:
  void arrive();
  void run(std::uint32_t worker);

  const std::uint32_t workers_;
  const Body body_;
  std::atomic<bool> failed_{false};

  std::mutex mutex_;  // guards what follows
  std::condition_variable all_arrived_;
  std::uint32_t arrived_ = 0;
  foedus::Status first_error_;

  std::vector<std::thread> threads_;  // of the owner only; last, so that the rest outlives them
};

// Runs body(worker) on that many threads and waits: for phases that need no common start.
foedus::Status run_workers(std::uint32_t workers,
                           const std::function<foedus::Status(std::uint32_t worker)>& body);

}  // namespace experiments
