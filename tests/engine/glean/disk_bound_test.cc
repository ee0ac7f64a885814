// E37: the files of snapshots take no more than three pages for each live one and 4 MiB, also
// during a glean. Older snapshots are kept as long as the bound allows, and are removed while the
// database is open.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "tests/testing/at_sync_point.h"
#include "tests/testing/nap.h"
#include "tests/testing/test_database.h"

namespace foedus::disk_bound_test {
namespace {

using testing::must;
using testing::TestDatabase;

class DiskBoundTest : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kRows = 20'000;

  static Options options(std::uint32_t kept) {
    Options options = testing::small_options("");
    options.snapshots_kept = kept;
    options.glean.log_bytes = 0;  // when the test says so
    options.glean.interval_us = 0;
    options.glean.log_bytes_max = 512u << 20;
    options.pages.volatile_percent = 90;
    return options;
  }
  void change(std::uint32_t first, std::uint32_t count) {
    const std::string payload(300, static_cast<char>('a' + ++round_ % 26));
    for (std::uint32_t i = 0; i < count; i += 100) {
      must(db_.transact([&](Txn& txn) -> Status {
        for (std::uint32_t j = i; j < i + 100; ++j) {
          FOEDUS_CHECK(txn.put(tree_, key((first + j) % kRows), payload));
        }
        return {};
      }));
    }
  }
  std::uint64_t snapshot_bytes() const {
    std::uint64_t bytes = 0;
    for (const auto& file : std::filesystem::directory_iterator(directory_)) {
      if (!file.path().filename().string().starts_with("snapshot")) continue;
      std::error_code gone;  // the engine may remove it meanwhile
      const std::uint64_t size = file.file_size(gone);
      if (!gone) bytes += size;
    }
    return bytes;
  }
  // Returns the file with the highest number.
  std::string newest_file() const {
    std::string newest;
    for (const auto& file : std::filesystem::directory_iterator(directory_)) {
      const std::string name = file.path().filename().string();
      if (name.starts_with("snapshot")) newest = std::max(newest, name);
    }
    return newest;
  }
  // Makes a snapshot; `most_` becomes the most that files take beyond 4 MiB at any stage of it, in
  // percent of live pages.
  void glean() {
    std::uint64_t most = 0;
    const GleanReport report =
        must(db_.glean([&](const GleanProgress&) { most = std::max(most, snapshot_bytes()); }));
    most = std::max(most, snapshot_bytes());
    most -= std::min<std::uint64_t>(most, 4u << 20);
    most_ = std::max(most_, most * 100 / (report.pages_live * 4096));
  }

  TestDatabase database_{options(8)};
  Database& db_ = *database_;
  const std::string directory_ = database_.options().dir;
  Masstree tree_ = must(db_.open_masstree("tree"));
  int round_ = 0;
  std::uint64_t most_ = 0;
};

// All rows change from one snapshot to the next: eight of them would take eight times as much.
TEST_F(DiskBoundTest, snapshots_that_share_nothing_are_kept_as_far_as_the_bound_allows) {
  for (int i = 0; i < 12; ++i) {
    change(0, kRows);
    glean();
  }
  EXPECT_LE(most_, 310u);
  EXPECT_LE(db_.snapshots().size(), 3u);
}

TEST_F(DiskBoundTest, snapshots_that_share_most_pages_are_all_kept) {
  change(0, kRows);
  glean();
  for (std::uint32_t i = 0; i < 12; ++i) {
    change(i * 1'000, 500);
    glean();
  }
  EXPECT_LE(most_, 310u);
  EXPECT_EQ(db_.snapshots().size(), 8u);
}

// E50. Goal: no page is written while removed files still take space. Method: the task that closes
// them is held for longer than a glean takes to sort, and checks that there is no new file.
TEST_F(DiskBoundTest, the_next_glean_writes_when_the_room_is_given_back) {
  testing::AtSyncPoint at(
      "file_closer:close",
      [this] {
        const std::string newest = newest_file();
        for (int looks = 0; looks < 20; ++looks) {
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
          EXPECT_EQ(newest_file(), newest);
        }
      },
      true);
  for (int i = 0; i < 8; ++i) {
    change(0, kRows);
    glean();
  }
  EXPECT_LE(most_, 310u);
  EXPECT_GT(at.runs(), 3u);
}

// Goal: files that a transaction reads stay, even beyond the bound, and are removed after its end
// without another glean. Method: a transaction reads the first of many snapshots that share
// nothing.
TEST_F(DiskBoundTest, a_snapshot_that_is_read_stays_until_it_is_not) {
  change(0, kRows);
  glean();
  Session session = must(db_.new_session());
  Txn txn = must(session.begin({.isolation = Isolation::kSnapshot, .newest_existing = true}));
  const std::string first = must(txn.get(tree_, key(7)));
  for (int i = 0; i < 6; ++i) {
    change(0, kRows);
    glean();
  }
  EXPECT_EQ(must(txn.get(tree_, key(7))), first);
  EXPECT_GT(db_.snapshots().size(), 0u);
  const std::uint64_t before = snapshot_bytes();
  must(txn.commit());
  while (snapshot_bytes() >= before) std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

// Goal: the bound holds while sessions use pages that are just being installed, so that older
// snapshots stay needed. Method: two threads change rows all over while twenty snapshots are made.
TEST_F(DiskBoundTest, writers_do_not_keep_older_snapshots) {
  change(0, kRows);
  glean();
  std::atomic<bool> stop{false};
  std::vector<std::thread> writers;
  for (std::uint32_t seed = 1; seed <= 2; ++seed) {
    writers.emplace_back([&, seed] {
      base::Random random(seed);
      const std::string payload(300, 'w');
      while (!stop) {
        const auto row = static_cast<std::uint32_t>(random.below(kRows));
        must(db_.transact([&](Txn& txn) { return txn.put(tree_, key(row), payload); }));
        if (row % 8 == 0) testing::nap();  // the gleaner needs a processor, too
      }
    });
  }
  for (int i = 0; i < 20; ++i) glean();
  stop = true;
  for (std::thread& writer : writers) writer.join();
  EXPECT_LE(most_, 310u);
}

}  // namespace
}  // namespace foedus::disk_bound_test
