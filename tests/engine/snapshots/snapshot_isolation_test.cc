// ctest-labels: concurrency
// Transactions of snapshot isolation: each sees the state at the end of its snapshot's epoch, of
// all kinds of storages, whatever happens meanwhile.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "tests/base/test_seed.h"
#include "tests/testing/nap.h"
#include "tests/testing/test_database.h"

namespace foedus::snapshot_isolation_test {
namespace {

using testing::must;
using testing::small_options;
using testing::TestDatabase;

constexpr std::uint64_t kSlots = 2'000;
constexpr std::uint64_t kNames = 1'500;

using Rows = std::map<std::string, std::string>;

std::string name_of(std::uint64_t number) {
  const std::string digits = std::to_string(number * 7919);
  return number % 3 == 0 ? "a prefix of many keys " + digits : digits;
}

struct Storages {
  explicit Storages(Database& db)
      : tree(must(db.open_masstree("tree"))),
        hash(must(db.open_hash("hash"))),
        array(must(db.open_array("array", kSlots, 8))),
        list(must(db.open_sequential("list"))) {}
  Masstree tree;
  Hash hash;
  Array array;
  Sequential list;
};

// The content of all storages at one moment; tree and hash have the same rows.
struct State {
  Rows rows;
  std::map<std::uint64_t, std::uint64_t> slots;
  std::vector<std::string> list;
};

// Changes storages and state alike, in one thread.
void change(Database& db, const Storages& to, State* state, base::Random* random, int times) {
  for (int i = 0; i < times; ++i) {
    const std::uint64_t number = random->below(kNames);
    const std::string name = name_of(number);
    const std::uint64_t bytes = random->below(80) == 0 ? 9'000 : random->below(250);
    const std::string payload(bytes, static_cast<char>('a' + number % 26));
    const bool erases = random->below(4) == 0 && state->rows.contains(name);
    must(db.transact([&](Txn& txn) -> Status {
      if (erases) {
        FOEDUS_CHECK(txn.erase(to.tree, name));
        FOEDUS_CHECK(txn.erase(to.hash, name));
      } else {
        FOEDUS_CHECK(txn.put(to.tree, name, payload));
        FOEDUS_CHECK(txn.put(to.hash, name, payload));
      }
      FOEDUS_CHECK(txn.put(to.array, number % kSlots, number + 1));
      return number % 3 == 0 ? txn.append(to.list, name) : Status();
    }));
    if (erases) {
      state->rows.erase(name);
    } else {
      state->rows[name] = payload;
    }
    state->slots[number % kSlots] = number + 1;
    if (number % 3 == 0) state->list.push_back(name);
  }
}

void expect_point_reads(Txn& txn, const KeyedStorage& storage, const Rows& rows) {
  std::vector<std::string> names;
  for (std::uint64_t number = 0; number < kNames; number += 7) names.push_back(name_of(number));
  std::vector<std::vector<std::byte>> room(names.size(), std::vector<std::byte>(10'000));
  std::vector<ReadRequest> requests(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) requests[i] = {names[i], room[i]};
  must(txn.get_many(storage, requests));
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto row = rows.find(names[i]);
    const bool is_there = row != rows.end();
    ASSERT_EQ(must(txn.contains(storage, names[i])), is_there) << names[i];
    ASSERT_EQ(requests[i].found, is_there) << names[i];
    const Result<std::string> got = txn.get(storage, names[i]);
    if (!is_there) {
      ASSERT_EQ(got.code(), ErrorCode::kNotFound);
      continue;
    }
    ASSERT_EQ(must(got), row->second);
    const std::string_view payload(reinterpret_cast<const char*>(room[i].data()),
                                   requests[i].payload_bytes);
    ASSERT_EQ(payload, row->second);
    if (payload.size() < 4) continue;
    char part[2];
    must(txn.read_at(storage, names[i], 2, std::as_writable_bytes(std::span(part))));
    ASSERT_EQ(std::string_view(part, 2), payload.substr(2, 2));
    EXPECT_EQ(txn.read_at(storage, names[i], static_cast<std::uint32_t>(payload.size()) - 1,
                          std::as_writable_bytes(std::span(part)))
                  .code(),
              ErrorCode::kInvalidArgument);
  }
}

Rows rows_of(Scan scan, bool reverse) {
  Rows rows;
  std::string last;
  for (const Row& row : scan) {
    const bool follows = rows.empty() || (reverse ? row.key < last : row.key > last);
    EXPECT_TRUE(follows) << row.key;
    last = row.key;
    rows.emplace(row.key, row.payload);
  }
  EXPECT_FALSE(scan.failure().has_value()) << scan.failure()->message();
  return rows;
}

void expect_state(Txn& txn, const Storages& in, const State& state) {
  expect_point_reads(txn, in.tree, state.rows);
  expect_point_reads(txn, in.hash, state.rows);
  for (const bool reverse : {false, true}) {
    ASSERT_EQ(rows_of(txn.scan(in.tree, "", "", {.reverse = reverse}), reverse), state.rows);
    const std::string low = name_of(10);
    const std::string high = name_of(900);  // begins with a letter
    const Rows range(state.rows.lower_bound(low), state.rows.lower_bound(high));
    ASSERT_EQ(rows_of(txn.scan(in.tree, low, high, {.reverse = reverse}), reverse), range);
    const Rows some =
        rows_of(txn.scan(in.tree, low, "", {.limit = 3, .reverse = reverse}), reverse);
    ASSERT_LE(some.size(), 3u);
  }
  for (std::uint64_t i = 0; i < kSlots; i += 3) {
    const auto slot = state.slots.find(i);
    const std::uint64_t expected = slot == state.slots.end() ? 0 : slot->second;
    ASSERT_EQ(must(txn.get_as<std::uint64_t>(in.array, i)), expected) << i;
  }
  std::vector<std::uint64_t> slots(kSlots);
  std::vector<ArrayReadRequest> requests(kSlots);
  for (std::uint64_t i = 0; i < kSlots; ++i) {
    requests[i] = {.index = i, .out = std::as_writable_bytes(std::span(&slots[i], 1))};
  }
  must(txn.get_many(in.array, requests));
  for (std::uint64_t i = 0; i < kSlots; ++i) {
    const auto slot = state.slots.find(i);
    ASSERT_EQ(slots[i], slot == state.slots.end() ? 0 : slot->second) << i;
  }
  std::vector<std::string> list;
  Scan scan = txn.scan(in.list);
  for (const Row& row : scan) list.emplace_back(row.payload);
  ASSERT_FALSE(scan.failure().has_value()) << scan.failure()->message();
  ASSERT_EQ(list, state.list);
}

Options options_of(std::uint32_t kept) {
  Options options = small_options("");
  options.glean.interval_us = 0;  // when the test says so
  options.snapshots_kept = kept;
  return options;
}

TEST(SnapshotIsolationTest, before_the_first_glean_no_snapshot_is_found) {
  TestDatabase db;
  const Storages in(*db);
  State state;
  base::Random random(1);
  change(*db, in, &state, &random, 50);
  EXPECT_TRUE(db->snapshots().empty());
  const auto none = [](Txn&) { return Status(); };
  EXPECT_EQ(db->snapshot(none, {.as_of = Epoch(1'000'000)}).code(), ErrorCode::kNotFound);
  const Status status = db->snapshot(none, {.newest_existing = true});
  EXPECT_EQ(status.code(), ErrorCode::kNotFound);
  EXPECT_NE(status.message().find("no snapshot yet"), std::string::npos) << status.message();
}

// Goal: by default a snapshot has all commits, in all kinds of storages, however many snapshots
// were made before; one that has them is used again. Method: the engine gleans only for waiters.
TEST(SnapshotIsolationTest, by_default_a_snapshot_holds_all_that_was_committed) {
  Options options = options_of(2);
  options.glean.log_bytes = 0;
  TestDatabase db(options);
  must(db->snapshot([](Txn&) { return Status(); }));  // of a new database, which is empty
  const Storages in(*db);
  State state;
  base::Random random(testing::test_seed(1));
  for (int round = 0; round < 5; ++round) {
    change(*db, in, &state, &random, 50);
    for (int times = 0; times < 3; ++times) {
      Ticket ticket;
      must(db->snapshot(
          [&](Txn& txn) -> Status {
            expect_state(txn, in, state);
            return {};
          },
          {.ticket = &ticket}));
      EXPECT_TRUE(ticket.is_durable());
    }
    // A glean is counted when it has ended, which is after its snapshot can be read.
    const std::uint64_t expected = static_cast<std::uint64_t>(round) + 1;
    while (db->stats().gleans < expected) testing::nap();
    EXPECT_EQ(db->stats().gleans, expected);
  }
}

// Goal: every kept snapshot is the state at its epoch at each read, while the storages change and
// their pages are made and dropped; no other snapshot can be read.
TEST(SnapshotIsolationTest, each_kept_snapshot_is_the_state_at_its_epoch) {
  TestDatabase db(options_of(4));
  const Storages in(*db);
  State state;
  base::Random random(testing::test_seed(21));
  std::vector<std::pair<Epoch, State>> states;
  for (int round = 0; round < 7; ++round) {
    change(*db, in, &state, &random, round == 0 ? 3'000 : 400);
    const GleanReport report = must(db->glean());
    states.emplace_back(report.covered, state);
    change(*db, in, &state, &random, 100);  // in the next one

    const std::size_t kept = std::min<std::size_t>(states.size(), 4);
    ASSERT_EQ(db->snapshots().size(), kept);
    for (std::size_t i = 0; i < states.size(); ++i) {
      const auto& [covered, then] = states[i];
      Ticket ticket;
      const Status status = db->snapshot(
          [&](Txn& txn) -> Status {
            expect_state(txn, in, then);
            return {};
          },
          {.as_of = covered, .ticket = &ticket});
      if (i + kept < states.size()) {
        // The oldest snapshot may be found until it has expired.
        EXPECT_EQ(status.code(), ErrorCode::kNotFound) << i;
        continue;
      }
      must(status);
      EXPECT_EQ(ticket.epoch(), covered);
      EXPECT_TRUE(ticket.is_durable());
    }
    must(db->snapshot(
        [&](Txn& txn) -> Status {
          expect_state(txn, in, states.back().second);
          return {};
        },
        {.newest_existing = true}));
  }
  const std::vector<SnapshotInfo> kept = db->snapshots();
  for (std::size_t i = 0; i < kept.size(); ++i) {
    EXPECT_EQ(kept[i].covered, states[states.size() - kept.size() + i].first);
    EXPECT_GT(kept[i].pages, 0u);
    EXPECT_LE(kept[i].live_pages, kept[i].pages);
  }
}

// An epoch between two snapshots is answered by the older one.
TEST(SnapshotIsolationTest, as_of_is_the_newest_snapshot_that_is_not_above) {
  TestDatabase db(options_of(3));
  const Array array = must(db->open_array("array", 10, 8));
  std::vector<Epoch> covered;
  for (std::uint64_t i = 1; i <= 3; ++i) {
    must(db->transact([&](Txn& txn) { return txn.put(array, 0, i); }));
    covered.push_back(must(db->glean()).covered);
  }
  const auto value_as_of = [&](Epoch epoch) {
    const Result<std::uint64_t> value = db->snapshot(
        [&](Txn& txn) { return txn.get_as<std::uint64_t>(array, 0); }, {.as_of = epoch});
    if (value.is_ok()) return *value;
    EXPECT_EQ(value.code(), ErrorCode::kNotFound);
    return std::uint64_t{0};
  };
  EXPECT_EQ(value_as_of(covered[0].previous()), 0u);
  EXPECT_EQ(value_as_of(covered[0]), 1u);
  EXPECT_EQ(value_as_of(covered[1].previous()), 1u);
  EXPECT_EQ(value_as_of(covered[1]), 2u);
  EXPECT_EQ(value_as_of(covered[2].previous()), 2u);
  EXPECT_EQ(value_as_of(Epoch(Epoch::kMax)), 3u);
}

TEST(SnapshotIsolationTest, at_least_waits_for_a_snapshot_with_the_commit) {
  Options options = options_of(2);
  options.glean.log_bytes = 0;  // gleans are made for waiters only
  TestDatabase db(options);
  const Array array = must(db->open_array("array", 10, 8));
  for (std::uint64_t i = 1; i <= 5; ++i) {
    Ticket ticket;
    must(db->transact([&](Txn& txn) { return txn.put(array, 0, i); }, {.ticket = &ticket}));
    Ticket read;
    const std::uint64_t value =
        must(db->snapshot([&](Txn& txn) { return txn.get_as<std::uint64_t>(array, 0); },
                          {.at_least = ticket.epoch(), .ticket = &read}));
    EXPECT_EQ(value, i);
    EXPECT_GE(read.epoch(), ticket.epoch());
    EXPECT_LE(db->snapshots().size(), 3u);  // one more while it is made
  }
  const Epoch current = db->stats().current_epoch;
  const auto none = [](Txn&) { return Status(); };
  EXPECT_EQ(db->snapshot(none, {.at_least = Epoch(current.number() + 1'000'000)}).code(),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(db->snapshot(none, {.at_least = current, .timeout_us = 0}).code(), ErrorCode::kTimeout);
}

TEST(SnapshotIsolationTest, what_does_not_belong_to_it_is_refused) {
  TestDatabase db;
  const Storages in(*db);
  must(db->transact([&](Txn& txn) { return txn.put(in.tree, "a", "1"); }));
  must(db->glean());
  must(db->snapshot([&](Txn& txn) -> Status {
    const auto refused = [](const Status& status) {
      EXPECT_EQ(status.code(), ErrorCode::kInvalidArgument) << status.message();
    };
    std::byte room[8];
    refused(txn.put(in.tree, "b", "2"));
    refused(txn.insert(in.hash, "b", "2"));
    refused(txn.erase(in.tree, "a"));
    refused(txn.put(in.array, 1, std::uint64_t{1}));
    refused(txn.increment(in.array, 1, 0, 1));
    refused(txn.append(in.list, "x"));
    refused(txn.get_for_update(in.tree, "a", room).status());
    refused(txn.get_for_update(in.hash, "a", room).status());
    refused(txn.get_for_update(in.array, 1, room));
    refused(txn.get(in.array, kSlots, room));
    txn.prefetch(in.tree, "a");
    txn.prefetch(in.array, 1);
    EXPECT_EQ(must(txn.get(in.tree, "a")), "1");  // it goes on
    return txn.verify();
  }));
  Session session = must(db->new_session());
  EXPECT_EQ(session.begin({.as_of = Epoch(1)}).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(session.begin({.at_least = Epoch(1)}).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(session.begin({.newest_existing = true}).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(
      session.begin({.isolation = Isolation::kSnapshot, .as_of = Epoch(1), .at_least = Epoch(1)})
          .code(),
      ErrorCode::kInvalidArgument);
  EXPECT_EQ(
      session
          .begin({.isolation = Isolation::kSnapshot, .at_least = Epoch(1), .newest_existing = true})
          .code(),
      ErrorCode::kInvalidArgument);
  Options none = small_options("");
  none.log.kind = Logging::kNone;
  TestDatabase unlogged(none);
  for (const SnapshotOptions& asked :
       {SnapshotOptions{}, {.at_least = Epoch(1)}, {.newest_existing = true}}) {
    EXPECT_EQ(unlogged->snapshot([](Txn&) { return Status(); }, asked).code(),
              ErrorCode::kNotSupported);
  }
}

TEST(SnapshotIsolationTest, storages_that_are_not_in_the_snapshot_are_empty) {
  TestDatabase db;
  const Masstree old = must(db->open_masstree("old"));
  must(db->transact([&](Txn& txn) { return txn.put(old, "a", "1"); }));
  must(db->glean());
  const Storages in(*db);
  State state;
  base::Random random(3);
  change(*db, in, &state, &random, 50);
  Session session = must(db->new_session());
  Txn txn = must(session.begin({.isolation = Isolation::kSnapshot, .newest_existing = true}));
  expect_state(txn, in, State());
  EXPECT_EQ(must(txn.get(old, "a")), "1");
  must(db->drop_storage("old"));
  EXPECT_EQ(txn.get(old, "a").code(), ErrorCode::kNotFound);
  EXPECT_EQ(txn.scan(old, "", "").failure()->code(), ErrorCode::kNotFound);
  // A storage of the same name is another storage.
  const Masstree again = must(db->open_masstree("old"));
  EXPECT_EQ(txn.get(again, "a").code(), ErrorCode::kNotFound);
  EXPECT_FALSE(txn.scan(again, "", "").failure().has_value());
  must(txn.commit());
}

// Goal: a snapshot that is read stays on the device. Method: a transaction is open while many
// snapshots are made; its manifest must stay until it ends, and is then removed.
TEST(SnapshotIsolationTest, a_snapshot_that_is_read_does_not_expire) {
  TestDatabase db(options_of(1));
  const Storages in(*db);
  const auto manifests = [&] {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(db.options().dir)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("manifest-")) names.push_back(name);
    }
    return names.size();
  };
  State state;
  base::Random random(testing::test_seed(5));
  change(*db, in, &state, &random, 1'000);
  must(db->glean());
  const State then = state;
  Session session = must(db->new_session());
  std::optional<Txn> txn(must(session.begin({.isolation = Isolation::kSnapshot})));
  Scan scan = txn->scan(in.tree, "", "");
  auto row = then.rows.begin();
  auto position = scan.begin();
  for (int i = 0; i < 5; ++i) {
    change(*db, in, &state, &random, 300);
    must(db->glean());
    EXPECT_EQ(manifests(), 2u);
    EXPECT_EQ(db->snapshots().size(), 1u);
    expect_state(*txn, in, then);
    // An open scan continues, too.
    for (int rows = 0; rows < 100; ++rows, ++row, ++position) {
      ASSERT_EQ(position->key, row->first);
      ASSERT_EQ(position->payload, row->second);
    }
  }
  txn->rollback();
  for (int i = 0; i < 2'000 && manifests() != 1; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(manifests(), 1u);
}

// Goal: one transaction reads many times the size of the page cache without preventing the reuse of
// frames: its cursors hold ids and copies.
TEST(SnapshotIsolationTest, a_scan_may_be_much_longer_than_the_page_cache) {
  Options options = options_of(1);
  options.pages.cache_bytes = 512u << 10;
  TestDatabase db(options);
  const Masstree tree = must(db->open_masstree("tree"));
  constexpr std::uint32_t kRows = 20'000;
  for (std::uint32_t i = 0; i < kRows; i += 100) {
    must(db->transact([&](Txn& txn) -> Status {
      for (std::uint32_t j = i; j < i + 100; ++j) {
        FOEDUS_CHECK(txn.put(tree, key(j), std::string(500, static_cast<char>('a' + j % 26))));
      }
      return {};
    }));
  }
  must(db->glean());
  ASSERT_GT(db->snapshots().back().live_pages, 10 * ((512u << 10) / 4096));
  must(db->snapshot([&](Txn& txn) -> Status {
    for (const bool reverse : {false, true, false}) {
      std::uint32_t rows = 0;
      Scan scan = txn.scan(tree, "", "", {.reverse = reverse});
      for (const Row& row : scan) {
        const std::uint32_t number = reverse ? kRows - 1 - rows : rows;
        EXPECT_EQ(row.payload.front(), static_cast<char>('a' + number % 26));
        ++rows;
      }
      EXPECT_FALSE(scan.failure().has_value()) << scan.failure()->message();
      EXPECT_EQ(rows, kRows);
    }
    return {};
  }));
}

TEST(SnapshotIsolationTest, kept_snapshots_are_there_after_a_reopening) {
  TestDatabase db(options_of(3));
  std::vector<std::pair<Epoch, State>> states;
  State state;
  {
    const Storages in(*db);
    base::Random random(8);
    for (int round = 0; round < 4; ++round) {
      change(*db, in, &state, &random, 300);
      states.emplace_back(must(db->glean()).covered, state);
    }
  }
  db.reopen();
  const Storages in(*db);
  const std::vector<SnapshotInfo> kept = db->snapshots();
  ASSERT_EQ(kept.size(), 3u);
  // Recovery may have made a snapshot of log after the last one.
  const bool has_more = kept.back().covered > states.back().first;
  for (std::size_t i = has_more ? 2 : 1; i < states.size(); ++i) {
    must(db->snapshot(
        [&](Txn& txn) -> Status {
          expect_state(txn, in, states[i].second);
          return {};
        },
        {.as_of = states[i].first}));
  }
}

}  // namespace
}  // namespace foedus::snapshot_isolation_test
