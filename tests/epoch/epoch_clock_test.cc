// Every interleaving of the arguments E1-E4, E20 and E21, made by hand in one thread.
#include "foedus-core/epoch/epoch_clock.h"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>

#include "foedus-core/base/system/sync_point.h"
#include "tests/testing/manual_runtime.h"

namespace foedus::epoch::epoch_clock_test {
namespace {

constexpr std::uint64_t kIntervalUs = 10'000;
constexpr std::uint64_t kFirst = 7;

class EpochClockTest : public ::testing::Test {
 protected:
  // Lets an interval pass, then steps once: the clock advances if it may.
  std::uint64_t step_after_interval() {
    runtime_.run_for(kIntervalUs);
    return clock_.step();
  }
  void SetUp() override { clock_.step(); }  // the first step advances at once

  testing::ManualRuntime runtime_;
  EpochClock clock_{&runtime_, Epoch(kFirst), 4, kIntervalUs};
  const Epoch start_{kFirst + 1};  // current in each test
};

// The search of another session, which ends after some time.
class Unpinning : public base::Task {
 public:
  static constexpr std::uint64_t kAfterUs = 3 * kIntervalUs / 10;

  Unpinning(EpochClock* clock, std::uint32_t session) : clock_(clock), session_(session) {}
  const char* name() const override { return "unpinning"; }
  std::uint64_t step() override {
    if (std::exchange(is_first_, false)) return kAfterUs;
    clock_->unpin_cache(session_);
    return kUntilNotified;
  }

 private:
  EpochClock* const clock_;
  const std::uint32_t session_;
  bool is_first_ = true;
};

TEST(EpochClockListenersTest, starts_with_nothing_of_its_first_epoch_published_or_reclaimable) {
  testing::ManualRuntime runtime;
  EpochClock clock(&runtime, Epoch(kFirst), 4, kIntervalUs);
  EXPECT_EQ(clock.current(), Epoch(kFirst));
  EXPECT_EQ(clock.published(), Epoch(kFirst - 1));
  EXPECT_EQ(clock.reclaimable(), Epoch(kFirst - 1));
  EXPECT_EQ(clock.stuck_session(), -1);
}

// E28. A hurried epoch ends at once below half of all epochs, after half an interval at 11/16, and
// after a whole one from 7/8 on.
TEST(EpochClockListenersTest, hurries_less_the_more_epochs_are_used) {
  constexpr std::uint64_t kAll = Epoch::kMax + 1;
  for (const auto& [first, pause_us] : {std::pair{kAll / 4, std::uint64_t{0}},
                                        {kAll / 2 - 3, 0},
                                        {kAll / 16 * 11, kIntervalUs / 2},
                                        {kAll / 8 * 7, kIntervalUs},
                                        {kAll - 9, kIntervalUs}}) {
    testing::ManualRuntime runtime;
    EpochClock clock(&runtime, Epoch(first), 4, kIntervalUs);
    clock.step();
    ASSERT_EQ(clock.current(), Epoch(first + 1));
    clock.request_advance(clock.current());
    if (pause_us != 0) {
      runtime.run_for(pause_us - 1);
      EXPECT_EQ(clock.step(), 1u) << first;
      EXPECT_EQ(clock.current(), Epoch(first + 1)) << first;
      runtime.run_for(1);
    }
    clock.step();
    EXPECT_EQ(clock.current(), Epoch(first + 2)) << first;
  }
}

TEST(EpochClockListenersTest, stands_still_at_the_last_epoch) {
  testing::ManualRuntime runtime;
  EpochClock clock(&runtime, Epoch(Epoch::kMax - 1), 4, kIntervalUs);
  for (int i = 0; i < 3; ++i) {
    clock.step();
    clock.request_advance(clock.current());
    runtime.run_for(2 * kIntervalUs);
    EXPECT_EQ(clock.current(), Epoch(Epoch::kMax));
  }
  EXPECT_EQ(clock.published(), Epoch(Epoch::kMax - 1));
}

TEST_F(EpochClockTest, advances_once_per_interval_and_publishes_what_is_over) {
  EXPECT_EQ(clock_.current(), start_);
  EXPECT_EQ(clock_.step(), kIntervalUs);
  EXPECT_EQ(clock_.current(), start_);
  runtime_.run_for(kIntervalUs - 1);
  EXPECT_EQ(clock_.step(), 1u);
  runtime_.run_for(1);
  clock_.step();
  EXPECT_EQ(clock_.current(), start_.next());
  EXPECT_EQ(clock_.published(), start_);
}

TEST_F(EpochClockTest, as_a_task_it_advances_at_its_interval) {
  runtime_.start(&clock_);
  runtime_.run_for(100 * kIntervalUs);
  runtime_.stop(&clock_);
  EXPECT_GE(clock_.current().number(), start_.number() + 98);
  EXPECT_LE(clock_.current().number(), start_.number() + 101);
}

// E2, session first: it loaded e, so the clock waits for it, moves on only once, and publishes e
// when the commit has left.
TEST_F(EpochClockTest, an_epoch_is_not_published_while_a_commit_of_it_is_at_work) {
  const Epoch commit = clock_.enter_commit(2);
  EXPECT_EQ(commit, start_);
  step_after_interval();
  EXPECT_EQ(clock_.current(), commit.next());
  EXPECT_EQ(clock_.published(), commit.previous());
  step_after_interval();
  EXPECT_EQ(clock_.current(), commit.next());
  clock_.leave_commit(2);
  clock_.step();
  EXPECT_GE(clock_.published(), commit);
}

// E2, clock first: the session announced e, but the clock advanced before its fence. Its commit is
// of e + 1; the clock waits without need, which is allowed, and then publishes e.
TEST_F(EpochClockTest, a_commit_that_announced_the_old_epoch_and_loaded_the_new_one_is_of_the_new) {
  clock_.slot(1).in_commit.store_release(start_.number());  // first half of enter_commit()
  step_after_interval();
  ASSERT_EQ(clock_.current(), start_.next());
  EXPECT_EQ(clock_.published(), start_.previous());
  base::fence_seq_cst();
  const Epoch commit = clock_.current();  // second half
  EXPECT_EQ(commit, start_.next());
  clock_.leave_commit(1);
  clock_.step();
  EXPECT_EQ(clock_.published(), start_);
}

// E2: the session was delayed between its load of the epoch and its announcement, and e is already
// published. The announcement of e is late, but the commit is of e + 1, which is not published.
TEST_F(EpochClockTest, a_late_announcement_holds_back_the_epoch_of_its_commit) {
  const std::uint64_t loaded_early = clock_.current().number();
  step_after_interval();
  ASSERT_EQ(clock_.published(), start_);
  clock_.slot(1).in_commit.store_release(loaded_early);
  base::fence_seq_cst();
  const Epoch commit = clock_.current();
  EXPECT_EQ(commit, start_.next());
  for (int i = 0; i < 3; ++i) step_after_interval();
  EXPECT_EQ(clock_.published(), start_);
  clock_.leave_commit(1);
  clock_.step();
  EXPECT_GE(clock_.published(), commit);
}

// A session enters after the clock has checked it and before the publishing: it must be of the new
// epoch.
EpochClock* clock_at_sync_point = nullptr;
Epoch entered_at_sync_point;

TEST_F(EpochClockTest, a_commit_that_enters_after_the_look_is_of_the_new_epoch) {
  clock_at_sync_point = &clock_;
  base::set_sync_point_hook([](const char* place) {
    if (std::strcmp(place, "epoch:before_publish") != 0) return;
    entered_at_sync_point = clock_at_sync_point->enter_commit(0);
    base::set_sync_point_hook(nullptr);
  });
  step_after_interval();
  EXPECT_EQ(clock_.published(), start_);
  EXPECT_EQ(entered_at_sync_point, start_.next());
  for (int i = 0; i < 3; ++i) step_after_interval();
  EXPECT_EQ(clock_.published(), start_);
  clock_.leave_commit(0);
  clock_.step();
  EXPECT_GE(clock_.published(), entered_at_sync_point);
}

TEST_F(EpochClockTest, other_sessions_commit_in_the_new_epoch_while_one_is_waited_for) {
  EXPECT_EQ(clock_.enter_commit(0), start_);
  step_after_interval();
  EXPECT_EQ(clock_.enter_commit(1), start_.next());
  clock_.leave_commit(0);
  clock_.step();
  EXPECT_EQ(clock_.published(), start_);
  clock_.leave_commit(1);
}

// E3: a pin holds back reclamation, but neither the clock nor publishing.
TEST_F(EpochClockTest, a_pin_holds_back_reclamation_and_nothing_else) {
  clock_.pin(3);
  for (int i = 0; i < 10; ++i) step_after_interval();
  EXPECT_EQ(clock_.current().number(), start_.number() + 10);
  EXPECT_EQ(clock_.published().number(), start_.number() + 9);
  EXPECT_LT(clock_.reclaimable(), start_);
  clock_.unpin(3);
  clock_.step();
  EXPECT_EQ(clock_.reclaimable(), clock_.current().previous());
}

TEST_F(EpochClockTest, the_oldest_pin_counts) {
  clock_.pin(0);
  step_after_interval();
  clock_.pin(1);
  step_after_interval();
  clock_.pin(2);
  for (int i = 0; i < 2; ++i) step_after_interval();
  EXPECT_EQ(clock_.reclaimable(), start_.previous());
  clock_.unpin(0);
  clock_.step();
  EXPECT_EQ(clock_.reclaimable(), start_);
  clock_.unpin(2);
  clock_.step();
  EXPECT_EQ(clock_.reclaimable(), start_);
  clock_.unpin(1);
  clock_.step();
  EXPECT_EQ(clock_.reclaimable(), clock_.current().previous());
}

// E26: a lent pin is one until it was lent for too long, and again once it was taken back.
TEST_F(EpochClockTest, a_lent_pin_holds_for_a_while) {
  clock_.pin(2);
  clock_.lend_pin(2);
  for (int i = 0; i < 2; ++i) step_after_interval();
  EXPECT_EQ(clock_.reclaimable(), start_.previous());
  ASSERT_TRUE(clock_.take_pin_back(2));
  EXPECT_EQ(clock_.slot(2).pin.load_relaxed(), start_.number());
  runtime_.run_for(2 * EpochClock::kLentUsMax);
  step_after_interval();
  EXPECT_EQ(clock_.reclaimable(), start_.previous());
  clock_.lend_pin(2);
  step_after_interval();
  EXPECT_EQ(clock_.reclaimable(), start_.previous());
  runtime_.run_for(EpochClock::kLentUsMax);
  clock_.step();
  EXPECT_GT(clock_.reclaimable(), start_);
  EXPECT_FALSE(clock_.take_pin_back(2));
  EXPECT_EQ(clock_.slot(2).pin.load_relaxed(), 0u);
}

// E3: the pinned transaction may have found a page that is stamped with the epoch of the pin.
TEST_F(EpochClockTest, the_current_epoch_is_never_reclaimable) {
  for (int i = 0; i < 5; ++i) {
    const Epoch stamp = clock_.current();
    clock_.step();
    EXPECT_LT(clock_.reclaimable(), stamp);
    step_after_interval();
    clock_.step();
    EXPECT_GE(clock_.reclaimable(), stamp);
  }
}

// E3, clock first: the pin is set with an epoch that is long over and already reclaimable. Pages of
// that stamp were unlinked before the session's fence; the pin stops reclamation of later ones.
TEST_F(EpochClockTest, a_late_pin_holds_what_it_can_find) {
  const std::uint64_t loaded_early = clock_.current().number();
  for (int i = 0; i < 3; ++i) step_after_interval();
  ASSERT_GE(clock_.reclaimable().number(), loaded_early);
  clock_.slot(1).pin.store_release(loaded_early);
  base::fence_seq_cst();
  const Epoch stamp = clock_.current();  // of a page that the pinned session could find
  for (int i = 0; i < 3; ++i) step_after_interval();
  EXPECT_LT(clock_.reclaimable(), stamp);
  clock_.unpin(1);
  step_after_interval();
  EXPECT_GE(clock_.reclaimable(), stamp);
}

TEST_F(EpochClockTest, hurry_ends_the_epoch_that_is_waited_for_and_no_other) {
  runtime_.start(&clock_);
  runtime_.run_due();
  const Epoch waited_for = clock_.current();
  clock_.request_advance(waited_for);
  runtime_.run_due();
  EXPECT_EQ(clock_.published(), waited_for);
  EXPECT_EQ(clock_.current(), waited_for.next());
  const std::uint64_t steps = runtime_.step_count();
  clock_.request_advance(waited_for);  // is over: no waiter is woken
  runtime_.run_due();
  EXPECT_EQ(runtime_.step_count(), steps);
  runtime_.stop(&clock_);
}

TEST_F(EpochClockTest, hurry_waits_for_commits_at_work) {
  runtime_.start(&clock_);
  runtime_.run_due();
  const Epoch commit = clock_.enter_commit(1);
  clock_.request_advance(commit);
  runtime_.run_due();
  EXPECT_LT(clock_.published(), commit);
  clock_.leave_commit(1);
  runtime_.run_for(1'000);  // much less than an interval
  EXPECT_EQ(clock_.published(), commit);
  runtime_.stop(&clock_);
}

class Listener : public base::Task {
 public:
  const char* name() const override { return "listener"; }
  std::uint64_t step() override {
    ++steps;
    return kUntilNotified;
  }
  int steps = 0;
};

TEST(EpochClockListenersTest, tells_its_listeners_when_published_moves_and_only_then) {
  testing::ManualRuntime runtime;
  EpochClock clock(&runtime, Epoch(kFirst), 4, kIntervalUs);
  Listener listener;
  clock.notify_on_publish(&listener);
  runtime.start(&listener);
  runtime.run_due();
  clock.step();
  runtime.run_due();
  EXPECT_EQ(listener.steps, 2);
  EXPECT_EQ(clock.enter_commit(0), clock.current());
  runtime.run_for(kIntervalUs);
  clock.step();
  clock.step();
  runtime.run_due();
  EXPECT_EQ(listener.steps, 2);
  clock.leave_commit(0);
  clock.step();
  runtime.run_due();
  EXPECT_EQ(listener.steps, 3);
  runtime.stop(&listener);
}

TEST_F(EpochClockTest, a_session_that_holds_the_clock_for_a_second_is_named) {
  std::vector<std::string> lines;
  clock_.set_sink([&lines](LogLevel, std::string_view line) { lines.emplace_back(line); });
  (void)clock_.enter_commit(2);
  step_after_interval();
  EXPECT_EQ(clock_.stuck_session(), -1);
  runtime_.run_for(2'000'000);
  clock_.step();
  clock_.step();
  EXPECT_EQ(clock_.stuck_session(), 2);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("session 2 "), std::string::npos) << lines[0];
  clock_.leave_commit(2);
  clock_.step();
  EXPECT_EQ(clock_.stuck_session(), -1);
}

// ---- cache pins ------------------------------------------------------------------------------

TEST_F(EpochClockTest, pins_of_transactions_and_cache_pins_hold_back_their_own_word_only) {
  clock_.pin(0);
  clock_.pin_cache(1);
  step_after_interval();
  step_after_interval();
  EXPECT_LT(clock_.reclaimable(), start_);
  EXPECT_LT(clock_.cache_reclaimable(), start_);
  clock_.unpin_cache(1);
  step_after_interval();
  EXPECT_LT(clock_.reclaimable(), start_);
  EXPECT_GE(clock_.cache_reclaimable(), start_);
  clock_.unpin(0);
  clock_.pin_cache(1);
  const Epoch pinned = clock_.current();
  step_after_interval();
  step_after_interval();
  EXPECT_GE(clock_.reclaimable(), pinned);
  EXPECT_LT(clock_.cache_reclaimable(), pinned);
}

// E20: renewing a cache pin releases frames that were stamped before, and no others.
TEST_F(EpochClockTest, a_cache_pin_is_renewed_when_the_epoch_is_another) {
  clock_.pin_cache(2);
  const Epoch first = clock_.current();
  clock_.pin_cache(2);
  EXPECT_EQ(clock_.slot(2).cache_pin.load_relaxed(), first.number());
  step_after_interval();
  EXPECT_LT(clock_.cache_reclaimable(), first);
  clock_.pin_cache(2);
  const Epoch second = clock_.current();
  EXPECT_GT(second, first);
  step_after_interval();
  step_after_interval();
  EXPECT_GE(clock_.cache_reclaimable(), first);
  EXPECT_LT(clock_.cache_reclaimable(), second);
}

// E21: the clock hurries for a waiter, checks again soon while another session's pin is in the way,
// and does neither without a waiter.
TEST_F(EpochClockTest, who_waits_for_cache_pins_gets_an_epoch_on_demand_and_soon) {
  runtime_.start(&clock_);
  std::uint64_t left_us = 100 * kIntervalUs;
  EXPECT_TRUE(clock_.wait_cache_reclaimable(clock_.current(), &left_us));
  EXPECT_GT(left_us, 99 * kIntervalUs);

  clock_.pin_cache(3);
  const Epoch held = clock_.current();
  Unpinning unpinning(&clock_, 3);
  runtime_.start(&unpinning);
  const std::uint64_t begin_us = runtime_.now_us();
  EXPECT_TRUE(clock_.wait_cache_reclaimable(held, &left_us));
  EXPECT_LT(runtime_.now_us() - begin_us, Unpinning::kAfterUs + kIntervalUs / 10);
  EXPECT_LT(clock_.current().number(), held.number() + 3);  // one was asked for
  runtime_.stop(&unpinning);

  const std::uint64_t steps = runtime_.step_count();
  runtime_.run_for(100 * kIntervalUs);
  EXPECT_LT(runtime_.step_count() - steps, 400u);
  runtime_.stop(&clock_);
}

TEST_F(EpochClockTest, a_wait_for_a_cache_pin_that_stays_ends_in_time) {
  runtime_.start(&clock_);
  clock_.pin_cache(3);
  const std::uint64_t begin_us = runtime_.now_us();
  std::uint64_t left_us = 5 * kIntervalUs;
  EXPECT_FALSE(clock_.wait_cache_reclaimable(clock_.current(), &left_us));
  EXPECT_EQ(left_us, 0u);
  EXPECT_GE(runtime_.now_us() - begin_us, 5 * kIntervalUs);
  EXPECT_LT(runtime_.now_us() - begin_us, 7 * kIntervalUs);
  runtime_.stop(&clock_);
}

}  // namespace
}  // namespace foedus::epoch::epoch_clock_test
