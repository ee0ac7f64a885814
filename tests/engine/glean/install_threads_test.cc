// An engine whose snapshots several threads install.
// ctest-labels: concurrency
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/engine/engine.h"
#include "foedus-core/engine/storage_access.h"
#include "tests/testing/test_database.h"

namespace foedus::install_threads_test {
namespace {

using testing::must;

constexpr std::uint64_t kRows = 60'000;

Options options_for(std::uint32_t installers, std::uint32_t socs = 1) {
  Options options = testing::small_options("");
  options.memory_bytes = 512u << 20;
  options.log.segment_bytes = 16u << 20;
  options.socs = socs;
  options.pages.numa_binding = Facility::kOff;
  options.glean.installers = installers;
  options.glean.interval_us = 0;
  return options;
}

std::string key_of(std::uint64_t row) {
  const std::string digits = std::to_string(row);
  return std::string(8 - digits.size(), '0') + digits;
}
std::string payload_of(std::uint64_t row, char round) {
  return key_of(row) + std::string(90, round);
}

// Puts each `step`-th row.
void put(Database& db, const Masstree& table, char round, std::uint64_t step = 1) {
  constexpr std::uint64_t kBatch = 500;
  for (std::uint64_t first = 0; first < kRows; first += kBatch * step) {
    must(db.transact([&](Txn& txn) -> Status {
      for (std::uint64_t i = 0; i < kBatch && first + i * step < kRows; ++i) {
        const std::uint64_t row = first + i * step;
        FOEDUS_CHECK(txn.put(table, key_of(row), payload_of(row, round)));
      }
      return {};
    }));
  }
}
void check(Database& db, const Masstree& table, char round) {
  std::uint64_t rows = 0;
  must(db.transact([&](Txn& txn) -> Status {
    rows = 0;
    Scan scan = txn.scan(table, "", "");
    for (const Row& row : scan) EXPECT_EQ(row.payload, payload_of(rows++, round));
    return scan.failure().value_or(Status());
  }));
  EXPECT_EQ(rows, kRows);
}

// Counts the threads that have begun; the one that installs waits for all of them.
class Begun {
 public:
  explicit Begun(unsigned threads) {
    begun_ = 0;
    ended_ = 0;
    wanted_ = threads;
    base::set_sync_point_hook(&hook);
  }
  ~Begun() { base::set_sync_point_hook(nullptr); }
  static unsigned rounds() { return ended_; }

 private:
  static void hook(const char* place) {
    const std::string_view at(place);
    if (at == "install_threads:begun") ++begun_;
    if (at != "install_threads:notified") return;
    while (begun_ < wanted_) std::this_thread::sleep_for(std::chrono::microseconds(100));
    begun_ = 0;
    ++ended_;
  }
  static inline std::atomic<unsigned> begun_ = 0;
  static inline std::atomic<unsigned> ended_ = 0;
  static inline unsigned wanted_ = 0;
};

TEST(InstallThreadsTest, all_of_them_take_part) {
  for (const std::uint32_t socs : {1u, 2u}) {
    testing::TestDatabase db(options_for(4, socs));
    const Masstree table = must(db->open_masstree("table"));
    put(*db, table, 'a');
    {
      const Begun begun(3);
      EXPECT_GT(must(db->glean()).pages_dropped, 1'000u);
      EXPECT_GE(begun.rounds(), 1u);
    }
    check(*db, table, 'a');
    put(*db, table, 'b');
    EXPECT_GT(must(db->glean()).pages_dropped, 1'000u);
    check(*db, table, 'b');
    db.reopen();
    const Masstree again = must(db->open_masstree("table"));
    check(*db, again, 'b');
  }
}

// Threads install a snapshot while transactions read and write.
TEST(InstallThreadsTest, they_do_so_beside_transactions) {
  testing::TestDatabase db(options_for(3));
  const Masstree table = must(db->open_masstree("table"));
  put(*db, table, 'a');
  std::atomic<bool> is_over = false;
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      // Writes go to changing places, so that most pages are quiet.
      for (std::uint64_t n = i; !is_over; ++n) {
        const std::uint64_t row = (n / 500 * 7'919 + n % 500) % kRows;
        must(db->transact(
            [&](Txn& txn) -> Status { return txn.put(table, key_of(row), payload_of(row, 'a')); }));
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
    });
  }
  std::uint64_t dropped = 0;
  for (int glean = 0; glean < 10; ++glean) dropped += must(db->glean()).pages_dropped;
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(dropped, 1'000u);
  check(*db, table, 'a');
}

// A runtime with threads for all tasks except those that install: these are refused, or have no
// processor.
class NoInstallThreads final : public base::Runtime {
 public:
  explicit NoInstallThreads(bool refuses) : refuses_(refuses) {}

  std::uint64_t now_us() override { return all_->now_us(); }
  void start(base::Task* task) override {
    if (!installs(task)) return all_->start(task);
    ++started;
    if (refuses_) throw std::bad_alloc();
  }
  void stop(base::Task* task) override {
    if (!installs(task)) all_->stop(task);
  }
  void notify(base::Task* task) override {
    if (!installs(task)) all_->notify(task);
  }
  bool wait(base::WaitPoint* point, std::uint64_t timeout_us, base::Ready ready) override {
    return all_->wait(point, timeout_us, ready);
  }
  void wake(base::WaitPoint* point) override { all_->wake(point); }
  void pause(std::uint64_t microseconds) override { all_->pause(microseconds); }
  std::uint32_t processors() const override { return all_->processors(); }
  std::uint32_t processor() override { return all_->processor(); }

  std::atomic<unsigned> started = 0;  // or tried to

 private:
  static bool installs(const base::Task* task) {
    return std::string_view(task->name()) == "foedus-install";
  }
  const bool refuses_;
  const std::unique_ptr<base::Runtime> all_ = base::make_thread_runtime();
};

// Checks that the gleaner's own thread installs all pages and waits for no other thread.
void install_alone(NoInstallThreads* runtime) {
  testing::TestDirectory directory;
  Options options = options_for(4);
  options.dir = directory.path();
  auto engine = must(engine::Engine::open(options, {.runtime = runtime}));
  storage_meta::StorageMeta meta;
  meta.kind = StorageKind::kMasstree;
  meta.name = "table";
  const auto table =
      internal::StorageAccess::make<Masstree>(must(engine->catalog().open(std::move(meta))));
  engine::EngineSession* const session = must(engine->take_session());
  for (std::uint64_t row = 0; row < kRows; ++row) {
    Txn txn = must(engine::begin_txn(session, {}));
    must(txn.put(table, key_of(row), payload_of(row, 'a')));
    must(txn.commit().status());
  }
  EXPECT_GT(must(engine->gleaning()->scheduler().glean({})).pages_dropped, 1'000u);
  EXPECT_GE(runtime->started.load(), 1u);
  engine->give_session(session);
  must(engine->close());
}

TEST(InstallThreadsTest, those_that_cannot_be_started_are_not_needed) {
  NoInstallThreads runtime(true);
  install_alone(&runtime);
}

TEST(InstallThreadsTest, those_without_a_processor_are_not_waited_for) {
  NoInstallThreads runtime(false);
  install_alone(&runtime);
}

}  // namespace
}  // namespace foedus::install_threads_test
