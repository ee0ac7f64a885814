// An installation in a memory that is nearly all in use proceeds in rounds: it ends, whatever
// transactions do meanwhile. One thread and a simulated device.
#include <memory>
#include <string>

#include "foedus-core/engine/engine.h"
#include "foedus-core/engine/storage_access.h"
#include "tests/testing/failing_device.h"
#include "tests/testing/manual_runtime.h"
#include "tests/testing/test_database.h"

namespace foedus::glean_rounds_test {
namespace {

using testing::must;

constexpr std::uint64_t kInstallRounds = 32;  // as engine/glean/snapshot_installer.cc has it

// An array with a record in each of its pages, which take more than 7/8 of 4096 pages of memory.
class GleanRoundsTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kPages = 3'600;
  static constexpr std::uint64_t kRecordsPerPage = 2;

  GleanRoundsTest() {
    Options options = testing::small_options("/failing");
    // 16 MiB for the 4096 pages, and the rest for the cache, the gleaner and log buffers.
    options.memory_bytes = (66u << 20) + engine::kOwnRingBytes;
    options.glean.memory_bytes = 16u << 20;
    options.pages.cache_bytes = 32u << 20;
    options.pages.volatile_percent = 90;
    options.log.buffer_bytes = 256u << 10;
    options.socs = 1;
    options.sessions_max = 4;
    engine_ = must(engine::Engine::open(options, {.runtime = &runtime_, .device = &device_}));
    storage_meta::StorageMeta meta;
    meta.kind = StorageKind::kArray;
    meta.name = "array";
    meta.records = kPages * kRecordsPerPage;
    meta.payload_bytes = 2'000;
    control_ = must(engine_->catalog().open(meta));
    for (engine::EngineSession*& session : sessions_) session = must(engine_->take_session());
  }
  ~GleanRoundsTest() override { must(engine_->close()); }

  Txn begin(int session) { return must(engine::begin_txn(sessions_[session], {})); }
  // Puts the first record of a page.
  Status put(Txn* txn, std::uint64_t page, std::uint64_t value) {
    const auto array = internal::StorageAccess::make<Array>(control_);
    return txn->write_at(array, page * kRecordsPerPage, 0,
                         {reinterpret_cast<const char*>(&value), sizeof(value)});
  }
  std::uint64_t get(Txn* txn, std::uint64_t page) {
    std::uint64_t value = 0;
    const auto array = internal::StorageAccess::make<Array>(control_);
    must(txn->read_at(array, page * kRecordsPerPage, 0,
                      std::as_writable_bytes(std::span(&value, 1))));
    return value;
  }
  void load() {
    for (std::uint64_t i = 0; i < kPages; i += 100) {
      Txn txn = begin(0);
      for (std::uint64_t j = i; j < i + 100; ++j) must(put(&txn, j, j + 1));
      must(txn.commit().status());
    }
    ASSERT_GT(volatile_pages(), 4096u / 8 * 7);
  }
  void check() {
    Txn txn = begin(0);
    for (std::uint64_t i = 0; i < kPages; i += 50) ASSERT_EQ(get(&txn, i), i + 1);
    must(txn.commit().status());
  }
  std::uint64_t volatile_pages() { return control_->volatile_pages.load_relaxed(); }

  testing::FailingDevice device_;
  testing::ManualRuntime runtime_{1};
  std::unique_ptr<engine::Engine> engine_;
  occ::StorageControl* control_ = nullptr;
  engine::EngineSession* sessions_[2] = {};
};

// Goal: a transaction that stays open, so that no dropped page may be reused, delays a glean no
// longer than the glean waits for pages.
TEST_F(GleanRoundsTest, an_install_does_not_wait_for_a_transaction_that_stays_open) {
  load();
  Txn reader = begin(1);
  const GleanReport report = must(engine_->gleaning()->scheduler().glean({}));
  EXPECT_GT(report.pages_dropped, kPages);
  EXPECT_EQ(report.pages_kept, 0u);
  EXPECT_GE(report.install_us, 20'000u);
  EXPECT_LT(report.install_us, 100'000u);
  EXPECT_GT(engine_->pool().pages_in_use(), 4096u / 8 * 7);
  must(reader.commit().status());
  check();
  must(engine_->gleaning()->scheduler().glean({}));
  runtime_.run_for(100'000);
  EXPECT_LT(engine_->pool().pages_in_use(), 4096u / 8);
}

// Method: in each round a transaction makes a page volatile that the round drops, and rolls back,
// while another one prevents the reuse of all dropped pages.
TEST_F(GleanRoundsTest, an_install_ends_though_others_make_pages_as_fast_as_it_drops_them) {
  load();
  Txn reader = begin(1);
  std::uint64_t rounds = 0;
  must(engine_->gleaning()->scheduler().glean([&](const GleanProgress& progress) {
    if (progress.stage != GleanStage::kInstall || progress.done != 0) return;
    ++rounds;
    Txn txn = begin(0);
    must(put(&txn, rounds, 0));
  }));
  EXPECT_EQ(rounds, kInstallRounds);
  must(reader.commit().status());
  check();
  must(engine_->gleaning()->scheduler().glean({}));
  EXPECT_EQ(volatile_pages(), 0u);
  check();
}

}  // namespace
}  // namespace foedus::glean_rounds_test
