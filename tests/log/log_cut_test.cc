// ctest-labels: crash
// Starts on existing segments: the epochs that these hold, seals and savepoints that are written
// again, and segments that may be removed.
#include <cerrno>
#include <cstring>

#include "foedus-core/log/segments/format.h"
#include "tests/log/log_harness.h"

namespace foedus::log::testing::log_cut_test {
namespace {

// Makes one durable commit, then crashes or closes. Returns its epoch.
Epoch run_once(FailingDevice* device, bool close) {
  LogRun run(device);
  EXPECT_TRUE(run.open_and_start().is_ok());
  run.runtime.run_for(50'000);
  const Result<Epoch> epoch = run.session(0)->commit(1, 100);
  EXPECT_TRUE(run.wait(*epoch).is_ok());
  if (close) {
    EXPECT_TRUE(run.close().is_ok());
  } else {
    device->crash_power(FailingDevice::kDropAll);
  }
  return *epoch;
}

TEST(LogCutTest, a_found_segment_is_removed_only_when_its_newest_record_is_covered) {
  for (const bool close : {false, true}) {
    FailingDevice device;
    const Epoch newest = run_once(&device, close);
    LogRun run(&device);
    ASSERT_OK(run.open_and_start());
    ASSERT_OK(run.log->remove_segments_up_to(newest.previous()));
    EXPECT_TRUE(device.exists(kFirst));
    ASSERT_OK(run.log->remove_segments_up_to(newest));
    EXPECT_FALSE(device.exists(kFirst));
  }
}

TEST(LogCutTest, a_found_segment_is_covered_by_its_own_records_whatever_other_loggers_have) {
  FailingDevice device;
  Epoch first;
  {
    LogRun run(&device, 2);
    ASSERT_OK(run.open_and_start());
    const auto committed = run.commit_durably(run.session(0), 1, 10);
    ASSERT_OK(committed);
    first = *committed;
    run.runtime.run_for(50'000);
    const auto later = run.commit_durably(run.session(1), 2, 10);
    ASSERT_OK(later);
    ASSERT_GT(*later, first);
    device.crash_power(FailingDevice::kDropAll);
  }
  LogRun run(&device, 2);
  ASSERT_OK(run.open_and_start());
  ASSERT_OK(run.log->remove_segments_up_to(first));
  EXPECT_FALSE(device.exists(kFirst));
  EXPECT_TRUE(device.exists("log-1-00000001"));
}

// Goal: epochs begin above those of records that no mark covers, however often the start is
// interrupted. Method: a session fills its ring within one epoch, so that it is synced before the
// epoch ends.
TEST(LogCutTest, new_epochs_begin_above_records_that_no_mark_covers) {
  FailingDevice device;
  Epoch epoch;
  {
    LogRun run(&device);
    ASSERT_OK(run.open_and_start());
    run.runtime.run_for(15'000);
    TestSession* const session = run.session(0);
    for (std::uint64_t i = 0; i < 100; ++i) {
      const auto committed = session->commit(i, 4'000);
      ASSERT_OK(committed);
      epoch = *committed;
    }
    ASSERT_GT(session->ring().durable(), 0u);
    ASSERT_LT(run.clock->published(), epoch);
    device.crash_power(FailingDevice::kDropAll);
  }
  for (int i = 0; i < 3; ++i) {
    LogRun run(&device);
    ASSERT_OK(run.open());
    EXPECT_LT(run.log->durable_epoch_found(), epoch);
    EXPECT_GT(run.log->first_new_epoch(), epoch);
    History found;
    ASSERT_OK(read_all(*run.log, &found));
    EXPECT_TRUE(found.empty());
    if (i < 2) {
      ASSERT_OK(run.log->make_cut_durable());
      device.crash_power(FailingDevice::kDropAll);
    } else {
      // A reader of the running log does not see these records either, whatever epochs it asks for.
      ASSERT_OK(run.start());
      for (const LogSegment& segment : run.log->segments()) {
        ASSERT_OK(run.log->read(segment, Epoch(Epoch::kMax),
                                [](std::uint32_t, std::uint64_t, const LogRecord&) -> Status {
                                  return Status::error(ErrorCode::kCorruption, "a lost record");
                                }));
      }
      // Nor do they keep the segment when all that was durable is covered.
      ASSERT_OK(run.log->remove_segments_up_to(run.log->durable_epoch_found()));
      EXPECT_FALSE(device.exists(kFirst));
    }
  }
}

TEST(LogCutTest, a_reader_gets_no_record_of_a_later_epoch_than_it_asked_for) {
  FailingDevice device;
  LogRun run(&device);
  ASSERT_OK(run.open_and_start());
  const auto first = run.commit_durably(run.session(0), 1, 10);
  ASSERT_OK(first);
  ASSERT_OK(run.commit_durably(run.sessions[0].get(), 2, 10));
  std::uint64_t last = 0;
  ASSERT_OK(run.log->read(run.log->segments().at(0), *first,
                          [&](std::uint32_t, std::uint64_t, const LogRecord& record) -> Status {
                            last = record.index();
                            return {};
                          }));
  EXPECT_EQ(last, 1u);
}

TEST(LogCutTest, a_start_writes_again_only_what_may_not_be_synced) {
  {
    FailingDevice device;
    {
      LogRun run(&device, 1, 64u << 20);
      ASSERT_OK(run.open_and_start());
      TestSession* const session = run.session(0, 4u << 20);
      for (std::uint64_t i = 0; i < 20; ++i) {
        ASSERT_OK(run.commit_durably(session, i, 1'000'000));
      }
      device.crash_process();
    }
    LogRun run(&device);
    ASSERT_OK(run.open());
    const std::uint64_t before = device.calls(Call::kWrite);
    ASSERT_OK(run.log->make_cut_durable());
    EXPECT_LT(device.calls(Call::kWrite) - before, 40u);  // savepoint, last frames, seal
  }
  FailingDevice device;
  run_once(&device, true);
  LogRun run(&device);
  ASSERT_OK(run.open());
  const std::uint64_t before = device.calls(Call::kWrite);
  ASSERT_OK(run.log->make_cut_durable());
  EXPECT_EQ(device.calls(Call::kWrite) - before, 2u);  // the savepoint, and the next one's slot
}

TEST(LogCutTest, files_that_change_between_open_and_start_are_refused) {
  FailingDevice made;
  run_once(&made, false);
  {
    const auto device = made.copy();
    LogRun run(device.get());
    ASSERT_OK(run.open());
    device->flip_bit(kFirst, 20, 1);
    const Status status = run.log->make_cut_durable();
    EXPECT_EQ(status.code(), ErrorCode::kCorruption) << status.message();
  }
  const auto device = made.copy();
  LogRun run(device.get());
  ASSERT_OK(run.open());
  device->set_size(kFirst, kBlockBytes);
  const Status status = run.log->make_cut_durable();
  EXPECT_NE(status.message().find("became shorter"), std::string::npos) << status.message();
  // A segment without a frame, of which no frame is written again, is checked as well.
  FailingDevice empty;
  {
    LogRun first(&empty);
    ASSERT_OK(first.open_and_start());
    empty.crash_power(FailingDevice::kDropAll);
  }
  LogRun second(&empty);
  ASSERT_OK(second.open());
  empty.set_size(kFirst, 100);
  EXPECT_EQ(second.log->make_cut_durable().code(), ErrorCode::kCorruption);
}

TEST(LogCutTest, a_leftover_that_cannot_be_removed_stops_the_start) {
  FailingDevice device;
  run_once(&device, true);
  ASSERT_OK(device.open("log-0-00000002", device::Access::kCreate).status());
  device.fail(Call::kRemove, 0, EIO);
  LogRun run(&device);
  ASSERT_OK(run.open());
  EXPECT_EQ(run.start().error_number(), EIO);
}

TEST(LogCutTest, a_file_that_went_before_it_was_removed_is_no_error) {
  FailingDevice device;
  run_once(&device, true);
  ASSERT_OK(device.open("log-1-00000001", device::Access::kCreate).status());
  device.set_observer([&](const foedus::testing::CallSeen& call) {
    if (call.kind == Call::kRemove) device.drop_file(call.name);
  });
  LogRun run(&device);
  ASSERT_OK(run.open_and_start());
  EXPECT_FALSE(device.exists("log-1-00000001"));
  const Epoch all = run.clock->current();
  ASSERT_OK(run.log->remove_segments_up_to(all));  // nor a covered segment
  EXPECT_FALSE(device.exists(kFirst));
}

TEST(LogCutTest, a_start_announces_the_epochs_before_its_own) {
  FailingDevice device;
  const Epoch newest = run_once(&device, false);
  LogRun run(&device);
  ASSERT_OK(run.open());
  // A snapshot may know later epochs than the log.
  const Epoch first(run.log->first_new_epoch().number() + 5);
  run.clock = std::make_unique<epoch::EpochClock>(&run.runtime, first, 64, 10'000);
  ASSERT_OK(run.log->start(run.clock.get()));
  EXPECT_GE(run.log->durability().durable(), newest);
  EXPECT_EQ(run.log->durability().durable(), first.previous());
}

// Goal: frames and seals name the epochs of their records, also a frame with a later part of a
// record, and a frame ends at the end of a record if possible. A glean chooses segments by these
// epochs.
TEST(LogCutTest, frames_and_seals_name_their_epochs) {
  FailingDevice device;
  std::vector<std::uint64_t> epochs;
  {
    LogRun run(&device, 1, 64u << 20);
    ASSERT_OK(run.open_and_start());
    run.runtime.run_for(30'000);
    TestSession* const session = run.session(0, 32u << 20);
    for (const std::size_t bytes : {std::size_t{2'500'000}, std::size_t{600'000}}) {
      for (int i = 0; i < 3; ++i) {
        const auto epoch = session->commit(static_cast<std::uint64_t>(i), bytes);
        ASSERT_OK(epoch);
        epochs.push_back(epoch->number());
      }
      ASSERT_OK(run.wait(Epoch(epochs.back())));
    }
    ASSERT_OK(run.close());
  }
  std::uint64_t count = 0;
  const std::uint64_t end = device.size_of(kFirst);
  for (std::uint64_t at = kBlockBytes; at < end;) {
    const auto frame = load<FrameHeader>(device, kFirst, at);
    ASSERT_EQ(frame.magic, kFrameMagic);
    if (frame.piece_count != 0) {
      EXPECT_GE(frame.oldest_epoch, epochs.front()) << at;
      EXPECT_GE(frame.newest_epoch, frame.oldest_epoch) << at;
      EXPECT_LE(frame.newest_epoch, epochs.back()) << at;
    }
    if (frame.oldest_epoch == epochs.back()) {
      EXPECT_EQ(load<FramePiece>(device, kFirst, at + sizeof(frame)).bytes,
                LogRecord::size_of(8, 600'000));
      ++count;
    }
    at += frame.frame_bytes;
  }
  EXPECT_EQ(count, 3u);
  const auto seal = load<SegmentSeal>(device, kFirst, kSlotBytes);
  EXPECT_EQ(seal.oldest_epoch, epochs.front());
  EXPECT_EQ(seal.newest_epoch, epochs.back());
}

// Goal: frames that are written again name the epochs of all their records. Method: records of two
// epochs are written together, and that sync fails.
TEST(LogCutTest, frames_that_are_written_again_name_all_their_epochs) {
  FailingDevice device;
  LogRun run(&device);
  ASSERT_OK(run.open_and_start());
  TestSession* const session = run.session(0);
  device.fail(Call::kWrite, 0, ENOSPC, true);
  const auto first = session->commit(1, 10);
  run.runtime.run_for(30'000);
  const auto last = session->commit(2, 10);
  ASSERT_OK(first);
  ASSERT_OK(last);
  ASSERT_LT(*first, *last);
  device.clear_faults();
  device.fail(Call::kSync, 1, EIO);  // after the sync of the place (L15)
  run.runtime.run_for(1'000'000);
  ASSERT_TRUE(run.log->durability().is_durable(*last));
  const auto frame = load<FrameHeader>(device, "log-0-00000002", kBlockBytes);
  EXPECT_EQ(frame.oldest_epoch, first->number());
  EXPECT_EQ(frame.newest_epoch, last->number());
}

TEST(LogCutTest, the_seal_of_an_idle_segment_has_the_mark_of_its_header) {
  FailingDevice device;
  run_once(&device, true);
  LogRun run(&device);
  ASSERT_OK(run.open_and_start());
  ASSERT_OK(run.close());
  const std::string second = "log-0-00000002";
  const auto header = load<SegmentHeader>(device, second, 0);
  EXPECT_GT(header.mark_epoch, 0u);
  EXPECT_EQ(load<SegmentSeal>(device, second, kSlotBytes).mark_epoch, header.mark_epoch);
}

// Goal: a first start that is interrupted anywhere can be repeated, whatever files it left.
TEST(LogCutTest, a_first_start_may_break_off) {
  for (std::uint64_t skip = 0; skip < 12; ++skip) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      SCOPED_TRACE("skip " + std::to_string(skip) + " seed " + std::to_string(seed));
      FailingDevice device;
      {
        LogRun run(&device);
        ASSERT_OK(run.open());
        device.lose_power_after(skip);
        [[maybe_unused]] const Status started = run.start();
        device.crash_power(seed);
      }
      LogRun run(&device);
      ASSERT_OK(run.open_and_start());
      ASSERT_OK(run.commit_durably(run.session(0), 1, 10));
    }
  }
}

// Goal: a mark comes after all records that it covers. Method: small records of many sessions need
// several frames; power fails after each of them, and all writes survive.
TEST(LogCutTest, a_mark_stands_in_the_last_of_several_frames) {
  for (std::uint64_t skip = 0; skip < 8; ++skip) {
    FailingDevice device;
    History all;
    {
      LogRun run(&device);
      ASSERT_OK(run.open_and_start());
      run.runtime.run_for(30'000);
      for (std::uint64_t i = 0; i < 60; ++i) ASSERT_OK(run.session(0)->commit(i, 200));
      all = run.history(1);
      device.lose_power_after(skip);
      run.runtime.run_for(30'000);
      device.crash_power(FailingDevice::kKeepAll);
    }
    LogRun run(&device);
    ASSERT_OK(run.open());
    History found;
    ASSERT_OK(read_all(*run.log, &found));
    EXPECT_EQ(found, cut_at(all, run.log->durable_epoch_found())) << skip;
  }
}

}  // namespace
}  // namespace foedus::log::testing::log_cut_test
