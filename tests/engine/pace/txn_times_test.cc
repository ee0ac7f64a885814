// ctest-labels: concurrency
// What the histograms of stats() count (E56, E57). No test compares a time with an upper bound.
#include "foedus-core/engine/pace/txn_times.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "foedus-core/engine/engine.h"
#include "foedus-core/engine/storage_access.h"
#include "tests/testing/failing_device.h"
#include "tests/testing/manual_runtime.h"
#include "tests/testing/test_database.h"

namespace foedus::txn_times_test {
namespace {

using engine::TxnTimes;
using testing::must;
using testing::TestDatabase;

constexpr std::uint64_t kIdleUs = 2 * TxnTimes::kBusyNs / 1'000;

Histogram transactions_of(const TxnTimes& times) {
  Stats stats;
  times.add_stats(&stats);
  return stats.transaction_ns;
}

// ---- which transactions are measured

TEST(TxnTimesTest, each_transaction_of_an_idle_session_is_measured) {
  TxnTimes times(1);
  for (int i = 0; i < 5; ++i) {
    times.note_begin(false);
    base::system_sleep_us(kIdleUs);
    times.note_commit(true);
  }
  const Histogram found = transactions_of(times);
  EXPECT_EQ(found.count, 5u);
  EXPECT_GT(found.sum, 5 * TxnTimes::kBusyNs);
}

// Goal: the count of a busy session is that of its transactions up to the last measured one,
// however the distances were chosen, and however often this thread loses its processor.
TEST(TxnTimesTest, measured_transactions_of_a_busy_session_count_for_all) {
  constexpr std::uint64_t kTxns = 100'000;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    TxnTimes times(seed);
    for (std::uint64_t i = 0; i < kTxns; ++i) {
      times.note_begin(false);
      times.note_commit(true);
    }
    const Histogram found = transactions_of(times);
    EXPECT_LE(found.count, kTxns);
    EXPECT_GT(found.count, kTxns - 2 * TxnTimes::kInterval);
  }
}

TEST(TxnTimesTest, a_retry_belongs_to_the_transaction_of_the_first_try) {
  TxnTimes times(1);
  times.note_begin(false);
  base::system_sleep_us(kIdleUs);
  times.note_begin(true);
  times.note_commit(true);
  const Histogram found = transactions_of(times);
  EXPECT_EQ(found.count, 1u);
  EXPECT_GT(found.sum, TxnTimes::kBusyNs) << "the time of the first try is missing";
}

TEST(TxnTimesTest, a_transaction_that_is_not_serializable_or_did_not_commit_does_not_count) {
  TxnTimes times(1);
  times.note_begin(false);
  times.note_commit(false);
  base::system_sleep_us(kIdleUs);
  times.note_begin(false);
  base::system_sleep_us(kIdleUs);
  times.note_begin(false);
  EXPECT_EQ(transactions_of(times).count, 0u);
}

// ---- what stats() adds up

// Goal: stats() has the transactions of all sessions, also of one that was given back and of one
// whose thread has ended. Method: the first transaction of a session is always measured.
TEST(TxnTimesTest, stats_have_the_transactions_of_all_sessions) {
  TestDatabase db;
  const Masstree tree = must(db->open_masstree("tree"));
  std::vector<Session> sessions;
  for (int i = 0; i < 3; ++i) {
    sessions.push_back(must(db->new_session()));
    Txn txn = must(sessions.back().begin());
    must(txn.put(tree, key(i), "row"));
    must(txn.commit());
  }
  sessions.pop_back();
  EXPECT_EQ(db->stats().transaction_ns.count, 3u);
  Session last = must(db->new_session());  // that which was given back
  std::thread([&] {
    must(db->transact([&](Txn& txn) { return txn.put(tree, key(7), "row"); }));
  }).join();
  const Stats stats = db->stats();
  EXPECT_EQ(stats.transaction_ns.count, 4u);
  EXPECT_EQ(stats.transact_tries.count, 1u);
  EXPECT_GT(stats.transaction_ns.sum, 0u);
}

TEST(TxnTimesTest, tries_are_those_of_a_call_whatever_its_end) {
  TestDatabase db;
  const auto call = [&](std::uint32_t conflicts, std::uint32_t tries_max) {
    std::uint32_t tries = 0;
    return db->transact(
        [&](Txn&) {
          return ++tries <= conflicts ? Status::conflict(ConflictReason::kRecordLocked) : Status();
        },
        {.tries_max = tries_max});
  };
  must(call(0, 8));
  must(call(2, 8));
  EXPECT_EQ(call(100, 6).code(), ErrorCode::kConflict);
  const Histogram tries = db->stats().transact_tries;
  EXPECT_EQ(tries.count, 3u);
  EXPECT_EQ(tries.sum, 1u + 3u + 6u);
  EXPECT_EQ(tries.buckets[Histogram::bucket_of(3)], 1u);
  EXPECT_EQ(tries.buckets[Histogram::bucket_of(6)], 1u);
}

// Goal: a synchronous commit counts once, an asynchronous one and one of no epoch do not. Method: a
// runtime in which an epoch ends only while a thread waits.
TEST(TxnTimesTest, synchronous_commits_count_as_waits) {
  testing::FailingDevice device;
  testing::ManualRuntime runtime{1};
  const auto engine = must(engine::Engine::open(testing::small_options("/failing"),
                                                {.runtime = &runtime, .device = &device}));
  storage_meta::StorageMeta meta;
  meta.kind = StorageKind::kArray;
  meta.name = "array";
  meta.records = 10;
  meta.payload_bytes = 8;
  const auto array = internal::StorageAccess::make<Array>(must(engine->catalog().open(meta)));
  engine::EngineSession* const session = must(engine->take_session());
  const auto commit = [&](Durability durability, bool writes) {
    Txn txn = must(engine::begin_txn(session, {.durability = durability}));
    if (writes) must(txn.put(array, 1, std::uint64_t{5}));
    must(txn.commit());
    return engine->stats().durable_wait_ns.count;
  };
  EXPECT_EQ(commit(Durability::kAsync, true), 0u);
  EXPECT_EQ(commit(Durability::kSync, true), 1u);
  EXPECT_EQ(commit(Durability::kSync, false), 1u) << "nothing was read that is not durable";
  EXPECT_EQ(commit(Durability::kSync, true), 2u);
  must(engine->close());
}

// Goal: all that sessions count is in stats() at last, and no reader sees a count fall. Method: a
// thread reads beside two that commit; the thread sanitizer looks for races.
TEST(TxnTimesTest, stats_are_read_beside_sessions_that_commit) {
  constexpr std::uint64_t kCalls = 300;
  TestDatabase db;
  const Masstree tree = must(db->open_masstree("tree"));
  std::atomic<int> at_work{2};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      for (std::uint64_t n = 0; n < kCalls; ++n) {
        must(db->transact([&](Txn& txn) { return txn.put(tree, key(i, n), "row"); },
                          {.durability = n % 100 == 0 ? Durability::kSync : Durability::kAsync}));
      }
      at_work.fetch_sub(1);
    });
  }
  Stats before;
  while (at_work.load() != 0) {
    const Stats now = db->stats();
    EXPECT_GE(now.transact_tries.count, before.transact_tries.count);
    EXPECT_GE(now.transaction_ns.count, before.transaction_ns.count);
    EXPECT_GE(now.durable_wait_ns.count, before.durable_wait_ns.count);
    before = now;
  }
  for (std::thread& thread : threads) thread.join();
  const Stats stats = db->stats();
  EXPECT_EQ(stats.transact_tries.count, 2 * kCalls);
  EXPECT_LE(stats.transaction_ns.count, stats.commits);
  EXPECT_GT(stats.transaction_ns.count, 0u);
  EXPECT_LE(stats.durable_wait_ns.count, 6u);
}

}  // namespace
}  // namespace foedus::txn_times_test
