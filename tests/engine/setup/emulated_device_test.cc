// FileOptions::device = kEmulated, and PageOptions::snapshot_cache: a database on emulated
// non-volatile memory counts its reads and writes there. Without the cache each page of a snapshot
// is read from the device every time, and transactions see the same rows.
#include <gtest/gtest.h>

#include <string>

#include "tests/engine/storages_of_each_kind.h"
#include "tests/testing/test_database.h"

namespace foedus::emulated_device_test {
namespace {

using testing::must;
using testing::TestDatabase;

using testing::Storages;

constexpr std::uint64_t kRows = Storages::kRows;

Options emulated(bool snapshot_cache) {
  Options options = testing::small_options("");
  options.files.device = DeviceKind::kEmulated;
  options.emulation.nvm_latency_ns = 100;
  options.emulation.nvm_bandwidth_mb = 10'000;
  options.pages.snapshot_cache = snapshot_cache;
  options.pages.volatile_percent = 0;  // all pages are dropped after a glean
  return options;
}

TEST(EmulatedDeviceTest, what_is_written_and_read_there_is_counted) {
  TestDatabase db(emulated(true));
  EXPECT_EQ(db->effective_options().options.files.device, DeviceKind::kEmulated);
  Storages(&*db).write('a', 0, kRows);
  must(db->glean());
  const NvmStats written = db->stats().nvm;
  EXPECT_GE(written.bytes_written, db->stats().log_bytes);
  EXPECT_GE(written.pages_written, db->stats().snapshot_pages_written);
  EXPECT_GT(written.lines_by_writes[1], 0u);
  ASSERT_NO_FATAL_FAILURE(db.reopen());
  Storages storages(&*db);
  storages.expect('a', 0, kRows);
  const NvmStats cold = db->stats().nvm;
  EXPECT_GT(cold.pages_read, kRows / 10);
  storages.expect('a', 0, kRows);
  EXPECT_EQ(db->stats().nvm.pages_read, cold.pages_read) << "all is in the cache";
}

// Goal: with space for one page only, all reads and writes of all kinds have the same results as
// with the cache: from the snapshot, above it, while one is made, and after a restart.
TEST(EmulatedDeviceTest, without_the_cache_each_page_is_read_anew_and_nothing_else_changes) {
  TestDatabase db(emulated(false));
  {
    Storages storages(&*db);
    storages.write('a', 0, kRows);
    must(db->glean());
    const std::uint64_t before = db->stats().nvm.reads;
    storages.expect('a', 0, kRows);
    EXPECT_GE(db->stats().nvm.reads - before, 3 * kRows);
    EXPECT_EQ(storages.scanned(false), 2 * kRows - kRows / 200);
    EXPECT_EQ(storages.scanned(true), 2 * kRows - kRows / 200);
    storages.write('b', 100, 700);
    storages.expect('b', 100, 700);
    must(db->glean());
    storages.expect('b', 100, 700);
    storages.expect('a', 700, kRows);
    EXPECT_EQ(db->stats().cache_hits, 0u);
  }
  ASSERT_NO_FATAL_FAILURE(db.reopen());
  Storages storages(&*db);
  storages.expect('a', 0, 100);
  storages.expect('b', 100, 700);
  const std::uint64_t appended = storages.appended();
  storages.write('c', 0, 100);
  EXPECT_GT(storages.appended(), appended);
  must(db->transact([&](Txn& txn) -> Status {
    txn.prefetch(must(db->open_masstree("tree")), key(std::uint64_t{2'000}));
    return {};
  }));
}

TEST(EmulatedDeviceTest, a_speed_out_of_range_is_refused) {
  for (const auto bad : {&EmulationOptions::nvm_latency_ns, &EmulationOptions::nvm_write_latency_ns,
                         &EmulationOptions::nvm_bandwidth_mb}) {
    Options options = emulated(true);
    options.dir = "/tmp/foedus-never-made";
    options.emulation.*bad = 1'000'001;
    const Result<Database> opened = Database::open(options);
    EXPECT_EQ(opened.code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(opened.status().message().find("nvm_"), std::string_view::npos);
  }
}

}  // namespace
}  // namespace foedus::emulated_device_test
