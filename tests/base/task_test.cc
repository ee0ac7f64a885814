// ctest-labels: concurrency
#include "foedus-core/base/system/task.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <functional>
#include <thread>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/base/system/processor.h"

namespace foedus::base::task_test {
namespace {

constexpr std::uint64_t kLongUs = 30'000'000;  // a test that waits this long has failed

class CountingTask : public Task {
 public:
  explicit CountingTask(Runtime* runtime) : runtime_(runtime) {}
  const char* name() const override { return "a-name-longer-than-fifteen"; }
  std::uint64_t step() override {
    EXPECT_EQ(running_.fetch_add_relaxed(1), 0u);  // never two threads
    if (inside) inside();
    running_.fetch_add_relaxed(~std::uint32_t{0});
    steps_.fetch_add_relaxed(1);
    fence_seq_cst();
    runtime_->wake(&stepped_);
    return rest_us;
  }
  std::uint64_t steps() const { return steps_.load_acquire(); }
  bool wait_for_steps(std::uint64_t count) {
    return runtime_->wait(&stepped_, kLongUs, [&] { return steps() >= count; });
  }

  std::uint64_t rest_us = kUntilNotified;
  std::function<void()> inside;

 private:
  Runtime* const runtime_;
  WaitPoint stepped_;
  AtomicWord<std::uint32_t> running_;
  AtomicWord<std::uint64_t> steps_;
};

class ThreadRuntimeTest : public ::testing::Test {
 protected:
  std::unique_ptr<Runtime> runtime_ = make_thread_runtime();
  CountingTask task_{runtime_.get()};
};

// T7: a process with few addresses can have the engine's threads.
TEST_F(ThreadRuntimeTest, a_thread_has_a_stack_of_two_mi_b) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "frames of sanitizers are larger";
#endif
  AtomicWord<std::uint64_t> stack_bytes;
  task_.inside = [&] {
    pthread_attr_t attributes;
    ASSERT_EQ(pthread_getattr_np(pthread_self(), &attributes), 0);
    std::size_t bytes = 0;
    EXPECT_EQ(pthread_attr_getstacksize(&attributes, &bytes), 0);
    pthread_attr_destroy(&attributes);
    stack_bytes.store_release(bytes);
  };
  runtime_->start(&task_);
  ASSERT_TRUE(task_.wait_for_steps(1));
  runtime_->stop(&task_);
  EXPECT_EQ(stack_bytes.load_acquire(), std::uint64_t{2} << 20);
}

TEST_F(ThreadRuntimeTest, a_task_runs_on_the_processors_that_it_was_started_on) {
  const std::uint32_t here[] = {current_processor()};
  CountingTask task(runtime_.get());
  cpu_set_t processors;
  CPU_ZERO(&processors);
  task.inside = [&] {
    EXPECT_EQ(sched_getaffinity(0, sizeof(processors), &processors), 0);
    EXPECT_EQ(runtime_->processor(), here[0]);
  };
  runtime_->start_on(&task, here);
  EXPECT_TRUE(task.wait_for_steps(1));
  runtime_->stop(&task);
  EXPECT_EQ(CPU_COUNT(&processors), 1);
  EXPECT_TRUE(CPU_ISSET(here[0], &processors));
}

// The process has lost the requested processors, but the work has to be done.
TEST_F(ThreadRuntimeTest, a_task_runs_elsewhere_if_its_processors_are_not_there) {
  const std::uint32_t nowhere[] = {CPU_SETSIZE - 1};
  CountingTask task(runtime_.get());
  runtime_->start_on(&task, nowhere);
  EXPECT_TRUE(task.wait_for_steps(1));
  runtime_->stop(&task);
}

TEST_F(ThreadRuntimeTest, a_started_task_is_stepped_once_and_then_when_notified) {
  runtime_->start(&task_);
  ASSERT_TRUE(task_.wait_for_steps(1));
  runtime_->pause(5'000);
  EXPECT_EQ(task_.steps(), 1u);
  runtime_->notify(&task_);
  ASSERT_TRUE(task_.wait_for_steps(2));
  runtime_->stop(&task_);
}

// Helps repeatedly, because the task's own thread may be in a step.
bool help_until(Runtime* runtime, const std::vector<Task*>& tasks,
                const std::function<bool()>& ready) {
  const std::uint64_t begin_us = runtime->now_us();
  while (!runtime->help(tasks, ready)) {
    if (runtime->now_us() - begin_us > kLongUs) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST_F(ThreadRuntimeTest, a_helper_steps_the_first_task_and_those_that_it_notifies) {
  CountingTask second(runtime_.get());
  std::thread::id first_by;
  std::thread::id second_by;
  task_.inside = [&] {
    first_by = std::this_thread::get_id();
    if (task_.steps() > 0) runtime_->notify(&second);
  };
  second.inside = [&] { second_by = std::this_thread::get_id(); };
  runtime_->start(&task_);
  runtime_->start(&second);
  ASSERT_TRUE(task_.wait_for_steps(1));
  ASSERT_TRUE(second.wait_for_steps(1));
  EXPECT_TRUE(help_until(runtime_.get(), {&task_, &second}, [&] { return second.steps() == 2; }));
  EXPECT_EQ(first_by, std::this_thread::get_id());
  EXPECT_EQ(second_by, std::this_thread::get_id());
  EXPECT_EQ(task_.steps(), 2u);
  runtime_->stop(&task_);
  runtime_->stop(&second);
}

TEST_F(ThreadRuntimeTest, nobody_helps_a_task_that_is_in_a_step_or_not_started) {
  EXPECT_FALSE(runtime_->help({&task_}, [] { return true; }));
  AtomicWord<std::uint32_t> may_end;
  task_.inside = [&] {
    while (may_end.load_acquire() == 0) runtime_->pause(100);
  };
  runtime_->start(&task_);
  runtime_->pause(10'000);
  EXPECT_FALSE(runtime_->help({&task_}, [] { return true; }));
  may_end.store_release(1);
  runtime_->stop(&task_);
}

// A task that a helper leaves due or notified goes on in its own thread.
TEST_F(ThreadRuntimeTest, a_task_that_a_helper_leaves_goes_on_in_its_thread) {
  task_.rest_us = 1'000;
  runtime_->start(&task_);
  ASSERT_TRUE(task_.wait_for_steps(1));
  EXPECT_TRUE(help_until(runtime_.get(), {&task_}, [&] { return task_.steps() >= 2; }));
  EXPECT_TRUE(task_.wait_for_steps(task_.steps() + 3));
  runtime_->stop(&task_);
}

// Goal: helpers, notifiers and the task's own thread, with a stop() meanwhile: never two threads in
// a step, and none after stop().
TEST_F(ThreadRuntimeTest, helpers_and_notifiers_take_turns_with_the_tasks_thread) {
  for (int round = 0; round < 20; ++round) {
    AtomicWord<std::uint32_t> stopped;
    const std::uint64_t before = task_.steps();
    runtime_->start(&task_);
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([&] {
        while (stopped.load_acquire() == 0) {
          runtime_->help({&task_}, [&] { return task_.steps() > before + 100; });
          runtime_->notify(&task_);
        }
      });
    }
    EXPECT_TRUE(task_.wait_for_steps(before + 200));
    runtime_->stop(&task_);
    const std::uint64_t after = task_.steps();
    runtime_->pause(500);
    EXPECT_EQ(task_.steps(), after);
    stopped.store_release(1);
    for (std::thread& thread : threads) thread.join();
  }
}

TEST_F(ThreadRuntimeTest, a_task_that_wants_no_rest_is_stepped_again_at_once) {
  task_.rest_us = 0;
  runtime_->start(&task_);
  ASSERT_TRUE(task_.wait_for_steps(100));
  runtime_->stop(&task_);
}

TEST_F(ThreadRuntimeTest, a_task_is_stepped_again_after_its_rest) {
  task_.rest_us = 1'000;
  runtime_->start(&task_);
  ASSERT_TRUE(task_.wait_for_steps(5));
  runtime_->stop(&task_);
}

// A notification during a step causes another one, because the step may have checked too early.
TEST_F(ThreadRuntimeTest, a_notification_during_a_step_causes_another) {
  bool first = true;
  task_.inside = [&] {
    if (first) runtime_->notify(&task_);
    first = false;
  };
  runtime_->start(&task_);
  ASSERT_TRUE(task_.wait_for_steps(2));
  runtime_->stop(&task_);
  EXPECT_EQ(task_.steps(), 2u);
}

TEST_F(ThreadRuntimeTest, a_stopped_task_is_not_stepped_again_and_notifying_it_does_nothing) {
  task_.rest_us = 0;
  runtime_->start(&task_);
  ASSERT_TRUE(task_.wait_for_steps(1));
  runtime_->stop(&task_);
  const std::uint64_t steps = task_.steps();
  runtime_->notify(&task_);
  runtime_->pause(2'000);
  EXPECT_EQ(task_.steps(), steps);
}

TEST_F(ThreadRuntimeTest, a_stopped_task_may_be_started_again) {
  for (std::uint64_t i = 1; i <= 20; ++i) {
    runtime_->start(&task_);
    ASSERT_TRUE(task_.wait_for_steps(i));
    runtime_->stop(&task_);
    ASSERT_EQ(task_.steps(), i);
  }
}

TEST_F(ThreadRuntimeTest, stopping_a_task_that_was_not_started_does_nothing) {
  runtime_->stop(&task_);
  runtime_->start(&task_);
  runtime_->stop(&task_);
  runtime_->stop(&task_);
}

TEST_F(ThreadRuntimeTest, wait_returns_at_once_if_ready_and_false_after_its_time) {
  WaitPoint point;
  EXPECT_TRUE(runtime_->wait(&point, 0, [] { return true; }));
  EXPECT_FALSE(runtime_->wait(&point, 0, [] { return false; }));
  const std::uint64_t before_us = runtime_->now_us();
  EXPECT_FALSE(runtime_->wait(&point, 3'000, [] { return false; }));
  EXPECT_GE(runtime_->now_us(), before_us + 2'500);
  EXPECT_TRUE(runtime_->wait(&point, Runtime::kForever, [] { return true; }));
}

TEST_F(ThreadRuntimeTest, wake_ends_the_wait_of_every_waiter) {
  WaitPoint point;
  AtomicWord<std::uint32_t> go;
  AtomicWord<std::uint32_t> woken;
  const auto waiter = [&] {
    EXPECT_TRUE(runtime_->wait(&point, kLongUs, [&] { return go.load_acquire() != 0; }));
    woken.fetch_add_relaxed(1);
  };
  std::thread first(waiter);
  std::thread second(waiter);
  runtime_->pause(2'000);
  EXPECT_EQ(woken.load_relaxed(), 0u);
  go.store_release(1);
  runtime_->wake(&point);
  first.join();
  second.join();
  EXPECT_EQ(woken.load_relaxed(), 2u);
}

// Two threads pass a turn to each other; a wake that is lost between check and sleep would leave
// both waiting up to the limit.
TEST_F(ThreadRuntimeTest, no_wake_is_lost_between_look_and_sleep) {
  constexpr std::uint64_t kTurns = 10'000;
  WaitPoint points[2];
  AtomicWord<std::uint64_t> turn;
  const auto player = [&](std::uint64_t self) {
    for (std::uint64_t i = self; i < kTurns; i += 2) {
      ASSERT_TRUE(runtime_->wait(&points[self], kLongUs, [&] { return turn.load_acquire() == i; }));
      turn.store_release(i + 1);
      runtime_->wake(&points[1 - self]);
    }
  };
  std::thread other(player, 1);
  player(0);
  other.join();
  EXPECT_EQ(turn.load_relaxed(), kTurns);
}

}  // namespace
}  // namespace foedus::base::task_test
