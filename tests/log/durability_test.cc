// Tickets and waiters: they are woken after the durable epoch moved, callbacks run once, and errors
// reach them.
#include "foedus-core/log/durability.h"

#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "foedus-core/log/log_progress.h"
#include "foedus/ticket.h"
#include "tests/log/log_harness.h"
#include "tests/testing/at_sync_point.h"

namespace foedus::log::testing::durability_test {
namespace {

// Notes what it is asked to step in the waiter's thread.
class HelpingRuntime final : public ManualRuntime {
 public:
  bool help(const std::vector<base::Task*>& tasks, base::Ready) override {
    ++calls;
    helped = tasks;
    if (on_help) on_help();
    return on_help != nullptr;
  }
  std::uint64_t calls = 0;
  std::vector<base::Task*> helped;
  std::function<void()> on_help;
};

class IdleTask final : public base::Task {
 public:
  const char* name() const override { return "idle"; }
  std::uint64_t step() override { return kUntilNotified; }
};

// Goal: a waiter of the only logger syncs in its own thread if it has much time and asked first.
TEST(DurabilityTest, a_waiter_that_has_asked_helps_the_only_logger) {
  constexpr std::uint64_t kEnoughUs = 10'000'000;
  HelpingRuntime runtime;
  internal::DurabilityWaits waits(&runtime);
  epoch::EpochClock clock(&runtime, Epoch(2), 4, 10'000);
  IdleTask logger;
  waits.set_clock(&clock, &logger);
  runtime.on_help = [&] { waits.announce(waits.durable().next()); };
  ASSERT_OK(waits.wait(Epoch(1), kEnoughUs));
  EXPECT_EQ(runtime.calls, 1u);
  EXPECT_EQ(runtime.helped, (std::vector<base::Task*>{&clock, &logger}));

  EXPECT_EQ(waits.wait(Epoch(2), kEnoughUs - 1).code(), ErrorCode::kTimeout);
  EXPECT_EQ(runtime.calls, 1u);

  ASSERT_TRUE(clock.raise_requested_epoch(Epoch(3)));
  EXPECT_EQ(waits.wait(Epoch(3), kEnoughUs).code(), ErrorCode::kTimeout);
  EXPECT_EQ(runtime.calls, 1u);

  runtime.on_help = nullptr;  // it cannot help
  EXPECT_EQ(waits.wait(Epoch(4), kEnoughUs).code(), ErrorCode::kTimeout);
  EXPECT_EQ(runtime.calls, 2u);
}

TEST(DurabilityTest, a_waiter_of_several_loggers_does_not_help) {
  HelpingRuntime runtime;
  internal::DurabilityWaits waits(&runtime);
  epoch::EpochClock clock(&runtime, Epoch(2), 4, 10'000);
  waits.set_clock(&clock);
  EXPECT_EQ(waits.wait(Epoch(1), 10'000'000).code(), ErrorCode::kTimeout);
  EXPECT_EQ(runtime.calls, 0u);
}

TEST(DurabilityTest, a_ticket_without_a_log_is_durable_at_once) {
  const Ticket none;
  EXPECT_TRUE(none.is_durable());
  EXPECT_TRUE(none.wait_durable(0).is_ok());
  int calls = 0;
  none.on_durable([&](const Status& status) { calls += status.is_ok() ? 1 : 100; });
  EXPECT_EQ(calls, 1);

  ManualRuntime runtime;
  internal::DurabilityWaits waits(&runtime, true);
  const Ticket ticket(&waits, Epoch(12'345));
  EXPECT_TRUE(ticket.is_durable());
  EXPECT_TRUE(ticket.wait_durable().is_ok());
  ticket.on_durable([&](const Status& status) { calls += status.is_ok() ? 1 : 100; });
  EXPECT_EQ(calls, 2);
}

TEST(DurabilityTest, a_wait_ends_at_its_timeout_and_the_ticket_stays_good) {
  FailingDevice device;
  LogRun run(&device);
  ASSERT_OK(run.open_and_start());
  const auto epoch = run.session(0)->commit(1, 10);
  ASSERT_OK(epoch);
  const Ticket ticket(&run.log->durability(), *epoch);
  EXPECT_FALSE(ticket.is_durable());
  const std::uint64_t begin_us = run.runtime.now_us();
  const Status timeout = ticket.wait_durable(0);
  EXPECT_EQ(timeout.code(), ErrorCode::kTimeout);
  EXPECT_NE(timeout.message().find("epoch " + std::to_string(epoch->number()) +
                                   " is not durable yet"),
            std::string::npos)
      << timeout.message();
  EXPECT_EQ(run.runtime.now_us(), begin_us);
  run.clock->enter_commit(63);  // a session that does not leave its commit holds the epoch
  EXPECT_EQ(ticket.wait_durable(5'000).code(), ErrorCode::kTimeout);
  EXPECT_GE(run.runtime.now_us(), begin_us + 5'000);
  EXPECT_LT(run.runtime.now_us(), begin_us + 6'000);
  run.clock->leave_commit(63);
  ASSERT_OK(ticket.wait_durable());
  EXPECT_TRUE(ticket.is_durable());
}

TEST(DurabilityTest, a_waiter_does_not_wait_for_the_end_of_the_interval) {
  FailingDevice device;
  LogRun run(&device, 4);
  ASSERT_OK(run.open_and_start());
  run.session(2);
  run.runtime.run_for(10'500);
  for (std::uint64_t i = 0; i < 20; ++i) {
    const auto epoch = run.sessions[0]->commit(i, 10);
    ASSERT_OK(epoch);
    const std::uint64_t begin_us = run.runtime.now_us();
    ASSERT_OK(run.wait(*epoch));
    EXPECT_LT(run.runtime.now_us() - begin_us, 1'000u);
  }
}

TEST(DurabilityTest, callbacks_are_called_once_in_the_order_of_epochs) {
  FailingDevice device;
  LogRun run(&device, 2);
  ASSERT_OK(run.open_and_start());
  TestSession* const session = run.session(0);
  std::vector<std::uint64_t> called;
  for (std::uint64_t i = 0; i < 30; ++i) {
    const auto epoch = session->commit(i, 10);
    ASSERT_OK(epoch);
    const Ticket ticket(&run.log->durability(), *epoch);
    ticket.on_durable([&, epoch = *epoch](const Status& status) {
      EXPECT_TRUE(status.is_ok());
      EXPECT_TRUE(run.log->durability().is_durable(epoch));
      called.push_back(epoch.number());
    });
    if (i % 2 == 0) run.runtime.run_for(7'000);
  }
  run.runtime.run_for(100'000);
  EXPECT_EQ(called.size(), 30u);
  EXPECT_TRUE(std::is_sorted(called.begin(), called.end()));
}

TEST(DurabilityTest, what_is_left_when_the_log_ends_is_called_with_the_error) {
  FailingDevice device;
  int calls = 0;
  {
    LogRun run(&device);
    ASSERT_OK(run.open_and_start());
    run.log->durability().on_durable(Epoch(1'000'000), [&](const Status& status) {
      ++calls;
      EXPECT_EQ(status.code(), ErrorCode::kClosed);
    });
    ASSERT_OK(run.close());
    EXPECT_EQ(calls, 1);
    run.log->durability().on_durable(Epoch(1'000'000), [&](const Status& status) {
      ++calls;
      EXPECT_EQ(status.code(), ErrorCode::kClosed);
    });
    EXPECT_EQ(run.wait(Epoch(1'000'000)).code(), ErrorCode::kClosed);
  }
  EXPECT_EQ(calls, 2);
}

TEST(DurabilityTest, what_is_left_when_nobody_ends_the_log_is_called_with_an_error) {
  ManualRuntime runtime;
  std::vector<ErrorCode> called;
  {
    internal::DurabilityWaits waits(&runtime);
    waits.start();
    waits.on_durable(Epoch(5), [&](const Status& status) { called.push_back(status.code()); });
    EXPECT_TRUE(called.empty());
  }
  EXPECT_EQ(called, std::vector{ErrorCode::kClosed});
  EXPECT_EQ(runtime.task_count(), 0u);
}

// Goal: L26. Method: the runtime steps the task that calls callbacks only when it is asked to.
TEST(DurabilityTest, callbacks_come_from_a_task_while_it_runs) {
  ManualRuntime runtime;
  internal::DurabilityWaits waits(&runtime);
  std::vector<std::pair<int, ErrorCode>> called;
  const auto note = [&](int number) {
    return [&called, number](const Status& status) { called.emplace_back(number, status.code()); };
  };
  using Called = std::vector<std::pair<int, ErrorCode>>;
  waits.set_sink([](LogLevel, std::string_view text) { ADD_FAILURE() << text; });
  waits.start();
  runtime.run_for(1'000);
  waits.on_durable(Epoch(5), note(1));
  waits.announce(Epoch(5));
  EXPECT_EQ(called, Called());
  runtime.run_for(1'000);
  EXPECT_EQ(called, (Called{{1, ErrorCode::kOk}}));

  // One is due and one is left when the log fails: each is called with its own outcome.
  waits.on_durable(Epoch(6), note(2));
  waits.on_durable(Epoch(7), note(3));
  waits.announce(Epoch(6));
  waits.fail(Status::error(ErrorCode::kIoError, "broken"));
  EXPECT_EQ(called.size(), 1u);
  runtime.run_for(1'000);
  EXPECT_EQ(called, (Called{{1, ErrorCode::kOk}, {2, ErrorCode::kOk}, {3, ErrorCode::kIoError}}));
  waits.stop();
}

TEST(DurabilityTest, callbacks_that_are_due_are_called_when_the_task_stops_and_then_at_once) {
  ManualRuntime runtime;
  internal::DurabilityWaits waits(&runtime);
  int calls = 0;
  const auto count = [&](const Status& status) { calls += status.is_ok() ? 1 : 100; };
  waits.start();
  waits.on_durable(Epoch(5), count);
  waits.announce(Epoch(5));
  EXPECT_EQ(calls, 0);
  waits.stop();
  EXPECT_EQ(calls, 1);
  waits.on_durable(Epoch(6), count);
  waits.announce(Epoch(6));
  EXPECT_EQ(calls, 2);
  waits.stop();  // does nothing
  waits.start();
  waits.on_durable(Epoch(7), count);
  waits.announce(Epoch(7));
  EXPECT_EQ(calls, 2);
  waits.stop();
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(runtime.task_count(), 0u);
}

TEST(DurabilityTest, what_a_callback_throws_goes_to_the_sink_if_there_is_one) {
  ManualRuntime runtime;
  internal::DurabilityWaits waits(&runtime, true);
  const auto thrower = [](const Status&) { throw std::runtime_error("boom"); };
  waits.on_durable(Epoch(1), thrower);
  std::vector<std::string> messages;
  waits.set_sink([&](LogLevel, std::string_view text) { messages.emplace_back(text); });
  waits.on_durable(Epoch(1), thrower);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_NE(messages[0].find("on_durable() has thrown: boom"), std::string::npos) << messages[0];
  waits.on_durable(Epoch(1), nullptr);  // is not called
  EXPECT_EQ(messages.size(), 1u);
}

TEST(DurabilityTest, the_durable_epoch_never_moves_back_and_stands_still_after_a_failure) {
  ManualRuntime runtime;
  internal::DurabilityWaits waits(&runtime);
  waits.announce(Epoch(7));
  waits.announce(Epoch(5));
  EXPECT_EQ(waits.durable(), Epoch(7));
  waits.fail(Status::error(ErrorCode::kIoError, "the first"));
  waits.announce(Epoch(9));
  EXPECT_EQ(waits.durable(), Epoch(7));
  // The first failure is the reason, whatever comes later.
  waits.fail(Status::error(ErrorCode::kClosed, "the second"));
  EXPECT_EQ(waits.trouble().code(), ErrorCode::kIoError);
  waits.set_out_of_space(Status());
  EXPECT_TRUE(waits.has_failed());
  EXPECT_EQ(waits.wait(Epoch(8), 0).code(), ErrorCode::kIoError);
}

TEST(DurabilityTest, a_child_of_fork_knows_what_was_durable_and_waits_for_nothing) {
  ManualRuntime runtime;
  internal::DurabilityWaits waits(&runtime);
  waits.announce(Epoch(5));
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit((waits.wait(Epoch(5), 0).is_ok() ? 0 : 1) +
            (waits.wait(Epoch(6), 0).code() == ErrorCode::kForked ? 0 : 2));
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// Method: the device gets space between the check that finds none and the one that asks for the
// reason.
TEST(DurabilityTest, a_wait_that_finds_room_again_is_not_at_its_end) {
  ManualRuntime runtime;
  internal::DurabilityWaits waits(&runtime);
  waits.set_out_of_space(Status::error(ErrorCode::kOutOfSpace, "full"));
  const ::foedus::testing::AtSyncPoint cleared("durability:unwell",
                                               [&] { waits.set_out_of_space(Status()); });
  EXPECT_EQ(waits.wait(Epoch(8), 0).code(), ErrorCode::kTimeout);
  EXPECT_EQ(cleared.runs(), 1u);
  EXPECT_FALSE(waits.is_durable(Epoch(8)));
}

// A runtime that records the last wait point of a wait, and all that were woken.
class WatchedRuntime : public ManualRuntime {
 public:
  bool wait(base::WaitPoint* point, std::uint64_t timeout_us, base::Ready ready) override {
    last_waited = point;
    return ManualRuntime::wait(point, timeout_us, ready);
  }
  void wake(base::WaitPoint* point) override { woken.insert(point); }

  base::WaitPoint* last_waited = nullptr;
  std::set<base::WaitPoint*> woken;
};

// Returns the wait point of a waiter for the epoch.
base::WaitPoint* place_of(WatchedRuntime* runtime, internal::DurabilityWaits* waits,
                          std::uint64_t epoch) {
  runtime->last_waited = nullptr;
  EXPECT_EQ(waits->wait(Epoch(epoch), 10).code(), ErrorCode::kTimeout);
  return runtime->last_waited;
}

TEST(DurabilityTest, an_epoch_wakes_the_waiters_of_all_epochs_up_to_it) {
  for (std::uint64_t steps = 1; steps < 10; ++steps) {
    WatchedRuntime runtime;
    epoch::EpochClock clock(&runtime, Epoch(20), 1, 10'000);
    internal::DurabilityWaits waits(&runtime);
    waits.set_clock(&clock);
    waits.announce(Epoch(20));
    std::vector<base::WaitPoint*> places;
    for (std::uint64_t i = 1; i <= steps; ++i) places.push_back(place_of(&runtime, &waits, 20 + i));
    base::WaitPoint* const next = place_of(&runtime, &waits, 21 + steps);
    runtime.woken.clear();
    waits.announce(Epoch(20 + steps));
    for (base::WaitPoint* const place : places) EXPECT_TRUE(runtime.woken.contains(place));
    EXPECT_TRUE(steps != 1 || !runtime.woken.contains(next));
  }
}

TEST(DurabilityTest, trouble_wakes_all_waiters) {
  WatchedRuntime runtime;
  epoch::EpochClock clock(&runtime, Epoch(20), 1, 10'000);
  internal::DurabilityWaits waits(&runtime);
  waits.set_clock(&clock);
  std::set<base::WaitPoint*> places;
  for (std::uint64_t i = 20; i < 30; ++i) places.insert(place_of(&runtime, &waits, i));
  waits.set_out_of_space(Status::error(ErrorCode::kOutOfSpace, "full"));
  EXPECT_EQ(runtime.woken, places);
  runtime.woken.clear();
  waits.fail(Status::error(ErrorCode::kIoError, "gone"));
  EXPECT_EQ(runtime.woken, places);
}

// Goal: L18 requires that `dirty` covers every record that a logger has seen. Method: the loggers
// see records of two epochs in the wrong order.
TEST(DurabilityTest, a_record_of_an_older_epoch_does_not_hide_a_newer_one) {
  ManualRuntime runtime;
  internal::DurabilityWaits waits(&runtime);
  LogProgress progress(&runtime, &waits, 2);
  progress.raise_dirty(7);
  progress.raise_dirty(6);
  EXPECT_EQ(progress.dirty(), 7u);
  progress.report(0, 7, 6);
  progress.report(1, 7, 6);
  EXPECT_EQ(waits.durable(), Epoch(6));
}

TEST(DurabilityTest, an_epoch_is_announced_only_when_every_logger_has_it) {
  FailingDevice device;
  LogRun run(&device, 2);
  ASSERT_OK(run.open_and_start());
  const auto first = run.session(0)->commit(1, 10);
  const auto second = run.session(1)->commit(2, 10);
  ASSERT_OK(first);
  ASSERT_OK(second);
  // Only the clock and the first logger run.
  auto* const logger = dynamic_cast<base::Task*>(run.log->space(0));
  ASSERT_NE(logger, nullptr);
  run.clock->request_advance(*first);
  for (int i = 0; i < 20; ++i) {
    run.runtime.step(run.clock.get());
    run.runtime.step(logger);
  }
  EXPECT_GE(run.clock->published(), *first);
  EXPECT_FALSE(run.log->durability().is_durable(*first));
  ASSERT_OK(run.wait(*first));
}

}  // namespace
}  // namespace foedus::log::testing::durability_test
