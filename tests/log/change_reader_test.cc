// ctest-labels: crash
// ChangeReader: which records it hands out, in which order, and what stays for it.
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "foedus-core/log/change_reader.h"
#include "tests/log/change_consumer.h"

namespace foedus::log::testing::change_reader_test {
namespace {

// Commits `count` records in turn with the run's sessions; their values begin at `first`.
void commit_some(LogRun* run, std::uint64_t first, std::uint64_t count, std::size_t bytes) {
  for (std::uint64_t i = 0; i < count; ++i) {
    auto* const session = run->sessions[i % run->sessions.size()].get();
    ASSERT_OK(session->commit(first + i, bytes));
    if (i % 3 == 0) run->runtime.run_for(7'000);
  }
  ASSERT_OK(run->wait(run->clock->current()));
}

TEST(ChangeReaderTest, each_change_of_several_loggers_comes_once_in_order_of_epochs) {
  FailingDevice device;
  ChangeRun run(&device, 3, 64u << 10);
  ASSERT_OK(run.open_and_start());
  for (std::uint32_t soc = 0; soc < 3; ++soc) run.session(soc);
  Consumer consumer;
  auto reader = ChangeReader::open(run.log.get(), Epoch());
  ASSERT_OK(reader);
  for (std::uint64_t round = 0; round < 6; ++round) {
    commit_some(&run, 1000 * round, 40, 3'000);
    ASSERT_OK(consumer.consume_from(reader->get()));
    expect_seen(consumer.seen, expected(run, Epoch(Epoch::kMax)));
  }
  ASSERT_GT(run.log->segments().size(), 6u);  // it went from one segment to the next
  EXPECT_GT(consumer.batches, 20u);
  reader->reset();
  ASSERT_OK(run.close());
}

TEST(ChangeReaderTest, a_reader_that_begins_at_any_epoch_gets_the_rest) {
  FailingDevice device;
  ChangeRun run(&device, 2, 64u << 10);
  ASSERT_OK(run.open_and_start());
  for (std::uint32_t soc = 0; soc < 2; ++soc) run.session(soc);
  commit_some(&run, 0, 60, 4'000);
  Consumer all;
  ASSERT_OK(all.consume(run.log.get()));
  expect_seen(all.seen, expected(run, Epoch(Epoch::kMax)));
  for (std::uint64_t after = 0; after <= all.position.number(); ++after) {
    Consumer rest;
    rest.position = Epoch(after);
    ASSERT_OK(rest.consume(run.log.get()));
    std::vector<Seen> later;
    for (const Seen& change : all.seen) {
      if (change.epoch > after) later.push_back(change);
    }
    ASSERT_EQ(rest.seen, later) << after;
  }
  ASSERT_OK(run.close());
}

TEST(ChangeReaderTest, a_reader_without_a_position_begins_now) {
  FailingDevice device;
  ChangeRun run(&device);
  ASSERT_OK(run.open_and_start());
  ASSERT_OK(run.commit_durably(run.session(0), 1, 10));
  const auto reader = ChangeReader::open(run.log.get(), std::nullopt);
  ASSERT_OK(reader);
  ASSERT_OK(run.commit_durably(run.sessions[0].get(), 2, 10));
  Consumer consumer;
  ASSERT_OK(consumer.consume_from(reader->get()));
  ASSERT_EQ(consumer.seen.size(), 1u);
  EXPECT_EQ(consumer.seen[0].value, 2u);
}

TEST(ChangeReaderTest, records_of_one_transaction_stay_together_and_large_ones_are_whole) {
  FailingDevice device;
  ChangeRun run(&device, 1, 1u << 20);
  ASSERT_OK(run.open_and_start());
  TestSession* const session = run.session(0, 4u << 20);
  TestSession* const other = run.session(0);
  ASSERT_OK(session->commit(0, 1'500'000));  // larger than a frame
  ASSERT_OK(session->commit(10, 100));
  ASSERT_OK(other->commit(20, 100));
  ASSERT_OK(other->commit(30, 100));
  ASSERT_OK(run.wait(run.clock->current()));
  Consumer consumer;
  ASSERT_OK(consumer.consume(run.log.get()));
  expect_seen(consumer.seen, expected(run, Epoch(Epoch::kMax)));
  const auto reader = ChangeReader::open(run.log.get(), Epoch());
  ASSERT_OK(reader);
  const auto batch = (*reader)->next();
  ASSERT_OK(batch);
  ASSERT_EQ(batch->changes.size(), 4u);
  // Both sessions commit with the same TIDs, which are not the same transactions.
  EXPECT_EQ(batch->changes.back().transaction, 3u);
}

TEST(ChangeReaderTest, transactions_with_one_tid_are_in_the_order_of_their_sessions) {
  FailingDevice device;
  ChangeRun run(&device, 2);
  ASSERT_OK(run.open_and_start());
  for (const std::uint32_t logger : {1u, 0u, 1u}) run.session(logger);
  for (std::uint64_t i = 0; i < 3; ++i) ASSERT_OK(run.sessions[i]->commit(i, 10));
  ASSERT_OK(run.wait(run.clock->current()));
  Consumer consumer;
  ASSERT_OK(consumer.consume(run.log.get()));
  ASSERT_EQ(consumer.seen.size(), 3u);
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(consumer.seen[i].value, i);
}

TEST(ChangeReaderTest, only_durable_epochs_are_handed_out) {
  FailingDevice device;
  ChangeRun run(&device, 2);
  ASSERT_OK(run.open_and_start());
  TestSession* const session = run.session(0);
  // The ring is full within one epoch, so that its records are synced before the epoch ends.
  run.runtime.run_for(15'000);
  for (std::uint64_t i = 0; i < 100; ++i) ASSERT_OK(session->commit(i, 4'000));
  ASSERT_GT(session->ring().durable(), 0u);
  Consumer consumer;
  const auto reader = ChangeReader::open(run.log.get(), Epoch());
  ASSERT_OK(reader);
  ASSERT_OK(consumer.consume_from(reader->get()));
  EXPECT_TRUE(consumer.seen.empty());
  ASSERT_OK(run.wait(run.clock->current()));
  ASSERT_OK(consumer.consume_from(reader->get()));
  expect_seen(consumer.seen, expected(run, Epoch(Epoch::kMax)));
}

// Goal: a consumer that resumes after any power failure sees each durable change once, and none
// that was cut. Method: power fails at random calls; what was seen is compared with the commits up
// to the cut of each run.
TEST(ChangeReaderTest, a_consumer_resumes_after_power_failures) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    std::mt19937_64 random(seed);
    const auto draw = [&](std::uint64_t below) { return random() % below; };
    FailingDevice device;
    Consumer consumer;
    std::map<std::uint64_t, std::uint64_t> all;
    std::map<std::uint64_t, std::uint64_t> unsure;
    for (std::uint64_t turn = 0; turn < 5; ++turn) {
      const auto loggers = static_cast<std::uint32_t>(1 + draw(3));
      ChangeRun run(&device, loggers, 64u << 10, seed * 10 + turn);
      ASSERT_OK(run.open());
      const Epoch cut = run.log->durable_epoch_found();
      for (const auto& [value, epoch] : unsure) {
        if (epoch <= cut.number()) all.emplace(value, epoch);
      }
      ASSERT_OK(run.start());
      for (std::uint32_t soc = 0; soc < loggers; ++soc) run.session(soc);
      // Idle epochs: a position in one of them must not hide changes after the crash.
      run.runtime.run_for(draw(100) * 1'000);
      ASSERT_OK(consumer.consume(run.log.get(), draw(9)));
      ASSERT_OK(consumer.consume(run.log.get()));
      expect_seen(consumer.seen, all);
      device.lose_power_after(draw(80));
      for (std::uint64_t i = 0; i < 40 && !device.has_lost_power(); ++i) {
        auto* const session = run.sessions[i % loggers].get();
        if (!session->commit(turn * 1000 + i, 2'000).is_ok()) break;
        if (draw(2) == 0) run.runtime.run_for(9'000);
        if (draw(4) == 0) (void)consumer.consume(run.log.get()).is_ok();
      }
      unsure = expected(run, Epoch(Epoch::kMax));
      device.crash_power(draw(1'000'000) + 1);
    }
  }
}

TEST(ChangeReaderTest, a_position_in_idle_epochs_hides_nothing_after_a_crash) {
  FailingDevice device;
  Consumer consumer;
  {
    ChangeRun run(&device);
    ASSERT_OK(run.open_and_start());
    ASSERT_OK(run.commit_durably(run.session(0), 1, 10));
    run.runtime.run_for(1'000'000);
    ASSERT_OK(consumer.consume(run.log.get()));
    EXPECT_LT(consumer.position, run.log->durability().durable());
    device.crash_power(FailingDevice::kDropAll);
  }
  ChangeRun run(&device);
  ASSERT_OK(run.open_and_start());
  ASSERT_OK(run.commit_durably(run.session(0), 2, 10));
  ASSERT_OK(consumer.consume(run.log.get()));
  ASSERT_EQ(consumer.seen.size(), 2u);
  EXPECT_EQ(consumer.seen[1].value, 2u);
}

TEST(ChangeReaderTest, segments_stay_for_a_reader_until_it_asks_for_later_epochs) {
  FailingDevice device;
  ChangeRun run(&device);
  ASSERT_OK(run.open_and_start());
  const auto first = run.commit_durably(run.session(0), 1, 10);
  ASSERT_OK(first);
  auto reader = ChangeReader::open(run.log.get(), Epoch());
  ASSERT_OK(reader);
  run.roll();
  const auto second = run.commit_durably(run.sessions[0].get(), 2, 10);
  ASSERT_OK(second);
  ASSERT_OK(run.log->remove_segments_up_to(*second));
  EXPECT_TRUE(device.exists(kFirst));
  ASSERT_OK((*reader)->next());  // the consumer may not have stored it yet
  ASSERT_OK(run.log->remove_segments_up_to(*second));
  EXPECT_TRUE(device.exists(kFirst));
  ASSERT_OK((*reader)->next());
  ASSERT_OK(run.log->remove_segments_up_to(*second));
  EXPECT_FALSE(device.exists(kFirst));
  // What was removed is refused by name, not skipped.
  const Status refused = ChangeReader::open(run.log.get(), first->previous()).status();
  EXPECT_EQ(refused.code(), ErrorCode::kNotFound);
  EXPECT_NE(refused.message().find("after " + std::to_string(first->number())), std::string::npos)
      << refused.message();
  EXPECT_TRUE(ChangeReader::open(run.log.get(), *first).is_ok());
}

TEST(ChangeReaderTest, a_reader_that_ends_holds_nothing) {
  FailingDevice device;
  ChangeRun run(&device);
  ASSERT_OK(run.open_and_start());
  const auto first = run.commit_durably(run.session(0), 1, 10);
  ASSERT_OK(first);
  ASSERT_OK(ChangeReader::open(run.log.get(), Epoch()).status());
  run.roll();
  ASSERT_OK(run.log->remove_segments_up_to(*first));
  EXPECT_FALSE(device.exists(kFirst));
}

TEST(ChangeReaderTest, removed_changes_are_refused_after_a_restart_too) {
  for (const bool closes : {false, true}) {
    FailingDevice device;
    Epoch first;
    {
      ChangeRun run(&device);
      ASSERT_OK(run.open_and_start());
      const auto committed = run.commit_durably(run.session(0), 1, 10);
      ASSERT_OK(committed);
      first = *committed;
      run.roll();
      ASSERT_OK(run.commit_durably(run.sessions[0].get(), 2, 10));
      ASSERT_OK(run.log->remove_segments_up_to(first));
      if (closes) {
        ASSERT_OK(run.close());
      } else {
        device.crash_power(FailingDevice::kDropAll);
      }
    }
    ChangeRun run(&device);
    ASSERT_OK(run.open_and_start());
    EXPECT_EQ(ChangeReader::open(run.log.get(), first.previous()).status().code(),
              ErrorCode::kNotFound);
    Consumer consumer;
    consumer.position = first;
    ASSERT_OK(consumer.consume(run.log.get()));
    ASSERT_EQ(consumer.seen.size(), 1u);
    EXPECT_EQ(consumer.seen[0].value, 2u);
  }
}

TEST(ChangeReaderTest, a_position_that_the_log_has_not_reached_is_refused) {
  FailingDevice device;
  ChangeRun run(&device);
  ASSERT_OK(run.open_and_start());
  const Epoch later = run.log->durability().durable().next();
  EXPECT_EQ(ChangeReader::open(run.log.get(), later).status().code(), ErrorCode::kInvalidArgument);
}

TEST(ChangeReaderTest, a_read_that_fails_loses_no_change) {
  FailingDevice device;
  ChangeRun run(&device, 2, 64u << 10);
  ASSERT_OK(run.open_and_start());
  for (std::uint32_t soc = 0; soc < 2; ++soc) run.session(soc);
  commit_some(&run, 0, 60, 3'000);
  const auto reader = ChangeReader::open(run.log.get(), Epoch());
  ASSERT_OK(reader);
  Consumer consumer;
  for (std::uint64_t skip = 0; skip < 6; ++skip) {
    device.fail(Call::kRead, skip, EIO);
    (void)consumer.consume_from(reader->get(), 4).is_ok();
    device.clear_faults();
  }
  ASSERT_OK(consumer.consume_from(reader->get()));
  expect_seen(consumer.seen, expected(run, Epoch(Epoch::kMax)));
}

}  // namespace
}  // namespace foedus::log::testing::change_reader_test
