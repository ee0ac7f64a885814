// The end of a log's run: seals, a savepoint, and then covered segments go.
#include <cerrno>
#include <new>

#include "tests/log/log_harness.h"

namespace foedus::log::testing::log_close_test {
namespace {

// Goal: L14, in a close behind a last snapshot.
TEST(LogCloseTest, a_close_removes_what_is_covered_only_after_its_savepoint) {
  for (const bool fails : {false, true}) {
    FailingDevice device;
    {
      LogRun run(&device, 1, 64u << 10);
      ASSERT_OK(run.open_and_start());
      Epoch last;
      for (std::uint64_t i = 0; i < 100; ++i) {
        const auto epoch = run.commit_durably(i == 0 ? run.session(0) : run.sessions[0].get(), i,
                                              2'000);
        ASSERT_OK(epoch);
        last = *epoch;
      }
      run.runtime.run_for(50'000);  // seals all but the last segment
      ASSERT_OK(run.sessions[0]->detach());
      if (fails) device.fail(Call::kWrite, 1, EIO, true);
      EXPECT_EQ(run.log->close(last).is_ok(), !fails);
      EXPECT_EQ(device.exists(kFirst), fails);
    }
    device.crash_power(FailingDevice::kDropAll);
    device.clear_faults();
    LogRun run(&device);
    ASSERT_OK(run.open());
    EXPECT_EQ(run.log->found_segment_count() == 1u, !fails);
  }
}

TEST(LogCloseTest, to_close_a_log_that_was_not_started_does_nothing) {
  FailingDevice device;
  LogRun run(&device);
  ASSERT_OK(run.open());
  ASSERT_OK(run.log->close());
  EXPECT_EQ(device.changing_calls(), 0u);
}

// Method: each write of a close fails, with all later ones: that of the seal, which is no error,
// and those of the savepoint.
TEST(LogCloseTest, a_close_whose_savepoint_cannot_be_written_returns_the_error) {
  for (std::uint64_t skip = 0; skip < 3; ++skip) {
    FailingDevice device;
    LogRun run(&device);
    ASSERT_OK(run.open_and_start());
    ASSERT_OK(run.commit_durably(run.session(0), 1, 10));
    device.fail(Call::kWrite, skip, EIO, true);
    EXPECT_EQ(run.close().code(), skip == 1 ? ErrorCode::kIoError : ErrorCode::kOk) << skip;
  }
}

TEST(LogCloseTest, a_close_without_memory_for_a_seal_is_an_error) {
  FailingDevice device;
  LogRun run(&device);
  ASSERT_OK(run.open_and_start());
  ASSERT_OK(run.commit_durably(run.session(0), 1, 10));
  ASSERT_OK(run.sessions[0]->detach());
  device.set_observer([](const ::foedus::testing::CallSeen& call) {
    if (call.kind == Call::kWrite) throw std::bad_alloc();
  });
  EXPECT_EQ(run.log->close().code(), ErrorCode::kOutOfMemory);
  device.set_observer(nullptr);
}

// Goal: a segment is sealed only where it was synced. Method: the device has space for a growth of
// the file and not for the frame after it. So a frame is in the segment that no sync followed.
TEST(LogCloseTest, a_close_seals_no_segment_whose_last_frame_is_a_growth) {
  FailingDevice device;
  History expected;
  {
    LogRun run(&device);
    device.set_capacity(848u << 10);  // no piece of a segment fits: each frame needs a growth
    ASSERT_OK(run.open_and_start());
    TestSession* const session = run.session(0);
    ASSERT_OK(run.commit_durably(session, 1, 40));
    expected = run.history(1);
    const std::uint64_t writes = device.calls(Call::kWrite);
    device.fail(Call::kWrite, 1, ENOSPC, true);
    ASSERT_OK(session->commit(2, 40));
    EXPECT_EQ(run.log->close().code(), ErrorCode::kOutOfSpace);
    EXPECT_GT(device.calls(Call::kWrite), writes + 1);
  }
  device.crash_power(FailingDevice::kDropAll);
  EXPECT_EQ(found_in(&device), expected);
}

// Goal: a log is closed cleanly though its logger has no segment at that moment. Method: after all
// is durable, and before the logger is stopped, it ends its segment and finds no space for another.
TEST(LogCloseTest, a_close_between_two_segments_is_clean) {
  FailingDevice device;
  History expected;
  {
    LogRun run(&device);
    ASSERT_OK(run.open_and_start());
    ASSERT_OK(run.commit_durably(run.session(0), 1, 40));
    ASSERT_OK(run.sessions[0]->detach());
    device.fail(Call::kCreate, 0, ENOSPC, true);
    run.runtime.before_stop([&] {
      run.log->roll_segments();
      run.runtime.run_due();
    });
    const std::uint64_t created = device.calls(Call::kCreate);
    ASSERT_OK(run.log->close());
    EXPECT_EQ(device.calls(Call::kCreate), created + 1);
    expected = run.history(1);
  }
  LogRun run(&device);
  ASSERT_OK(run.open());
  EXPECT_TRUE(run.log->was_closed_cleanly());
  History found;
  ASSERT_OK(read_all(*run.log, &found));
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace foedus::log::testing::log_close_test
