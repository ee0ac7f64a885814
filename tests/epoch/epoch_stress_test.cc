// ctest-labels: concurrency
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "foedus-core/epoch/epoch_clock.h"

namespace foedus::epoch::epoch_stress_test {
namespace {

// E2 with threads: while a commit of epoch e is at work, e is never published. Once it is, all
// stores of commits of e (plain words, for the sanitizer to watch) can be read.
TEST(EpochStressTest, what_is_published_is_complete) {
  constexpr std::uint32_t kSessions = 3;
  constexpr std::uint64_t kCommits = 30'000;
  struct Log {
    std::uint64_t epochs[kCommits];
    base::AtomicWord<std::uint64_t> committed;
  };
  const auto runtime = base::make_thread_runtime();
  EpochClock clock(runtime.get(), Epoch(1), kSessions, 100);
  std::vector<std::unique_ptr<Log>> logs;
  for (std::uint32_t i = 0; i < kSessions; ++i) logs.push_back(std::make_unique<Log>());
  runtime->start(&clock);

  std::vector<std::thread> sessions;
  for (std::uint32_t self = 0; self < kSessions; ++self) {
    sessions.emplace_back([&, self] {
      Log& log = *logs[self];
      for (std::uint64_t i = 0; i < kCommits; ++i) {
        const Epoch epoch = clock.enter_commit(self);
        ASSERT_LT(clock.published(), epoch);
        log.epochs[i] = epoch.number();
        log.committed.store_release(i + 1);
        ASSERT_LT(clock.published(), epoch);
        clock.leave_commit(self);
        if (i % 1000 == 0) clock.request_advance(epoch);
      }
    });
  }

  // A logger: records after the committed offset that it sees with published e are above e.
  std::vector<std::uint64_t> offsets(kSessions);
  bool all_seen = false;
  while (!all_seen) {
    const Epoch published = clock.published();
    all_seen = true;
    for (std::uint32_t s = 0; s < kSessions; ++s) {
      const std::uint64_t committed = logs[s]->committed.load_acquire();
      for (std::uint64_t i = offsets[s]; i < committed; ++i) ASSERT_NE(logs[s]->epochs[i], 0u);
      offsets[s] = committed;
      if (committed < kCommits) all_seen = false;
    }
    for (std::uint32_t s = 0; s < kSessions; ++s) {
      const std::uint64_t later = logs[s]->committed.load_acquire();
      for (std::uint64_t i = offsets[s]; i < later; ++i) {
        ASSERT_GT(logs[s]->epochs[i], published.number());
      }
    }
    runtime->pause(50);
  }
  for (std::thread& session : sessions) session.join();
  const Epoch last = clock.current();
  clock.request_advance(last);
  while (clock.published() < last) runtime->pause(50);
  runtime->stop(&clock);
}

// E3 with threads: the reclaimable epoch never reaches one in which an open transaction was pinned.
TEST(EpochStressTest, nothing_of_an_open_transactions_epoch_is_reclaimable) {
  constexpr std::uint32_t kSessions = 3;
  const auto runtime = base::make_thread_runtime();
  EpochClock clock(runtime.get(), Epoch(1), kSessions, 100);
  runtime->start(&clock);
  std::vector<std::thread> sessions;
  for (std::uint32_t self = 0; self < kSessions; ++self) {
    sessions.emplace_back([&, self] {
      for (int i = 0; i < 3'000; ++i) {
        clock.pin(self);
        base::fence_seq_cst();
        const Epoch stamp = clock.current();  // of a page unlinked now that this one may have found
        for (int looks = 0; looks < 10; ++looks) ASSERT_LT(clock.reclaimable(), stamp);
        if (i % 50 == 0) runtime->pause(200);
        ASSERT_LT(clock.reclaimable(), stamp);
        clock.unpin(self);
      }
    });
  }
  for (std::thread& session : sessions) session.join();
  runtime->stop(&clock);
}

}  // namespace
}  // namespace foedus::epoch::epoch_stress_test
