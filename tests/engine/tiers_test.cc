// TierOptions::ssd_dirs: snapshots on non-volatile memory and an SSD. Rows are the same wherever
// their pages lie and move; limits are kept; a directory that is left out, lost or full has a name.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/device/posix/file_device.h"
#include "foedus-core/device/staging/buffer.h"
#include "foedus-core/device/tier_names.h"
#include "tests/testing/manual_runtime.h"
#include "tests/testing/test_database.h"

namespace foedus::tiers_test {
namespace {

using testing::must;
using testing::small_options;
using testing::TestDirectory;

constexpr std::uint64_t kMib = 1u << 20;
constexpr std::uint64_t kRows = 12'000;
constexpr std::size_t kRowBytes = 1'000;

std::string row_of(std::uint64_t row, int version) {
  std::string bytes(kRowBytes, static_cast<char>('a' + row % 26));
  const std::string words = std::to_string(row) + " of version " + std::to_string(version);
  return bytes.replace(0, words.size(), words);
}

class TiersTest : public ::testing::TestWithParam<DeviceKind> {
 protected:
  std::string at(const std::string& name) const { return root_.path() + "/" + name; }
  Options options() const {
    Options options = small_options(at("main"));
    options.tiers.ssd_dirs = {at("ssd")};
    options.tiers.nvm_bytes = 6 * kMib;
    options.files.device = GetParam();
    options.emulation.nvm_latency_ns = 0;
    options.pages.volatile_percent = 0;  // all pages are dropped after a glean
    options.pages.cache_bytes = 4 * kMib;
    options.glean.interval_us = 0;
    options.glean.log_bytes = 0;
    options.glean.log_bytes_max = 1u << 30;
    return options;
  }
  static void write(Database& db, std::uint64_t from, std::uint64_t to, int version) {
    const Masstree table = must(db.open_masstree("t"));
    for (std::uint64_t row = from; row < to; row += 100) {
      must(db.transact([&](Txn& txn) -> Status {
        for (std::uint64_t i = row; i < std::min(row + 100, to); ++i) {
          FOEDUS_CHECK(txn.put(table, key(i), row_of(i, version)));
        }
        return {};
      }));
    }
  }
  static std::string difference(Database& db, std::uint64_t from, std::uint64_t to, int version) {
    const Masstree table = must(db.open_masstree("t"));
    for (std::uint64_t row = from; row < to; ++row) {
      std::string found;
      const Status read = db.transact([&](Txn& txn) -> Status {
        FOEDUS_TRY(const auto value, txn.get(table, key(row)));
        found = std::string(value.data(), value.size());
        return {};
      });
      if (!read.is_ok()) return "row " + std::to_string(row) + ": " + read.message();
      if (found != row_of(row, version)) return "row " + std::to_string(row) + " is " + found;
    }
    return "";
  }
  std::uint64_t files(const std::string& directory, const std::string& prefix) const {
    std::uint64_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(at(directory))) {
      count += entry.path().filename().string().starts_with(prefix) ? 1 : 0;
    }
    return count;
  }
  // Leaves the last page of a file of the SSD in a bucket on memory alone, as a crash does.
  void stage_a_page() const {
    const auto memory = must(device::FileDevice::open(at("main"), Facility::kOff));
    const auto ssd = must(device::FileDevice::open(at("ssd"), Facility::kOff));
    std::string name;
    for (const std::string& found : must(ssd->list())) {
      if (found.starts_with(device::kSsdPrefix)) name = found;
    }
    const std::shared_ptr<device::File> file = must(ssd->open(name, device::Access::kReadWrite));
    const std::uint64_t page = must(file->size()) / device::kBlockBytes - 1;
    std::string bytes(device::kBlockBytes, '\0');
    must(file->read_at(page * device::kBlockBytes, bytes.data(), bytes.size()));
    testing::ManualRuntime runtime;
    runtime.starve("foedus-flusher");
    const auto buffer = must(device::StagingBuffer::open(
        memory.get(), &runtime, {.partitions = 1, .slots = 8, .flushers = 1},
        [] { return std::unique_ptr<device::IoQueue>(); },
        [](std::uint64_t) { return std::shared_ptr<device::File>(); }));
    const auto target =
        std::make_shared<device::StagingTarget>(device::staged_id(name).value(), file);
    must(buffer->write(target, page, bytes.data(), 1));
    bytes.assign(bytes.size(), 'x');
    must(file->write_at(page * device::kBlockBytes, bytes.data(), bytes.size()));
  }
  static std::string refusal(const Options& options) {
    const Result<Database> opened = Database::open(options);
    EXPECT_EQ(opened.code(), ErrorCode::kInvalidArgument);
    return opened.status().message();
  }

  TestDirectory root_;
};

TEST_P(TiersTest, rows_are_the_same_on_both_tiers) {
  {
    Database db = must(Database::open(options()));
    write(db, 0, kRows, 1);
    must(db.glean());
    const TierStats tiers = db.stats().tiers;
    EXPECT_LE(tiers.nvm_bytes, 6 * kMib);
    EXPECT_GE(tiers.ssd_bytes, 6 * kMib);
    EXPECT_EQ(difference(db, 0, kRows, 1), "");
    write(db, 3'000, 6'000, 2);
    must(db.glean());
    EXPECT_LE(db.stats().tiers.nvm_bytes, 6 * kMib);
    EXPECT_EQ(difference(db, 0, 3'000, 1), "");
    EXPECT_EQ(difference(db, 3'000, 6'000, 2), "");
    EXPECT_EQ(difference(db, 6'000, kRows, 1), "");
    must(db.close());
    EXPECT_EQ(db.stats().tiers.ssd_bytes, 0u);
  }
  EXPECT_GT(files("ssd", "ssd-"), 0u);
  EXPECT_EQ(files("ssd", "snapshot-"), 0u);
  EXPECT_EQ(files("main", "ssd-"), 0u);
  Database db = must(Database::open(options()));
  EXPECT_EQ(difference(db, 3'000, 6'000, 2), "");
  EXPECT_EQ(difference(db, 6'000, kRows, 1), "");
}

// Goal: with direct reads, pages of the SSD are read whole, and rows are the same.
TEST_P(TiersTest, rows_are_read_in_place_on_memory_and_by_pages_elsewhere) {
  {
    Database db = must(Database::open(options()));
    write(db, 0, kRows, 1);
    must(db.glean());
    must(db.close());
  }
  for (const NvmCache cache : {NvmCache::kHybrid, NvmCache::kDirect}) {
    Options in_place = options();
    in_place.pages.nvm_cache = cache;
    Database db = must(Database::open(in_place));
    EXPECT_GE(db.stats().tiers.ssd_bytes, 6 * kMib);
    EXPECT_EQ(difference(db, 0, kRows, 1), "");
    EXPECT_EQ(difference(db, 0, kRows, 1), "");
  }
}

// Goal: a transaction reads its rows while their extents are moved. Method: one thread reads all
// rows over and over, another one writes and gleans.
TEST_P(TiersTest, rows_are_read_while_they_move) {
  Options moving = options();
  moving.tiers.nvm_bytes = 24 * kMib;
  Database db = must(Database::open(moving));
  write(db, 0, kRows, 1);
  must(db.glean());
  std::atomic<bool> ends{false};
  std::thread reader([&] {
    while (!ends) {
      EXPECT_EQ(difference(db, 0, kRows, 1), "");
      if (HasFailure()) return;
    }
  });
  for (int round = 0; round < 6 && !HasFailure(); ++round) {
    write(db, kRows + 4'000 * static_cast<std::uint64_t>(round),
          kRows + 4'000 * static_cast<std::uint64_t>(round + 1), 1);
    must(db.glean());
    EXPECT_LE(db.stats().tiers.nvm_bytes, 24 * kMib);
  }
  ends = true;
  reader.join();
  EXPECT_GT(db.stats().tiers.moved_bytes, 0u);
}

// Goal: pages of the SSD that are read again are kept on memory, and found there after a restart.
// Method: all rows are read in turn; the cache in DRAM holds a quarter of them.
TEST_P(TiersTest, pages_of_the_ssd_stay_on_memory) {
  Options large = options();
  large.tiers.nvm_bytes = 64 * kMib;
  {
    Options small = options();  // so that nearly all lies on the SSD
    Database db = must(Database::open(small));
    write(db, 0, kRows, 1);
    must(db.glean());
    must(db.close());
  }
  {
    Database db = must(Database::open(large));
    for (int round = 0; round < 3; ++round) EXPECT_EQ(difference(db, 0, kRows, 1), "");
    write(db, 0, 10, 1);
    must(db.glean());  // so that there are two snapshots
    for (int round = 0; round < 3; ++round) EXPECT_EQ(difference(db, 0, kRows, 1), "");
    const TierStats tiers = db.stats().tiers;
    EXPECT_GE(tiers.cached_bytes, tiers.ssd_bytes / 2);
    EXPECT_LE(tiers.cached_bytes, 32 * kMib);
    EXPECT_GT(tiers.cached_reads, kRows / 4);
    must(db.close());
  }
  Database db = must(Database::open(large));
  EXPECT_EQ(db.stats().tiers.cached_bytes, 0u);  // no page was read
  EXPECT_EQ(difference(db, 0, kRows, 1), "");
  const TierStats found = db.stats().tiers;
  EXPECT_GE(found.cached_bytes, found.ssd_bytes / 2);
  EXPECT_GT(found.cached_reads, kRows / 8);
  // A newer snapshot has other pages for some rows.
  write(db, 0, kRows / 2, 2);
  must(db.glean());
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(difference(db, 0, kRows / 2, 2), "");
    EXPECT_EQ(difference(db, kRows / 2, kRows, 1), "");
  }
}

// Goal: while no transaction writes, memory changes from extents of snapshots to single pages.
// Method: rows are read in random order; memory holds a part of them.
TEST_P(TiersTest, pages_that_are_read_again_get_the_room_of_pieces) {
  Options halved = options();
  halved.tiers.nvm_bytes = 8 * kMib;
  Database db = must(Database::open(halved));
  write(db, 0, kRows, 1);
  must(db.glean());
  base::Random random(1);
  TierStats tiers;
  do {
    for (int i = 0; i < 1'000; ++i) {
      const std::uint64_t row = random.below(kRows);
      ASSERT_EQ(difference(db, row, row + 1, 1), "");
    }
    tiers = db.stats().tiers;
    ASSERT_LE(tiers.nvm_bytes + tiers.cached_bytes, halved.tiers.nvm_bytes);
  } while (tiers.cached_bytes < 5 * kMib || tiers.nvm_bytes > 2 * kMib);
  EXPECT_EQ(difference(db, 0, kRows, 1), "");
  // A new snapshot still gets space on memory.
  write(db, 0, 500, 2);
  must(db.glean());
  EXPECT_EQ(difference(db, 0, 500, 2), "");
  EXPECT_EQ(difference(db, 500, kRows, 1), "");
  EXPECT_LE(db.stats().tiers.nvm_bytes, 2 * kMib);
}

// K26: a power failure may tear slots on memory; the SSD has their pages whole.
TEST_P(TiersTest, damaged_slots_are_passed_over) {
  {
    Database db = must(Database::open(options()));
    write(db, 0, kRows, 1);
    must(db.glean());
    for (int round = 0; round < 2; ++round) EXPECT_EQ(difference(db, 0, kRows, 1), "");
    EXPECT_GT(db.stats().tiers.cached_bytes, 0u);
    must(db.close());
  }
  {
    const std::string file = at("main") + "/nvm-0";
    std::fstream slots(file, std::ios::in | std::ios::out | std::ios::binary);
    const std::uint64_t end = std::filesystem::file_size(file);
    constexpr std::uint64_t kPage = 4096;
    constexpr std::uint64_t kBetween = 300;
    for (std::uint64_t at = kPage; at + 4 <= end; at += kBetween) {
      if (at % kPage < kBetween) continue;  // the header that all pages have
      slots.seekp(static_cast<std::streamoff>(at));
      slots.write("torn", 4);
    }
  }
  Database db = must(Database::open(options()));
  EXPECT_EQ(difference(db, 0, kRows, 1), "");
  EXPECT_GT(db.stats().tiers.cached_reads, 0u);  // slots were read
  EXPECT_EQ(difference(db, 0, kRows, 1), "");
}

TEST_P(TiersTest, superseded_pages_go_from_both_tiers) {
  Database db = must(Database::open(options()));
  for (int version = 1; version <= 5; ++version) {
    write(db, 0, kRows, version);
    must(db.glean());
  }
  EXPECT_EQ(difference(db, 0, kRows, 5), "");
  const TierStats tiers = db.stats().tiers;
  // Three times the live pages, and 4 MiB (E37); a row takes up to 1.5 times its bytes of a page.
  EXPECT_LE(tiers.nvm_bytes + tiers.ssd_bytes, 3 * kRows * kRowBytes * 3 / 2 + 4 * kMib);
}

TEST_P(TiersTest, both_full_tiers_are_an_error_with_a_name) {
  Options small = options();
  small.tiers.nvm_bytes = 4 * kMib;
  small.tiers.ssd_bytes = 4 * kMib;
  Database db = must(Database::open(small));
  write(db, 0, kRows, 1);
  const auto gleaned = db.glean();
  EXPECT_EQ(gleaned.code(), ErrorCode::kOutOfSpace);
  EXPECT_NE(gleaned.status().message().find("ssd_bytes"), std::string::npos)
      << gleaned.status().message();
  EXPECT_EQ(difference(db, 0, kRows, 1), "");
  must(db.close());
  Database again = must(Database::open(options()));
  EXPECT_EQ(difference(again, 0, kRows, 1), "");
  must(again.glean());
  EXPECT_EQ(difference(again, 0, kRows, 1), "");
}

// Goal: an open that is refused because a directory is left out drops no page that is staged for
// it. Method: a page is in a bucket, and not in its file.
TEST_P(TiersTest, staged_pages_wait_for_a_tier_that_is_left_out) {
  {
    Database db = must(Database::open(options()));
    write(db, 0, kRows, 1);
    must(db.glean());
    must(db.close());
  }
  stage_a_page();
  Options without = options();
  without.tiers.ssd_dirs = {at("empty")};
  EXPECT_NE(refusal(without).find("leaves out " + at("ssd")), std::string::npos);
  without.tiers.ssd_dirs.clear();
  without.tiers.nvm_bytes = 0;
  EXPECT_NE(refusal(without).find("leaves out " + at("ssd")), std::string::npos);
  Database db = must(Database::open(options()));
  EXPECT_EQ(difference(db, 0, kRows, 1), "");
}

TEST_P(TiersTest, a_tier_that_is_left_out_or_lost_has_a_name) {
  {
    Database db = must(Database::open(options()));
    write(db, 0, kRows, 1);
    must(db.glean());
    must(db.close());
  }
  Options without = options();
  without.tiers.ssd_dirs.clear();
  without.tiers.nvm_bytes = 0;
  EXPECT_NE(refusal(without).find("leaves out " + at("ssd")), std::string::npos);
  // The directory is found among the others, too.
  without.files.dirs = {at("ssd")};
  {
    Database db = must(Database::open(without));
    EXPECT_EQ(difference(db, 0, kRows, 1), "");
    must(db.close());
  }
  for (const auto& entry : std::filesystem::directory_iterator(at("ssd"))) {
    const std::filesystem::path path = entry.path();
    if (path.filename().string().starts_with("ssd-")) std::filesystem::remove(path);
  }
  Result<Database> lost = Database::open(options());
  const Status status = lost.is_ok() ? lost->transact([&](Txn& txn) -> Status {
    FOEDUS_TRY(const auto table, lost->open_masstree("t"));
    for (std::uint64_t i = 0; i < kRows; ++i) FOEDUS_CHECK(txn.get(table, key(i)).status());
    return {};
  })
                                     : lost.status();
  EXPECT_EQ(status.code(), ErrorCode::kCorruption) << status.message();
  EXPECT_NE(status.message().find("ssd-"), std::string::npos) << status.message();
}

INSTANTIATE_TEST_SUITE_P(Devices, TiersTest,
                         ::testing::Values(DeviceKind::kFile, DeviceKind::kEmulated),
                         [](const auto& device) {
                           return device.param == DeviceKind::kFile ? "File" : "Emulated";
                         });

using TierOptionsTest = TiersTest;

TEST_P(TierOptionsTest, wrong_ones_are_refused) {
  Options wrong = options();
  wrong.tiers.nvm_bytes = 0;
  EXPECT_NE(refusal(wrong).find("nvm_bytes"), std::string::npos);
  wrong.tiers.nvm_bytes = 1 * kMib;
  EXPECT_NE(refusal(wrong).find("at least 4 MiB"), std::string::npos);
  wrong = options();
  wrong.tiers.ssd_bytes = 1;
  EXPECT_NE(refusal(wrong).find("ssd_bytes"), std::string::npos);
  wrong = options();
  wrong.tiers.ssd_dirs.clear();
  EXPECT_NE(refusal(wrong).find("ssd_dirs"), std::string::npos);
  wrong = options();
  wrong.tiers.ssd_dirs = {at("main")};
  EXPECT_NE(refusal(wrong).find("option tiers.ssd_dirs names"), std::string::npos);
  wrong.tiers.ssd_dirs = {""};
  EXPECT_NE(refusal(wrong).find("option tiers.ssd_dirs[0] is empty"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Devices, TierOptionsTest, ::testing::Values(DeviceKind::kFile),
                         [](const auto&) { return "File"; });

}  // namespace
}  // namespace foedus::tiers_test
