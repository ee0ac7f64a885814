#pragma once
// InstallCrew: sessions of a test that install together, in threads or one after another.

#include <cstdint>
#include <functional>
#include <span>
#include <thread>
#include <vector>

#include "foedus-core/storage/base/install_workers.h"
#include "tests/storage/storages.h"

namespace foedus::storage {

class InstallCrew final : public InstallWorkers {
 public:
  enum class Mode : std::uint8_t {
    kThreads,
    kLastFirst,  // in the caller's thread; the last worker does all before the others begin
    kOneStarts,  // the caller's thread alone
  };
  // Makes workers of sessions [first, first + count).
  InstallCrew(Storages* all, std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t i = first; i < first + count; ++i) {
      workers_.push_back({&all->session(i).pages(), i, i % all->socs()});
    }
  }
  void set_mode(Mode mode) { mode_ = mode; }
  // Returns the number of calls of run().
  unsigned runs() const { return runs_; }
  // Returns whether a call of run() is at work.
  bool is_running() const { return is_running_; }

  std::span<const Worker> workers() const override { return workers_; }
  void run(const std::function<void(std::size_t)>& work) override {
    ++runs_;
    is_running_ = true;
    start(work);
    is_running_ = false;
  }

 private:
  void start(const std::function<void(std::size_t)>& work) {
    if (mode_ == Mode::kOneStarts) return work(0);
    if (mode_ == Mode::kLastFirst) {
      for (std::size_t i = workers_.size(); i-- != 0;) work(i);
      return;
    }
    std::vector<std::thread> threads;
    for (std::size_t i = 1; i < workers_.size(); ++i) threads.emplace_back([&work, i] { work(i); });
    work(0);
    for (std::thread& thread : threads) thread.join();
  }

  std::vector<Worker> workers_;
  Mode mode_ = Mode::kThreads;
  unsigned runs_ = 0;
  bool is_running_ = false;  // changed while no thread is
};

}  // namespace foedus::storage
