// The code of docs/pages/durability.md.

#include <atomic>
#include <string>

#include "docs/code/pieces.h"

namespace docs {

foedus::Status durability(const std::string& dir) {
  std::atomic<int> told = 0;  // outlives the database, whose end makes the last callbacks
  FOEDUS_TRY(auto db, open_small(dir));
  FOEDUS_TRY(auto orders, db.open_masstree("orders"));
  const auto write = [&](foedus::Txn& txn) { return txn.put(orders, foedus::key(1), 100); };

  // One transaction on the device before the call returns. Options::durability is the default.
  FOEDUS_CHECK(db.transact(write, {.durability = foedus::Durability::kSync}));

  // Go on at once, and tell the customer later.
  foedus::Ticket ticket;
  FOEDUS_CHECK(db.transact(write, {.ticket = &ticket}));
  ticket.on_durable([&](const foedus::Status& status) { told += status.is_ok(); });

  // Or wait, for a second at most: kTimeout means not yet.
  const foedus::Status waited = ticket.wait_durable(1'000'000);
  FOEDUS_CHECK(expect(waited.is_ok() || waited.code() == foedus::ErrorCode::kTimeout, "wait"));

  // Many commits, one wait.
  for (int i = 0; i < 100; ++i) {
    FOEDUS_CHECK(db.transact([&](foedus::Txn& txn) { return txn.put(orders, foedus::key(i), i); }));
  }
  FOEDUS_CHECK(db.wait_durable());  // all commits so far

  FOEDUS_CHECK(expect(ticket.is_durable(), "a ticket of an earlier commit"));
  FOEDUS_CHECK(db.close());
  return expect(told == 1, "the callback");
}

}  // namespace docs
