// ctest-labels: concurrency
#include "foedus-core/occ/record_lock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace foedus::occ {
namespace {

constexpr int kThreads = 4;

template <typename Work>
void run_threads(Work&& work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back([&, i] { work(i); });
  for (std::thread& thread : threads) thread.join();
}

TEST(RecordLockTest, TryLockFailsWhileTheLockIsHeld) {
  LockWord word;
  LockWaiter holder;
  LockWaiter other;
  lock(&word, &holder);
  EXPECT_FALSE(try_lock(&word, &other));
  EXPECT_FALSE(try_lock_for(&word, &other, 10));
  unlock(&word, &holder);
  EXPECT_EQ(word.load_relaxed(), 0u);
  EXPECT_TRUE(try_lock_for(&word, &other, 10));
  unlock(&word, &other);
  EXPECT_EQ(word.load_relaxed(), 0u);
}

// Goal: one holder at a time, and what it did is seen by the next. Method: plain counters that only
// the lock protects, with waiters that are used again and again.
TEST(RecordLockTest, OneThreadHoldsItAtATime) {
  constexpr int kRounds = 20'000;
  LockWord words[3];
  std::uint64_t counters[3] = {};
  run_threads([&](int me) {
    LockWaiter waiter;
    for (int i = 0; i < kRounds; ++i) {
      const int which = (i + me) % 3;
      if (i % 5 == 0) {
        while (!try_lock_for(&words[which], &waiter, 100)) std::this_thread::yield();
      } else {
        lock(&words[which], &waiter);
      }
      ++counters[which];
      unlock(&words[which], &waiter);
    }
  });
  EXPECT_EQ(counters[0] + counters[1] + counters[2], std::uint64_t{kThreads} * kRounds);
  for (LockWord& word : words) EXPECT_EQ(word.load_relaxed(), 0u);
}

// Goal: locks are handed on in the order of arrival. Method: waiters queue up one by one behind a
// holder; each notes when it got the lock.
TEST(RecordLockTest, WaitersAreServedInOrder) {
  LockWord word;
  LockWaiter holder;
  lock(&word, &holder);
  std::vector<int> served;
  std::vector<std::thread> threads;
  std::vector<std::unique_ptr<LockWaiter>> waiters;
  for (int i = 0; i < kThreads; ++i) {
    waiters.push_back(std::make_unique<LockWaiter>());
    LockWaiter* const waiter = waiters.back().get();
    threads.emplace_back([&, i, waiter] {
      lock(&word, waiter);
      served.push_back(i);
      unlock(&word, waiter);
    });
    while (word.load_acquire() != reinterpret_cast<std::uint64_t>(waiter)) {
      std::this_thread::yield();
    }
  }
  unlock(&word, &holder);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(served, (std::vector<int>{0, 1, 2, 3}));
}

}  // namespace
}  // namespace foedus::occ
