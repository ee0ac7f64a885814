// ctest-labels: concurrency
// Which thread uses which session (E9, E31, E33).
#include "foedus-core/engine/session_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "foedus-core/base/clock.h"
#include "foedus-core/base/sync_point.h"
#include "tests/testing/test_database.h"

namespace foedus {
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

// How many threads wait for a session.
std::atomic<unsigned> waiting{0};
void count_waiting(const char* place) {
  static thread_local bool is_counted = false;
  if (std::string_view(place) != "session_pool:wait" || is_counted) return;
  is_counted = true;
  waiting.fetch_add(1);
}

// Goal: those who wait get sessions in the order in which they came. Method: one session, held
// until each of five threads has come after the one before.
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

// Goal: a thread that waits is told of a close() as kClosed, and not left behind. Method: the
// session that it waits for is a Session, which is destroyed only after the close.
TEST(SessionPoolTest, a_thread_that_waits_is_closed_with_the_database) {
  TestDatabase db(with_sessions(1));
  std::optional<Session> session = must(db->new_session());
  waiting = 0;
  base::set_sync_point_hook(&count_waiting);
  std::thread thread([&] {
    EXPECT_EQ(db->transact([](Txn&) { return Status(); }).code(), ErrorCode::kClosed);
  });
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

}  // namespace
}  // namespace foedus
