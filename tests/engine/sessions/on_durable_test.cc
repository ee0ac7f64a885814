// ctest-labels: concurrency
// Callbacks of durable commits: the thread that runs them, and the calls that they may make.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "foedus-core/base/system/clock.h"
#include "tests/testing/test_database.h"

namespace foedus::on_durable_test {
namespace {

using testing::must;
using testing::small_options;
using testing::TestDatabase;

// Returns options with which commits become durable after a second, unless a thread waits. As there
// is one logger, the waiter does the work in its own thread.
Options patient() {
  Options options = small_options("");
  options.socs = 1;
  options.epoch_interval_us = 1'000'000;
  return options;
}

void wait_for(const std::atomic<bool>& told) {
  while (!told) base::system_sleep_us(100);
}

// Goal: a user's thread that waits for its own commit runs no callbacks: it may hold locks that
// they need.
TEST(OnDurableTest, callbacks_come_from_a_thread_of_the_engine) {
  TestDatabase db(patient());
  const Masstree tree = must(db->open_masstree("tree"));
  for (unsigned i = 0; i < 20; ++i) {
    Ticket ticket;
    must(db->transact([&](Txn& txn) { return txn.put(tree, key(i), "row"); }, {.ticket = &ticket}));
    const std::thread::id asker = std::this_thread::get_id();
    bool is_asking = true;  // of the requesting thread
    std::atomic<bool> told{false};
    ticket.on_durable([&](const Status& status) {
      must(status);
      EXPECT_TRUE(std::this_thread::get_id() != asker || is_asking) << i;
      told = true;
    });
    is_asking = false;
    must(ticket.wait_durable());
    wait_for(told);
  }
}

// Goal: a callback may read statistics at any time: here while a storage is created.
TEST(OnDurableTest, a_callback_may_ask_for_figures) {
  TestDatabase db(patient());
  const Masstree tree = must(db->open_masstree("tree"));
  for (unsigned i = 0; i < 20; ++i) {
    Ticket ticket;
    must(db->transact([&](Txn& txn) { return txn.put(tree, key(i), "row"); }, {.ticket = &ticket}));
    std::atomic<bool> told{false};
    ticket.on_durable([&](const Status&) {
      EXPECT_GE(db->stats().storages.size(), 1u);
      told = true;
    });
    must(db->open_masstree("tree" + std::to_string(i)));
    wait_for(told);
  }
}

// Goal: a callback may run a transaction that does not wait. Method: a thread that waits for the
// durability of its own is in a transaction as far as its session can tell.
TEST(OnDurableTest, a_callback_may_run_a_transaction) {
  TestDatabase db(patient());
  const Masstree tree = must(db->open_masstree("tree"));
  for (unsigned i = 0; i < 20; ++i) {
    Ticket ticket;
    must(db->transact([&](Txn& txn) { return txn.put(tree, key(i), "row"); }, {.ticket = &ticket}));
    std::atomic<bool> told{false};
    ticket.on_durable([&](const Status&) {
      must(db->transact([&](Txn& txn) { return txn.put(tree, "told", "row"); }));
      told = true;
    });
    must(db->transact([&](Txn& txn) { return txn.put(tree, key(i), "again"); },
                      {.durability = Durability::kSync}));
    wait_for(told);
  }
}

// Goal: close() while a transaction of a callback is open is busy, and works once the callback has
// ended. Method: the transaction is open until the first close() has returned.
TEST(OnDurableTest, a_callback_in_a_transaction_makes_the_database_busy) {
  TestDatabase db(patient());
  const Masstree tree = must(db->open_masstree("tree"));
  Ticket ticket;
  must(db->transact([&](Txn& txn) { return txn.put(tree, "k", "row"); }, {.ticket = &ticket}));
  std::atomic<bool> is_inside{false};
  std::atomic<bool> may_end{false};
  std::atomic<bool> has_ended{false};
  ticket.on_durable([&](const Status& status) {
    must(status);
    must(db->transact([&](Txn& txn) -> Status {
      is_inside = true;
      wait_for(may_end);
      return txn.put(tree, "k", "again");
    }));
    has_ended = true;
  });
  must(ticket.wait_durable());
  wait_for(is_inside);
  EXPECT_EQ(db->close().code(), ErrorCode::kBusy);
  may_end = true;
  wait_for(has_ended);
  must(db->close());
}

}  // namespace
}  // namespace foedus::on_durable_test
