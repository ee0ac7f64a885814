// ctest-labels: crash
// Which segments stay for change streams, and which positions a log refuses.
#include <map>
#include <optional>

#include "tests/log/change_consumer.h"
#include "tests/testing/at_sync_point.h"

namespace foedus::log::testing::change_keeping_test {
namespace {

// Fills `count` segments, each with a commit of its own.
Epoch fill_segments(LogRun* run, std::uint64_t count) {
  Epoch last;
  if (run->sessions.empty()) run->session(0);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto committed = run->commit_durably(run->sessions[0].get(), i, 10);
    EXPECT_TRUE(committed.is_ok()) << committed.status().message();
    last = *committed;
    run->roll();
  }
  return last;
}

TEST(ChangeKeepingTest, covered_segments_stay_up_to_the_bytes_that_were_asked_for) {
  FailingDevice device;
  Epoch first;
  {
    LogRun run(&device);
    run.keep_changes(1u << 20);
    ASSERT_OK(run.open_and_start());
    EXPECT_EQ(run.log->change_bytes(), 1u << 20);
    first = fill_segments(&run, 1);
    ASSERT_OK(run.log->remove_segments_up_to(fill_segments(&run, 9)));
    EXPECT_EQ(run.log->segments().size(), 11u);  // and the one that is open
    ASSERT_OK(run.close());
  }
  LogRun run(&device);
  run.keep_changes(4 * kKeptBytesMin);
  ASSERT_OK(run.open());
  EXPECT_EQ(run.log->change_bytes(), 4 * kKeptBytesMin);
  ASSERT_OK(run.log->make_cut_durable());
  ASSERT_OK(run.log->remove_found_segments_up_to(run.log->durable_epoch_found()));
  EXPECT_LT(run.log->found_segment_count(), 8u);
  ASSERT_OK(run.start());
  ASSERT_OK(run.log->remove_segments_up_to(run.log->durability().durable()));
  std::uint64_t settled = 0;
  for (const LogSegment& segment : run.log->segments()) {
    if (segment.newest_epoch != Epoch::kMax) ++settled;
  }
  EXPECT_EQ(settled, 4u);
  EXPECT_EQ(ChangeReader::open(run.log.get(), first).status().code(), ErrorCode::kNotFound);
}

TEST(ChangeKeepingTest, the_oldest_changes_of_all_loggers_go_first) {
  for (const std::size_t first_logger : {0u, 1u}) {
    for (const std::uint64_t kept : {1u, 3u}) {
      FailingDevice device;
      LogRun run(&device, 2);
      // Each turn leaves a segment of the other logger, too, without a record; such a one goes
      // once it is the oldest.
      run.keep_changes((2 * kept - 1) * kKeptBytesMin);
      ASSERT_OK(run.open_and_start());
      for (std::uint32_t soc = 0; soc < 2; ++soc) run.session(soc);
      Epoch epochs[4];
      for (std::uint64_t i = 0; i < 4; ++i) {
        auto* const session = run.sessions[(first_logger + i) % 2].get();
        const auto committed = run.commit_durably(session, i, 10);
        ASSERT_OK(committed);
        epochs[i] = *committed;
        run.roll();
      }
      ASSERT_OK(run.log->remove_segments_up_to(epochs[3]));
      if (kept < 3) {
        EXPECT_FALSE(ChangeReader::open(run.log.get(), epochs[2 - kept]).is_ok());
      }
      Consumer consumer;
      consumer.position = epochs[3 - kept];
      ASSERT_OK(consumer.consume(run.log.get()));
      ASSERT_EQ(consumer.seen.size(), kept);
      EXPECT_EQ(consumer.seen[0].value, 4 - kept);
    }
  }
}

TEST(ChangeKeepingTest, what_no_snapshot_covers_stays_and_does_not_count) {
  FailingDevice device;
  LogRun run(&device);
  run.keep_changes(kKeptBytesMin);
  ASSERT_OK(run.open_and_start());
  const Epoch first = fill_segments(&run, 1);
  const Epoch last = fill_segments(&run, 3);
  const std::size_t before = run.log->segments().size();
  ASSERT_OK(run.log->remove_segments_up_to(first));
  EXPECT_EQ(run.log->segments().size(), before);
  EXPECT_EQ(run.log->bytes_kept(first), 8192u);
  EXPECT_EQ(run.log->bytes_kept(Epoch()), 0u);
  ASSERT_OK(run.log->remove_segments_up_to(last));
  EXPECT_LT(run.log->segments().size(), before);
}

TEST(ChangeKeepingTest, a_reader_that_is_ahead_of_the_snapshot_gives_nothing_up) {
  FailingDevice device;
  ChangeRun run(&device);
  ASSERT_OK(run.open_and_start());
  const Epoch first = fill_segments(&run, 1);
  const auto reader = ChangeReader::open(run.log.get(), fill_segments(&run, 3));
  ASSERT_OK(reader);
  const std::size_t before = run.log->segments().size();
  ASSERT_OK(run.log->remove_segments_up_to(first));
  EXPECT_EQ(run.log->segments().size(), before - 1);
}

// What came before the first run that keeps changes serves no stream, but recovery may need it.
TEST(ChangeKeepingTest, a_reader_gives_up_nothing_of_before_the_log_kept_changes) {
  FailingDevice device;
  {
    LogRun run(&device);
    ASSERT_OK(run.open_and_start());
    ASSERT_OK(run.commit_durably(run.session(0), 1, 10));
    device.crash_power(FailingDevice::kDropAll);
  }
  ChangeRun run(&device);
  ASSERT_OK(run.open_and_start());
  const auto reader = ChangeReader::open(run.log.get(), run.log->durability().durable());
  ASSERT_OK(reader);
  const std::size_t before = run.log->segments().size();
  ASSERT_OK(run.log->remove_segments_up_to(Epoch()));
  EXPECT_EQ(run.log->segments().size(), before);
}

TEST(ChangeKeepingTest, a_log_that_keeps_no_changes_says_so) {
  FailingDevice device;
  LogRun run(&device);
  ASSERT_OK(run.open_and_start());
  EXPECT_EQ(run.log->bytes_kept(fill_segments(&run, 2)), 0u);
}

// Each run leaves a segment. Without a bound of their number, a start would take ever longer.
TEST(ChangeKeepingTest, segments_without_records_count_too) {
  FailingDevice device;
  for (std::uint64_t turn = 0; turn < 20; ++turn) {
    LogRun run(&device, 1, 1u << 20, turn + 1);
    run.keep_changes(4 * kKeptBytesMin);
    ASSERT_OK(run.open_and_start());
    if (turn == 0) fill_segments(&run, 1);
    ASSERT_OK(run.log->remove_segments_up_to(run.log->durability().durable()));
    EXPECT_LE(run.log->segments().size(), 4u + 1);
    ASSERT_OK(run.close());
  }
}

TEST(ChangeKeepingTest, the_directory_keeps_the_setting) {
  FailingDevice device;
  Consumer consumer;
  std::map<std::uint64_t, std::uint64_t> all;
  for (std::uint64_t turn = 0; turn < 3; ++turn) {
    LogRun run(&device, 1, 1u << 20, turn + 1);
    if (turn == 0) run.keep_changes(1u << 20);
    ASSERT_OK(run.open_and_start());
    EXPECT_EQ(run.log->change_bytes(), 1u << 20);
    const auto committed = run.commit_durably(run.session(0), turn, 10);
    ASSERT_OK(committed);
    all[turn] = committed->number();
    run.roll();
    ASSERT_OK(run.log->remove_segments_up_to(*committed));
    device.crash_power(FailingDevice::kDropAll);
  }
  LogRun run(&device);
  ASSERT_OK(run.open_and_start());
  ASSERT_OK(consumer.consume(run.log.get()));
  expect_seen(consumer.seen, all);
}

// Goal: a stream never skips what a run without changes has done, whatever the log still has.
TEST(ChangeKeepingTest, positions_from_before_a_run_without_changes_are_refused) {
  for (const bool begins_without : {false, true}) {
    for (const bool closes : {false, true}) {
      FailingDevice device;
      Epoch before;
      Epoch within;
      for (const bool keeps : {!begins_without, false}) {
        LogRun run(&device);
        run.keep_changes(keeps ? 1u << 20 : kNoChanges);
        ASSERT_OK(run.open_and_start());
        const auto committed = run.commit_durably(run.session(0), 1, 10);
        ASSERT_OK(committed);
        (keeps ? before : within) = *committed;
        if (!keeps) {
          EXPECT_EQ(run.log->change_bytes(), 0u);
          EXPECT_EQ(ChangeReader::open(run.log.get(), *committed).status().code(),
                    ErrorCode::kNotSupported);
        }
        if (closes) {
          ASSERT_OK(run.close());
        } else {
          device.crash_power(FailingDevice::kDropAll);
        }
      }
      LogRun run(&device);
      run.keep_changes(1u << 20);
      ASSERT_OK(run.open_and_start());
      EXPECT_EQ(ChangeReader::open(run.log.get(), before).status().code(), ErrorCode::kNotFound);
      EXPECT_EQ(ChangeReader::open(run.log.get(), within.previous()).status().code(),
                ErrorCode::kNotFound);
      const Epoch begun = run.log->durability().durable();
      ASSERT_OK(run.log->remove_segments_up_to(begun));
      EXPECT_EQ(run.log->segments().size(), 1u);  // those from before serve no stream
      ASSERT_OK(run.commit_durably(run.session(0), 3, 10));
      Consumer consumer;
      consumer.position = begun;
      ASSERT_OK(consumer.consume(run.log.get()));
      ASSERT_EQ(consumer.seen.size(), 1u);
      EXPECT_EQ(consumer.seen[0].value, 3u);
    }
  }
}

// The clock of the next run may begin below an idle epoch that was durable.
TEST(ChangeKeepingTest, a_position_of_a_reader_that_begins_in_idle_epochs_hides_nothing) {
  for (const bool has_settled : {false, true}) {
    FailingDevice device;
    Consumer consumer;
    {
      ChangeRun run(&device);
      ASSERT_OK(run.open_and_start());
      if (has_settled) fill_segments(&run, 2);
      ASSERT_OK(run.commit_durably(has_settled ? run.sessions[0].get() : run.session(0), 7, 10));
      run.runtime.run_for(1'000'000);
      const auto reader = ChangeReader::open(run.log.get(), std::nullopt);
      ASSERT_OK(reader);
      ASSERT_OK(consumer.consume_from(reader->get()));
      EXPECT_TRUE(consumer.seen.empty());
      device.crash_power(FailingDevice::kDropAll);
    }
    ChangeRun run(&device);
    ASSERT_OK(run.open_and_start());
    ASSERT_OK(run.commit_durably(run.session(0), 8, 10));
    ASSERT_OK(consumer.consume(run.log.get()));
    ASSERT_EQ(consumer.seen.size(), 1u);
    EXPECT_EQ(consumer.seen[0].value, 8u);
  }
}

TEST(ChangeKeepingTest, a_reader_that_begins_now_skips_what_is_durable_in_all_loggers) {
  FailingDevice device;
  ChangeRun run(&device, 2);
  ASSERT_OK(run.open_and_start());
  for (std::uint32_t soc = 0; soc < 2; ++soc) run.session(soc);
  for (std::uint64_t i = 0; i < 9; ++i) {
    ASSERT_OK(run.commit_durably(run.sessions[i % 2].get(), i, 10));
    if (i == 4) run.log->roll_segments();
    run.runtime.run_for(30'000);
  }
  const auto reader = ChangeReader::open(run.log.get(), std::nullopt);
  ASSERT_OK(reader);
  Consumer consumer;
  ASSERT_OK(consumer.consume_from(reader->get()));
  EXPECT_TRUE(consumer.seen.empty());
  ASSERT_OK(run.commit_durably(run.sessions[0].get(), 9, 10));
  ASSERT_OK(consumer.consume_from(reader->get()));
  ASSERT_EQ(consumer.seen.size(), 1u);
  EXPECT_EQ(consumer.seen[0].value, 9u);
}

// Goal: a removal beside the reader is no error. Method: when the reader has its list, the newest
// segment, which has no later changes, is settled and removed.
TEST(ChangeKeepingTest, a_segment_without_changes_may_go_while_its_reader_looks) {
  FailingDevice device;
  ChangeRun run(&device, 2);
  ASSERT_OK(run.open_and_start());
  fill_segments(&run, 2);
  const auto committed = run.commit_durably(run.sessions[0].get(), 2, 10);
  ASSERT_OK(committed);
  const Epoch last = *committed;
  Consumer consumer;
  const auto reader = ChangeReader::open(run.log.get(), last);
  ASSERT_OK(reader);
  const std::size_t before = run.log->segments().size();
  {
    const ::foedus::testing::AtSyncPoint removal("change_reader:listed", [&] {
      run.roll();
      ASSERT_OK(run.log->remove_segments_up_to(last));
    });
    consumer.position = last;
    ASSERT_OK(consumer.consume_from(reader->get()));
    EXPECT_EQ(removal.runs(), 1u);
  }
  EXPECT_LE(run.log->segments().size(), before);
  ASSERT_OK(run.commit_durably(run.sessions[0].get(), 5, 10));
  ASSERT_OK(consumer.consume_from(reader->get()));
  ASSERT_EQ(consumer.seen.size(), 1u);
  EXPECT_EQ(consumer.seen[0].value, 5u);
}

// A crash between the removal of segments and the first savepoint of a run that begins to keep
// changes must not let the log look as if it had kept them all along.
TEST(ChangeKeepingTest, a_start_that_is_cut_off_promises_no_changes) {
  for (std::uint64_t calls = 0, ends = 0; ends == 0; ++calls) {
    FailingDevice device;
    {
      LogRun run(&device);
      ASSERT_OK(run.open_and_start());
      fill_segments(&run, 3);
      device.crash_power(FailingDevice::kDropAll);
    }
    {
      ChangeRun run(&device);
      ASSERT_OK(run.open());
      device.lose_power_after(calls);
      const bool is_started = run.log->make_cut_durable().is_ok() &&
                              run.log->remove_found_segments_up_to(Epoch(2)).is_ok() &&
                              run.start().is_ok();
      ends = is_started ? 1 : 0;
      device.crash_power(FailingDevice::kDropAll);
    }
    ChangeRun run(&device);
    ASSERT_OK(run.open_and_start());
    EXPECT_EQ(ChangeReader::open(run.log.get(), Epoch(1)).status().code(), ErrorCode::kNotFound)
        << calls;
  }
}

}  // namespace
}  // namespace foedus::log::testing::change_keeping_test
