// ctest-labels: concurrency crash
// The public interface: open and close, catalog, transact(), limits and errors.
#include <filesystem>
#include <stdexcept>
#include <thread>

#include "foedus-core/page/page_pool.h"
#include "tests/testing/nap.h"
#include "tests/testing/test_database.h"

namespace foedus::database_test {
namespace {

using testing::must;
using testing::small_options;
using testing::TestDatabase;
using testing::TestDirectory;

TEST(DatabaseTest, commits_survive_close_and_open_in_every_storage) {
  TestDatabase db;
  {
    const Masstree tree = must(db->open_masstree("tree"));
    const Hash hash = must(db->open_hash("hash"));
    const Array array = must(db->open_array("array", 100, 8));
    const Sequential log = must(db->open_sequential("log"));
    must(db->transact([&](Txn& txn) -> Status {
      for (std::uint32_t i = 0; i < 1000; ++i) {
        FOEDUS_CHECK(txn.insert(tree, key(i), std::uint64_t{i}));
        FOEDUS_CHECK(txn.insert(hash, key(i), std::uint64_t{i * 2}));
      }
      FOEDUS_CHECK(txn.put(array, 7, std::uint64_t{77}));
      FOEDUS_CHECK(txn.append(log, "one"));
      return txn.append(log, "two");
    }));
    must(db->transact([&](Txn& txn) -> Status {
      FOEDUS_CHECK(txn.erase(tree, key(5u)));
      FOEDUS_CHECK(txn.increment(hash, key(6u), 0, 1000));
      return txn.write_at(array, 8, 4, "half");
    }));
  }
  db.reopen();
  const Masstree tree = must(db->open_masstree("tree"));
  const Hash hash = must(db->open_hash("hash"));
  const Array array = must(db->open_array("array", 100, 8));
  const Sequential log = must(db->open_sequential("log"));
  must(db->transact([&](Txn& txn) -> Status {
    for (std::uint32_t i = 0; i < 1000; ++i) {
      EXPECT_EQ(must(txn.contains(tree, key(i))), i != 5) << i;
      EXPECT_EQ(must(txn.get_as<std::uint64_t>(hash, key(i))), i * 2 + (i == 6 ? 1000 : 0));
    }
    EXPECT_EQ(must(txn.get_as<std::uint64_t>(array, 7)), 77u);
    char half[8];
    FOEDUS_CHECK(txn.get(array, 8, std::as_writable_bytes(std::span<char>(half))));
    EXPECT_EQ(std::string_view(half, 8), std::string_view("\0\0\0\0half", 8));
    std::vector<std::string> entries;
    Scan rows = txn.scan(log);
    for (const Row& row : rows) entries.emplace_back(row.payload);
    EXPECT_EQ(entries, (std::vector<std::string>{"one", "two"}));
    return {};
  }));
}

TEST(DatabaseTest, second_open_of_a_directory_is_busy) {
  TestDatabase db;
  const Result<Database> second = Database::open(db.options());
  EXPECT_EQ(second.code(), ErrorCode::kBusy) << second.status().message();
}

TEST(DatabaseTest, options_out_of_range_are_named) {
  const TestDirectory directory;
  const auto refused = [&](auto&& change, std::string_view word) {
    Options options = small_options(directory.path());
    change(options);
    const Result<Database> opened = Database::open(options);
    EXPECT_EQ(opened.code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(opened.status().message().find(word), std::string::npos) << opened.status().message();
  };
  refused([](Options& o) { o.dir.clear(); }, "dir");
  refused([](Options& o) { o.socs = kMaxSocs + 1; }, "socs");
  refused([](Options& o) { o.memory_bytes = 1; }, "memory_bytes");
  refused([](Options& o) { o.log.buffer_bytes = 100'000; }, "log.buffer_bytes");
  refused([](Options& o) { o.log.segment_bytes = 1; }, "log.segment_bytes");
  refused([](Options& o) { o.sessions_max = 0; }, "sessions_max");
  refused([](Options& o) { o.epoch_interval_us = 1; }, "epoch_interval_us");
  // The memory has more pages than page ids can name.
  refused([](Options& o) { o.memory_bytes = page::PagePool::kBytesMax + 1; }, "memory_bytes");
  refused([](Options& o) { o.glean.memory_bytes = ~std::uint64_t{0}; }, "glean.memory_bytes");
}

TEST(DatabaseTest, storage_of_another_shape_is_refused) {
  TestDatabase db;
  must(db->open_array("a", 10, 8));
  EXPECT_EQ(db->open_array("a", 11, 8).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(db->open_masstree("a").code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(db->open_masstree("").code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(db->open_masstree(std::string(kMaxStorageNameBytes + 1, 'x')).code(),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(db->open_array("b", 0, 8).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(db->open_array("b", 1, kMaxArrayPayloadBytes + 1).code(), ErrorCode::kInvalidArgument);
}

TEST(DatabaseTest, dropped_storage_is_gone_also_after_open) {
  TestDatabase db;
  const Masstree tree = must(db->open_masstree("tree"));
  must(db->transact([&](Txn& txn) { return txn.put(tree, "k", "v"); }));
  must(db->drop_storage("tree"));
  EXPECT_EQ(db->drop_storage("tree").code(), ErrorCode::kNotFound);
  EXPECT_EQ(db->transact([&](Txn& txn) { return txn.put(tree, "k", "v"); }).code(),
            ErrorCode::kNotFound);
  const Masstree again = must(db->open_masstree("tree"));
  EXPECT_NE(again.id(), tree.id());
  EXPECT_FALSE(must(db->transact([&](Txn& txn) { return txn.contains(again, "k"); })));
  db.reopen();
  EXPECT_EQ(db->storages().size(), 1u);
  const Masstree found = must(db->open_masstree("tree"));
  EXPECT_FALSE(must(db->transact([&](Txn& txn) { return txn.contains(found, "k"); })));
}

TEST(DatabaseTest, keys_and_payloads_over_their_limits_are_refused) {
  TestDatabase db;
  const Masstree tree = must(db->open_masstree("tree"));
  const Hash hash = must(db->open_hash("hash"));
  for (const KeyedStorage& storage : {KeyedStorage(tree), KeyedStorage(hash)}) {
    must(db->transact([&](Txn& txn) -> Status {
      const std::string long_key(kMaxKeyBytes, 'k');
      EXPECT_EQ(txn.put(storage, long_key + "x", "v").code(), ErrorCode::kTooLarge);
      FOEDUS_CHECK(txn.put(storage, long_key, "v"));
      FOEDUS_CHECK(txn.put(storage, "", "empty key"));
      EXPECT_EQ(txn.put(storage, "k", std::string(kMaxPayloadBytes + 1, 'p')).code(),
                ErrorCode::kTooLarge);
      EXPECT_EQ(must(txn.get(storage, "")), "empty key");
      return {};
    }));
  }
}

// Calls that check the size of a payload first refuse the handle, too.
TEST(DatabaseTest, handles_of_no_storage_are_refused) {
  TestDatabase db;
  must(db->transact([](Txn& txn) -> Status {
    EXPECT_EQ(txn.put(Array(), 0, "row").code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(txn.put(Array(), 0, "").code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(txn.get_as<int>(Array(), 0).code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(txn.increment(Array(), 0, 0, 1).code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(txn.put(Masstree(), "k", "row").code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(txn.get_as<int>(Hash(), "k").code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(txn.append(Sequential(), "row").code(), ErrorCode::kInvalidArgument);
    EXPECT_TRUE(txn.scan(Masstree(), {}, {}).failure().has_value());
    EXPECT_TRUE(txn.scan(Sequential()).failure().has_value());
    return {};
  }));
  EXPECT_EQ(Array().records(), 0u);
}

TEST(DatabaseTest, large_payloads_come_back) {
  Options options = small_options("");
  options.log.buffer_bytes = 16u << 20;
  TestDatabase db(options);
  const std::string megabyte(1u << 20, 'm');
  const std::string largest(kMaxPayloadBytes, 'l');
  for (int round = 0; round < 2; ++round) {
    const Masstree tree = must(db->open_masstree("tree"));
    const Hash hash = must(db->open_hash("hash"));
    for (const KeyedStorage& storage : {KeyedStorage(tree), KeyedStorage(hash)}) {
      if (round == 0) {
        must(db->transact([&](Txn& txn) { return txn.put(storage, "m", megabyte); }));
        must(db->transact([&](Txn& txn) { return txn.put(storage, "l", largest); }));
      }
      const std::string m = must(db->transact([&](Txn& txn) { return txn.get(storage, "m"); }));
      const std::string l = must(db->transact([&](Txn& txn) { return txn.get(storage, "l"); }));
      EXPECT_TRUE(m == megabyte && l == largest);
    }
    if (round == 0) db.reopen();
  }
}

TEST(DatabaseTest, transaction_over_half_of_the_ring_is_too_large) {
  TestDatabase db;
  const Masstree tree = must(db->open_masstree("tree"));
  const Status status = db->transact([&](Txn& txn) -> Status {
    for (std::uint32_t i = 0;; ++i) FOEDUS_CHECK(txn.put(tree, key(i), std::string(1000, 'x')));
  });
  EXPECT_EQ(status.code(), ErrorCode::kTooLarge) << status.message();
  EXPECT_FALSE(must(db->transact([&](Txn& txn) { return txn.contains(tree, key(0u)); })));
}

// Whether a transaction fits does not depend on what the session has logged before.
TEST(DatabaseTest, transactions_of_less_than_half_of_the_ring_fit_one_after_the_other) {
  Options options = small_options("");
  options.log.buffer_bytes = 64u << 10;
  TestDatabase db(options);
  const Masstree tree = must(db->open_masstree("tree"));
  const std::string payload(25'000, 'x');
  for (unsigned i = 0; i < 20; ++i) {
    must(db->transact([&](Txn& txn) { return txn.put(tree, key(i), payload); }));
  }
}

TEST(DatabaseTest, nested_transact_is_refused) {
  TestDatabase db;
  must(db->transact([&](Txn&) -> Status {
    EXPECT_EQ(db->transact([](Txn&) { return Status(); }).code(), ErrorCode::kInvalidArgument);
    return {};
  }));
}

TEST(DatabaseTest, a_function_that_is_constant_may_be_run) {
  TestDatabase db;
  const Masstree tree = must(db->open_masstree("t"));
  const auto write = [&](Txn& txn) { return txn.put(tree, key(1u), 2u); };
  const auto read = [&](Txn& txn) { return txn.get_as<unsigned>(tree, key(1u)); };
  must(db->transact(write));
  EXPECT_EQ(must(db->transact(read)), 2u);
}

TEST(DatabaseTest, exception_rolls_back) {
  TestDatabase db;
  const Masstree tree = must(db->open_masstree("tree"));
  EXPECT_THROW(static_cast<void>(db->transact([&](Txn& txn) -> Status {
                 FOEDUS_CHECK(txn.put(tree, "k", "v"));
                 throw std::runtime_error("out");
               })),
               std::runtime_error);
  EXPECT_FALSE(must(db->transact([&](Txn& txn) { return txn.contains(tree, "k"); })));
}

TEST(DatabaseTest, user_rollback_leaves_nothing) {
  TestDatabase db;
  const Masstree tree = must(db->open_masstree("tree"));
  const Status status = db->transact([&](Txn& txn) -> Status {
    FOEDUS_CHECK(txn.put(tree, "k", "v"));
    return Status::rolled_back();
  });
  EXPECT_EQ(status.code(), ErrorCode::kRolledBack);
  EXPECT_FALSE(must(db->transact([&](Txn& txn) { return txn.contains(tree, "k"); })));
}

TEST(DatabaseTest, writes_of_read_only_transactions_are_refused) {
  TestDatabase db;
  const Masstree tree = must(db->open_masstree("tree"));
  must(db->transact(
      [&](Txn& txn) -> Status {
        EXPECT_EQ(txn.put(tree, "k", "v").code(), ErrorCode::kInvalidArgument);
        return {};
      },
      {.read_only = true}));
  must(db->transact(
      [&](Txn& txn) -> Status {
        EXPECT_EQ(txn.put(tree, "k", "v").code(), ErrorCode::kInvalidArgument);
        return {};
      },
      {.isolation = Isolation::kSnapshot}));
}

TEST(DatabaseTest, synchronous_commit_is_durable_when_it_returns) {
  TestDatabase db;
  const Masstree tree = must(db->open_masstree("tree"));
  Ticket ticket;
  must(db->transact([&](Txn& txn) { return txn.put(tree, "k", "v"); },
                    {.durability = Durability::kSync, .ticket = &ticket}));
  EXPECT_TRUE(ticket.is_durable());
  EXPECT_LE(ticket.epoch(), db->durable_epoch());
}

// The results of a read-only transaction are durable only once its ticket says so.
TEST(DatabaseTest, ticket_of_a_read_covers_what_it_saw) {
  TestDatabase db;
  const Masstree tree = must(db->open_masstree("tree"));
  Ticket write;
  must(db->transact([&](Txn& txn) { return txn.put(tree, "k", "v"); }, {.ticket = &write}));
  Ticket read;
  must(db->transact([&](Txn& txn) { return txn.get(tree, "k").status(); }, {.ticket = &read}));
  EXPECT_GE(read.epoch(), write.epoch());
  must(read.wait_durable());
  EXPECT_TRUE(write.is_durable());
}

TEST(DatabaseTest, tickets_name_the_epoch_and_wait_durable_waits_for_it) {
  Options options = small_options("");
  options.epoch_interval_us = 1'000'000;
  TestDatabase db(options);
  const Masstree tree = must(db->open_masstree("t"));
  Ticket ticket;
  must(db->transact([&](Txn& txn) { return txn.put(tree, key(1u), 1u); }, {.ticket = &ticket}));
  EXPECT_TRUE(ticket.epoch().is_valid());
  EXPECT_FALSE(ticket.is_durable());
  must(db->wait_durable());
  EXPECT_TRUE(ticket.is_durable());
  EXPECT_GE(db->durable_epoch(), ticket.epoch());
  Session session = must(db->new_session());
  Txn txn = must(session.begin());
  must(txn.put(tree, key(1u), 2u));
  const Ticket second = must(txn.commit());
  EXPECT_GT(second.epoch(), ticket.epoch());
  EXPECT_FALSE(second.is_durable());
  EXPECT_EQ(db->wait_durable(0).code(), ErrorCode::kTimeout);
}

TEST(DatabaseTest, wait_durable_fails_once_the_database_is_closed) {
  TestDirectory directory;
  Database db = must(Database::open(small_options(directory.path())));
  must(db.close());
  EXPECT_EQ(db.wait_durable().code(), ErrorCode::kClosed);
}

TEST(DatabaseTest, a_conflict_at_commit_is_not_taken_for_a_success) {
  TestDatabase db;
  const Masstree tree = must(db->open_masstree("t"));
  must(db->transact([&](Txn& txn) { return txn.put(tree, key(1u), 1u); }));
  Session other = must(db->new_session());
  const Status status = db->transact(
      [&](Txn& txn) -> Status {
        FOEDUS_TRY(const auto value, txn.get_as<unsigned>(tree, key(1u)));
        Txn between = must(other.begin());
        must(between.put(tree, key(1u), 7u));
        must(between.commit());
        return txn.put(tree, key(2u), value);
      },
      {.tries_max = 1});
  EXPECT_EQ(status.code(), ErrorCode::kConflict) << status.message();
}

// Moves the files of one directory whose names begin with `prefix` to another one.
void move_files(const TestDirectory& from, const TestDirectory& to, const std::string& prefix) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(from.path())) {
    names.push_back(entry.path().filename());
  }
  for (const std::string& name : names) {
    if (!name.starts_with(prefix)) continue;
    std::filesystem::rename(from.path() + "/" + name, to.path() + "/" + name);
  }
}

void expect_corrupt(const Options& options, const std::string& what) {
  const auto opened = Database::open(options);
  EXPECT_EQ(opened.code(), ErrorCode::kCorruption);
  EXPECT_NE(opened.status().message().find(what), std::string::npos) << opened.status().message();
}

// Goal: open() ignores no existing data. Method: a directory is opened without logging, without its
// log, and without its snapshots; each time it is refused and stays as it is.
TEST(DatabaseTest, logs_and_snapshots_are_not_ignored) {
  TestDirectory directory;
  const TestDirectory other;
  Options options = small_options(directory.path());
  for (int life = 0; life < 2; ++life) {
    Database db = must(Database::open(options));
    const Masstree tree = must(db.open_masstree("tree"));
    must(db.transact([&](Txn& txn) { return txn.put(tree, "key", "row"); }));
    must(db.glean());
    must(db.close());
  }
  Options none = options;
  none.log.kind = Logging::kNone;
  EXPECT_EQ(Database::open(none).code(), ErrorCode::kInvalidArgument);

  move_files(directory, other, "savepoint");
  move_files(directory, other, "log-");
  expect_corrupt(options, "the log is missing");
  EXPECT_EQ(Database::open(none).code(), ErrorCode::kInvalidArgument);
  move_files(directory, other, "manifest-");
  expect_corrupt(options, "the log is missing");
  EXPECT_EQ(Database::open(none).code(), ErrorCode::kInvalidArgument);
  move_files(other, directory, "");

  move_files(directory, other, "manifest-");
  expect_corrupt(options, "a manifest is missing");
  move_files(other, directory, "");

  Database db = must(Database::open(options));
  const Masstree tree = must(db.open_masstree("tree"));
  EXPECT_EQ(must(db.transact([&](Txn& txn) { return txn.get(tree, "key"); })), "row");
}

// close() releases the directory; the destructor is not needed.
TEST(DatabaseTest, a_directory_can_be_opened_once_it_is_closed) {
  TestDirectory directory;
  Database first = must(Database::open(small_options(directory.path())));
  const Masstree before = must(first.open_masstree("tree"));
  must(first.transact([&](Txn& txn) { return txn.put(before, "key", "row"); }));
  must(first.glean());
  EXPECT_EQ(Database::open(small_options(directory.path())).code(), ErrorCode::kBusy);
  must(first.close());
  Database second = must(Database::open(small_options(directory.path())));
  EXPECT_EQ(first.close().code(), ErrorCode::kClosed);
  EXPECT_EQ(first.glean().code(), ErrorCode::kClosed);
  { const Database gone = std::move(first); }
  EXPECT_EQ(Database::open(small_options(directory.path())).code(), ErrorCode::kBusy);
  const Masstree tree = must(second.open_masstree("tree"));
  EXPECT_EQ(must(second.transact([&](Txn& txn) { return txn.get(tree, "key"); })), "row");
}

TEST(DatabaseTest, threads_come_and_go_around_close) {
  std::thread late;
  std::atomic<bool> closed{false};
  {
    TestDatabase db;
    const Masstree tree = must(db->open_masstree("tree"));
    for (int i = 0; i < 100; ++i) {  // more than sessions_max: each returns its session
      std::thread([&] {
        must(db->transact([&](Txn& txn) { return txn.put(tree, "k", "v"); }));
      }).join();
    }
    std::atomic<bool> used{false};
    late = std::thread([&] {
      must(db->transact([&](Txn& txn) { return txn.put(tree, "k", "v"); }));
      used = true;
      while (!closed) testing::nap();
    });
    while (!used) testing::nap();
  }
  closed = true;
  late.join();  // ends after the database is gone
}

// A database that was moved from is closed: its calls say so, and do no harm.
TEST(DatabaseTest, a_database_that_was_moved_from_is_closed) {
  TestDirectory directory;
  Database from = must(Database::open(small_options(directory.path())));
  const Masstree tree = must(from.open_masstree("tree"));
  Session early = must(from.new_session());
  Database to = std::move(from);
  Session session = std::move(early);  // destroyed before the database
  const auto nothing = [](Txn&) { return Status(); };
  EXPECT_EQ(from.transact(nothing).code(), ErrorCode::kClosed);
  EXPECT_EQ(from.snapshot(nothing).code(), ErrorCode::kClosed);
  EXPECT_EQ(from.open_masstree("tree").code(), ErrorCode::kClosed);
  EXPECT_EQ(from.open_hash("hash").code(), ErrorCode::kClosed);
  EXPECT_EQ(from.open_array("array", 1, 1).code(), ErrorCode::kClosed);
  EXPECT_EQ(from.open_sequential("list").code(), ErrorCode::kClosed);
  EXPECT_EQ(from.drop_storage("tree").code(), ErrorCode::kClosed);
  EXPECT_EQ(from.new_session().code(), ErrorCode::kClosed);
  EXPECT_EQ(from.wait_durable().code(), ErrorCode::kClosed);
  EXPECT_EQ(from.wait_recovered().code(), ErrorCode::kClosed);
  EXPECT_EQ(from.glean().code(), ErrorCode::kClosed);
  EXPECT_EQ(from.backup("backup").code(), ErrorCode::kClosed);
  EXPECT_EQ(from.close().code(), ErrorCode::kClosed);
  EXPECT_TRUE(from.storages().empty());
  EXPECT_TRUE(from.snapshots().empty());
  EXPECT_TRUE(from.stats().storages.empty());
  EXPECT_FALSE(from.durable_epoch().is_valid());
  EXPECT_EQ(from.reserve_memory(1u << 20), 0u);
  EXPECT_EQ(from.effective_options().options.memory_bytes, Options().memory_bytes);

  must(to.transact([&](Txn& txn) { return txn.put(tree, key(1u), 5u); }));
  Txn txn = must(session.begin());
  EXPECT_EQ(must(txn.get_as<unsigned>(tree, key(1u))), 5u);
  txn.rollback();
}

TEST(DatabaseTest, several_databases_in_one_process_are_apart) {
  TestDatabase one;
  TestDatabase two;
  const Masstree first = must(one->open_masstree("tree"));
  const Masstree second = must(two->open_masstree("tree"));
  must(one->transact([&](Txn& txn) -> Status {
    FOEDUS_CHECK(txn.put(first, "k", "one"));
    return two->transact([&](Txn& other) { return other.put(second, "k", "two"); });
  }));
  EXPECT_EQ(must(one->transact([&](Txn& txn) { return txn.get(first, "k"); })), "one");
  EXPECT_EQ(must(two->transact([&](Txn& txn) { return txn.get(second, "k"); })), "two");
}

// reserve_memory() backs all memory up to the bound, even if the caller asks for more.
TEST(DatabaseTest, memory_is_reserved_up_to_its_bound) {
  Options options = small_options("");
  options.memory_bytes = 64u << 20;
  TestDatabase db(options);
  const std::uint64_t all = db->reserve_memory(std::uint64_t{1} << 40);
  EXPECT_GT(all, 4u << 20);
  EXPECT_EQ(db->reserve_memory(~std::uint64_t{0}), all);
}

// memory_bytes is a bound: if no page can be dropped, writers get an error, and reads go on.
TEST(DatabaseTest, spent_memory_is_an_error_for_writers_only) {
  Options options = small_options("");
  options.memory_bytes = 64u << 20;
  options.log.kind = Logging::kNone;
  TestDatabase db(options);
  const Masstree tree = must(db->open_masstree("tree"));
  must(db->transact([&](Txn& txn) { return txn.put(tree, "first", "row"); }));
  Status status;
  for (std::uint32_t i = 0; status.is_ok(); ++i) {
    status = db->transact([&](Txn& txn) { return txn.put(tree, key(i), std::string(1000, 'x')); });
    ASSERT_LT(i, 100'000u);
  }
  EXPECT_EQ(status.code(), ErrorCode::kOutOfMemory) << status.message();
  EXPECT_EQ(must(db->transact([&](Txn& txn) { return txn.get(tree, "first"); })), "row");
}

}  // namespace
}  // namespace foedus::database_test
