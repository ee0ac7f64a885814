// ctest-labels: concurrency
// Which thread uses which session (E9, E31, E33), and what sessions take of memory (E35).
#include "foedus-core/engine/sessions/session_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/base/system/sync_point.h"
#include "tests/testing/test_database.h"

namespace foedus::session_pool_test {
namespace {

using testing::must;
using testing::TestDatabase;

Options with_sessions(std::uint32_t sessions) {
  Options options = testing::small_options("");
  options.sessions_max = sessions;
  return options;
}

// Goal: a session serves one thread after the other, although none of them has ended.
TEST(SessionPoolTest, threads_that_take_turns_need_one_session) {
  TestDatabase db(with_sessions(1));
  const Masstree tree = must(db->open_masstree("tree"));
  std::atomic<unsigned> turn{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (unsigned round = 0; round < 5; ++round) {
        while (turn.load() != round * 4 + i) base::system_sleep_us(50);
        must(db->transact([&](Txn& txn) { return txn.put(tree, key(i), "row"); },
                          {.timeout_us = 0}));
        turn.fetch_add(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Threads that wait for a session.
std::atomic<unsigned> waiting{0};
void count_waiting(const char* place) {
  static thread_local bool is_counted = false;
  if (std::string_view(place) != "session_pool:wait" || is_counted) return;
  is_counted = true;
  waiting.fetch_add(1);
}

// Goal: waiting threads get sessions in the order in which they came. Method: one session is held
// until five threads have come, one after another.
TEST(SessionPoolTest, waiting_threads_are_served_in_their_order) {
  TestDatabase db(with_sessions(1));
  const Masstree tree = must(db->open_masstree("tree"));
  std::vector<unsigned> served;  // by the holder of the session
  std::vector<std::thread> threads;
  waiting = 0;
  base::set_sync_point_hook(&count_waiting);
  must(db->transact([&](Txn&) -> Status {
    for (unsigned i = 0; i < 5; ++i) {
      threads.emplace_back([&, i] {
        must(db->transact([&](Txn& txn) -> Status {
          served.push_back(i);
          return txn.put(tree, key(i), "row");
        }));
      });
      while (waiting.load() != i + 1) base::system_sleep_us(50);
    }
    return {};
  }));
  for (std::thread& thread : threads) thread.join();
  base::set_sync_point_hook(nullptr);
  EXPECT_EQ(served, (std::vector<unsigned>{0, 1, 2, 3, 4}));
}

// Goal: close() answers a waiting thread with kClosed. Method: the thread waits for the session of
// a Session, which is destroyed only after the close.
TEST(SessionPoolTest, a_thread_that_waits_is_closed_with_the_database) {
  TestDatabase db(with_sessions(1));
  std::optional<Session> session = must(db->new_session());
  waiting = 0;
  base::set_sync_point_hook(&count_waiting);
  std::thread thread(
      [&] { EXPECT_EQ(db->transact([](Txn&) { return Status(); }).code(), ErrorCode::kClosed); });
  while (waiting.load() == 0) base::system_sleep_us(50);
  must(db->close());
  thread.join();
  base::set_sync_point_hook(nullptr);
}

TEST(SessionPoolTest, a_session_of_an_explicit_owner_is_lent_to_none) {
  TestDatabase db(with_sessions(2));
  std::optional<Session> first = must(db->new_session());
  const Session second = must(db->new_session());
  EXPECT_EQ(db->transact([](Txn&) { return Status(); }, {.timeout_us = 0}).code(),
            ErrorCode::kTimeout);
  first.reset();
  must(db->transact([](Txn&) { return Status(); }, {.timeout_us = 0}));
}

// Goal: a log buffer grows with the session's transactions, up to the option, and no write is lost
// when the ring moves, not even rows that the transaction has just read back. Method: transactions
// of growing size, whose rows are read within and after.
TEST(SessionPoolTest, a_log_buffer_grows_with_its_transactions) {
  Options options = testing::small_options("");
  options.log.buffer_bytes = 8u << 20;
  TestDatabase db(options);
  const Masstree tree = must(db->open_masstree("tree"));
  const std::uint64_t small = db->stats().log_buffer_bytes;
  EXPECT_LE(small, 256u << 10);
  const auto row_of = [](unsigned rows, unsigned i) {
    return std::string(1'000, static_cast<char>('a' + (rows + i) % 26));
  };
  for (const unsigned rows : {10u, 100u, 1'000u, 1'900u}) {
    must(db->transact([&](Txn& txn) -> Status {
      for (unsigned i = 0; i < rows; ++i) {
        FOEDUS_CHECK(txn.put(tree, key(i), row_of(rows, i)));
      }
      for (unsigned i = 0; i < rows; ++i) {
        FOEDUS_TRY(const std::string row, txn.get(tree, key(i)));
        EXPECT_EQ(row, row_of(rows, i));
      }
      Scan scan = txn.scan(tree, key(0u), key(rows));
      unsigned i = 0;
      for (const Row& row : scan) {
        EXPECT_EQ(row.payload, row_of(rows, i));
        FOEDUS_CHECK(txn.put(tree, key(rows + i), row.payload));  // the ring may move here
        ++i;
      }
      EXPECT_EQ(i, rows);
      return scan.failure().value_or(Status());
    }));
  }
  EXPECT_GT(db->stats().log_buffer_bytes, 4u << 20);
  EXPECT_LE(db->stats().log_buffer_bytes, small + (8u << 20));
  EXPECT_EQ(db->transact([&](Txn& txn) -> Status {
                for (unsigned i = 0; i < 6'000; ++i) {
                  FOEDUS_CHECK(txn.put(tree, key(i), row_of(0, i)));
                }
                return {};
              }).code(),
            ErrorCode::kTooLarge);
  db.reopen();
  const Masstree again = must(db->open_masstree("tree"));
  must(db->transact([&](Txn& txn) -> Status {
    for (unsigned i = 0; i < 3'800; ++i) {
      FOEDUS_TRY(const std::string row, txn.get(again, key(i)));
      EXPECT_EQ(row, row_of(1'900, i % 1'900));
    }
    return {};
  }));
}

// Goal: a row of a scan stays as it is while the transaction writes. Method: the scan gives an
// appended row where it lies in the log buffer, which moves twice before the row is read.
TEST(SessionPoolTest, a_scanned_row_of_the_transaction_stays_when_its_log_buffer_moves) {
  Options options = testing::small_options("");
  options.log.buffer_bytes = 8u << 20;
  TestDatabase db(options);
  const Masstree tree = must(db->open_masstree("tree"));
  const Sequential list = must(db->open_sequential("list"));
  must(db->transact([&](Txn& txn) -> Status {
    const std::string appended(1'000, 'a');
    FOEDUS_CHECK(txn.append(list, appended));
    Scan scan = txn.scan(list);
    for (const Row& row : scan) {
      for (unsigned i = 0; i < 3'000; ++i) FOEDUS_CHECK(txn.put(tree, key(i), appended));
      EXPECT_EQ(row.payload, appended);
    }
    return scan.failure().value_or(Status());
  }));
  EXPECT_GT(db->stats().log_buffer_bytes, 2u << 20);
}

// Goal: the sets of a transaction count against memory_bytes, fail with a named error if that is
// spent, and return the memory afterwards, also to volatile pages. Method: a transaction reads one
// record of an array again and again.
TEST(SessionPoolTest, what_a_transaction_remembers_counts_against_memory) {
  Options options;
  options.memory_bytes = 64u << 20;
  TestDatabase db(options);
  const Array array = must(db->open_array("array", 10, 8));
  std::uint64_t reads = 0;
  const auto read_all = [&](std::uint64_t count) {
    return db->transact([&](Txn& txn) -> Status {
      for (reads = 0; reads < count; ++reads) {
        FOEDUS_CHECK(txn.get_as<std::uint64_t>(array, reads % 10).status());
      }
      return {};
    });
  };
  must(read_all(200'000));
  const Status status = read_all(10'000'000);
  EXPECT_EQ(status.code(), ErrorCode::kOutOfMemory) << status.message();
  EXPECT_LT(reads, 3'000'000u) << "more than 64 MiB hold";
  must(read_all(200'000));
}

}  // namespace
}  // namespace foedus::session_pool_test
