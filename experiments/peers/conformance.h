#pragma once
// Conformance: what every backend must answer before its speed means anything. The same checks run
// over each peer, our engine and the model of the tests. They return success, or an error that says
// which answer was wrong, and leave tables named check_… behind.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/common/backend.h"
#include "experiments/common/text.h"
#include "experiments/common/worker_threads.h"
#include "experiments/peers/peer_row.h"
#include "foedus/status.h"

namespace experiments {

// Ends the enclosing check with the text of the condition if it does not hold.
#define EXPERIMENTS_EXPECT(...)                                                                   \
  do {                                                                                            \
    if (!(__VA_ARGS__)) {                                                                         \
      return failed(foedus::ErrorCode::kCorruption, "line %d: not so: %s", __LINE__,              \
                    #__VA_ARGS__);                                                                \
    }                                                                                             \
  } while (false)

template <Backend B>
class Conformance {
 public:
  using Table = typename B::Table;
  using Txn = typename B::Txn;
  using Worker = typename B::Worker;

  static foedus::Status check(B& backend) {
    FOEDUS_TRY(const Table ordered,
               backend.open_table({.name = "check_ordered", .kind = TableKind::kOrdered}));
    FOEDUS_TRY(const Table hash, backend.open_table({.name = "check_hash",
                                                     .kind = TableKind::kHash,
                                                     .records = 100,
                                                     .row_bytes = 0}));
    FOEDUS_TRY(const Table array, backend.open_table({.name = "check_array",
                                                      .kind = TableKind::kArray,
                                                      .records = kRecords,
                                                      .row_bytes = kBytes}));
    FOEDUS_TRY(const Table appended,
               backend.open_table({.name = "check_append", .kind = TableKind::kAppend}));
    FOEDUS_TRY(Worker worker, backend.new_worker());
    FOEDUS_CHECK(check_points(worker, ordered));
    FOEDUS_CHECK(check_points(worker, hash));
    FOEDUS_CHECK(check_array(worker, array));
    FOEDUS_CHECK(check_append(worker, appended));
    FOEDUS_CHECK(check_rollback(worker, ordered, array));
    FOEDUS_CHECK(check_scans(worker, ordered));
    FOEDUS_CHECK(check_own_writes_in_scan(worker, ordered));
    FOEDUS_CHECK(check_counters(worker, ordered));
    return backend.wait_durable();
  }

 private:
  static constexpr std::uint64_t kRecords = 10;
  static constexpr std::uint32_t kBytes = 16;
  static constexpr auto kNotFound = foedus::ErrorCode::kNotFound;

  static KeyView key_of(std::string_view bytes) { return {.index = 0, .bytes = bytes}; }
  static std::string row_of(char fill) { return std::string(kBytes, fill); }

  static foedus::Status read(Txn& txn, const Table& table, const KeyView& key, std::string* row) {
    row->assign(kBytes, '?');
    return txn.get(table, key, std::as_writable_bytes(std::span(*row)));
  }

  // get, insert, put, write_at, read_at and erase, seen by the transaction itself and by the next
  // one.
  static foedus::Status check_points(Worker& worker, const Table& table) {
    const KeyView key = key_of("a key");
    const auto write_all = [&](Txn& txn) -> foedus::Status {
      std::string row;
      EXPERIMENTS_EXPECT(read(txn, table, key, &row).code() == kNotFound);
      EXPERIMENTS_EXPECT(txn.write_at(table, key, 0, "x").code() == kNotFound);
      EXPERIMENTS_EXPECT(txn.erase(table, key).code() == kNotFound);
      FOEDUS_CHECK(txn.insert(table, key, row_of('a')));
      FOEDUS_CHECK(read(txn, table, key, &row));
      EXPERIMENTS_EXPECT(row == row_of('a'));
      return txn.write_at(table, key, 4, "1234");
    };
    FOEDUS_CHECK(worker.transact(write_all));
    const auto read_back = [&](Txn& txn) -> foedus::Status {
      std::string row;
      FOEDUS_CHECK(read(txn, table, key, &row));
      EXPERIMENTS_EXPECT(row == "aaaa1234aaaaaaaa");
      std::string part(3, '?');
      FOEDUS_CHECK(txn.read_at(table, key, 3, std::as_writable_bytes(std::span(part))));
      EXPERIMENTS_EXPECT(part == "a12");
      std::string parts[] = {"??", "?"};
      const auto part_of = [&](std::size_t i) {
        return PartRead<KeyView>{key, static_cast<std::uint32_t>(4 + i),
                                 std::as_writable_bytes(std::span(parts[i]))};
      };
      FOEDUS_CHECK(txn.read_many(table, 2, part_of));
      EXPERIMENTS_EXPECT(parts[0] == "12" && parts[1] == "2");
      return {};
    };
    FOEDUS_CHECK(worker.read_only(read_back));
    const foedus::Status twice = worker.transact(
        [&](Txn& txn) -> foedus::Status { return txn.insert(table, key, row_of('b')); });
    EXPERIMENTS_EXPECT(twice.code() == foedus::ErrorCode::kAlreadyExists);
    const auto overwrite = [&](Txn& txn) -> foedus::Status {
      txn.prefetch(table, key);
      std::string row(kBytes, '?');
      FOEDUS_CHECK(txn.get_for_update(table, key, std::as_writable_bytes(std::span(row))));
      EXPERIMENTS_EXPECT(row == "aaaa1234aaaaaaaa");
      return txn.put(table, key, row_of('c'));
    };
    FOEDUS_CHECK(worker.transact(overwrite));
    const auto erase_it = [&](Txn& txn) -> foedus::Status {
      std::string row;
      FOEDUS_CHECK(read(txn, table, key, &row));
      EXPERIMENTS_EXPECT(row == row_of('c'));
      FOEDUS_CHECK(txn.erase(table, key));
      EXPERIMENTS_EXPECT(read(txn, table, key, &row).code() == kNotFound);
      return {};
    };
    FOEDUS_CHECK(worker.transact(erase_it));
    return worker.read_only([&](Txn& txn) -> foedus::Status {
      std::string row;
      EXPERIMENTS_EXPECT(read(txn, table, key, &row).code() == kNotFound);
      return {};
    });
  }

  static KeyView index_of(std::uint64_t index, const IndexKey& bytes) {
    return {.index = index, .bytes = bytes.view()};
  }

  // All records are there from the start, as zeros.
  static foedus::Status check_array(Worker& worker, const Table& table) {
    const IndexKey bytes[] = {IndexKey(0), IndexKey(3), IndexKey(kRecords - 1)};
    const KeyView first = index_of(0, bytes[0]);
    const KeyView third = index_of(3, bytes[1]);
    const KeyView last = index_of(kRecords - 1, bytes[2]);
    const auto write_some = [&](Txn& txn) -> foedus::Status {
      std::string row;
      FOEDUS_CHECK(read(txn, table, last, &row));
      EXPERIMENTS_EXPECT(row == row_of('\0'));
      FOEDUS_CHECK(txn.write_at(table, third, kBytes - 2, "zz"));
      FOEDUS_CHECK(txn.put(table, last, row_of('l')));
      FOEDUS_CHECK(txn.put(table, first, row_of('p')));
      return txn.insert(table, first, row_of('f'));  // as good as a put
    };
    FOEDUS_CHECK(worker.transact(write_some));
    return worker.read_only([&](Txn& txn) -> foedus::Status {
      std::string row;
      FOEDUS_CHECK(read(txn, table, first, &row));
      EXPERIMENTS_EXPECT(row == row_of('f'));
      FOEDUS_CHECK(read(txn, table, third, &row));
      EXPERIMENTS_EXPECT(row == std::string(kBytes - 2, '\0') + "zz");
      FOEDUS_CHECK(read(txn, table, last, &row));
      EXPERIMENTS_EXPECT(row == row_of('l'));
      std::string parts[] = {"???", "???"};
      const auto part_of = [&](std::size_t i) {
        return PartRead<KeyView>{i == 0 ? last : third, kBytes - 3,
                                 std::as_writable_bytes(std::span(parts[i]))};
      };
      FOEDUS_CHECK(txn.read_many(table, 2, part_of));
      EXPERIMENTS_EXPECT(parts[0] == "lll" && parts[1] == std::string(1, '\0') + "zz");
      return {};
    });
  }

  static foedus::Status check_append(Worker& worker, const Table& table) {
    for (const char fill : {'1', '2'}) {
      const auto append_two = [&](Txn& txn) -> foedus::Status {
        FOEDUS_CHECK(txn.append(table, row_of(fill)));
        return txn.append(table, row_of('x'));
      };
      FOEDUS_CHECK(worker.transact(append_two));
    }
    return worker.read_only([&](Txn& txn) -> foedus::Status {
      std::vector<std::string> rows;
      FOEDUS_CHECK(txn.scan(table, {}, [&](std::string_view key, std::string_view row) {
        if (key.empty()) rows.emplace_back(row);
        return true;
      }));
      EXPERIMENTS_EXPECT(rows ==
                         std::vector{row_of('1'), row_of('x'), row_of('2'), row_of('x')});
      return {};
    });
  }

  // An error of the function undoes all that it did, in every table.
  static foedus::Status check_rollback(Worker& worker, const Table& ordered, const Table& array) {
    const IndexKey bytes(5);
    const foedus::Status status = worker.transact([&](Txn& txn) -> foedus::Status {
      FOEDUS_CHECK(txn.insert(ordered, key_of("undone"), row_of('u')));
      FOEDUS_CHECK(txn.put(array, index_of(5, bytes), row_of('u')));
      return foedus::Status::rolled_back();
    });
    EXPERIMENTS_EXPECT(status.code() == foedus::ErrorCode::kRolledBack);
    return worker.read_only([&](Txn& txn) -> foedus::Status {
      std::string row;
      EXPERIMENTS_EXPECT(read(txn, ordered, key_of("undone"), &row).code() == kNotFound);
      FOEDUS_CHECK(read(txn, array, index_of(5, bytes), &row));
      EXPERIMENTS_EXPECT(row == row_of('\0'));
      return {};
    });
  }

  static foedus::Status scan_keys(Txn& txn, const Table& table, const ScanRange& range,
                                  std::string* keys) {
    keys->clear();
    return txn.scan(table, range, [&](std::string_view key, std::string_view row) {
      keys->append(key);
      if (!row.empty() && !key.empty() && row[0] != key[0]) keys->append("!");
      return true;
    });
  }

  // Keys b, d, f, h: bounds that are keys, lie between keys, and are open.
  static foedus::Status check_scans(Worker& worker, const Table& table) {
    const auto insert_keys = [&](Txn& txn) -> foedus::Status {
      for (const char* key : {"f", "b", "h", "d"}) {
        FOEDUS_CHECK(txn.insert(table, key_of(key), row_of(*key)));
      }
      return {};
    };
    FOEDUS_CHECK(worker.transact(insert_keys));
    struct Case {
      ScanRange range;
      std::string_view keys;
    };
    constexpr std::uint64_t kAll = ~std::uint64_t{0};
    const Case cases[] = {
        {{"b", "h", kAll, false}, "bdf"}, {{"a", "e", kAll, false}, "bd"},
        {{"", "", kAll, false}, "bdfh"},  {{"e", "", kAll, false}, "fh"},
        {{"i", "z", kAll, false}, ""},    {{"c", "d", kAll, false}, ""},
        {{"", "", 2, false}, "bd"},       {{"b", "h", 0, false}, ""},
        {{"b", "h", kAll, true}, "fdb"},  {{"c", "i", kAll, true}, "hfd"},
        {{"", "", kAll, true}, "hfdb"},   {{"", "c", kAll, true}, "b"},
        {{"a", "b", kAll, true}, ""},     {{"", "z", 2, true}, "hf"},
        {{"e", "", 1, true}, "h"},        {{"d", "e", 9, true}, "d"},
    };
    const auto check_all = [&](Txn& txn) -> foedus::Status {
      for (const Case& test : cases) {
        std::string keys;
        FOEDUS_CHECK(scan_keys(txn, table, test.range, &keys));
        if (keys == test.keys) continue;
        return failed(foedus::ErrorCode::kCorruption, "scan [%s, %s)%s gave %s",
                      std::string(test.range.low).c_str(), std::string(test.range.high).c_str(),
                      test.range.reverse ? " in reverse" : "", keys.c_str());
      }
      int seen = 0;
      FOEDUS_CHECK(txn.scan(table, {}, [&](std::string_view, std::string_view) {
        return ++seen < 3;
      }));
      EXPERIMENTS_EXPECT(seen == 3);
      return {};
    };
    FOEDUS_CHECK(worker.transact(check_all));
    return worker.read_only(check_all);
  }

  static foedus::Status check_own_writes_in_scan(Worker& worker, const Table& table) {
    foedus::Status status = worker.transact([&](Txn& txn) -> foedus::Status {
      FOEDUS_CHECK(txn.insert(table, key_of("e"), row_of('e')));
      FOEDUS_CHECK(txn.erase(table, key_of("d")));
      FOEDUS_CHECK(txn.erase(table, key_of("h")));
      std::string keys;
      FOEDUS_CHECK(scan_keys(txn, table, {}, &keys));
      EXPERIMENTS_EXPECT(keys == "bef");
      FOEDUS_CHECK(scan_keys(txn, table, {"", "", ~std::uint64_t{0}, true}, &keys));
      EXPERIMENTS_EXPECT(keys == "feb");
      return foedus::Status::rolled_back();
    });
    if (status.code() != foedus::ErrorCode::kRolledBack) return status;
    return worker.transact([&](Txn& txn) -> foedus::Status {
      std::string keys;
      FOEDUS_CHECK(scan_keys(txn, table, {}, &keys));
      EXPERIMENTS_EXPECT(keys == "bdfh");
      return {};
    });
  }

  static foedus::Status check_counters(Worker& worker, const Table& table) {
    const Counters before = worker.counters();
    FOEDUS_CHECK(worker.transact([&](Txn& txn) { return txn.put(table, key_of("n"), "n"); }));
    static_cast<void>(worker.transact([](Txn&) { return foedus::Status::rolled_back(); }));
    const Counters after = worker.counters();
    EXPERIMENTS_EXPECT(after.commits == before.commits + 1);
    EXPERIMENTS_EXPECT(after.rollbacks == before.rollbacks + 1);
    return {};
  }
};

// Two threads add one to a counter of an array and to one of an ordered table, reading it for
// update or plainly: no addition may be lost either way.
template <Backend B>
foedus::Status check_no_lost_update(B& backend) {
  constexpr std::uint64_t kAdditions = 500;
  constexpr std::uint32_t kThreads = 2;
  FOEDUS_TRY(const auto array, backend.open_table({.name = "check_sum_array",
                                                   .kind = TableKind::kArray,
                                                   .records = 1,
                                                   .row_bytes = sizeof(std::uint64_t)}));
  FOEDUS_TRY(const auto ordered,
             backend.open_table({.name = "check_sum", .kind = TableKind::kOrdered}));
  const IndexKey bytes(0);
  const KeyView key{.index = 0, .bytes = bytes.view()};
  const auto add = [&](typename B::Txn& txn, std::uint64_t by) -> foedus::Status {
    for (const auto& table : {array, ordered}) {
      std::uint64_t sum = 0;
      const auto out = std::as_writable_bytes(std::span(&sum, 1));
      FOEDUS_CHECK(by % 2 == 0 ? txn.get(table, key, out) : txn.get_for_update(table, key, out));
      sum += 1;
      FOEDUS_CHECK(txn.write_at(table, key, 0, {reinterpret_cast<const char*>(&sum), sizeof(sum)}));
    }
    return {};
  };
  FOEDUS_TRY(auto first, backend.new_worker());
  FOEDUS_CHECK(first.transact([&](typename B::Txn& txn) {
    return txn.insert(ordered, key, std::string(sizeof(std::uint64_t), '\0'));
  }));
  const auto add_often = [&](std::uint32_t) -> foedus::Status {
    FOEDUS_TRY(auto worker, backend.new_worker());
    for (std::uint64_t i = 0; i < kAdditions; ++i) {
      FOEDUS_CHECK(worker.transact([&](typename B::Txn& txn) { return add(txn, i); }));
    }
    return {};
  };
  FOEDUS_CHECK(run_workers(kThreads, add_often));
  return first.read_only([&](typename B::Txn& txn) -> foedus::Status {
    for (const auto& table : {array, ordered}) {
      std::uint64_t sum = 0;
      FOEDUS_CHECK(txn.get(table, key, std::as_writable_bytes(std::span(&sum, 1))));
      EXPERIMENTS_EXPECT(sum == kAdditions * kThreads);
    }
    return {};
  });
}

#undef EXPERIMENTS_EXPECT

}  // namespace experiments
