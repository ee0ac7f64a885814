// ctest-labels: concurrency
// Workers start together, one that fails never blocks the others, and its error is reported.

#include "experiments/common/worker_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>

namespace experiments::worker_threads_test {
namespace {

TEST(WorkerThreadsTest, nobody_passes_the_gate_before_all_are_there) {
  constexpr std::uint32_t kWorkers = 8;
  std::atomic<std::uint32_t> ready{0};
  std::atomic<std::uint32_t> early{0};
  WorkerThreads threads(kWorkers, [&](std::uint32_t, WorkerThreads::Gate& gate) {
    ++ready;
    gate.arrive_and_wait();
    if (ready.load() != kWorkers) ++early;
    return foedus::Status();
  });
  threads.wait_until_started();
  EXPECT_EQ(ready.load(), kWorkers);
  EXPECT_TRUE(threads.join().is_ok());
  EXPECT_EQ(early.load(), 0u);
}

TEST(WorkerThreadsTest, worker_that_fails_before_the_gate_does_not_block_the_others) {
  WorkerThreads threads(3, [](std::uint32_t worker, WorkerThreads::Gate& gate) {
    if (worker == 1) return foedus::Status(foedus::ErrorCode::kBusy);
    gate.arrive_and_wait();
    return foedus::Status();
  });
  threads.wait_until_started();
  EXPECT_EQ(threads.join().code(), foedus::ErrorCode::kBusy);
  EXPECT_TRUE(threads.has_failed());
}

TEST(WorkerThreadsTest, each_number_is_run_once) {
  std::atomic<std::uint32_t> bits{0};
  EXPECT_TRUE(run_workers(5, [&](std::uint32_t worker) {
                bits += 1u << worker;
                return foedus::Status();
              }).is_ok());
  EXPECT_EQ(bits.load(), 0b11111u);
}

}  // namespace
}  // namespace experiments::worker_threads_test
