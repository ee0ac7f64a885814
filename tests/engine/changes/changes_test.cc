// ctest-labels: concurrency
// Database::changes() hands out what transactions have committed, by storage, key and payload.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/base/test_seed.h"
#include "tests/engine/changes/change_model.h"
#include "tests/testing/at_sync_point.h"
#include "tests/testing/nap.h"
#include "tests/testing/rows_of.h"

namespace foedus::engine::changes_test {
namespace {

using testing::ChangeModel;
using testing::must;
using testing::small_options;
using testing::TestDatabase;

class ChangesTest : public ::testing::Test {
 protected:
  ChangeModel::Rows rows_of(const Masstree& tree) { return testing::rows_of(*db_, tree); }
  void put(const Masstree& tree, std::string_view key, std::string_view payload) {
    must(db_->transact([&](Txn& txn) { return txn.put(tree, key, payload); }));
  }

  TestDatabase db_{testing::keeping_options()};
};

TEST_F(ChangesTest, each_kind_of_change_says_what_was_done_to_what) {
  const Masstree tree = must(db_->open_masstree("tree"));
  const Array array = must(db_->open_array("array", 10, 16));
  const Sequential list = must(db_->open_sequential("list"));
  must(db_->transact([&](Txn& txn) -> Status {
    FOEDUS_CHECK(txn.put(tree, "key", "0123456789abcdef"));
    FOEDUS_CHECK(txn.write_at(tree, "key", 2, "xy"));
    FOEDUS_CHECK(txn.increment(tree, "key", 8, 5));
    FOEDUS_CHECK(txn.erase(tree, "key"));
    FOEDUS_CHECK(txn.write_at(array, 7, 4, "zz"));
    return txn.append(list, "record");
  }));
  must(db_->drop_storage("list"));
  must(db_->wait_durable());
  ChangeStream stream = must(db_->changes(Epoch()));
  std::vector<std::string> lines;
  for (;;) {
    const ChangeBatch batch = must(stream.next());
    if (batch.changes.empty()) break;
    for (const Change& change : batch.changes) {
      std::string line = std::string(to_string(change.kind)) + " " + std::string(change.storage);
      if (change.created != nullptr) line += ":" + std::string(to_string(change.created->kind));
      if (change.storage == "array" && !change.key.empty()) {
        line += " " + std::to_string(change.index());
      } else {
        line += " " + std::string(change.key);
      }
      if (change.kind == ChangeKind::kIncrement) {
        line += " +" + std::to_string(change.addend());
      } else {
        line += " " + std::string(change.payload);
      }
      lines.push_back(line + " @" + std::to_string(change.payload_offset));
    }
  }
  // A transaction's changes of one row are those that its commit made of them.
  ASSERT_GE(lines.size(), 3u + 3u);
  EXPECT_EQ(lines[0], "create_storage tree:masstree   @0");
  EXPECT_EQ(lines[1], "create_storage array:array   @0");
  EXPECT_EQ(lines[2], "create_storage list:sequential   @0");
  EXPECT_EQ(lines.back(), "drop_storage list   @0");
  for (const char* const wanted :
       {"erase tree key  @0", "write_at array 7 zz @4", "append list  record @0"}) {
    EXPECT_NE(std::find(lines.begin(), lines.end(), wanted), lines.end())
        << wanted << ::testing::PrintToString(lines);
  }
}

// Goal: a consumer that applies the changes has the rows of the database. Method: random
// transactions, gleans and restarts; the consumer's rows are compared after each round.
TEST_F(ChangesTest, a_copy_made_of_the_changes_is_equal) {
  const std::uint64_t seed = testing::test_seed(11);
  std::mt19937_64 random(seed);
  const auto draw = [&](std::uint64_t below) { return random() % below; };
  ChangeModel model;
  for (int round = 0; round < 12; ++round) {
    const Masstree tree = must(db_->open_masstree("tree"));
    const Hash hash = must(db_->open_hash("hash"));
    const Sequential list = must(db_->open_sequential("list"));
    ChangeStream stream = must(db_->changes(model.position()));
    for (int i = 0; i < 200; ++i) {
      must(db_->transact([&](Txn& txn) -> Status {
        for (std::uint64_t step = draw(4) + 1; step > 0; --step) {
          const std::string key = "key " + std::to_string(draw(50));
          const std::string payload(8 + draw(300), static_cast<char>('a' + draw(26)));
          const KeyedStorage& keyed = draw(2) == 0 ? static_cast<const KeyedStorage&>(tree) : hash;
          Status status;
          switch (draw(5)) {
            case 0:
              status = txn.erase(keyed, key);
              break;
            case 1:
              status = txn.write_at(keyed, key, 3, "ABC");
              break;
            case 2:
              status = txn.increment(keyed, key, 0, draw(1'000));
              break;
            case 3:
              status = txn.append(list, payload);
              break;
            default:
              status = txn.put(keyed, key, payload);
          }
          if (!status.is_ok() && status.code() != ErrorCode::kNotFound) return status;
        }
        return {};
      }));
      if (draw(50) == 0) must(db_->glean());
      if (draw(20) == 0) must(model.take(&stream, draw(4)));
    }
    must(db_->wait_durable());
    must(model.take(&stream));
    EXPECT_EQ(model.rows("tree"), rows_of(tree)) << seed;
    ChangeModel::Rows found;
    std::vector<std::string> records;
    must(db_->transact([&](Txn& txn) -> Status {
      found.clear();
      records.clear();
      Scan scan = txn.scan(hash);
      for (const Row& row : scan) found.emplace(row.key, row.payload);
      if (const auto failure = scan.failure()) return *failure;
      Scan appended = txn.scan(list);
      for (const Row& row : appended) records.emplace_back(row.payload);
      return appended.failure().value_or(Status());
    }));
    EXPECT_EQ(model.rows("hash"), found) << seed;
    EXPECT_EQ(model.records("list"), records) << seed;
    if (round % 3 == 2) db_.reopen();
  }
  EXPECT_GT(model.batches(), 20u);
}

TEST_F(ChangesTest, a_stream_without_a_position_begins_now) {
  const Masstree tree = must(db_->open_masstree("tree"));
  put(tree, "before", "1");
  must(db_->wait_durable());
  ChangeStream stream = must(db_->changes());
  put(tree, "after", "2");
  const ChangeBatch batch = must(stream.next(60'000'000));  // returns once it is durable
  ASSERT_EQ(batch.changes.size(), 1u);
  EXPECT_EQ(batch.changes[0].key, "after");
  EXPECT_TRUE(must(stream.next(2'000)).changes.empty());
}

TEST_F(ChangesTest, changes_after_a_backup_complete_it) {
  const Masstree tree = must(db_->open_masstree("tree"));
  for (int i = 0; i < 100; ++i) put(tree, "key " + std::to_string(i), "old");
  const testing::TestDirectory directory;
  const BackupReport report = must(db_->backup(directory.path() + "/backup"));
  for (int i = 50; i < 150; ++i) put(tree, "key " + std::to_string(i), "new");
  must(db_->wait_durable());
  ChangeStream stream = must(db_->changes(report.covered));
  std::map<std::string, std::string> changed;
  for (;;) {
    const ChangeBatch batch = must(stream.next());
    if (batch.changes.empty()) break;
    for (const Change& change : batch.changes) changed.emplace(change.key, change.payload);
  }
  EXPECT_EQ(changed.size(), 100u);
  for (int i = 50; i < 150; ++i) EXPECT_EQ(changed["key " + std::to_string(i)], "new");
}

TEST_F(ChangesTest, a_storage_that_was_dropped_before_the_restart_has_its_name) {
  const Masstree tree = must(db_->open_masstree("gone"));
  must(db_->wait_durable());
  const Epoch begin = must(must(db_->changes(Epoch())).next()).position;
  put(tree, "key", "payload");
  must(db_->drop_storage("gone"));
  must(db_->glean());
  db_.reopen();
  ChangeStream stream = must(db_->changes(begin));
  std::vector<std::string> names;
  for (;;) {
    const ChangeBatch batch = must(stream.next());
    if (batch.changes.empty()) break;
    for (const Change& change : batch.changes) {
      names.push_back(std::string(to_string(change.kind)) + " " + std::string(change.storage));
    }
  }
  EXPECT_EQ(names, (std::vector<std::string>{"put gone", "drop_storage gone"}));
}

TEST_F(ChangesTest, a_database_that_closes_ends_waits_and_streams) {
  ChangeStream stream = must(db_->changes());
  ChangeStream other = must(db_->changes(Epoch()));
  std::atomic<bool> waits = false;
  const testing::AtSyncPoint at_wait("changes:waits", [&] { waits = true; });
  std::thread waiter(
      [&] { EXPECT_EQ(stream.next(~std::uint64_t{0}).status().code(), ErrorCode::kClosed); });
  while (!waits) testing::nap();
  db_.reopen();
  waiter.join();
  EXPECT_EQ(other.next().status().code(), ErrorCode::kClosed);
  ChangeStream moved = std::move(other);
  EXPECT_EQ(other.next().status().code(), ErrorCode::kClosed);
}

TEST_F(ChangesTest, a_consumer_that_never_waits_does_not_keep_the_database_open) {
  ChangeStream stream = must(db_->changes());
  std::atomic<bool> begun = false;
  std::thread consumer([&] {
    while (stream.next().is_ok()) begun = true;
  });
  while (!begun) testing::nap();
  db_.reopen();
  consumer.join();
}

TEST_F(ChangesTest, a_wait_without_changes_takes_its_time) {
  ChangeStream stream = must(db_->changes());
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(must(stream.next(20'000)).changes.empty());
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(20));
}

TEST_F(ChangesTest, changes_of_a_transaction_have_its_number) {
  const Masstree tree = must(db_->open_masstree("tree"));
  ChangeStream stream = must(db_->changes());
  for (int i = 0; i < 100; ++i) {
    const std::string payload = std::to_string(i);
    must(db_->transact([&](Txn& txn) -> Status {
      for (int row = 0; row < 3; ++row) {
        FOEDUS_CHECK(txn.put(tree, payload + " " + std::to_string(row), payload));
      }
      return {};
    }));
  }
  must(db_->wait_durable());
  std::size_t changes = 0;
  for (;;) {
    const ChangeBatch batch = must(stream.next());
    if (batch.changes.empty()) break;
    std::map<std::uint32_t, std::vector<std::string>> by_transaction;
    for (const Change& change : batch.changes) {
      by_transaction[change.transaction].emplace_back(change.payload);
    }
    for (const auto& [transaction, payloads] : by_transaction) {
      EXPECT_EQ(payloads, std::vector<std::string>(3, payloads[0])) << transaction;
    }
    EXPECT_EQ(by_transaction.rbegin()->first + 1, by_transaction.size());
    changes += batch.changes.size();
  }
  EXPECT_EQ(changes, 300u);
}

TEST_F(ChangesTest, what_cannot_be_read_is_refused_by_name) {
  const Epoch later(must(db_->changes()).next()->position.number() + 1'000'000);
  EXPECT_EQ(db_->changes(later).status().code(), ErrorCode::kInvalidArgument);
  const Result<BulkLoad> load = db_->load_masstree("loaded");
  EXPECT_EQ(load.status().code(), ErrorCode::kNotSupported);

  TestDatabase plain;
  const Status refused = plain->changes(Epoch()).status();
  EXPECT_EQ(refused.code(), ErrorCode::kNotSupported);
  EXPECT_NE(refused.message().find("log.change_bytes"), std::string::npos) << refused.message();
  must(plain->load_masstree("loaded"));

  Options without = small_options("");
  without.log.kind = Logging::kNone;
  TestDatabase unlogged(without);
  EXPECT_EQ(unlogged->changes().status().code(), ErrorCode::kNotSupported);
}

TEST_F(ChangesTest, the_setting_stays_in_the_directory) {
  const Masstree tree = must(db_->open_masstree("tree"));
  put(tree, "key", "1");
  must(db_->close());
  Options options = db_.options();
  options.log.change_bytes = 0;
  {
    Database again = must(Database::open(options));
    EXPECT_EQ(again.effective_options().options.log.change_bytes, 1u << 30);
    EXPECT_TRUE(again.changes(Epoch()).is_ok());
  }
  options.log.change_bytes = kNoChanges;
  {
    Database again = must(Database::open(options));
    EXPECT_EQ(again.effective_options().options.log.change_bytes, kNoChanges);
    EXPECT_EQ(again.changes(Epoch()).status().code(), ErrorCode::kNotSupported);
  }
  options.log.change_bytes = 1;
  Database again = must(Database::open(options));
  EXPECT_EQ(again.changes(Epoch()).status().code(), ErrorCode::kNotFound);
  EXPECT_TRUE(again.changes().is_ok());
}

// Goal: a stream beside transactions and gleans of other threads misses nothing.
TEST_F(ChangesTest, streams_read_beside_writers_and_gleans) {
  const Masstree tree = must(db_->open_masstree("tree"));
  ChangeStream stream = must(db_->changes(Epoch()));
  constexpr int kWriters = 2;
  constexpr int kRows = 1'500;
  std::vector<std::thread> threads;
  for (int writer = 0; writer < kWriters; ++writer) {
    threads.emplace_back([&, writer] {
      for (int i = 0; i < kRows; ++i) {
        put(tree, std::to_string(writer) + " " + std::to_string(i), std::string(400, 'p'));
        if (i % 500 == 100) must(db_->glean());
      }
    });
  }
  ChangeModel model;
  while (model.row_count("tree") < kWriters * kRows) must(model.take(&stream));
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(model.rows("tree"), rows_of(tree));
}

}  // namespace
}  // namespace foedus::engine::changes_test
