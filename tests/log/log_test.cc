// The log from open() to close(): commits are read back, in order, once.
#include "foedus-core/log/log.h"

#include "tests/log/log_harness.h"

namespace foedus::log::testing::log_test {
namespace {

// Opens the log of `device` and compares it with `expected`.
void expect_found(FailingDevice* device, const History& expected, bool clean) {
  LogRun run(device);
  ASSERT_OK(run.open());
  EXPECT_EQ(run.log->was_closed_cleanly(), clean);
  History found;
  ASSERT_OK(read_all(*run.log, &found));
  EXPECT_EQ(found, expected);
}

TEST(LogTest, a_fresh_directory_is_an_empty_log_and_is_not_written_by_open) {
  FailingDevice device;
  LogRun run(&device);
  ASSERT_OK(run.open());
  EXPECT_EQ(run.log->found_segment_count(), 0u);
  EXPECT_TRUE(run.log->was_missing());
  EXPECT_TRUE(run.log->was_closed_cleanly());
  EXPECT_EQ(run.log->durable_epoch_found(), Epoch());
  EXPECT_EQ(run.log->first_new_epoch(), Epoch(1));
  EXPECT_EQ(device.changing_calls(), 0u);
}

TEST(LogTest, what_was_committed_is_read_back_after_a_clean_close) {
  FailingDevice device;
  History expected;
  Epoch last;
  {
    LogRun run(&device);
    ASSERT_OK(run.open_and_start());
    TestSession* const session = run.session(0);
    for (std::uint64_t i = 0; i < 100; ++i) {
      const auto epoch = session->commit(i, i * 3);
      ASSERT_OK(epoch);
      last = *epoch;
      if (i % 10 == 0) run.runtime.run_for(3'000);
    }
    ASSERT_OK(run.close());
    expected = run.history(1);
  }
  expect_found(&device, expected, true);
  LogRun run(&device);
  ASSERT_OK(run.open());
  EXPECT_GE(run.log->durable_epoch_found(), last);
  EXPECT_GT(run.log->first_new_epoch(), run.log->durable_epoch_found());
}

TEST(LogTest, what_is_durable_survives_a_power_failure_that_drops_all_that_is_unsynced) {
  FailingDevice device;
  History expected;
  {
    LogRun run(&device);
    ASSERT_OK(run.open_and_start());
    TestSession* const session = run.session(0);
    const auto epoch = session->commit(1, 100);
    ASSERT_OK(epoch);
    ASSERT_OK(run.wait(*epoch));
    expected = run.history(1);
    ASSERT_OK(session->commit(2, 100));  // no wait for it
    device.crash_power(FailingDevice::kDropAll);
  }
  expect_found(&device, expected, false);
}

TEST(LogTest, a_ring_that_wraps_many_times_is_read_back) {
  FailingDevice device;
  History expected;
  {
    LogRun run(&device, 1, 256u << 10);
    ASSERT_OK(run.open_and_start());
    TestSession* const session = run.session(0);
    base::Random random(7);
    for (std::uint64_t i = 0; i < 2'000; ++i) {
      ASSERT_OK(session->commit(i * 10, random.below(3'000), 1 + random.below(5)));
      if (random.below(20) == 0) run.runtime.run_for(random.below(20'000));
    }
    ASSERT_OK(run.close());
    expected = run.history(1);
    EXPECT_GT(session->ring().committed(), 20 * LogRun::kRingBytes);
  }
  EXPECT_GT(device.names().size(), 10u);
  expect_found(&device, expected, true);
}

TEST(LogTest, records_larger_than_a_frame_are_read_back) {
  FailingDevice device;
  History expected;
  {
    LogRun run(&device, 1, 1u << 20);
    ASSERT_OK(run.open_and_start());
    TestSession* const large = run.session(0, 16u << 20);
    TestSession* const small = run.session(0);
    for (std::uint64_t i = 0; i < 12; ++i) {
      ASSERT_OK(large->commit(i * 2, (4u << 20) - i * 511));
      ASSERT_OK(large->commit(i * 2 + 1, i));
      ASSERT_OK(small->commit(1'000 + i, 40));
      run.runtime.run_for(i * 2'000);
    }
    ASSERT_OK(run.close());
    expected = run.history(1);
  }
  expect_found(&device, expected, true);
}

TEST(LogTest, many_idle_sessions_share_one_block) {
  FailingDevice device;
  History expected;
  {
    LogRun run(&device);
    ASSERT_OK(run.open_and_start());
    Epoch last;
    for (std::uint64_t i = 0; i < 20; ++i) {
      const auto epoch = run.session(0)->commit(i, 16);
      ASSERT_OK(epoch);
      last = *epoch;
    }
    const std::uint64_t before = run.log->bytes_written();
    ASSERT_OK(run.wait(last));
    EXPECT_EQ(run.log->bytes_written() - before, 4096u);
    ASSERT_OK(run.close());
    expected = run.history(1);
  }
  expect_found(&device, expected, true);
}

TEST(LogTest, an_idle_log_does_no_input_or_output) {
  FailingDevice device;
  LogRun run(&device, 3);
  ASSERT_OK(run.open_and_start());
  TestSession* const session = run.session(1);
  const auto epoch = session->commit(1, 10);
  ASSERT_OK(epoch);
  ASSERT_OK(run.wait(*epoch));
  run.runtime.run_for(100'000);
  const std::uint64_t before = device.changing_calls();
  const Epoch durable_before = run.log->durability().durable();
  run.runtime.run_for(5'000'000);
  EXPECT_EQ(device.changing_calls(), before);
  EXPECT_GT(run.log->durability().durable().number(), durable_before.number() + 100);
}

TEST(LogTest, one_commit_costs_one_write_and_one_sync_of_each_logger) {
  FailingDevice device;
  LogRun run(&device, 2);
  ASSERT_OK(run.open_and_start());
  TestSession* const session = run.session(0);
  run.runtime.run_for(50'000);
  const std::uint64_t writes = device.calls(Call::kWrite);
  const std::uint64_t syncs = device.calls(Call::kSync);
  const auto epoch = session->commit(1, 10);
  ASSERT_OK(epoch);
  ASSERT_OK(run.wait(*epoch));
  run.runtime.run_for(200'000);
  EXPECT_EQ(device.calls(Call::kWrite) - writes, 2u);
  EXPECT_EQ(device.calls(Call::kSync) - syncs, 2u);
}

TEST(LogTest, segments_that_a_snapshot_covers_are_removed_and_the_rest_stays_readable) {
  FailingDevice device;
  History expected;
  Epoch covered;
  {
    LogRun run(&device, 2, 64u << 10);
    ASSERT_OK(run.open_and_start());
    TestSession* const session = run.session(0);
    Epoch last;
    for (std::uint64_t i = 0; i < 300; ++i) {
      const auto epoch = session->commit(i, 2'000);
      ASSERT_OK(epoch);
      last = *epoch;
      if (i == 150) covered = last;
      run.runtime.run_for(2'000);
    }
    ASSERT_OK(run.wait(last));
    run.runtime.run_for(50'000);
    const std::uint64_t before = run.log->bytes_on_device();
    ASSERT_OK(run.log->remove_segments_up_to(covered));
    EXPECT_LT(run.log->bytes_on_device(), before);
    EXPECT_FALSE(device.exists("log-0-00000001"));
    ASSERT_OK(run.close());
    expected = run.history(1);
  }
  device.crash_power(FailingDevice::kDropAll);
  LogRun run(&device);
  ASSERT_OK(run.open_and_start());
  History found;
  ASSERT_OK(read_all(*run.log, &found));
  const auto& all = expected[{1, 0}];
  const auto& left = found[{1, 0}];
  ASSERT_LT(left.size(), all.size());
  EXPECT_TRUE(std::equal(left.rbegin(), left.rend(), all.rbegin()));
  EXPECT_LE(left.front().epoch, covered.number() + 1);
}

TEST(LogTest, all_that_is_covered_is_removed_once_the_segments_were_rolled) {
  FailingDevice device;
  LogRun run(&device, 2, 1u << 20);
  ASSERT_OK(run.open_and_start());
  Epoch last;
  for (std::uint64_t i = 0; i < 50; ++i) {
    const auto epoch = run.session(i % 2)->commit(i, 2'000);
    ASSERT_OK(epoch);
    last = *epoch;
  }
  ASSERT_OK(run.wait(last));
  run.runtime.run_for(50'000);
  run.log->roll_segments();  // idle loggers roll, too
  run.runtime.run_for(50'000);
  ASSERT_OK(run.log->remove_segments_up_to(last));
  for (const LogSegment& segment : run.log->segments()) {
    EXPECT_EQ(segment.synced_bytes, device::kBlockBytes) << segment.number;
  }
  // An empty segment is not rolled.
  const std::vector<std::string> names = device.names();
  run.log->roll_segments();
  run.runtime.run_for(50'000);
  EXPECT_EQ(device.names(), names);
  ASSERT_OK(run.session(0)->commit(50, 100));
  ASSERT_OK(run.close());
}

TEST(LogTest, a_running_log_is_read_up_to_its_durable_epoch) {
  FailingDevice device;
  History expected;
  for (std::uint64_t incarnation = 1; incarnation <= 3; ++incarnation) {
    LogRun run(&device, 2, 64u << 10);
    ASSERT_OK(run.open_and_start());
    for (std::uint32_t i = 0; i < 4; ++i) run.session(i % 2);
    Epoch durable;
    for (std::uint64_t i = 0; i < 100; ++i) {
      const auto epoch = run.sessions[i % 4]->commit(i, i % 9 == 0 ? 7'000 : 300);
      ASSERT_OK(epoch);
      if (i % 8 == 0) run.runtime.run_for(9'000);
      if (i % 30 == 29) run.log->roll_segments();
      if (i == 90) ASSERT_OK(run.wait(*epoch));
      durable = run.log->durability().durable();
    }
    History now = expected;
    now.merge(cut_at(run.history(incarnation), durable));
    History found;
    for (const LogSegment& segment : run.log->segments()) {
      ASSERT_OK(run.log->read(segment, durable, [&](std::uint32_t session, std::uint64_t of,
                                                    const LogRecord& record) -> Status {
        found[{of, session}].push_back({page::Tid(record.tid).epoch().number(), record.index(),
                                        record.payload_bytes()});
        return {};
      }));
    }
    EXPECT_EQ(found, now);
    device.crash_power(incarnation);
    LogRun after(&device);
    ASSERT_OK(after.open());
    expected.merge(cut_at(run.history(incarnation), after.log->durable_epoch_found()));
  }
}

TEST(LogTest, a_directory_opens_with_any_number_of_loggers) {
  FailingDevice device;
  History expected;
  std::uint64_t incarnation = 0;
  for (const std::uint32_t socs : {3u, 1u, 5u, 2u}) {
    LogRun run(&device, socs, 64u << 10);
    ASSERT_OK(run.open_and_start());
    ++incarnation;
    for (std::uint32_t soc = 0; soc < socs; ++soc) {
      for (std::uint64_t i = 0; i < 40; ++i) {
        if (i == 0) run.session(soc);
        ASSERT_OK(run.sessions[soc]->commit(incarnation * 1'000 + i, 900));
        run.runtime.run_for(500);
      }
    }
    if (socs == 3) {
      ASSERT_OK(run.wait(run.clock->current()));
      expected.merge(run.history(incarnation));
      device.crash_power(5);
    } else {
      ASSERT_OK(run.close());
      expected.merge(run.history(incarnation));
    }
  }
  expect_found(&device, expected, true);
}

TEST(LogTest, a_ring_that_is_detached_and_attached_again_goes_on) {
  FailingDevice device;
  History expected;
  {
    LogRun run(&device);
    ASSERT_OK(run.open_and_start());
    TestSession* const session = run.session(0);
    for (std::uint64_t i = 0; i < 5; ++i) {
      ASSERT_OK(session->commit(i, 5'000 * i));
      ASSERT_OK(session->detach());
      EXPECT_EQ(session->ring().durable(), session->ring().committed());
      run.log->attach(0, &session->ring());
    }
    ASSERT_OK(run.close());
    expected = run.history(1);
  }
  expect_found(&device, expected, true);
}

TEST(LogTest, a_session_number_may_come_back_with_a_new_ring) {
  FailingDevice device;
  History expected;
  {
    LogRun run(&device);
    ASSERT_OK(run.open_and_start());
    TestSession* const first = run.session(0);
    for (std::uint64_t i = 0; i < 5; ++i) ASSERT_OK(first->commit(i, 1'000));
    ASSERT_OK(first->detach());
    TestSession again(run.log.get(), run.clock.get(), 0, 0, LogRun::kRingBytes);
    for (std::uint64_t i = 5; i < 9; ++i) ASSERT_OK(again.commit(i, 1'000));
    ASSERT_OK(again.detach());
    ASSERT_OK(run.log->close());
    expected = run.history(1);
    std::vector<Written>& all = expected[{1, 0}];
    all.insert(all.end(), again.history().begin(), again.history().end());
  }
  expect_found(&device, expected, true);
}

}  // namespace
}  // namespace foedus::log::testing::log_test
