#pragma once
// TwoSessionsTest: a database and two sessions of one thread, of which the second commits while a
// transaction of the first is open.

#include <gtest/gtest.h>

#include <functional>

#include "tests/testing/test_database.h"

namespace foedus::testing {

class TwoSessionsTest : public ::testing::Test {
 protected:
  TwoSessionsTest() : first_(must(db_->new_session())), second_(must(db_->new_session())) {}

  // Commits a transaction of the second session that does `change`.
  void commit_second(const std::function<Status(Txn&)>& change) {
    Txn txn = must(second_.begin());
    must(change(txn));
    const Result<Ticket> ticket = txn.commit();
    ASSERT_TRUE(ticket.is_ok()) << ticket.status().message();
  }
  static void expect_conflict(const Result<Ticket>& ticket, ConflictReason reason) {
    ASSERT_FALSE(ticket.is_ok());
    EXPECT_EQ(ticket.code(), ErrorCode::kConflict);
    EXPECT_EQ(ticket.status().conflict_reason(), reason) << ticket.status().message();
  }

  TestDatabase db_;
  Session first_;
  Session second_;
};

}  // namespace foedus::testing
