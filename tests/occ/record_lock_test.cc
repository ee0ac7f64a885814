// ctest-labels: concurrency
#include "foedus-core/occ/record_lock.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "tests/testing/hold.h"

namespace foedus::occ::record_lock_test {
namespace {

constexpr int kThreads = 4;

template <typename Work>
void run_threads(Work&& work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back([&, i] { work(i); });
  for (std::thread& thread : threads) thread.join();
}

bool is_last(const LockWord& word, const LockWaiter& waiter) {
  return (word.load_acquire() & lock_bits::kLast) == reinterpret_cast<std::uint64_t>(&waiter);
}

void wait_until_queued(const LockWord& word, const LockWaiter& waiter) {
  while (!is_last(word, waiter)) std::this_thread::yield();
}

TEST(RecordLockTest, try_lock_fails_while_the_lock_is_held) {
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

// Goal: the lock has one holder at a time, and the next one sees its changes. Method: plain
// counters that only the lock protects; waiters are reused and give up at times.
TEST(RecordLockTest, the_word_says_which_session_holds_the_lock) {
  LockWord word;
  for (const std::uint32_t session : {0u, 1u, 65'534u}) {
    EXPECT_FALSE(is_held_by(word.load_relaxed(), session));
    LockWaiter waiter;
    waiter.set_session(session);
    ASSERT_TRUE(try_lock(&word, &waiter));
    EXPECT_TRUE(is_held_by(word.load_relaxed(), session));
    EXPECT_FALSE(is_held_by(word.load_relaxed(), session + 1));
    EXPECT_TRUE(is_held_by(word.load_relaxed() | lock_bits::kReserved | lock_bits::kLast, session));
    unlock(&word, &waiter);
  }
  LockWaiter of_no_session;
  ASSERT_TRUE(try_lock(&word, &of_no_session));
  EXPECT_FALSE(is_held_by(word.load_relaxed(), 0));
  unlock(&word, &of_no_session);
}

TEST(RecordLockTest, one_thread_holds_it_at_a_time) {
  constexpr int kRounds = 20'000;
  LockWord words[3];
  std::uint64_t counters[3] = {};
  run_threads([&](int me) {
    LockWaiter waiter;
    for (int i = 0; i < kRounds; ++i) {
      const int which = (i + me) % 3;
      if (i % 5 == 0) {
        while (!try_lock_for(&words[which], &waiter, 100)) std::this_thread::yield();
      } else if (i % 5 == 1) {
        while (!lock_for(&words[which], &waiter, 1)) std::this_thread::yield();
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

// Goal: waiters get the lock in the order of arrival. Method: waiters queue up one by one while the
// lock is held; each notes its turn.
TEST(RecordLockTest, waiters_are_served_in_order) {
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
    wait_until_queued(word, *waiter);
  }
  unlock(&word, &holder);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(served, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(word.load_relaxed(), 0u);
}

// Goal: a waiter without a processor stops no other thread. Method: the first of the queue is
// stopped where it yields; the holder releases the lock and takes it again and again.
TEST(RecordLockTest, a_free_lock_is_taken_before_a_waiter_without_a_processor) {
  LockWord word;
  LockWaiter holder;
  LockWaiter waiter;
  lock(&word, &holder);
  testing::Hold waits("spin:yield");
  std::thread thread([&] {
    lock(&word, &waiter);
    unlock(&word, &waiter);
  });
  waits.wait_until_held();
  EXPECT_TRUE(is_last(word, waiter));
  for (int i = 0; i < 1000; ++i) {
    unlock(&word, &holder);
    EXPECT_FALSE(is_held(word.load_relaxed()));
    lock(&word, &holder);
  }
  unlock(&word, &holder);
  waits.release();
  thread.join();
  EXPECT_EQ(word.load_relaxed(), 0u);
}

// Goal: a long waiter does not starve. Method: the first of the queue has waited until it parks,
// and is stopped just before. The freed lock is reserved for it, and no other thread takes it.
TEST(RecordLockTest, the_first_of_the_queue_is_next_once_it_has_waited_for_long) {
  LockWord word;
  LockWaiter holder;
  LockWaiter waiter;
  lock(&word, &holder);
  bool has_been_in = false;
  testing::Hold parks("park:sleep");
  std::thread thread([&] {
    lock(&word, &waiter);
    has_been_in = true;
    unlock(&word, &waiter);
  });
  parks.wait_until_held();
  EXPECT_NE(word.load_relaxed() & lock_bits::kReserved, 0u);
  unlock(&word, &holder);
  EXPECT_FALSE(try_lock(&word, &holder));
  parks.release();
  lock(&word, &holder);
  EXPECT_TRUE(has_been_in);
  unlock(&word, &holder);
  thread.join();
  EXPECT_EQ(word.load_relaxed(), 0u);
}

// Goal: a long wait takes no processor time. Method: threads queue up while the lock is held. Each
// takes a bounded number of turns in spin loops, parks, and does nothing more until the release.
TEST(RecordLockTest, waiters_park_until_the_holder_lets_go) {
  constexpr unsigned kRestsMax = 16;  // of a thread: some yields, and the first few sleeps
  LockWord word;
  LockWaiter holder;
  lock(&word, &holder);
  const testing::Hold rests;
  std::vector<std::thread> threads;
  std::vector<std::unique_ptr<LockWaiter>> waiters;
  for (unsigned i = 0; i < kThreads; ++i) {
    waiters.push_back(std::make_unique<LockWaiter>());
    LockWaiter* const waiter = waiters.back().get();
    threads.emplace_back([&, waiter] {
      lock(&word, waiter);
      unlock(&word, waiter);
    });
    wait_until_queued(word, *waiter);
    rests.wait_for_parks(i + 1);
  }
  EXPECT_LE(rests.yields() + rests.sleeps(), kRestsMax * kThreads);
  // A thread wakes for a signal or two and for the arrival of the next waiter, and not otherwise.
  EXPECT_LE(rests.parks(), 4u * kThreads);
  unlock(&word, &holder);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(word.load_relaxed(), 0u);
}

// Goal: each waiter for a lock that is never released waits for a bounded time. Method: waiters
// queue up, the first with the longest time limit.
TEST(RecordLockTest, waiters_give_up_and_say_who_has_the_lock) {
  LockWord word;
  LockWaiter holder;
  holder.set_session(7);
  lock(&word, &holder);
  std::vector<std::thread> threads;
  std::vector<std::unique_ptr<LockWaiter>> waiters;
  for (int i = 0; i < kThreads; ++i) {
    waiters.push_back(std::make_unique<LockWaiter>());
    LockWaiter* const waiter = waiters.back().get();
    const std::uint64_t timeout_us = i == 0 ? 20'000 : 1'000;
    threads.emplace_back([&word, waiter, timeout_us] {
      EXPECT_FALSE(lock_for(&word, waiter, timeout_us));
      EXPECT_EQ(waiter->met_session(), 7);
    });
    wait_until_queued(word, *waiter);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(word.load_relaxed(), holder.mark);
  unlock(&word, &holder);
  LockWaiter next;
  EXPECT_TRUE(lock_for(&word, &next, 0));
  EXPECT_EQ(next.met_session(), -1);
  unlock(&word, &next);
  EXPECT_EQ(word.load_relaxed(), 0u);
}

// Method: the first waiter has a short time limit, the second none.
TEST(RecordLockTest, a_waiter_is_the_first_when_the_one_in_front_gives_up) {
  LockWord word;
  LockWaiter holder;
  LockWaiter front;
  LockWaiter behind;
  lock(&word, &holder);
  testing::Hold waits("spin:yield");
  std::thread first([&] { EXPECT_FALSE(lock_for(&word, &front, 1'000)); });
  waits.wait_until_held();
  std::thread second([&] {
    lock(&word, &behind);
    unlock(&word, &behind);
  });
  wait_until_queued(word, behind);
  waits.release();
  first.join();
  unlock(&word, &holder);
  second.join();
  EXPECT_EQ(word.load_relaxed(), 0u);
}

}  // namespace
}  // namespace foedus::occ::record_lock_test
