// ctest-labels: concurrency
// Snapshot files of a database that is written to all the time: files of old snapshots are removed,
// whichever pages are hot.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "tests/base/test_seed.h"
#include "tests/testing/test_database.h"

namespace foedus::disk_test {
namespace {

using testing::must;
using testing::small_options;
using testing::TestDatabase;

// Rows consist of their number and version, repeated.
class DiskTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kRows = 12'000;
  static constexpr std::uint64_t kHot = 300;
  static constexpr int kGleans = 100;
  static constexpr std::uint64_t kPerGlean = 150;  // transactions of a thread

  DiskTest() : db_(options()) {
    tree_ = must(db_->open_masstree("tree"));
    hash_ = must(db_->open_hash("hash"));
    for (std::uint64_t i = 0; i < kRows; i += 100) {
      must(db_->transact([&](Txn& txn) -> Status {
        for (std::uint64_t j = i; j < i + 100; ++j) FOEDUS_CHECK(put(txn, j, 0));
        return {};
      }));
    }
  }

  static Options options() {
    Options options = small_options("");
    options.snapshots_kept = 1;
    return options;
  }
  // Returns a key; neighbours differ in the last byte, in a few bytes, or in a next layer.
  static std::string name_of(std::uint64_t i) {
    char text[64];
    std::snprintf(text, sizeof(text), i % 5 == 0 ? "%08llu and a longer name" : "%08llu",
                  static_cast<unsigned long long>(i / 2 * 2 + (i % 5 == 0 ? 0 : i % 2)));
    return text + std::to_string(i % 2);
  }
  // Returns a row; one in 40 is a chain of pages.
  static std::string row_of(std::uint64_t i, std::uint64_t version) {
    const std::string word = std::to_string(i) + "." + std::to_string(version) + " ";
    std::string row;
    const std::size_t bytes = i % 40 == 7 ? 6'000 : 150;
    while (row.size() < bytes) row += word;
    return row;
  }
  static void expect_row(std::uint64_t i, const Result<std::string>& row) {
    ASSERT_TRUE(row.is_ok()) << i << ": " << row.status().message();
    const std::uint64_t version = std::stoull(row->substr(row->find('.') + 1));
    ASSERT_EQ(*row, row_of(i, version));
  }
  Status put(Txn& txn, std::uint64_t i, std::uint64_t version) {
    FOEDUS_CHECK(txn.put(tree_, name_of(i), row_of(i, version)));
    return txn.put(hash_, name_of(i), row_of(i, version));
  }
  Status erase(Txn& txn, std::uint64_t i) {
    FOEDUS_CHECK(txn.erase(tree_, name_of(i)));
    return txn.erase(hash_, name_of(i));
  }

  // Changes rows, most of them in a few places, where they are also erased and inserted, and reads
  // all.
  void work(std::uint64_t seed) {
    base::Random random(seed);
    for (std::uint64_t version = 1; !stop_.load(); ++version) {
      const std::uint64_t hot = random.below(kHot) * (kRows / kHot) + random.below(3);
      const std::uint64_t any = random.below(kRows);
      const Status status = db_->transact([&](Txn& txn) -> Status {
        for (const KeyedStorage& storage : {KeyedStorage(tree_), KeyedStorage(hash_)}) {
          const Result<std::string> row = txn.get(storage, name_of(any));
          if (row.status().code() == ErrorCode::kConflict) return row.status();
          expect_row(any, row);
        }
        if (version % 8 == 0) FOEDUS_CHECK(put(txn, any, version));
        if (version % 16 == 1) FOEDUS_CHECK(erase(txn, hot));
        return put(txn, hot, version);
      });
      ASSERT_TRUE(status.is_ok()) << status.message();
      ++transactions_;
      std::this_thread::sleep_for(std::chrono::microseconds(20));
      if (version % kPerGlean == 0) wait_for_next_glean();
    }
  }
  // Waits for the next glean: threads that write without a pause would leave the gleaner no
  // processor.
  void wait_for_next_glean() {
    const int glean = glean_.load();
    while (glean == glean_.load() && !stop_.load()) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }

  std::uint64_t snapshot_bytes() const {
    std::uint64_t bytes = 0;
    for (const auto& file : std::filesystem::directory_iterator(db_.options().dir)) {
      const std::string name = file.path().filename();
      if (!name.starts_with("snapshot")) continue;
      std::error_code gone;  // the engine may remove it meanwhile
      const std::uint64_t size = file.file_size(gone);
      if (!gone) bytes += size;
    }
    return bytes;
  }

  TestDatabase db_;
  Masstree tree_;
  Hash hash_;
  std::atomic<bool> stop_ = false;
  std::atomic<int> glean_ = 0;  // number of the glean at work
  std::atomic<std::uint64_t> transactions_ = 0;
};

// Goal: the bound on disk use holds while transactions run, and no page that a transaction needs is
// removed with its file. Method: two threads write to hot places of both keyed kinds, read all
// over, and check what they read. Gleans follow one another and drop all pages that they can, so
// that hot and cold pages meet everywhere.
TEST_F(DiskTest, files_of_old_snapshots_go_while_transactions_run) {
  const std::uint64_t seed = testing::test_seed(1);
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < 2; ++i) {
    threads.emplace_back([this, seed, i] { work(seed * 2 + i); });
  }
  std::uint64_t written_pages = 0;
  std::uint64_t live_pages = 0;
  std::uint64_t share_max = 0;
  int above = 0;
  for (int glean = 0; glean < kGleans && !HasFailure(); ++glean) {
    ++glean_;
    const GleanReport report = must(db_->glean());
    written_pages += report.pages_written;
    live_pages = report.pages_live;
    const std::uint64_t share = snapshot_bytes() * 100 / (live_pages * 4096);
    share_max = std::max(share_max, share);
    above += share > 300 ? 1 : 0;
  }
  stop_.store(true);
  for (std::thread& thread : threads) thread.join();
  std::printf("%llu transactions; %llu MB written, at most %llu %% of live on disk\n",
              static_cast<unsigned long long>(transactions_.load()),
              static_cast<unsigned long long>(written_pages * 4096 >> 20),
              static_cast<unsigned long long>(share_max));
  EXPECT_GT(written_pages, 6 * live_pages);
  // A record or a reader can make files stay for a glean or two.
  EXPECT_LE(above, kGleans / 10);
  db_.reopen();
  tree_ = must(db_->open_masstree("tree"));
  hash_ = must(db_->open_hash("hash"));
  for (std::uint64_t i = 0; i < kRows; ++i) {
    must(db_->transact([&](Txn& txn) -> Status {
      expect_row(i, txn.get(tree_, name_of(i)));
      expect_row(i, txn.get(hash_, name_of(i)));
      return {};
    }));
  }
}

}  // namespace
}  // namespace foedus::disk_test
