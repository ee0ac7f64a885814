// ctest-labels: crash
// The log waits when a resource is missing for a while: space on a device that reports it only at a
// sync, descriptors, memory.
#include <cerrno>
#include <memory>
#include <new>
#include <set>
#include <string>

#include "foedus-core/log/segments/format.h"
#include "tests/log/log_harness.h"

namespace foedus::log::testing::log_room_test {
namespace {

using ::foedus::testing::CallSeen;

// Lets a device notice only at a sync that it is full, with space for the first sync of each file.
void fill_up_at_sync(FailingDevice* device, const bool* is_full) {
  const auto synced = std::make_shared<std::set<std::string>>();
  device->set_observer([=](const CallSeen& call) {
    if (call.kind != Call::kSync || !call.name.starts_with("log-")) return;
    if (!synced->insert(call.name).second && *is_full) device->fail(Call::kSync, 0, ENOSPC);
  });
}

// Goal: a full device costs no file and no segment, however long it is full, and few attempts.
TEST(LogRoomTest, a_sync_without_room_is_tried_again_in_the_same_segment) {
  FailingDevice device;
  History expected;
  {
    LogRun run(&device);
    bool is_full = false;
    fill_up_at_sync(&device, &is_full);
    ASSERT_OK(run.open_and_start());
    TestSession* const session = run.session(0);
    ASSERT_OK(run.commit_durably(session, 1, 1'000));
    is_full = true;
    ASSERT_OK(session->commit(2, 1'000));
    EXPECT_EQ(run.wait(run.clock->current()).code(), ErrorCode::kOutOfSpace);
    const std::uint64_t before = device.calls(Call::kSync);
    for (std::uint64_t i = 0; i < 20; ++i) {
      ASSERT_OK(session->commit(10 + i, 100));
      run.runtime.run_for(100'000);
    }
    EXPECT_GE(device.calls(Call::kSync) - before, 15u);
    EXPECT_LE(device.calls(Call::kSync) - before, 25u);
    EXPECT_EQ(run.log->segments().size(), 1u);
    EXPECT_FALSE(run.log->has_failed());
    is_full = false;
    run.runtime.run_for(150'000);
    ASSERT_OK(run.commit_durably(session, 100, 10));
    EXPECT_EQ(run.log->segments().size(), 1u);
    ASSERT_OK(run.close());
    expected = run.history(1);
    device.set_observer({});
  }
  device.crash_power(FailingDevice::kDropAll);
  EXPECT_EQ(found_in(&device), expected);
}

// Goal: remains of frames that were taken back confuse no reader. Method: there are several, and
// the file has grown for them; the second attempt has other contents; power fails at each of its
// calls, and any sectors of either survive.
constexpr std::uint64_t kProcessEnds = 1;
TEST(LogRoomTest, what_was_taken_back_may_be_torn_like_a_first_attempt) {
  for (std::uint64_t failing = 0; failing < 3; ++failing) {
    for (std::uint64_t skip = 0; skip < 12; ++skip) {
      for (const std::uint64_t seed :
           {FailingDevice::kDropAll, FailingDevice::kKeepAll, kProcessEnds, std::uint64_t{7},
            std::uint64_t{8}, std::uint64_t{9}}) {
        SCOPED_TRACE("sync " + std::to_string(failing) + " skip " + std::to_string(skip) +
                     " seed " + std::to_string(seed));
        FailingDevice device;
        Committed before;
        {
          LogRun run(&device, 1, 64u << 10);
          ASSERT_OK(run.open_and_start());
          TestSession* const session = run.session(0, 512u << 10);
          TestSession* const first = run.session(0);  // in a frame of both sessions
          TestSession* const second = run.session(0);
          ASSERT_OK(run.commit_durably(second, 1, 1'000));
          ASSERT_OK(second->commit(2, 2'600));
          ASSERT_OK(session->commit(3, 100'000));
          device.fail(Call::kSync, failing, ENOSPC);
          run.runtime.run_for(30'000);
          ASSERT_OK(first->commit(4, 1'000));
          device.lose_power_after(skip);
          run.runtime.run_for(300'000);
          before = {run.history(1), run.log->durability().durable()};
          if (seed == kProcessEnds) {
            device.crash_process();  // reads see the bytes that the failed sync gave up
          } else {
            device.crash_power(seed);
          }
        }
        expect_kept(&device, before);
        if (HasFailure()) return;
      }
    }
  }
}

// Goal: a failed sync is not taken for a missing one because the heap was spent while it was
// reported. Method: one sync fails without the log, and the log's own sync is left by an exception.
TEST(LogRoomTest, a_sync_that_is_left_by_an_exception_has_failed) {
  FailingDevice device;
  History expected;
  {
    LogRun run(&device);
    ASSERT_OK(run.open_and_start());
    TestSession* const session = run.session(0);
    ASSERT_OK(run.commit_durably(session, 1, 1'000));
    bool was_met = false;
    device.set_observer([&](const CallSeen& call) {
      if (call.kind != Call::kSync || call.name != kFirst || was_met) return;
      was_met = true;
      device.fail(Call::kSync, 0, EIO);
      const auto file = device.open(kFirst, device::Access::kReadWrite);
      if (!file.is_ok() || (*file)->sync().is_ok()) return;
      throw std::bad_alloc();
    });
    ASSERT_OK(session->commit(2, 1'000));
    run.runtime.run_for(300'000);
    ASSERT_OK(run.commit_durably(session, 3, 10));
    EXPECT_TRUE(was_met);
    ASSERT_OK(run.close());
    expected = run.history(1);
    device.set_observer({});
  }
  device.crash_power(FailingDevice::kDropAll);
  EXPECT_EQ(found_in(&device), expected);
}

// Goal: a lack of heap in the middle of a step loses no commit, and waiters are told of it. Method:
// each write to the segment throws.
TEST(LogRoomTest, a_write_that_is_left_by_an_exception_is_tried_again) {
  FailingDevice device;
  History expected;
  {
    LogRun run(&device);
    ASSERT_OK(run.open_and_start());
    TestSession* const session = run.session(0);
    ASSERT_OK(run.commit_durably(session, 1, 1'000));
    bool is_short = true;
    device.set_observer([&](const CallSeen& call) {
      if (is_short && call.kind == Call::kWrite && call.name == kFirst) throw std::bad_alloc();
    });
    ASSERT_OK(session->commit(2, 1'000));
    const Status status = run.wait(run.clock->current());
    EXPECT_EQ(status.code(), ErrorCode::kOutOfMemory) << status.message();
    EXPECT_EQ(session->detach().code(), ErrorCode::kOutOfMemory);
    is_short = false;
    run.runtime.run_for(200'000);
    ASSERT_OK(run.commit_durably(session, 3, 10));
    ASSERT_OK(run.close());
    expected = run.history(1);
    device.set_observer({});
  }
  device.crash_power(FailingDevice::kDropAll);
  EXPECT_EQ(found_in(&device), expected);
}

// Goal: a session with nothing to write can leave while the writes of another find no memory.
TEST(LogRoomTest, a_step_that_is_left_by_an_exception_wakes_a_session_that_leaves) {
  FailingDevice device;
  LogRun run(&device);
  ASSERT_OK(run.open_and_start());
  TestSession* const writer = run.session(0);
  TestSession* const idle = run.session(0);
  bool is_short = true;
  device.set_observer([&](const CallSeen& call) {
    if (is_short && call.kind == Call::kWrite && call.name == kFirst) throw std::bad_alloc();
  });
  ASSERT_OK(writer->commit(1, 1'000));
  EXPECT_EQ(run.wait(run.clock->current()).code(), ErrorCode::kOutOfMemory);
  ASSERT_OK(idle->detach());
  EXPECT_EQ(run.runtime.lost_wakes(), 0);
  is_short = false;
  run.runtime.run_for(200'000);
  ASSERT_OK(writer->detach());
  ASSERT_OK(run.log->close());
  EXPECT_EQ(run.runtime.lost_wakes(), 0);
  device.set_observer({});
}

// Lets a session commit while no commit becomes durable, and checks its ring.
void expect_waited_out(LogRun* run, TestSession* session, ErrorCode code) {
  run->log->roll_segments();
  ASSERT_OK(session->commit(2, 1'000));
  const Status status = run->wait(run->clock->current());
  EXPECT_EQ(status.code(), code) << status.message();
  run->runtime.run_for(2'000'000);
  EXPECT_FALSE(run->log->has_failed()) << run->log->failure().message();
  EXPECT_EQ(session->detach().code(), code);
  run->runtime.run_for(50'000);
}

// Goal: a temporary lack of descriptors or memory loses no commit, and lets a session detach.
// Method: the lack is met when a segment or the savepoint is opened.
TEST(LogRoomTest, a_lack_of_descriptors_or_memory_for_a_new_segment_is_waited_out) {
  for (const Call kind : {Call::kCreate, Call::kOpen}) {
    for (const int error_number : {EMFILE, ENFILE, ENOMEM}) {
      SCOPED_TRACE("errno " + std::to_string(error_number));
      FailingDevice device;
      History expected;
      {
        LogRun run(&device);
        ASSERT_OK(run.open_and_start());
        TestSession* const session = run.session(0);
        ASSERT_OK(run.commit_durably(session, 1, 1'000));
        device.fail(kind, 0, error_number, true);
        expect_waited_out(&run, session, ErrorCode::kOutOfMemory);
        EXPECT_EQ(run.wait(run.clock->current()).error_number(), error_number);
        device.clear_faults();
        run.runtime.run_for(200'000);
        ASSERT_OK(run.commit_durably(session, 3, 10));
        EXPECT_EQ(run.log->segments().size(), 2u);
        ASSERT_OK(run.close());
        expected = run.history(1);
      }
      device.crash_power(FailingDevice::kDropAll);
      EXPECT_EQ(found_in(&device), expected);
    }
  }
}

// Goal: a temporary lack of heap, or of space for a savepoint, loses no commit. Method: the write
// of the savepoint throws, or finds no space, again and again.
TEST(LogRoomTest, a_savepoint_that_cannot_be_written_costs_one_segment) {
  for (const bool throws : {false, true}) {
    SCOPED_TRACE(throws);
    FailingDevice device;
    History expected;
    {
      LogRun run(&device);
      ASSERT_OK(run.open_and_start());
      TestSession* const session = run.session(0);
      ASSERT_OK(run.commit_durably(session, 1, 1'000));
      bool is_short = true;
      device.set_observer([&](const CallSeen& call) {
        if (!is_short || call.kind != Call::kSync || call.name != "savepoint") return;
        if (throws) throw std::bad_alloc();
        device.fail(Call::kSync, 0, ENOSPC);
      });
      expect_waited_out(&run, session, throws ? ErrorCode::kOutOfMemory : ErrorCode::kOutOfSpace);
      is_short = false;
      run.runtime.run_for(200'000);
      ASSERT_OK(run.commit_durably(session, 3, 10));
      EXPECT_EQ(run.log->segments().size(), 2u);
      ASSERT_OK(run.close());
      expected = run.history(1);
      device.set_observer({});
    }
    device.crash_power(FailingDevice::kDropAll);
    EXPECT_EQ(found_in(&device), expected);
  }
}

// Goal: closing a log as soon as there is space loses no commit; without space it fails.
TEST(LogRoomTest, a_log_that_is_closed_tries_again_first) {
  for (const bool has_room : {true, false}) {
    FailingDevice device;
    History expected;
    {
      LogRun run(&device);
      bool is_full = false;
      fill_up_at_sync(&device, &is_full);
      ASSERT_OK(run.open_and_start());
      TestSession* const session = run.session(0);
      ASSERT_OK(run.commit_durably(session, 1, 1'000));
      is_full = true;
      ASSERT_OK(session->commit(2, 1'000));
      EXPECT_EQ(run.wait(run.clock->current()).code(), ErrorCode::kOutOfSpace);
      is_full = !has_room;
      EXPECT_EQ(run.log->close().code(), has_room ? ErrorCode::kOk : ErrorCode::kOutOfSpace);
      expected = run.history(1);
      device.set_observer({});
    }
    device.crash_power(FailingDevice::kDropAll);
    EXPECT_EQ(found_in(&device) == expected, has_room);
  }
}

// Goal: covered segments are removed once that is possible. Method: first the savepoint without
// them cannot be written, then one of them cannot be removed.
TEST(LogRoomTest, covered_segments_that_could_not_be_removed_are_removed_the_next_time) {
  FailingDevice device;
  LogRun run(&device, 1, 64u << 10);
  ASSERT_OK(run.open_and_start());
  TestSession* const session = run.session(0);
  Epoch last;
  for (std::uint64_t i = 0; i < 60; ++i) {
    const auto epoch = run.commit_durably(session, i, 4'000);
    ASSERT_OK(epoch);
    last = *epoch;
  }
  run.runtime.run_for(50'000);
  const std::uint64_t bytes = run.log->bytes_on_device();
  const std::size_t segments = run.log->segments().size();
  ASSERT_GT(segments, 3u);
  const auto files = [&] {
    std::size_t count = 0;
    for (const std::string& name : device.names()) count += name.starts_with("log-") ? 1 : 0;
    return count;
  };
  device.fail(Call::kSync, 0, ENOSPC);
  device.fail(Call::kSync, 1, ENOSPC);
  EXPECT_EQ(run.log->remove_segments_up_to(last).code(), ErrorCode::kOutOfSpace);
  EXPECT_EQ(files(), segments);
  EXPECT_EQ(run.log->bytes_on_device(), bytes);
  device.fail(Call::kRemove, 1, EIO);
  EXPECT_EQ(run.log->remove_segments_up_to(last).error_number(), EIO);
  EXPECT_EQ(files(), 2u);
  EXPECT_GT(run.log->bytes_on_device(), run.log->segments().back().synced_bytes);
  ASSERT_OK(run.log->remove_segments_up_to(last));
  EXPECT_EQ(files(), 1u);
  EXPECT_EQ(run.log->bytes_on_device(), run.log->segments().back().synced_bytes);
  ASSERT_OK(run.close());
}

}  // namespace
}  // namespace foedus::log::testing::log_room_test
