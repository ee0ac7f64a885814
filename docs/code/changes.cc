// The code of docs/pages/changes.md.

#include <foedus/foedus.h>

#include <map>
#include <string>

#include "docs/code/pieces.h"

namespace docs {

namespace {

foedus::Result<foedus::Database> open_keeping(const std::string& dir) {
  foedus::Options options;
  options.dir = dir;
  options.memory_bytes = 128u << 20;
  options.log.change_bytes = 256u << 20;  // the last 256 MiB of log stay for streams
  return foedus::Database::open(options);
}

foedus::Status follow(foedus::Database& db, std::map<std::string, std::string>* copy,
                      foedus::Epoch* position) {
  FOEDUS_TRY(foedus::ChangeStream stream, db.changes(*position));
  for (;;) {
    FOEDUS_TRY(const foedus::ChangeBatch batch, stream.next(100'000));  // waits up to 0.1 s
    *position = batch.position;  // to be stored together with what is made of the changes
    if (batch.changes.empty()) break;
    for (const foedus::Change& change : batch.changes) {
      if (change.storage != "users") continue;
      if (change.kind == foedus::ChangeKind::kPut) {
        (*copy)[std::string(change.key)] = change.payload;
      } else if (change.kind == foedus::ChangeKind::kErase) {
        copy->erase(std::string(change.key));
      }
    }
  }
  return {};
}

foedus::Status put_user(foedus::Database& db, foedus::Masstree users, const std::string& name,
                        const std::string& city) {
  return db.transact([&](foedus::Txn& txn) { return txn.put(users, name, city); });
}

// Begins a copy of a database that has rows already.
foedus::Status begin_copy(foedus::Database& db, foedus::Masstree users) {
  std::map<std::string, std::string> copy;
  foedus::Ticket ticket;
  foedus::SnapshotOptions options;
  options.ticket = &ticket;
  FOEDUS_CHECK(db.snapshot(
      [&](foedus::Txn& txn) -> foedus::Status {
        auto rows = txn.scan(users, "", "");
        for (auto [key, row] : rows) copy.emplace(key, row);
        return rows.failure().value_or(foedus::Status());
      },
      options));
  foedus::Epoch position = ticket.epoch();  // the copy has everything up to here
  FOEDUS_CHECK(put_user(db, users, "alan", "London"));
  FOEDUS_CHECK(db.wait_durable());
  FOEDUS_CHECK(follow(db, &copy, &position));
  FOEDUS_CHECK(expect(copy.size() == 2 && copy["alan"] == "London", "the changes after the rows"));
  return expect(position >= ticket.epoch(), "the position");
}

}  // namespace

foedus::Status changes(const std::string& dir) {
  std::map<std::string, std::string> copy;
  foedus::Epoch position;  // from the first change on
  {
    FOEDUS_TRY(auto db, open_keeping(dir));
    FOEDUS_TRY(auto users, db.open_masstree("users"));
    FOEDUS_CHECK(put_user(db, users, "ada", "London"));
    FOEDUS_CHECK(db.wait_durable());
    FOEDUS_CHECK(follow(db, &copy, &position));
    FOEDUS_CHECK(expect(copy["ada"] == "London", "the first change"));
    FOEDUS_CHECK(put_user(db, users, "ada", "Paris"));
    FOEDUS_CHECK(db.close());
  }
  FOEDUS_TRY(auto db, open_small(dir));  // the directory knows the setting
  FOEDUS_CHECK(follow(db, &copy, &position));
  FOEDUS_CHECK(expect(copy["ada"] == "Paris", "the change after the first stream"));
  FOEDUS_TRY(auto users, db.open_masstree("users"));
  FOEDUS_CHECK(begin_copy(db, users));
  return db.close();
}

}  // namespace docs
