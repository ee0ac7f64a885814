// ctest-labels: concurrency
// E29: the cache of snapshot pages uses memory that volatile pages leave idle.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/engine/engine.h"
#include "foedus-core/engine/storage_access.h"
#include "tests/base/test_seed.h"
#include "tests/testing/at_sync_point.h"
#include "tests/testing/failing_device.h"
#include "tests/testing/manual_runtime.h"
#include "tests/testing/nap.h"
#include "tests/testing/test_database.h"

namespace foedus::cache_growth_test {
namespace {

using testing::must;
using testing::TestDatabase;

constexpr std::uint64_t kMiB = 1u << 20;
constexpr std::uint64_t kMemory = 64 * kMiB;
constexpr std::uint64_t kShare = kMemory / 4;  // of the cache, and of the gleaner
constexpr std::uint64_t kRows = 60'000;
constexpr std::uint64_t kRowsPerTxn = 100;

Options options_with(std::uint64_t cache_bytes) {
  Options options = testing::small_options("");
  options.memory_bytes = kMemory;
  options.pages.cache_bytes = cache_bytes;
  options.sessions_max = 8;
  return options;
}

// Rows of 1 KB, more than memory holds, and no volatile page.
class CacheGrowthTest : public ::testing::Test {
 protected:
  void make(std::uint64_t cache_bytes = 0) {
    db_ = std::make_unique<TestDatabase>(options_with(cache_bytes));
    rows_ = must(db()->open_masstree("rows"));
    for (std::uint64_t i = 0; i < kRows; i += kRowsPerTxn) {
      must(db()->transact([&](Txn& txn) -> Status {
        for (std::uint64_t j = i; j < i + kRowsPerTxn; ++j) {
          FOEDUS_CHECK(txn.put(rows_, key(j), row_of(j)));
        }
        return {};
      }));
    }
    must(db()->glean());
  }
  TestDatabase& db() { return *db_; }
  static std::string row_of(std::uint64_t i) {
    return std::string(1000, static_cast<char>('a' + i % 26));
  }
  void read(std::uint64_t begin, std::uint64_t step = 1) {
    for (std::uint64_t i = begin; i < kRows; i += step) {
      must(db()->transact([&](Txn& txn) -> Status {
        FOEDUS_TRY(const std::string row, txn.get(rows_, key(i)));
        EXPECT_EQ(row.substr(8), row_of(i).substr(8)) << i;
        return {};
      }));
    }
  }
  // Returns the share of memory_bytes that all parts have, by the statistics of the database.
  std::uint64_t bytes_of_all(const Stats& stats) const {
    return stats.volatile_page_bytes + stats.free_page_bytes + stats.cache_bytes + kShare;
  }

  std::unique_ptr<TestDatabase> db_;
  Masstree rows_;
};

TEST_F(CacheGrowthTest, it_grows_beyond_its_share_and_no_further_than_memory_goes) {
  make();
  read(0);
  read(0, 3);
  const Stats stats = db()->stats();
  EXPECT_GT(stats.cache_bytes, kShare + 8 * kMiB);
  EXPECT_LE(bytes_of_all(stats), kMemory);
}

TEST_F(CacheGrowthTest, one_whose_size_was_chosen_stays_within_it) {
  make(kShare);
  read(0);
  EXPECT_LE(db()->stats().cache_bytes, kShare);
}

// Goal: writers get memory back from the cache, and the sum stays within memory_bytes. Method:
// after the cache has grown two threads change a row of a page each, at full speed, while one reads
// cold pages and another checks the statistics.
TEST_F(CacheGrowthTest, writers_get_back_what_it_has_borrowed) {
  make();
  read(0);
  const std::uint64_t grown = db()->stats().cache_bytes;
  ASSERT_GT(grown, kShare + 8 * kMiB);
  std::atomic<bool> ends = false;
  std::atomic<std::uint64_t> least_cache = grown;
  std::vector<std::thread> threads;
  for (std::uint64_t writer = 0; writer < 2; ++writer) {
    threads.emplace_back([&, writer] {
      for (std::uint64_t i = 3 * writer; i < kRows; i += 6) {
        must(db()->transact([&](Txn& txn) { return txn.write_at(rows_, key(i), 0, "changed!"); }));
      }
    });
  }
  threads.emplace_back([&] {
    base::Random random(testing::test_seed(1));
    while (!ends) {
      must(db()->transact(
          [&](Txn& txn) { return txn.get(rows_, key(random.below(kRows))).status(); }));
    }
  });
  threads.emplace_back([&] {
    while (!ends) {
      const Stats stats = db()->stats();
      EXPECT_LE(bytes_of_all(stats), kMemory);
      if (stats.cache_bytes < least_cache) least_cache = stats.cache_bytes;
      testing::nap();
    }
  });
  threads[0].join();
  threads[1].join();
  ends = true;
  threads[2].join();
  threads[3].join();
  EXPECT_LT(least_cache, grown - 4 * kMiB);
  read(0);
}

// Goal: a transaction that found no memory does not wait for a glean if the cache has memory.
// Method: one thread and virtual time; the test makes the call that Database::run() makes.
TEST(CacheGrowthBeforeGleansTest,
     memory_that_is_spent_comes_from_the_cache_before_a_glean_makes_some) {
  testing::FailingDevice device;
  testing::ManualRuntime runtime;
  Options options = options_with(0);
  options.dir = "/failing";
  options.socs = 1;
  auto engine = must(engine::Engine::open(options, {.runtime = &runtime, .device = &device}));
  constexpr std::uint64_t kRecords = 9'000;  // two in a page
  storage_meta::StorageMeta meta;
  meta.kind = StorageKind::kArray;
  meta.name = "array";
  meta.records = kRecords;
  meta.payload_bytes = 2'000;
  const auto array = internal::StorageAccess::make<Array>(must(engine->catalog().open(meta)));
  engine::EngineSession* const session = must(engine->take_session());
  const auto each = [&](auto operation) {
    for (std::uint64_t i = 0; i < kRecords; i += 20) {
      Txn txn = must(engine::begin_txn(session, {}));
      for (std::uint64_t j = i; j < i + 20; j += 2) must(operation(&txn, j));
      must(txn.commit().status());
    }
  };
  each([&](Txn* txn, std::uint64_t i) { return txn->write_at(array, i, 0, "row"); });
  must(engine->gleaning()->scheduler().glean({}).status());
  runtime.run_for(100'000);
  char row[3];
  each([&](Txn* txn, std::uint64_t i) {
    return txn->read_at(array, i, 0, std::as_writable_bytes(std::span(row)));
  });
  ASSERT_GT(engine->pool().pages_lent(), 100u);
  const std::uint64_t gleans = engine->stats().gleans;
  EXPECT_TRUE(engine->page_room()->make());
  EXPECT_EQ(engine->pool().pages_lent(), 0u);
  EXPECT_EQ(engine->stats().gleans, gleans);
  engine->give_session(session);
  must(engine->close());
}

// A machine where pages that a glean can drop take all memory of volatile pages. The clock, without
// which no dropped page becomes free, then has no processor for a second.
class BusyMachine {
 public:
  BusyMachine() {
    Options options = options_with(0);
    options.dir = "/failing";
    options.socs = 1;
    options.transaction_timeout_us = 0;
    engine = must(engine::Engine::open(options, {.runtime = &runtime, .device = &device}));
    storage_meta::StorageMeta meta;
    meta.kind = StorageKind::kArray;
    meta.name = "array";
    meta.records = 100'000;  // two in a page
    meta.payload_bytes = 2'000;
    const auto array = internal::StorageAccess::make<Array>(must(engine->catalog().open(meta)));
    other = must(engine->take_session());
    runtime.starve("foedus-gleaner");
    Status status;
    for (std::uint64_t i = 0; i < meta.records && status.is_ok(); i += 2) {
      Txn txn = must(engine::begin_txn(other, {}));
      status = txn.write_at(array, i, 0, "row");
      if (status.is_ok()) must(txn.commit().status());
    }
    EXPECT_EQ(status.code(), ErrorCode::kOutOfMemory) << status.message();
    runtime.starve("");
  }
  ~BusyMachine() {
    engine->give_session(other);
    must(engine->close());
  }

  // Waits for memory as transact() does between two tries. Returns whether there is some, and after
  // how long.
  std::pair<bool, std::uint64_t> make_room() {
    engine::EngineSession* const own = must(engine->sessions().claim(0));
    Processor processor(&runtime);
    const testing::AtSyncPoint at("gleaning:log_cut", [&] { processor.take(); });
    const std::uint64_t begin_us = runtime.now_us();
    const bool is_room = engine->page_room()->make();
    const std::uint64_t took_us = runtime.now_us() - begin_us;
    processor.give();
    engine->sessions().release(own);
    return {is_room, took_us};
  }

  testing::FailingDevice device;
  testing::ManualRuntime runtime;
  std::unique_ptr<engine::Engine> engine;
  engine::EngineSession* other = nullptr;

 private:
  class Processor : public base::Task {
   public:
    explicit Processor(testing::ManualRuntime* on) : runtime_(on) { runtime_->start(this); }
    ~Processor() override { runtime_->stop(this); }
    void take() {
      runtime_->starve("foedus-clock");
      back_us_ = runtime_->now_us() + 1'000'000;
      runtime_->notify(this);
    }
    void give() { runtime_->starve(""); }
    const char* name() const override { return "processor"; }
    std::uint64_t step() override {
      if (back_us_ == 0) return kUntilNotified;
      if (runtime_->now_us() < back_us_) return back_us_ - runtime_->now_us();
      give();
      return kUntilNotified;
    }

   private:
    testing::ManualRuntime* const runtime_;
    std::uint64_t back_us_ = 0;
  };
};

TEST(MakeRoomTest, a_machine_that_is_busy_is_waited_for) {
  BusyMachine machine;
  const auto [is_room, took_us] = machine.make_room();
  EXPECT_TRUE(is_room);
  EXPECT_GE(took_us, 1'000'000u);
}

TEST(MakeRoomTest, a_transaction_that_is_open_is_not_waited_for) {
  BusyMachine machine;
  const Txn txn = must(engine::begin_txn(machine.other, {}));
  machine.runtime.run_for(100'000);
  const auto [is_room, took_us] = machine.make_room();
  EXPECT_FALSE(is_room);
  EXPECT_LT(took_us, 1'000'000u);
}

// Goal: memory that another glean freed just before counts as well.
TEST(MakeRoomTest, room_that_is_there_already_is_room) {
  BusyMachine machine;
  EXPECT_TRUE(machine.make_room().first);
  const auto [is_room, took_us] = machine.make_room();
  EXPECT_TRUE(is_room);
  EXPECT_LT(took_us, 1'000'000u);
}

}  // namespace
}  // namespace foedus::cache_growth_test
