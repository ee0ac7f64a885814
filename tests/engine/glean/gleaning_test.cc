// ctest-labels: concurrency
// A database that makes snapshots while it is open: commits stay, memory and log are freed, and the
// next open begins with the newest snapshot.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "tests/testing/nap.h"
#include "tests/testing/test_database.h"

namespace foedus::gleaning_test {
namespace {

using testing::must;
using testing::small_options;
using testing::TestDatabase;

// Storages of all kinds, changed by random transactions, and a model of them.
class Model {
 public:
  static constexpr std::uint64_t kSlots = 3'000;

  Model(Database& db, bool with_tree, std::uint64_t seed) : with_tree_(with_tree), random_(seed) {
    open(db);
  }
  void open(Database& db) {
    if (with_tree_) tree_ = must(db.open_masstree("tree"));
    hash_ = must(db.open_hash("hash"));
    array_ = must(db.open_array("array", kSlots, 16));
    list_ = must(db.open_sequential("list"));
  }

  void change(Database& db, int transactions) {
    for (int i = 0; i < transactions; ++i) must(db.transact([&](Txn& txn) { return one(txn); }));
  }

  void check(Database& db) {
    must(db.transact([&](Txn& txn) -> Status {
      check_keyed(txn, hash_, hashed_);
      if (with_tree_) check_keyed(txn, tree_, sorted_);
      for (std::uint64_t i = 0; i < kSlots; ++i) {
        char payload[16];
        FOEDUS_CHECK(txn.get(array_, i, std::as_writable_bytes(std::span(payload))));
        std::uint64_t value;
        std::memcpy(&value, payload, 8);
        EXPECT_EQ(value, slots_[i]) << i;
      }
      std::size_t rows = 0;
      Scan scan = txn.scan(list_);
      for (const Row& row : scan) {
        if (rows < appended_.size()) {
          EXPECT_EQ(row.payload, appended_[rows]);
        }
        ++rows;
      }
      EXPECT_FALSE(scan.failure().has_value()) << scan.failure()->message();
      EXPECT_EQ(rows, appended_.size());
      return {};
    }));
    if (with_tree_) check_scan(db);
  }

 private:
  using Rows = std::map<std::string, std::string>;

  Status one(Txn& txn) {
    const std::uint64_t number = random_.below(4'000);
    std::string name = std::to_string(number * 7919);
    if (number % 3 == 0) name = "a prefix of many keys " + name;
    const std::string payload(random_.below(random_.below(60) == 0 ? 9'000 : 250),
                              static_cast<char>('a' + random_.below(26)));
    FOEDUS_CHECK(change_keyed(txn, hash_, &hashed_, name, payload));
    if (with_tree_) FOEDUS_CHECK(change_keyed(txn, tree_, &sorted_, name, payload));
    const std::uint64_t slot = random_.below(kSlots);
    slots_[slot] += number;
    FOEDUS_CHECK(txn.increment(array_, slot, 0, static_cast<std::int64_t>(number)));
    if (number % 4 == 0) {
      appended_.push_back(payload.substr(0, 3'000));
      FOEDUS_CHECK(txn.append(list_, appended_.back()));
    }
    return {};
  }

  Status change_keyed(Txn& txn, const KeyedStorage& storage, Rows* rows, const std::string& name,
                      const std::string& payload) {
    if (random_.below(4) == 0) {
      const Status erased = txn.erase(storage, name);
      EXPECT_EQ(erased.is_ok(), rows->erase(name) == 1) << erased.message();
      return erased.code() == ErrorCode::kNotFound ? Status() : erased;
    }
    (*rows)[name] = payload;
    return txn.put(storage, name, payload);
  }

  void check_keyed(Txn& txn, const KeyedStorage& storage, const Rows& rows) {
    for (std::uint64_t number = 0; number < 4'000; ++number) {
      std::string name = std::to_string(number * 7919);
      if (number % 3 == 0) name = "a prefix of many keys " + name;
      const Result<std::string> got = txn.get(storage, name);
      const auto row = rows.find(name);
      if (row == rows.end()) {
        EXPECT_EQ(got.status().code(), ErrorCode::kNotFound) << name << got.status().message();
      } else {
        ASSERT_TRUE(got.is_ok()) << name << ": " << got.status().message();
        EXPECT_EQ(*got, row->second) << name;
      }
    }
  }

  void check_scan(Database& db) {
    must(db.transact([&](Txn& txn) -> Status {
      auto row = sorted_.begin();
      Scan scan = txn.scan(tree_, "", "");
      for (const Row& found : scan) {
        if (row == sorted_.end()) break;
        EXPECT_EQ(found.key, row->first);
        EXPECT_EQ(found.payload, row->second);
        ++row;
      }
      EXPECT_FALSE(scan.failure().has_value()) << scan.failure()->message();
      EXPECT_TRUE(row == sorted_.end());
      return {};
    }));
  }

  const bool with_tree_;
  base::Random random_;
  Masstree tree_;
  Hash hash_;
  Array array_;
  Sequential list_;
  Rows hashed_;
  Rows sorted_;
  std::uint64_t slots_[kSlots] = {};
  std::vector<std::string> appended_;
};

constexpr bool kWithTree = true;

TEST(GleaningTest, a_glean_at_rest_leaves_next_to_no_volatile_page_and_no_record_is_lost) {
  TestDatabase db;
  Model model(*db, kWithTree, 1);
  for (int round = 0; round < 5; ++round) {
    model.change(*db, 3'000);
    const std::uint64_t before = db->stats().volatile_page_bytes;
    const GleanReport report = must(db->glean());
    EXPECT_GT(report.snapshot, static_cast<std::uint32_t>(round));
    EXPECT_LE(db->stats().volatile_page_bytes, before / 20) << "round " << round;
    EXPECT_EQ(db->stats().log_bytes_behind, 0u);
    model.check(*db);
  }
  EXPECT_EQ(db->stats().gleans, 5u);
}

TEST(GleaningTest, a_glean_that_begins_by_itself_drops_all_where_no_volatile_page_is_to_stay) {
  Options options = small_options("");
  options.pages.volatile_percent = 0;
  options.glean.interval_us = 10'000;
  TestDatabase db(options);
  Model model(*db, kWithTree, 4);
  model.change(*db, 3'000);
  constexpr std::uint64_t kFew = 64 * 4096;
  for (int i = 0; i < 3'000 && db->stats().volatile_page_bytes > kFew; ++i) {
    model.change(*db, 1);  // without a log behind it, no glean begins
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_LE(db->stats().volatile_page_bytes, kFew);
  model.check(*db);
}

TEST(GleaningTest, a_reopened_database_is_its_newest_snapshot_and_what_the_log_has_behind_it) {
  TestDatabase db;
  Model model(*db, kWithTree, 2);
  for (int round = 0; round < 6; ++round) {
    model.change(*db, 2'000);
    if (round % 2 == 0) must(db->glean());
    if (round % 3 != 0) model.change(*db, 500);
    db.reopen();
    model.open(*db);
    model.check(*db);
  }
}

TEST(GleaningTest, the_log_that_a_snapshot_covers_is_removed) {
  Options options = small_options("");
  options.log.segment_bytes = 1u << 20;
  TestDatabase db(options);
  Model model(*db, kWithTree, 3);
  const auto segments = [&] {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(db.options().dir)) {
      count += entry.path().filename().string().starts_with("log-");
    }
    return count;
  };
  model.change(*db, 20'000);
  const std::size_t before = segments();
  EXPECT_GT(before, 4u);
  must(db->glean());
  EXPECT_LE(segments(), 2u);
  model.check(*db);
}

// Goal: a cold database takes next to no memory until it is read. Method: a few thousand pages of
// each kind; the test checks the memory of the engine after an open.
TEST(GleaningTest, what_is_cold_is_not_in_memory_before_it_is_read) {
  constexpr std::uint64_t kStorageBytesMax = 1u << 20;
  TestDatabase db;
  Masstree tree = must(db->open_masstree("tree"));
  const Hash hash = must(db->open_hash("hash"));
  const Array array = must(db->open_array("array", 40'000, 200));
  const Sequential list = must(db->open_sequential("list"));
  const std::string payload(200, 'p');
  for (std::uint64_t i = 0; i < 40'000; i += 100) {
    must(db->transact([&](Txn& txn) -> Status {
      for (std::uint64_t j = i; j < i + 100; ++j) {
        FOEDUS_CHECK(txn.put(tree, key(j), payload));
        FOEDUS_CHECK(txn.put(hash, key(j), payload));
        FOEDUS_CHECK(txn.put(array, j, std::string_view(payload)));
        FOEDUS_CHECK(txn.append(list, payload));
      }
      return {};
    }));
  }
  EXPECT_GT(db->stats().volatile_page_bytes, 32u << 20);
  must(db->glean());
  db.reopen();
  const Stats stats = db->stats();
  EXPECT_LT(stats.volatile_page_bytes + stats.cache_bytes, 4 * kStorageBytesMax);
  std::printf("%llu bytes of volatile pages, %llu of cached ones\n",
              static_cast<unsigned long long>(stats.volatile_page_bytes),
              static_cast<unsigned long long>(stats.cache_bytes));
  tree = must(db->open_masstree("tree"));
  must(db->transact([&](Txn& txn) -> Status {
    const Result<std::string> row = txn.get(tree, key(777));
    EXPECT_EQ(row.is_ok() ? *row : row.status().message(), payload);
    return {};
  }));
}

// Goal: a progress callback of a glean may read the statistics of the database.
TEST(GleaningTest, who_is_told_of_progress_may_ask_for_figures) {
  TestDatabase db;
  Model model(*db, true, 11);
  model.change(*db, 200);
  int told = 0;
  must(db->glean([&](const GleanProgress&) {
    ++told;
    EXPECT_FALSE(db->stats().storages.empty());
    EXPECT_FALSE(db->storages().empty());
    EXPECT_LE(db->snapshots().size(), 1u);
  }));
  EXPECT_GT(told, 0);
  EXPECT_EQ(db->stats().gleans, 1u);
  model.check(*db);
}

// Goal: a storage of which all records were erased stays empty, through gleans and opens.
TEST(GleaningTest, what_was_erased_to_the_last_record_stays_erased) {
  TestDatabase db;
  Masstree tree = must(db->open_masstree("tree"));
  Hash hash = must(db->open_hash("hash"));
  const std::string prefix(20, 'p');
  const auto each = [&](auto&& function) {
    for (int i = 0; i < 3'000; i += 100) {
      must(db->transact([&](Txn& txn) -> Status {
        for (int j = i; j < i + 100; ++j) FOEDUS_CHECK(function(txn, prefix + std::to_string(j)));
        return {};
      }));
    }
  };
  const auto expect_empty = [&] {
    must(db->transact([&](Txn& txn) -> Status {
      Scan scan = txn.scan(tree, "", "");
      for (const Row& row : scan) ADD_FAILURE() << row.key;
      EXPECT_FALSE(scan.failure().has_value());
      return {};
    }));
    each([&](Txn& txn, const std::string& key) -> Status {
      EXPECT_EQ(txn.get(tree, key).code(), ErrorCode::kNotFound) << key;
      EXPECT_EQ(txn.get(hash, key).code(), ErrorCode::kNotFound) << key;
      return {};
    });
  };
  for (int round = 0; round < 2; ++round) {
    each([&](Txn& txn, const std::string& key) -> Status {
      FOEDUS_CHECK(txn.put(tree, key, std::string(200, 'x')));
      return txn.put(hash, key, std::string(round == 0 ? 200 : 3'000, 'x'));
    });
    must(db->glean());
    must(db->glean());
    each([&](Txn& txn, const std::string& key) -> Status {
      FOEDUS_CHECK(txn.erase(tree, key));
      return txn.erase(hash, key);
    });
    must(db->glean());
    expect_empty();
    must(db->glean());
    expect_empty();
    must(db->glean());
    db.reopen();
    tree = must(db->open_masstree("tree"));
    hash = must(db->open_hash("hash"));
    expect_empty();
  }
}

// The engine gleans by itself, by log bytes, while two threads write.
TEST(GleaningTest, snapshots_are_made_while_transactions_run) {
  Options options = small_options("");
  options.glean.log_bytes = 1u << 20;
  TestDatabase db(options);
  const Hash hash = must(db->open_hash("hash"));
  const Array array = must(db->open_array("array", 4'000, 8));
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> sum{0};
  const auto work = [&](std::uint64_t seed) {
    base::Random random(seed);
    while (!stop.load()) {
      const std::uint64_t number = random.below(4'000);
      must(db->transact([&](Txn& txn) -> Status {
        FOEDUS_CHECK(txn.increment(array, number, 0, 1));
        return txn.put(hash, key(number), std::string(100, 'x'));
      }));
      sum.fetch_add(1);
    }
  };
  std::thread one(work, 11);
  std::thread two(work, 12);
  while (db->stats().gleans < 8) testing::nap();
  stop.store(true);
  one.join();
  two.join();
  const auto count = [&] {
    const Array slots = must(db->open_array("array", 4'000, 8));
    std::uint64_t counted = 0;
    must(db->transact([&](Txn& txn) -> Status {
      counted = 0;
      for (std::uint64_t i = 0; i < 4'000; ++i) {
        FOEDUS_TRY(const std::uint64_t value, txn.get_as<std::uint64_t>(slots, i));
        counted += value;
      }
      return {};
    }));
    return counted;
  };
  EXPECT_EQ(count(), sum.load());
  db.reopen();
  EXPECT_EQ(count(), sum.load());
}

// Goal: when memory runs short, pages in use stay volatile. Method: a few rows are read all the
// time and written rarely, so that their page is volatile, but older than most snapshots. Other
// rows are written in turn: ten times as many as may be volatile, and a fifth of the memory.
TEST(GleaningTest, pages_in_use_are_spared_where_memory_asks_for_room) {
  Options options = small_options("");
  options.memory_bytes = 256u << 20;
  options.pages.volatile_percent = 1;
  TestDatabase db(options);
  const Masstree tree = must(db->open_masstree("tree"));
  constexpr std::uint32_t kRounds = 20'000;
  constexpr std::uint32_t kRows = 20'000;
  constexpr std::uint32_t kRowsPerRound = 100;
  constexpr std::uint32_t kUsed = 10;
  const auto write = [&](std::uint32_t first, std::uint32_t count) {
    must(db->transact([&](Txn& txn) -> Status {
      for (std::uint32_t i = first; i < first + count; ++i) {
        FOEDUS_CHECK(txn.put(tree, key(i), std::string(500, 'r')));
      }
      return {};
    }));
  };
  std::uint32_t round = 0;
  for (; round < kRounds && db->stats().volatile_pages_spared == 0; ++round) {
    if (round % 100 == 0) write(0, kUsed);
    write(kUsed + round * kRowsPerRound % kRows, kRowsPerRound);
    must(db->transact([&](Txn& txn) -> Status {
      for (std::uint32_t i = 0; i < 20 * kUsed; ++i) {
        FOEDUS_CHECK(txn.get(tree, key(i % kUsed)).status());
      }
      return {};
    }));
  }
  EXPECT_LT(round, kRounds) << "none was spared";
  EXPECT_EQ(must(db->glean()).pages_spared, 0u) << "a glean that was asked for spares none";
}

// Goal: tries_max is a bound also if a try found no memory and was repeated. Method: one try of a
// function that first reports no memory, and then always conflicts.
TEST(GleaningTest, a_try_that_found_no_memory_gives_no_more_tries_to_conflicts) {
  TestDatabase db;
  const Masstree tree = must(db->open_masstree("tree"));
  for (std::uint32_t i = 0; i < 4'000; ++i) {  // more pages than the gleaner reserves
    must(db->transact([&](Txn& txn) { return txn.put(tree, key(i), std::string(1'000, 'r')); }));
  }
  int calls = 0;
  const Status status = db->transact(
      [&](Txn&) -> Status {
        if (++calls == 1) return Status(ErrorCode::kOutOfMemory);
        return calls < 20 ? Status::conflict(ConflictReason::kRecordChanged) : Status();
      },
      {.tries_max = 1});
  EXPECT_EQ(status.code(), ErrorCode::kConflict) << status.message();
  EXPECT_EQ(calls, 2);
}

// A snapshot is read without memory for volatile pages: none is made for it.
TEST(GleaningTest, the_function_of_a_snapshot_runs_once) {
  TestDatabase db;
  const Masstree tree = must(db->open_masstree("tree"));
  for (std::uint32_t i = 0; i < 4'000; ++i) {
    must(db->transact([&](Txn& txn) { return txn.put(tree, key(i), std::string(1'000, 'r')); }));
  }
  must(db->glean());  // otherwise the first snapshot() makes one, which counts while it is read
  const std::uint64_t gleans = db->stats().gleans;
  int calls = 0;
  const Status status = db->snapshot([&](Txn&) -> Status {
    ++calls;
    return Status(ErrorCode::kOutOfMemory);
  });
  EXPECT_EQ(status.code(), ErrorCode::kOutOfMemory);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(db->stats().gleans, gleans);
}

// Goal: close() answers a caller that waits for a glean. Method: a glean is requested while the one
// before is stopped; that one ends when the database is being closed.
TEST(GleaningTest, who_waits_for_a_glean_hears_that_the_database_was_closed) {
  TestDatabase db;
  const Masstree tree = must(db->open_masstree("tree"));
  must(db->transact([&](Txn& txn) { return txn.put(tree, "k", "row"); }));
  std::atomic<bool> is_held{false};
  const auto hold = [&](const GleanProgress&) {
    is_held = true;
    while (db->new_session().code() != ErrorCode::kClosed) base::system_sleep_us(1'000);
  };
  std::thread first([&] { must(db->glean(hold)); });
  while (!is_held) base::system_sleep_us(1'000);
  std::thread second([&] { EXPECT_EQ(db->glean().code(), ErrorCode::kClosed); });
  std::thread third([&] {
    const Epoch current = db->stats().current_epoch;
    const SnapshotOptions options{.at_least = current, .timeout_us = 600'000'000};
    EXPECT_EQ(db->snapshot([](Txn&) { return Status(); }, options).code(), ErrorCode::kClosed);
  });
  base::system_sleep_us(100'000);
  must(db->close());
  first.join();
  second.join();
  third.join();
}

// The database gets several times as many rows as memory holds, and each seventh is read back.
TEST(GleaningTest, a_database_may_be_much_larger_than_its_memory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr std::uint32_t kRows = 40'000;  // it takes twenty times as long
  constexpr std::uint32_t kRowBytes = 3'000;
#else
  constexpr std::uint32_t kRows = 300'000;
  constexpr std::uint32_t kRowBytes = 1'000;
#endif
  Options options = small_options("");
  options.memory_bytes = 64u << 20;
  TestDatabase db(options);
  const Masstree tree = must(db->open_masstree("tree"));
  constexpr std::uint32_t kRowsPerTxn = 100;
  const auto row = [](std::uint32_t i) {
    return std::to_string(i * 7) + std::string(kRowBytes, 'r');
  };
  for (std::uint32_t i = 0; i < kRows; i += kRowsPerTxn) {
    must(db->transact([&](Txn& txn) -> Status {
      for (std::uint32_t j = i; j < i + kRowsPerTxn; ++j) {
        FOEDUS_CHECK(txn.put(tree, key(j * 2654435761u), row(j)));
      }
      return {};
    }));
  }
  const Stats stats = db->stats();
  EXPECT_LT(stats.volatile_page_bytes + stats.cache_bytes + stats.log_buffer_bytes, 64u << 20);
  EXPECT_GT(stats.gleans, 1u);
  for (std::uint32_t i = 0; i < kRows; i += 7) {
    must(db->transact([&](Txn& txn) -> Status {
      const Result<std::string> got = txn.get(tree, key(i * 2654435761u));
      EXPECT_TRUE(got.is_ok()) << i << got.status().message();
      if (got.is_ok()) {
        EXPECT_EQ(*got, row(i));
      }
      return got.status();
    }));
  }
}

}  // namespace
}  // namespace foedus::gleaning_test
