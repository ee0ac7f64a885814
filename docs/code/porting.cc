// The code of docs/pages/porting.md: what programs for other engines do, with this one.

#include <cstdint>
#include <string>

#include "docs/code/pieces.h"

namespace docs {

namespace {

// RocksDB: a WriteBatch, and an iterator with an upper bound.
foedus::Status from_rocksdb(const std::string& dir) {
  FOEDUS_TRY(auto db, foedus::Database::open({.dir = dir, .memory_bytes = 128u << 20}));
  FOEDUS_TRY(auto users, db.open_masstree("users"));  // a column family
  // A WriteBatch.
  FOEDUS_CHECK(db.transact([&](foedus::Txn& txn) -> foedus::Status {
    FOEDUS_CHECK(txn.put(users, "ada", "36"));
    return txn.put(users, "bob", "41");
  }));
  std::string found;
  FOEDUS_CHECK(db.transact([&](foedus::Txn& txn) -> foedus::Status {
    found.clear();
    auto rows = txn.scan(users, "a", "b");  // an iterator with its upper bound
    for (const foedus::Row& row : rows) found += row.key;
    if (auto failure = rows.failure()) return *failure;  // it->status()
    return {};
  }));
  FOEDUS_CHECK(expect(found == "ada", "the range"));
  return db.close();
}

// LMDB: a write transaction, and a reader beside it.
foedus::Status from_lmdb(const std::string& dir) {
  FOEDUS_TRY(auto db, foedus::Database::open({.dir = dir, .memory_bytes = 128u << 20}));
  FOEDUS_TRY(auto users, db.open_masstree("users"));  // mdb_dbi_open
  const auto put = [&](foedus::Txn& txn) { return txn.put(users, "ada", "36"); };
  // From mdb_txn_begin to mdb_txn_commit. LMDB's default is kSync.
  FOEDUS_CHECK(db.transact(put, {.durability = foedus::Durability::kSync}));
  const auto read = [&](foedus::Txn& txn) { return txn.get(users, "ada"); };
  FOEDUS_TRY(const std::string age, db.snapshot(read));  // MDB_RDONLY: one state, no conflict
  FOEDUS_CHECK(expect(age == "36", "the snapshot"));
  return db.close();
}

// WiredTiger: a session with explicit transactions.
foedus::Status from_wiredtiger(const std::string& dir) {
  FOEDUS_TRY(auto db, foedus::Database::open({.dir = dir, .memory_bytes = 128u << 20}));
  FOEDUS_TRY(auto users, db.open_masstree("users"));  // session->create("table:users", …)
  FOEDUS_TRY(auto session, db.new_session());         // conn->open_session
  FOEDUS_TRY(auto txn, session.begin());              // session->begin_transaction
  FOEDUS_CHECK(txn.insert(users, "ada", "36"));       // cursor->insert
  FOEDUS_CHECK(txn.commit());                         // session->commit_transaction
  return db.close();
}

}  // namespace

foedus::Status porting(const std::string& dir) {
  FOEDUS_CHECK(from_rocksdb(dir + "_rocksdb"));
  FOEDUS_CHECK(from_lmdb(dir + "_lmdb"));
  return from_wiredtiger(dir + "_wiredtiger");
}

}  // namespace docs
