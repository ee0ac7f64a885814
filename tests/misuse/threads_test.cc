// ctest-labels: concurrency
// ctest-timeout: 300
// More threads than there is memory for, and threads that use one object at the same time.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "tests/testing/test_database.h"

namespace foedus::threads_test {
namespace {

using testing::must;
using testing::TestDatabase;

Options options_of(std::uint64_t memory_bytes) {
  Options options;
  options.memory_bytes = memory_bytes;
  return options;
}

// Goal: a server with a large pool of threads, most of them idle at any time, runs in little
// memory, although each thread has transacted and stays. Method: threads write in turn, ten rounds
// of all of them, and none ends before the last one has written.
void expect_in_turn(std::uint64_t memory_bytes, unsigned threads) {
  TestDatabase db(options_of(memory_bytes));
  const Masstree tree = must(db->open_masstree("tree"));
  constexpr unsigned kRounds = 10;
  std::vector<std::unique_ptr<std::binary_semaphore>> turns;  // of each thread
  for (unsigned i = 0; i < threads; ++i) {
    turns.push_back(std::make_unique<std::binary_semaphore>(i == 0 ? 1 : 0));
  }
  std::vector<std::thread> pool;
  for (unsigned i = 0; i < threads; ++i) {
    pool.emplace_back([&, i] {
      for (unsigned round = 0; round < kRounds; ++round) {
        turns[i]->acquire();
        const Status status =
            db->transact([&](Txn& txn) { return txn.put(tree, key(i, round), "row"); });
        EXPECT_TRUE(status.is_ok()) << "thread " << i << ": " << status.message();
        turns[(i + 1) % threads]->release();
      }
    });
  }
  for (std::thread& thread : pool) thread.join();
  EXPECT_LE(db->stats().log_buffer_bytes, memory_bytes / 16);
  std::uint64_t rows = 0;
  must(db->transact([&](Txn& txn) -> Status {
    rows = 0;
    Scan scan = txn.scan(tree, "", "");
    for ([[maybe_unused]] const Row& row : scan) ++rows;
    return scan.failure().value_or(Status());
  }));
  EXPECT_EQ(rows, std::uint64_t{threads} * kRounds);
}

TEST(ThreadMisuseTest, five_hundred_threads_in_turn_work_in_256_mib) {
  expect_in_turn(256u << 20, 500);
}
TEST(ThreadMisuseTest, a_hundred_threads_in_turn_work_in_64_mib) { expect_in_turn(64u << 20, 100); }

// Goal: all threads can transact at once: those without a session wait for one, and none fails.
TEST(ThreadMisuseTest, two_hundred_threads_at_once_work_in_64_mib) {
  TestDatabase db(options_of(64u << 20));
  const Hash hash = must(db->open_hash("hash"));
  std::vector<std::thread> pool;
  for (unsigned i = 0; i < 200; ++i) {
    pool.emplace_back([&, i] {
      for (std::int64_t n = 0; n < 20; ++n) {
        const Status status = db->transact([&](Txn& txn) -> Status {
          FOEDUS_CHECK(txn.put(hash, key(i), n));
          std::this_thread::yield();
          return txn.get_as<std::int64_t>(hash, key(i)).status();
        });
        EXPECT_TRUE(status.is_ok()) << "thread " << i << ": " << status.message();
      }
    });
  }
  for (std::thread& thread : pool) thread.join();
}

// Goal: a transact() without a free session waits for its timeout, and then names the holders of
// sessions. Method: one session, which a transaction of this thread holds.
TEST(ThreadMisuseTest, a_transact_without_a_session_names_who_has_them) {
  Options options = testing::small_options("");
  options.sessions_max = 1;
  TestDatabase db(options);
  const Masstree tree = must(db->open_masstree("tree"));
  Session session = must(db->new_session());
  Txn txn = must(session.begin());
  std::thread([&] {
    const Status status = db->transact([&](Txn& other) { return other.put(tree, "k", "row"); },
                                       {.timeout_us = 20'000});
    EXPECT_EQ(status.code(), ErrorCode::kTimeout);
    for (const char* const part : {"within 20 ms", "session 0, thread ", "sessions_max (1)"}) {
      EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
    }
    EXPECT_EQ(db->new_session().code(), ErrorCode::kTooLarge);
  }).join();
  must(txn.commit());
}

#if defined(FOEDUS_CHECKED)
// Lets two threads call operations of one Txn until that is noticed, before the second of two calls
// at the same time touches data.
void use_by_two_threads() {
  TestDatabase db;
  const Array array = must(db->open_array("array", 10, 8));
  Session session = must(db->new_session());
  Txn txn = must(session.begin());
  const auto read_for_ever = [&] {
    for (;;) (void)txn.get_as<std::uint64_t>(array, 0);
  };
  std::thread other(read_for_ever);
  read_for_ever();
}

// Goal: use of a Txn by two threads, which no lock prevents, is reported in builds that check for
// it.
TEST(ThreadMisuseTest, a_txn_of_two_threads_ends_a_checked_program_with_a_sentence) {
  EXPECT_DEATH(use_by_two_threads(),
               "^foedus: a transaction is used by two threads at the same time: thread [0-9]+ "
               "begins an operation while thread [0-9]+ is in one");
}
#endif

}  // namespace
}  // namespace foedus::threads_test
