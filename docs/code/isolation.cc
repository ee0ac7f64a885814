// The code of docs/pages/isolation.md.

#include <cstdint>
#include <string>
#include <vector>

#include "docs/code/pieces.h"

namespace docs {

namespace {

foedus::Status move_money(foedus::Database& db, foedus::Masstree accounts) {
  const auto transfer = [&](foedus::Txn& txn) -> foedus::Status {
    FOEDUS_TRY(const int payer, txn.get_as<int>(accounts, foedus::key(1)));
    FOEDUS_TRY(const int payee, txn.get_as<int>(accounts, foedus::key(2)));
    if (payer < 30) return foedus::Status::rolled_back();  // undone; transact() returns kRolledBack
    FOEDUS_CHECK(txn.put(accounts, foedus::key(1), payer - 30));
    return txn.put(accounts, foedus::key(2), payee + 30);  // success: commits
  };
  FOEDUS_CHECK(db.transact(transfer));
  FOEDUS_CHECK(expect(db.transact(transfer).is_ok(), "the second transfer"));
  FOEDUS_CHECK(expect(db.transact(transfer).is_ok(), "the third transfer"));
  return expect(db.transact(transfer).code() == foedus::ErrorCode::kRolledBack, "the fourth");
}

foedus::Status effects(foedus::Database& db, foedus::Masstree accounts) {
  // A function may run several times. Collect inside, use outside.
  std::vector<int> balances;
  FOEDUS_CHECK(db.transact([&](foedus::Txn& txn) -> foedus::Status {
    balances.clear();  // of an earlier try
    auto rows = txn.scan(accounts, "", "");
    for (auto [key, row] : rows) balances.push_back(foedus::view_as<int>(row));
    if (auto failure = rows.failure()) return *failure;
    return {};
  }));
  return expect(balances == std::vector<int>{10, 90}, "the balances");
}

foedus::Status conflicts(foedus::Database& db, foedus::Masstree accounts) {
  FOEDUS_TRY(auto session, db.new_session());
  FOEDUS_TRY(auto txn, session.begin());
  FOEDUS_TRY(const int seen, txn.get_as<int>(accounts, foedus::key(1)));
  // Another transaction changes what was read, and commits first.
  FOEDUS_CHECK(db.transact(
      [&](foedus::Txn& other) { return other.put(accounts, foedus::key(1), seen + 1); }));
  FOEDUS_CHECK(txn.put(accounts, foedus::key(2), seen));
  const auto committed = txn.commit();
  FOEDUS_CHECK(expect(committed.code() == foedus::ErrorCode::kConflict, "a conflict"));
  const foedus::ConflictReason reason = committed.status().conflict_reason();
  FOEDUS_CHECK(expect(reason == foedus::ConflictReason::kRecordChanged, "its reason"));
  // By hand: the next try. It takes the locks of get_for_update() first, if there were any.
  FOEDUS_TRY(auto again, session.retry());
  FOEDUS_TRY(const int now, again.get_as<int>(accounts, foedus::key(1)));
  FOEDUS_CHECK(again.put(accounts, foedus::key(2), now));
  FOEDUS_CHECK(again.commit());
  return {};
}

foedus::Status savepoints(foedus::Database& db, foedus::Masstree accounts) {
  return db.transact([&](foedus::Txn& txn) -> foedus::Status {
    FOEDUS_TRY(const foedus::Savepoint before, txn.savepoint());
    FOEDUS_CHECK(txn.put(accounts, foedus::key(3), 70));
    FOEDUS_CHECK(txn.rollback_to(before));  // account 3 is as it was; the transaction goes on
    FOEDUS_TRY(const bool found, txn.contains(accounts, foedus::key(3)));
    return expect(!found, "the undone account");
  });
}

foedus::Status hot(foedus::Database& db, foedus::Masstree accounts) {
  FOEDUS_CHECK(db.transact([&](foedus::Txn& txn) -> foedus::Status {
    // Locked from here to the end: others wait, and this read stays valid.
    FOEDUS_TRY(const int balance, txn.get_for_update_as<int>(accounts, foedus::key(1)));
    return txn.put(accounts, foedus::key(1), balance * 2);
  }));
  return {};
}

foedus::Status doomed(foedus::Database& db, foedus::Masstree accounts) {
  FOEDUS_CHECK(db.transact([&](foedus::Txn& txn) -> foedus::Status {
    int steps = 0;
    for (int account = 1; account != 0; ++steps) {  // a walk whose end depends on what is read
      if (steps % 100 == 99) FOEDUS_CHECK(txn.verify());  // a conflict leaves the loop
      FOEDUS_TRY(const int balance, txn.get_as<int>(accounts, foedus::key(account)));
      account = balance % 2 == 0 ? 0 : 2;
    }
    return {};
  }));
  return {};
}

foedus::Status reports(foedus::Database& db, foedus::Masstree accounts) {
  const auto sum_up = [&](foedus::Txn& txn) -> foedus::Result<int> {
    int sum = 0;
    auto rows = txn.scan(accounts, "", "");
    for (auto [key, row] : rows) sum += foedus::view_as<int>(row);
    if (auto failure = rows.failure()) return *failure;
    return sum;
  };
  // All commits up to the call. Waits for the gleaner, and never conflicts.
  FOEDUS_TRY(const int now, db.snapshot(sum_up));
  // The newest snapshot that is there, at once. kNotFound if there is none yet.
  FOEDUS_TRY(const int before, db.snapshot(sum_up, {.newest_existing = true}));
  FOEDUS_CHECK(expect(now == before && now != 0, "the reports"));

  // At least this commit: the ticket's epoch.
  foedus::Ticket ticket;
  const auto put = [&](foedus::Txn& txn) { return txn.put(accounts, foedus::key(3), 5); };
  FOEDUS_CHECK(db.transact(put, {.ticket = &ticket}));
  FOEDUS_TRY(const int later, db.snapshot(sum_up, {.at_least = ticket.epoch()}));
  FOEDUS_CHECK(expect(later == now + 5, "at_least"));

  // Statistics: each row as it is now, without verification. The rows need not be of one state.
  FOEDUS_TRY(const int about, db.transact(sum_up, {.isolation = foedus::Isolation::kDirtyRead}));
  return expect(about == later, "dirty reads of a database at rest");
}

}  // namespace

foedus::Status isolation(const std::string& dir) {
  FOEDUS_TRY(auto db, open_small(dir));
  FOEDUS_TRY(auto accounts, db.open_masstree("accounts"));
  FOEDUS_CHECK(db.transact([&](foedus::Txn& txn) -> foedus::Status {
    FOEDUS_CHECK(txn.put(accounts, foedus::key(1), 100));
    return txn.put(accounts, foedus::key(2), 0);
  }));
  FOEDUS_CHECK(move_money(db, accounts));
  FOEDUS_CHECK(effects(db, accounts));
  FOEDUS_CHECK(conflicts(db, accounts));
  FOEDUS_CHECK(savepoints(db, accounts));
  FOEDUS_CHECK(hot(db, accounts));
  FOEDUS_CHECK(doomed(db, accounts));
  FOEDUS_CHECK(reports(db, accounts));
  return db.close();
}

}  // namespace docs
