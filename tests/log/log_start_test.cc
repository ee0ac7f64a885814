// From open() to start(): the cut becomes durable, covered segments go, and the first segments of
// the incarnation are made. What fails is returned.
#include <cerrno>
#include <map>
#include <string>

#include "foedus-core/log/savepoint.h"
#include "foedus-core/log/segments/format.h"
#include "tests/log/log_harness.h"

namespace foedus::log::testing::log_start_test {
namespace {

// Goal: L10. Method: a process dies with an unsynced tail; each call that makes its cut durable
// fails once.
TEST(LogStartTest, a_cut_that_cannot_be_made_durable_is_an_error) {
  const auto crash = [](FailingDevice* device) {
    LogRun run(device);
    ASSERT_OK(run.open_and_start());
    ASSERT_OK(run.commit_durably(run.session(0), 1, 10));
    ASSERT_OK(run.sessions[0]->commit(2, 5'000));
    device->fail(Call::kSync, 0, EIO);
    run.runtime.run_for(100'000);
    device->crash_process();
  };
  std::map<Call, std::uint64_t> calls;
  {
    FailingDevice device;
    crash(&device);
    LogRun run(&device);
    ASSERT_OK(run.open());
    device.set_observer([&](const ::foedus::testing::CallSeen& call) { ++calls[call.kind]; });
    ASSERT_OK(run.log->make_cut_durable());
    device.set_observer(nullptr);
  }
  for (const Call kind : {Call::kWrite, Call::kSync, Call::kSyncDirectory}) {
    EXPECT_GE(calls[kind], kind == Call::kSyncDirectory ? 1u : 3u);
    for (std::uint64_t skip = 0; skip < calls[kind]; ++skip) {
      FailingDevice device;
      crash(&device);
      LogRun run(&device);
      ASSERT_OK(run.open());
      device.fail(kind, skip, EIO);
      EXPECT_EQ(run.log->make_cut_durable().code(), ErrorCode::kIoError)
          << static_cast<int>(kind) << " " << skip;
    }
  }
}

// Goal: L14. Method: the directory's sync fails by which the first segment of an incarnation would
// be there before the savepoint counts it.
TEST(LogStartTest, a_start_without_the_sync_of_its_directory_is_an_error) {
  FailingDevice device;
  {
    LogRun run(&device);
    ASSERT_OK(run.open_and_start());
    ASSERT_OK(run.close());
  }
  LogRun run(&device);
  ASSERT_OK(run.open());
  ASSERT_OK(run.log->make_cut_durable());
  device.fail(Call::kSyncDirectory, 0, EIO);
  EXPECT_EQ(run.start().code(), ErrorCode::kIoError);
}

// Goal: a directory without a log gets its first segment only after the savepoint that counts it
// was written and synced. So a start that failed can be made again. Method: each call of a first
// start up to there fails once.
TEST(LogStartTest, a_first_start_without_a_savepoint_is_an_error_and_can_be_made_again) {
  std::map<Call, std::uint64_t> calls;
  {
    FailingDevice device;
    LogRun run(&device);
    ASSERT_OK(run.open());
    bool has_segment = false;
    device.set_observer([&](const ::foedus::testing::CallSeen& call) {
      has_segment = has_segment || (call.kind == Call::kCreate && calls[call.kind] == 1);
      if (!has_segment) ++calls[call.kind];
    });
    ASSERT_OK(run.start());
    device.set_observer(nullptr);
  }
  for (const Call kind : {Call::kCreate, Call::kWrite, Call::kSync, Call::kSyncDirectory}) {
    EXPECT_GE(calls[kind], 1u);
    for (std::uint64_t skip = 0; skip < calls[kind]; ++skip) {
      SCOPED_TRACE(std::to_string(static_cast<int>(kind)) + " " + std::to_string(skip));
      FailingDevice device;
      {
        LogRun run(&device);
        ASSERT_OK(run.open());
        device.fail(kind, skip, EIO);
        EXPECT_EQ(run.start().code(), ErrorCode::kIoError);
      }
      device.crash_process();
      LogRun run(&device);
      ASSERT_OK(run.open_and_start());
      ASSERT_OK(run.commit_durably(run.session(0), 1, 10));
    }
  }
}

TEST(LogStartTest, a_seal_says_whether_a_recovery_has_made_it) {
  for (const bool is_closed : {false, true}) {
    FailingDevice device;
    {
      LogRun run(&device);
      ASSERT_OK(run.open_and_start());
      ASSERT_OK(run.commit_durably(run.session(0), 1, 10));
      if (is_closed) ASSERT_OK(run.close());
      device.crash_power(FailingDevice::kDropAll);
    }
    LogRun run(&device);
    ASSERT_OK(run.open_and_start());
    EXPECT_EQ(load<std::uint32_t>(device, kFirst, kSlotBytes + offsetof(SegmentSeal, flags)),
              is_closed ? 0u : kSealedByRecovery);
  }
}

TEST(LogStartTest, a_savepoint_of_no_log_that_cannot_be_removed_is_an_error) {
  FailingDevice device;
  ASSERT_OK(device.open(kSavepointName, device::Access::kCreate));
  LogRun run(&device);
  ASSERT_OK(run.open());
  device.fail(Call::kRemove, 0, EIO);
  EXPECT_EQ(run.start().code(), ErrorCode::kIoError);
}

TEST(LogStartTest, a_file_in_the_place_of_a_new_segment_is_removed_first) {
  FailingDevice device;
  {
    LogRun run(&device);
    ASSERT_OK(run.open_and_start());
    ASSERT_OK(run.close());
  }
  {
    LogRun run(&device);
    ASSERT_OK(run.open());
    ASSERT_OK(device.open(kSecond, device::Access::kCreate));
    ASSERT_OK(run.start());
    ASSERT_OK(run.commit_durably(run.session(0), 1, 10));
    ASSERT_OK(run.close());
  }
  LogRun run(&device);
  ASSERT_OK(run.open());
  History found;
  ASSERT_OK(read_all(*run.log, &found));
  EXPECT_EQ((found[{2, 0}].size()), 1u);
}

// Goal: L14, for segments of the last run that a snapshot covers. The newest one of a logger
// stays, since the next names its end.
TEST(LogStartTest, found_segments_that_a_snapshot_covers_are_removed_before_the_start) {
  FailingDevice device;
  Epoch last;
  {
    LogRun run(&device, 1, 64u << 10);
    ASSERT_OK(run.open_and_start());
    TestSession* const session = run.session(0);
    for (std::uint64_t i = 0; i < 100; ++i) {
      const auto epoch = run.commit_durably(session, i, 2'000);
      ASSERT_OK(epoch);
      last = *epoch;
    }
    ASSERT_OK(run.close());
  }
  LogRun run(&device, 1, 64u << 10);
  ASSERT_OK(run.open());
  EXPECT_FALSE(run.log->was_missing());
  ASSERT_OK(run.log->make_cut_durable());
  const std::uint64_t calls = device.changing_calls();
  ASSERT_OK(run.log->make_cut_durable());
  EXPECT_EQ(device.changing_calls(), calls);  // once is enough
  const std::size_t files = device.names().size();
  const std::uint64_t bytes = run.log->bytes_on_device();
  device.fail(Call::kWrite, 0, EIO, true);
  EXPECT_EQ(run.log->remove_found_segments_up_to(last).code(), ErrorCode::kIoError);
  EXPECT_EQ(device.names().size(), files);  // as long as the savepoint counts them
  device.clear_faults();
  device.fail(Call::kRemove, 0, EIO);
  EXPECT_EQ(run.log->remove_found_segments_up_to(last).code(), ErrorCode::kIoError);
  EXPECT_TRUE(device.exists(kFirst));
  ASSERT_OK(run.log->remove_found_segments_up_to(last));
  EXPECT_FALSE(device.exists(kFirst));
  EXPECT_LT(device.names().size(), files);
  EXPECT_LT(run.log->bytes_on_device(), bytes);
  EXPECT_EQ(run.log->found_segment_count(), 1u);
  device.crash_power(FailingDevice::kDropAll);
  LogRun after(&device, 1, 64u << 10);
  ASSERT_OK(after.open());
  EXPECT_EQ(after.log->found_segment_count(), 1u);
  ASSERT_OK(after.start());
  EXPECT_EQ(after.log->segments().size(), 2u);
}

TEST(LogStartTest, the_newest_epoch_that_was_removed_is_known_and_does_not_go_back) {
  FailingDevice device;
  Epoch last;
  {
    LogRun run(&device);
    ASSERT_OK(run.open_and_start());
    const auto epoch = run.commit_durably(run.session(0), 1, 10);
    ASSERT_OK(epoch);
    last = *epoch;
    ASSERT_OK(run.close());
  }
  for (const std::string& removed : {kFirst, kSecond}) {  // the second one has no record
    LogRun run(&device);
    ASSERT_OK(run.open_and_start());
    ASSERT_OK(run.log->remove_segments_up_to(last));
    EXPECT_FALSE(device.exists(removed));
    ASSERT_OK(run.close());
    LogRun after(&device);
    ASSERT_OK(after.open());
    EXPECT_EQ(after.log->removed_epoch_found(), last);
  }
}

}  // namespace
}  // namespace foedus::log::testing::log_start_test
