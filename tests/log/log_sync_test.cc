// Sessions commit, roll segments and wait while the logger is stopped before its sync: commits of
// that time are durable with the next sync, not with this one.
// ctest-labels: crash
#include <functional>

#include "tests/log/log_harness.h"
#include "tests/testing/at_sync_point.h"

namespace foedus::log::testing::log_sync_test {
namespace {

using ::foedus::testing::AtSyncPoint;

// A run of a log in which one step of the logger is stopped before its sync, and power fails after
// that step.
class LogSyncTest : public ::testing::Test {
 protected:
  void SetUp() override {
    run_ = std::make_unique<LogRun>(&device_);
    ASSERT_OK(run_->open_and_start());
    run_->runtime.run_for(30'000);
    first_ = run_->session(0);
    second_ = run_->session(0);
    const auto epoch = first_->commit(1, 10);
    ASSERT_OK(epoch);
    publish(*epoch);
  }
  void publish(Epoch epoch) {
    run_->clock->request_advance(epoch);
    while (run_->clock->published() < epoch) run_->runtime.step(run_->clock.get());
  }
  void step() { run_->runtime.step(dynamic_cast<base::Task*>(run_->log->space(0))); }
  void step_with(const std::function<void()>& act) {
    const AtSyncPoint at("logger:before_sync", act);
    step();
    EXPECT_EQ(at.runs(), 1u);
  }
  // Checks that the values of `session` are found, in the order of their commits.
  void expect_found(std::uint32_t session, const std::vector<std::uint64_t>& values) {
    if (run_ != nullptr) device_.crash_power(FailingDevice::kDropAll);
    run_.reset();
    LogRun run(&device_);
    ASSERT_OK(run.open());
    History found;
    ASSERT_OK(read_all(*run.log, &found));
    std::vector<std::uint64_t> present;
    for (const Written& written : found[{1, session}]) present.push_back(written.value);
    EXPECT_EQ(present, values);
  }

  FailingDevice device_;
  std::unique_ptr<LogRun> run_;
  TestSession* first_ = nullptr;
  TestSession* second_ = nullptr;
};

// Goal: L22 and L23. Method: the epoch of the commit is published while the logger is before its
// sync, so that it can be requested from all loggers.
TEST_F(LogSyncTest, a_commit_before_the_sync_is_not_told_durable_by_it) {
  Epoch epoch;
  step_with([&] {
    for (TestSession* const session : {first_, second_}) {
      const auto committed = session->commit(2, 10);
      ASSERT_OK(committed);
      epoch = *committed;
    }
    publish(epoch);
    EXPECT_EQ(run_->wait(epoch, 0).code(), ErrorCode::kTimeout);
  });
  EXPECT_FALSE(run_->log->durability().is_durable(epoch));
  EXPECT_LT(first_->ring().durable(), first_->ring().committed());
  EXPECT_LT(second_->ring().durable(), second_->ring().committed());
  expect_found(1, {});
}

TEST_F(LogSyncTest, a_commit_before_the_sync_is_durable_with_the_next_one) {
  Epoch epoch;
  step_with([&] {
    for (TestSession* const session : {first_, second_}) {
      const auto committed = session->commit(2, 10);
      ASSERT_OK(committed);
      epoch = *committed;
    }
    publish(epoch);
  });
  step();
  step();
  ASSERT_TRUE(run_->log->durability().is_durable(epoch));
  expect_found(0, {1, 2});
  expect_found(1, {2});
}

// The segment that is about to be synced is to be rolled: it is synced first.
TEST_F(LogSyncTest, a_roll_before_the_sync_begins_a_segment_behind_it) {
  Epoch epoch;
  step_with([&] {
    run_->log->roll_segments();
    const auto committed = second_->commit(2, 10);
    ASSERT_OK(committed);
    epoch = *committed;
  });
  EXPECT_FALSE(device_.exists(kSecond));
  ASSERT_OK(run_->wait(epoch));
  EXPECT_TRUE(device_.exists(kSecond));
  expect_found(0, {1});
  expect_found(1, {2});
}

// Goal: records that the logger has taken from a ring are not overwritten before they are synced: a
// failed sync writes them again. Method: the session fills its ring meanwhile, and gets the error
// that there is no space; then the sync fails.
TEST_F(LogSyncTest, a_full_ring_before_a_failing_sync_loses_nothing) {
  std::vector<std::uint64_t> values{1};
  step_with([&] {
    const std::uint64_t head = first_->ring().durable();
    while (first_->ring().committed() - head + 5'000 < LogRun::kRingBytes) {
      values.push_back(values.size() + 1);
      ASSERT_OK(first_->commit(values.back(), 4'000));
    }
    device_.fail(Call::kSync, 0, 5);
  });
  const auto last = first_->commit(values.size() + 1, 10);
  ASSERT_OK(last);
  values.push_back(values.size() + 1);
  ASSERT_OK(run_->wait(*last));
  EXPECT_FALSE(run_->messages.empty());
  expect_found(0, values);
}

// A session attaches before the sync. log_threads_test has one that detaches then.
TEST_F(LogSyncTest, a_ring_that_is_attached_before_the_sync_is_written_with_the_next) {
  Epoch epoch;
  TestSession* third = nullptr;
  step_with([&] {
    third = run_->session(0);
    const auto committed = third->commit(7, 10);
    ASSERT_OK(committed);
    epoch = *committed;
  });
  EXPECT_LT(third->ring().durable(), third->ring().committed());
  ASSERT_OK(run_->wait(epoch));
  expect_found(2, {7});
}

}  // namespace
}  // namespace foedus::log::testing::log_sync_test
