// The code of docs/pages/modelling.md.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "docs/code/pieces.h"

namespace docs {

namespace {

foedus::Status rows_and_keys(foedus::Database& db) {
  struct Order {  // a row: any trivially copyable type
    std::int64_t cents;
    std::int32_t items;
    char note[20];
  };
  FOEDUS_TRY(auto orders, db.open_masstree("orders"));
  // The key is (city, year, number).
  FOEDUS_CHECK(db.transact([&](foedus::Txn& txn) -> foedus::Status {
    FOEDUS_CHECK(txn.put(orders, foedus::key("Paris", 2026, 1), Order{250, 1, "gift"}));
    FOEDUS_CHECK(txn.put(orders, foedus::key("Paris", 2026, 2), Order{400, 2, ""}));
    FOEDUS_CHECK(txn.put(orders, foedus::key("Parma", 2025, 9), Order{100, 1, ""}));
    return txn.put(orders, foedus::key("Rome", 2026, 3), Order{300, 1, ""});
  }));

  std::vector<std::string> cities;
  std::int64_t sum = 0, newest = 0, in_par = 0;
  const auto read = [&](foedus::Txn& txn) -> foedus::Status {
    cities.clear();
    sum = newest = in_par = 0;
    // All orders of Paris in 2026, in the order of their numbers.
    auto paris = txn.scan_prefix(orders, foedus::key("Paris", 2026));
    for (auto [key, row] : paris) sum += foedus::view_as<Order>(row).cents;
    if (auto failure = paris.failure()) return *failure;
    // The newest order of Paris: backwards, one row.
    auto last = txn.scan_prefix(orders, foedus::key("Paris"), {.limit = 1, .reverse = true});
    for (auto [key, row] : last) newest = foedus::view_as<Order>(row).cents;
    if (auto failure = last.failure()) return *failure;
    // All cities that begin with "Par": the last part of a key_prefix() may go on.
    auto par = txn.scan_prefix(orders, foedus::key_prefix("Par"));
    for (auto [key, row] : par) {
      FOEDUS_TRY(const auto columns, foedus::decode<std::string, std::int32_t, std::int32_t>(key));
      cities.push_back(std::get<0>(columns));
      in_par += foedus::view_as<Order>(row).cents;
    }
    if (auto failure = par.failure()) return *failure;
    return {};
  };
  FOEDUS_CHECK(db.transact(read));
  FOEDUS_CHECK(expect(sum == 650, "the sum of a prefix"));
  FOEDUS_CHECK(expect(newest == 400, "the newest of a prefix"));
  FOEDUS_CHECK(expect(in_par == 750, "the sum of key_prefix()"));
  FOEDUS_CHECK(expect(cities == std::vector<std::string>{"Paris", "Paris", "Parma"}, "decode"));

  // Changes 8 bytes of the row; the log record has these 8 bytes, not the whole row.
  FOEDUS_CHECK(db.transact([&](foedus::Txn& txn) {
    const std::int64_t cents = 275;
    return txn.write_at(orders, foedus::key("Paris", 2026, 1), offsetof(Order, cents),
                        foedus::as_payload(cents));
  }));
  FOEDUS_TRY(const auto changed, db.transact([&](foedus::Txn& txn) {
    return txn.get_as<Order>(orders, foedus::key("Paris", 2026, 1));
  }));
  return expect(changed.cents == 275 && changed.items == 1, "write_at()");
}

// Returns the next `count` keys above `after`, which is "" for the first page.
foedus::Result<std::vector<std::string>> page_after(foedus::Database& db, foedus::Masstree storage,
                                                    std::string after, std::uint64_t count) {
  if (!after.empty()) after.push_back('\0');  // the least key above `after`
  return db.transact([&](foedus::Txn& txn) -> foedus::Result<std::vector<std::string>> {
    std::vector<std::string> keys;
    auto rows = txn.scan(storage, after, "", {.limit = count});
    for (const foedus::Row& row : rows) keys.emplace_back(row.key);
    if (auto failure = rows.failure()) return *failure;
    return keys;
  });
}

foedus::Status pages_of_rows(foedus::Database& db) {
  FOEDUS_TRY(auto names, db.open_masstree("names"));
  FOEDUS_CHECK(db.transact([&](foedus::Txn& txn) -> foedus::Status {
    for (const char* name : {"ada", "bob", "cy"}) FOEDUS_CHECK(txn.put(names, name, ""));
    return {};
  }));
  FOEDUS_TRY(const auto first, page_after(db, names, "", 2));
  FOEDUS_TRY(const auto second, page_after(db, names, first.back(), 2));
  FOEDUS_CHECK(expect(first == std::vector<std::string>{"ada", "bob"}, "the first page"));
  return expect(second == std::vector<std::string>{"cy"}, "the second page");
}

foedus::Status counters(foedus::Database& db) {
  // A counter in 16 records, so that writers seldom wait for each other.
  constexpr std::uint64_t kShares = 16;
  FOEDUS_TRY(auto hits, db.open_array("hits", kShares, sizeof(std::int64_t)));
  const auto count = [&](foedus::Txn& txn, std::uint64_t thread) {
    return txn.increment(hits, thread % kShares, 0, 1);  // reads nothing, so conflicts with nothing
  };
  const auto total = [&](foedus::Txn& txn) -> foedus::Result<std::int64_t> {
    std::int64_t sum = 0;
    for (std::uint64_t share = 0; share < kShares; ++share) {
      FOEDUS_TRY(const auto part, txn.get_as<std::int64_t>(hits, share));
      sum += part;
    }
    return sum;
  };
  for (std::uint64_t thread = 0; thread < 20; ++thread) {
    FOEDUS_CHECK(db.transact([&](foedus::Txn& txn) { return count(txn, thread); }));
  }
  FOEDUS_TRY(const std::int64_t sum, db.transact(total));
  return expect(sum == 20, "the counter");
}

foedus::Status queue(foedus::Database& db) {
  FOEDUS_TRY(auto jobs, db.open_masstree("jobs"));
  FOEDUS_CHECK(db.transact([&](foedus::Txn& txn) -> foedus::Status {
    FOEDUS_CHECK(txn.put(jobs, foedus::key(2), "second"));
    return txn.put(jobs, foedus::key(1), "first");
  }));
  const auto take = [&](foedus::Txn& txn) -> foedus::Result<std::string> {
    std::string key, job;
    auto first = txn.scan(jobs, "", "", {.limit = 1});  // the least key
    for (const foedus::Row& row : first) {
      key = row.key;
      job = row.payload;
    }
    if (auto failure = first.failure()) return *failure;
    if (key.empty()) return foedus::ErrorCode::kNotFound;  // the queue is empty
    FOEDUS_CHECK(txn.erase(jobs, key));
    return job;
  };
  FOEDUS_TRY(const std::string job, db.transact(take));
  FOEDUS_TRY(const std::string next, db.transact(take));
  FOEDUS_CHECK(expect(job == "first" && next == "second", "the order of the queue"));
  return expect(db.transact(take).code() == foedus::ErrorCode::kNotFound, "the empty queue");
}

foedus::Status many(foedus::Database& db) {
  FOEDUS_TRY(auto users, db.open_hash("users", {.records_expected = 1000}));
  FOEDUS_CHECK(db.transact([&](foedus::Txn& txn) { return txn.put(users, "ada", 36); }));
  FOEDUS_CHECK(db.transact([&](foedus::Txn& txn) -> foedus::Status {
    const foedus::Key ada = foedus::key("ada");  // keys and memory outlive the call
    int age[2] = {};
    foedus::ReadRequest reads[2] = {
        {.key = "ada", .out = std::as_writable_bytes(std::span(&age[0], 1))},
        {.key = ada, .out = std::as_writable_bytes(std::span(&age[1], 1))}};
    FOEDUS_CHECK(txn.get_many(users, reads));
    FOEDUS_CHECK(expect(reads[0].found && age[0] == 36, "get_many()"));
    return expect(!reads[1].found, "raw bytes and key() are two keys");
  }));
  return {};
}

foedus::Status sorted_rows(foedus::Database& db) {
  FOEDUS_TRY(foedus::BulkLoad load, db.load_masstree("parts"));
  for (int part = 0; part < 1000; ++part) {  // each key is above the one before
    FOEDUS_CHECK(load.add(foedus::key(part), "a part"));
  }
  FOEDUS_TRY(const foedus::Masstree parts, load.finish());
  FOEDUS_TRY(const std::string row,
             db.transact([&](foedus::Txn& txn) { return txn.get(parts, foedus::key(999)); }));
  return expect(row == "a part", "the last part");
}

}  // namespace

foedus::Status modelling(const std::string& dir) {
  FOEDUS_TRY(auto db, open_small(dir));
  FOEDUS_CHECK(rows_and_keys(db));
  FOEDUS_CHECK(pages_of_rows(db));
  FOEDUS_CHECK(counters(db));
  FOEDUS_CHECK(queue(db));
  FOEDUS_CHECK(many(db));
  FOEDUS_CHECK(sorted_rows(db));
  return db.close();
}

}  // namespace docs
