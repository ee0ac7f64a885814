// ctest-labels: crash
// Errors of the device while the log runs: a full device is waited out, a failed write or sync
// starts a new segment, a second one stops the log with the error that names file and errno.
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "foedus-core/log/segments/format.h"
#include "tests/log/log_harness.h"
#include "tests/testing/at_sync_point.h"

namespace foedus::log::testing::log_failure_test {
namespace {

TEST(LogFailureTest, a_full_device_stops_durability_and_goes_on_when_there_is_room) {
  FailingDevice device;
  History expected;
  {
    LogRun run(&device, 1, 256u << 10);
    ASSERT_OK(run.open_and_start());
    TestSession* const session = run.session(0, 64u << 10);
    device.set_capacity(400u << 10);
    std::uint64_t value = 0;
    Status status;
    while (status.is_ok() && value < 1'000) status = session->commit(value++, 2'000).status();
    ASSERT_EQ(status.code(), ErrorCode::kOutOfSpace) << status.message();
    EXPECT_EQ(status.error_number(), ENOSPC);
    EXPECT_FALSE(run.log->has_failed());
    EXPECT_TRUE(run.log->failure().is_ok());
    EXPECT_EQ(run.wait(run.clock->current()).code(), ErrorCode::kOutOfSpace);
    EXPECT_EQ(session->detach().code(), ErrorCode::kOutOfSpace);
    bool was_called = false;
    run.log->durability().on_durable(run.clock->current(), [&](const Status& told) {
      was_called = true;
      EXPECT_TRUE(told.is_ok()) << told.message();
    });
    const Epoch before = run.log->durability().durable();
    run.runtime.run_for(1'000'000);
    EXPECT_EQ(run.log->durability().durable(), before);
    EXPECT_FALSE(was_called);

    device.set_capacity(100u << 20);
    device.fail(Call::kSync, 0, EIO);  // the first error: lack of space was none
    run.runtime.run_for(1'000'000);
    EXPECT_TRUE(was_called);
    for (int i = 0; i < 200; ++i) ASSERT_OK(session->commit(value++, 2'000));
    ASSERT_OK(run.close());
    expected = run.history(1);
  }
  device.crash_power(FailingDevice::kDropAll);
  EXPECT_EQ(found_in(&device), expected);
}

// Goal: space on the device that comes between two checks is no space in the ring yet. Method: the
// device gets space when a session has just found none.
TEST(LogFailureTest, who_waits_for_room_while_the_device_gets_some_waits_on) {
  FailingDevice device;
  {
    LogRun run(&device, 1, 256u << 10);
    ASSERT_OK(run.open_and_start());
    TestSession* const session = run.session(0, 64u << 10);
    device.set_capacity(400u << 10);
    const ::foedus::testing::AtSyncPoint given("logger:unwell", [&] {
      device.set_capacity(100u << 20);
      run.runtime.run_for(1'000);
      run.log->durability().set_out_of_space(Status());
    });
    for (std::uint64_t value = 0; value < 300; ++value) ASSERT_OK(session->commit(value, 2'000));
    EXPECT_EQ(given.runs(), 1u);
    ASSERT_OK(run.close());
  }
}

// Recovery may fail for lack of space; its error does not ask for a retry.
TEST(LogFailureTest, a_ring_is_forgotten_when_its_log_fails_for_lack_of_room) {
  FailingDevice device;
  LogRun run(&device);
  ASSERT_OK(run.open_and_start());
  TestSession* const session = run.session(0);
  ASSERT_OK(session->commit(1, 1'000));
  run.log->durability().fail(Status::error(ErrorCode::kOutOfSpace, "no room to recover"));
  const Status lost = session->detach();
  EXPECT_EQ(lost.code(), ErrorCode::kClosed) << lost.message();
  EXPECT_NE(lost.message().find("no room to recover"), std::string::npos) << lost.message();
  run.sessions.clear();
  run.runtime.run_for(1'000'000);  // no task reads its memory
  EXPECT_FALSE(run.log->close().is_ok());
}

// Goal: a half-written frame of a full device never confuses the reader. Method: the device fills
// up at every 512 bytes, then gets space or crashes.
TEST(LogFailureTest, the_device_may_fill_up_at_any_byte) {
  for (std::uint64_t room = 0; room < 60u << 10; room += 512) {
    for (const bool crashes : {false, true}) {
      SCOPED_TRACE("room " + std::to_string(room) + (crashes ? ", crash" : ""));
      FailingDevice device;
      History expected;
      Epoch announced;
      {
        LogRun run(&device, 2, 64u << 10);
        ASSERT_OK(run.open_and_start());
        TestSession* const session = run.session(0, 64u << 10);
        TestSession* const small = run.session(1, 64u << 10);
        device.set_capacity((128u << 10) + (8u << 10) + room);
        for (std::uint64_t i = 0; i < 30; ++i) {
          if (!session->commit(i, 1'000 + i * 137).is_ok()) break;
          if (!small->commit(i, 50).is_ok()) break;
          run.runtime.run_for(5'000);
        }
        if (crashes) {
          announced = run.log->durability().durable();
          device.crash_power(room);
        } else {
          device.set_capacity(1u << 30);
          ASSERT_OK(session->commit(1'000, 10));
          run.runtime.run_for(1'000'000);
          ASSERT_OK(run.close());
        }
        expected = run.history(1);
      }
      if (crashes) {
        device.set_capacity(1u << 30);
        LogRun run(&device);
        ASSERT_OK(run.open());
        expected = cut_at(expected, std::max(announced, run.log->durable_epoch_found()));
      }
      EXPECT_EQ(found_in(&device), expected);
      if (HasFailure()) return;
    }
  }
}

// Goal: the remains of a frame that did not fit do not make the next one at its place look damaged.
// Method: the second attempt has other contents; power fails at each of its calls, and any sectors
// of either survive.
TEST(LogFailureTest, a_second_attempt_may_be_torn_like_a_first_one) {
  for (std::uint64_t skip = 0; skip < 8; ++skip) {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
      SCOPED_TRACE("skip " + std::to_string(skip) + " seed " + std::to_string(seed));
      FailingDevice device;
      Committed before;
      {
        LogRun run(&device);
        ASSERT_OK(run.open_and_start());
        run.runtime.run_for(30'000);
        TestSession* const session = run.session(0);
        ASSERT_OK(session->commit(1, 1'000));
        device.fail(Call::kWrite, 0, ENOSPC);
        const std::uint64_t writes = device.calls(Call::kWrite);
        while (device.calls(Call::kWrite) == writes) run.runtime.step_one();
        ASSERT_OK(session->commit(2, 1'000));
        device.lose_power_after(skip);
        run.runtime.run_for(50'000);
        before = {run.history(1), run.log->durability().durable()};
        device.crash_power(seed);
      }
      expect_kept(&device, before);
      if (HasFailure()) return;
    }
  }
}

// Waits for durability. A waiter on a full device, unlike one on a broken device, may try again.
Status wait_for_space(LogRun* run, Epoch epoch) {
  Status status = run->wait(epoch);
  if (status.code() != ErrorCode::kOutOfSpace) return status;
  run->runtime.run_for(200'000);
  return run->wait(epoch);
}

// Lets one call of `kind` fail after `skip` others. All announced commits must be there after a
// power failure that drops all unsynced sectors.
void fail_once(Call kind, std::uint64_t skip, int error_number, bool* was_met) {
  SCOPED_TRACE("call kind " + std::to_string(static_cast<int>(kind)) + " skip " +
               std::to_string(skip) + " errno " + std::to_string(error_number));
  FailingDevice device;
  History expected;
  Epoch announced;
  {
    LogRun run(&device, 2, 64u << 10);
    ASSERT_OK(run.open_and_start());
    const std::uint64_t before = device.calls(kind);
    device.fail(kind, skip, error_number);
    for (std::uint32_t i = 0; i < 4; ++i) run.session(i % 2, 64u << 10);
    for (std::uint64_t i = 0; i < 60; ++i) {
      const auto epoch = run.sessions[i % 4]->commit(i, i % 5 == 0 ? 9'000 : 60);
      ASSERT_OK(epoch);
      if (i % 3 == 0) ASSERT_OK(wait_for_space(&run, *epoch));
    }
    ASSERT_OK(wait_for_space(&run, run.clock->current()));
    EXPECT_TRUE(run.log->failure().is_ok());
    announced = run.log->durability().durable();
    expected = run.history(1);
    *was_met = device.calls(kind) - before > skip;
    if (skip % 2 == 0) {
      ASSERT_OK(run.close());
    }
    device.crash_power(FailingDevice::kDropAll);
  }
  EXPECT_EQ(found_in(&device), expected);
}

TEST(LogFailureTest, one_failed_write_or_sync_loses_nothing_and_stops_nothing) {
  for (const Call kind : {Call::kSync, Call::kWrite, Call::kCreate, Call::kSyncDirectory,
                          Call::kPreallocate, Call::kTruncate}) {
    for (const int error_number : {EIO, ENOSPC}) {
      bool was_met = true;
      for (std::uint64_t skip = 0; was_met && !HasFailure(); ++skip) {
        fail_once(kind, skip, error_number, &was_met);
      }
    }
  }
}

// Goal: records after the end of an abandoned segment are not read a second time. Method: one sync
// fails, and power a few calls later; all writes reach the device nevertheless.
TEST(LogFailureTest, a_failed_sync_and_then_a_power_failure_shows_nothing_twice) {
  for (std::uint64_t failing = 0; failing < 12; ++failing) {
    for (std::uint64_t skip = 0; skip < 25; ++skip) {
      for (const std::uint64_t seed : {FailingDevice::kKeepAll, FailingDevice::kDropAll,
                                       std::uint64_t{9}}) {
        SCOPED_TRACE("sync " + std::to_string(failing) + " skip " + std::to_string(skip));
        FailingDevice device;
        Committed before;
        {
          LogRun run(&device, 1, 64u << 10);
          ASSERT_OK(run.open_and_start());
          for (int i = 0; i < 2; ++i) run.session(0);
          device.fail(Call::kSync, failing, EIO);
          for (std::uint64_t i = 0; i < 20 && !device.has_lost_power(); ++i) {
            if (i == failing) device.lose_power_after(skip);
            if (!run.sessions[i % 2]->commit(i, i % 3 == 0 ? 6'000 : 30).is_ok()) break;
            run.runtime.run_for(12'000);
          }
          before = {run.history(1), run.log->durability().durable()};
          device.crash_power(seed);
        }
        expect_kept(&device, before);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(LogFailureTest, a_device_that_keeps_failing_stops_the_log_with_file_and_errno) {
  for (const Call kind : {Call::kSync, Call::kWrite}) {
    FailingDevice device;
    LogRun run(&device, 2);
    ASSERT_OK(run.open_and_start());
    TestSession* const session = run.session(0);
    const auto first = run.commit_durably(session, 1, 10);
    ASSERT_OK(first);
    device.fail(kind, 0, EIO, true);
    const auto second = session->commit(2, 10);
    ASSERT_OK(second);
    int calls = 0;
    run.log->durability().on_durable(*second, [&](const Status& told) {
      ++calls;
      EXPECT_EQ(told.code(), ErrorCode::kIoError);
    });
    const Status status = run.wait(*second);
    EXPECT_EQ(status.code(), ErrorCode::kIoError);
    EXPECT_EQ(status.error_number(), EIO);
    EXPECT_NE(status.message().find("/failing/log-"), std::string::npos) << status.message();
    EXPECT_TRUE(run.log->has_failed());
    EXPECT_EQ(run.log->failure().code(), ErrorCode::kIoError);
    run.runtime.run_due();
    EXPECT_EQ(calls, 1);
    device.clear_faults();
    const std::uint64_t before = device.changing_calls();
    run.runtime.run_for(1'000'000);
    EXPECT_EQ(device.changing_calls(), before);
    EXPECT_TRUE(run.log->has_failed());
    EXPECT_EQ(run.wait(*second).code(), ErrorCode::kIoError);
    ASSERT_OK(run.wait(*first));
    EXPECT_EQ(run.log->durability().durable() >= *second, false);
    // A session with a full ring gets the error, too.
    Status full;
    while (full.is_ok()) full = session->commit(3, 4'000).status();
    EXPECT_EQ(full.code(), ErrorCode::kIoError);
    EXPECT_EQ(session->detach().code(), ErrorCode::kIoError);
    EXPECT_FALSE(run.log->close().is_ok());
  }
}

TEST(LogFailureTest, every_failure_begins_a_new_segment_and_a_success_between_them_forgives) {
  FailingDevice device;
  History expected;
  {
    LogRun run(&device);
    ASSERT_OK(run.open_and_start());
    TestSession* const session = run.session(0);
    std::uint64_t segments = 1;
    for (const Call kind : {Call::kSync, Call::kWrite, Call::kWrite, Call::kSync, Call::kSync}) {
      device.fail(kind, 0, EIO);
      ASSERT_OK(run.commit_durably(session, segments, 100));
      ++segments;
      EXPECT_TRUE(device.exists(segment_name(0, static_cast<std::uint32_t>(segments))));
      EXPECT_EQ(run.log->segments().size(), segments);
    }
    ASSERT_OK(run.close());
    expected = run.history(1);
  }
  device.crash_power(FailingDevice::kDropAll);
  EXPECT_EQ(found_in(&device), expected);
}

// Goal: every segment's header has the durable mark before it. Method: the first segment of an
// incarnation fails before it was ever synced.
TEST(LogFailureTest, the_successor_of_a_segment_that_failed_at_once_knows_its_mark) {
  FailingDevice device;
  {
    LogRun run(&device);
    ASSERT_OK(run.open_and_start());
    run.runtime.run_for(100'000);
    ASSERT_OK(run.close());
  }
  LogRun run(&device);
  ASSERT_OK(run.open_and_start());
  device.fail(Call::kSync, 0, EIO);
  ASSERT_OK(run.commit_durably(run.session(0), 1, 10));
  std::uint64_t marks[2];
  for (std::uint32_t i = 0; i < 2; ++i) {
    const std::vector<char> bytes = device.bytes_of(segment_name(0, i + 2));
    std::memcpy(&marks[i], bytes.data() + offsetof(SegmentHeader, mark_epoch), sizeof(marks[i]));
  }
  EXPECT_GT(marks[0], 0u);
  EXPECT_EQ(marks[1], marks[0]);
}

// Goal: a segment that may not be in the savepoint blocks no removal. Method: both attempts to
// write that savepoint fail, anywhere in the run; then all segments except the current one are
// covered.
TEST(LogFailureTest, segments_are_removed_also_after_a_savepoint_failed) {
  for (std::uint64_t skip = 0; skip < 40; ++skip) {
    SCOPED_TRACE("skip " + std::to_string(skip));
    FailingDevice device;
    LogRun run(&device, 1, 64u << 10);
    ASSERT_OK(run.open_and_start());
    TestSession* const session = run.session(0, 64u << 10);
    device.fail(Call::kSync, skip, EIO);
    device.fail(Call::kSync, skip + 1, EIO);
    Epoch last;
    for (std::uint64_t i = 0; i < 60 && !run.log->has_failed(); ++i) {
      const auto epoch = session->commit(i, 4'000);
      ASSERT_OK(epoch);
      last = *epoch;
      if (!run.wait(last).is_ok()) break;
    }
    if (run.log->has_failed()) continue;
    run.runtime.run_for(50'000);
    ASSERT_OK(run.log->remove_segments_up_to(last));
    EXPECT_EQ(run.log->segments().size(), 1u);
  }
}

// Goal: the sync of a full segment within one step may fail like any other. Method: the frames of
// one step take several segments, and each sync fails in turn.
TEST(LogFailureTest, a_sync_between_two_segments_of_one_step_may_fail) {
  for (std::uint64_t skip = 0; skip < 12; ++skip) {
    SCOPED_TRACE("skip " + std::to_string(skip));
    FailingDevice device;
    History expected;
    {
      LogRun run(&device, 1, 64u << 10);
      ASSERT_OK(run.open_and_start());
      TestSession* const session = run.session(0, 2u << 20);
      run.session(0, 64u << 10);
      device.fail(Call::kSync, skip, EIO);
      for (std::uint64_t i = 0; i < 30; ++i) ASSERT_OK(session->commit(i, 9'000));
      ASSERT_OK(run.wait(run.clock->current()));
      ASSERT_OK(run.close());
      expected = run.history(1);
    }
    device.crash_power(FailingDevice::kDropAll);
    EXPECT_EQ(found_in(&device), expected);
  }
}

// Goal: the rest of a large record goes into a frame of the same layout, however small. Method: the
// device is full between the two frames of a record that is a little too large.
TEST(LogFailureTest, the_small_rest_of_a_large_record_follows_when_there_is_room) {
  FailingDevice device;
  History expected;
  {
    LogRun run(&device, 1, 16u << 20);
    ASSERT_OK(run.open_and_start());
    run.runtime.run_for(30'000);
    TestSession* const session = run.session(0, 8u << 20);
    ASSERT_OK(session->commit(1, kDirectBytesMax + 1'000));
    device.fail(Call::kWrite, 1, ENOSPC);
    const auto last = session->commit(2, 10);
    ASSERT_OK(last);
    ASSERT_OK(wait_for_space(&run, *last));
    EXPECT_EQ(run.log->segments().size(), 1u);
    ASSERT_OK(run.close());
    expected = run.history(1);
  }
  EXPECT_EQ(found_in(&device), expected);
}

TEST(LogFailureTest, a_session_may_stay_longer_than_the_log) {
  FailingDevice device;
  LogRun run(&device);
  ASSERT_OK(run.open_and_start());
  TestSession* const idle = run.session(0);
  TestSession* const session = run.session(0);
  ASSERT_OK(session->commit(1, 10));
  ASSERT_OK(run.log->close());
  ASSERT_OK(idle->detach());
  Status status;
  for (int i = 0; i < 100 && status.is_ok(); ++i) status = session->commit(2, 4'000).status();
  EXPECT_EQ(status.code(), ErrorCode::kClosed);
  EXPECT_EQ(session->detach().code(), ErrorCode::kClosed);
}

TEST(LogFailureTest, a_session_that_waits_for_room_is_served_without_a_new_epoch) {
  FailingDevice device;
  LogRun run(&device, 1, 1u << 20);
  ASSERT_OK(run.open_and_start());
  TestSession* const session = run.session(0, 64u << 10);
  run.runtime.run_for(15'000);
  const Epoch before = run.clock->current();
  for (std::uint64_t i = 0; i < 100; ++i) ASSERT_OK(session->commit(i, 4'000));
  EXPECT_EQ(run.clock->current(), before);
  EXPECT_LT(run.log->durability().durable(), before);
  ASSERT_OK(run.close());
}

}  // namespace
}  // namespace foedus::log::testing::log_failure_test
