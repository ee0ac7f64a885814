// ctest-labels: concurrency
// Functions of a program that the engine calls, and that break their rules.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>

#include "foedus-core/base/system/clock.h"
#include "tests/testing/test_database.h"

namespace foedus::callbacks_test {
namespace {

using testing::must;
using testing::TestDatabase;

void wait_for(const std::atomic<bool>& told) {
  while (!told) base::system_sleep_us(100);
}

// A database whose messages to the operator are kept, and a commit that is not durable yet.
class CallbackMisuseTest : public ::testing::Test {
 protected:
  CallbackMisuseTest() : db_(options()), tree_(must(db_->open_masstree("tree"))) {}
  Options options() {
    Options options = testing::small_options("");
    options.epoch_interval_us = 1'000'000;
    options.log_sink = [this](LogLevel, std::string_view line) {
      const std::lock_guard lock(mutex_);
      said_.append(line).append("\n");
    };
    return options;
  }
  Ticket commit() {
    Ticket ticket;
    must(db_->transact([&](Txn& txn) { return txn.put(tree_, "k", "row"); }, {.ticket = &ticket}));
    return ticket;
  }
  std::string said() {
    const std::lock_guard lock(mutex_);
    return said_;
  }

  std::mutex mutex_;
  std::string said_;
  TestDatabase db_;
  Masstree tree_;
};

TEST_F(CallbackMisuseTest, an_empty_callback_is_not_called) {
  const Ticket ticket = commit();
  ticket.on_durable({});
  must(ticket.wait_durable());
  ticket.on_durable({});
  std::atomic<bool> told{false};
  commit().on_durable([&](const Status&) { told = true; });
  must(db_->wait_durable());
  wait_for(told);
}

// Goal: a callback that throws ends neither the program nor the calls of others, before the commit
// is durable and after; the operator reads the exception.
TEST_F(CallbackMisuseTest, a_callback_that_throws_is_told_to_the_operator) {
  std::atomic<bool> told{false};
  const Ticket ticket = commit();
  ticket.on_durable([](const Status&) { throw std::runtime_error("from the callback"); });
  ticket.on_durable([](const Status&) { throw 7; });
  ticket.on_durable([&](const Status&) { told = true; });
  must(ticket.wait_durable());
  wait_for(told);
  EXPECT_NE(said().find("from the callback"), std::string::npos) << said();
  EXPECT_NE(said().find("unknown type"), std::string::npos) << said();
  ticket.on_durable([](const Status&) { throw std::runtime_error("at once"); });
  EXPECT_NE(said().find("at once"), std::string::npos) << said();
}

TEST_F(CallbackMisuseTest, close_within_a_callback_is_busy) {
  std::atomic<bool> told{false};
  const Ticket ticket = commit();
  ticket.on_durable([&](const Status&) {
    const Status status = db_->close();
    EXPECT_EQ(status.code(), ErrorCode::kBusy) << status.message();
    EXPECT_NE(status.message().find("callback"), std::string::npos) << status.message();
    told = true;
  });
  must(ticket.wait_durable());
  wait_for(told);
  must(db_->close());
}

TEST_F(CallbackMisuseTest, a_progress_sink_may_throw_and_may_not_close) {
  commit();
  int calls = 0;
  must(db_->glean([&](const GleanProgress&) {
    ++calls;
    EXPECT_EQ(db_->close().code(), ErrorCode::kBusy);
    throw std::runtime_error("from the progress sink");
  }));
  EXPECT_GT(calls, 0);
  EXPECT_NE(said().find("from the progress sink"), std::string::npos) << said();
}

// Goal: a ticket of no transaction behaves like that of a durable one.
TEST(TicketMisuseTest, callbacks_of_a_ticket_of_nothing_may_be_empty_and_may_throw) {
  const Ticket ticket;
  ticket.on_durable({});
  bool is_called = false;
  ticket.on_durable([&is_called](const Status& status) {
    is_called = status.is_ok();
    throw std::runtime_error("of the user");
  });
  EXPECT_TRUE(is_called);
}

TEST(LogSinkMisuseTest, a_log_sink_that_throws_is_survived) {
  Options options = testing::small_options("");
  options.log_sink = [](LogLevel, std::string_view) { throw std::runtime_error("from the sink"); };
  TestDatabase db(options);
  const Masstree tree = must(db->open_masstree("tree"));
  Ticket ticket;
  must(db->transact([&](Txn& txn) { return txn.put(tree, "k", "row"); }, {.ticket = &ticket}));
  ticket.on_durable([](const Status&) { throw std::runtime_error("named to the sink"); });
  must(db->glean());
  must(db->close());
}

}  // namespace
}  // namespace foedus::callbacks_test
