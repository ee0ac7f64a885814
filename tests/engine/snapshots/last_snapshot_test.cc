// close() makes a last snapshot, if that is quick: the next open() finds nothing to recover, and no
// log but the newest segment.
#include <gtest/gtest.h>

#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "tests/testing/test_database.h"

namespace foedus::last_snapshot_test {
namespace {

using testing::must;

class LastSnapshotTest : public ::testing::Test {
 protected:
  Options options(std::uint64_t close_us) {
    Options options = testing::small_options(directory_.path());
    options.log.segment_bytes = 1u << 20;
    options.glean.close_us = close_us;
    options.log_sink = [this](LogLevel, std::string_view line) {
      const std::lock_guard lock(mutex_);
      lines_.emplace_back(line);
    };
    return options;
  }
  void write(Database* db, std::string_view payload) {
    const Masstree tree = must(db->open_masstree("tree"));
    for (std::uint32_t i = 0; i < kRows; i += 100) {
      must(db->transact([&](Txn& txn) -> Status {
        for (std::uint32_t j = i; j < i + 100; ++j) FOEDUS_CHECK(txn.put(tree, key(j), payload));
        return {};
      }));
    }
  }
  void expect(Database* db, std::string_view payload) {
    const Masstree tree = must(db->open_masstree("tree"));
    must(db->transact([&](Txn& txn) -> Status {
      for (std::uint32_t i = 0; i < kRows; ++i) {
        FOEDUS_TRY(const std::string row, txn.get(tree, key(i)));
        EXPECT_EQ(row, payload) << i;
      }
      return {};
    }));
  }
  unsigned recoveries() {
    const std::lock_guard lock(mutex_);
    unsigned count = 0;
    for (const std::string& line : lines_) count += line.starts_with("recovered ") ? 1 : 0;
    return count;
  }
  std::vector<std::string> files(std::string_view prefix) const {
    std::vector<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator(directory_.path())) {
      const std::string name = file.path().filename();
      if (name.starts_with(prefix)) names.push_back(name);
    }
    return names;
  }

  static constexpr std::uint32_t kRows = 20'000;
  testing::TestDirectory directory_;
  std::mutex mutex_;
  std::vector<std::string> lines_;  // guarded by mutex_
};

TEST_F(LastSnapshotTest, a_database_that_was_closed_opens_without_recovery) {
  for (const std::string payload : {"first round of rows", "second round of rows"}) {
    {
      Database db = must(Database::open(options(60'000'000)));
      write(&db, payload);
      must(db.close());
    }
    EXPECT_EQ(files("log-").size(), 1u);
    Database db = must(Database::open(options(60'000'000)));
    const Stats stats = db.stats();
    EXPECT_NE(stats.snapshot, 0u);
    EXPECT_EQ(recoveries(), 0u);
    expect(&db, payload);
  }
}

// Goal: close() waits for the last snapshot no longer than the option allows. Method: no time at
// all, and a microsecond.
TEST_F(LastSnapshotTest, without_the_time_for_it_the_log_stays_and_is_recovered) {
  unsigned expected = 0;
  for (const std::uint64_t close_us : {0, 1}) {
    const std::string payload = "closed within " + std::to_string(close_us) + " us";
    {
      Database db = must(Database::open(options(close_us)));
      write(&db, payload);
      must(db.close());
    }
    EXPECT_GT(files("log-").size(), 1u);
    Database db = must(Database::open(options(close_us)));
    EXPECT_EQ(recoveries(), ++expected);
    expect(&db, payload);
  }
}

// Goal: after close() there are only the snapshots to keep, whatever snapshots volatile pages
// referred to.
TEST_F(LastSnapshotTest, superseded_snapshots_go_with_it) {
  Database db = must(Database::open(options(60'000'000)));
  for (const std::string payload : {"1", "2", "3", "4"}) {
    write(&db, payload);
    must(db.glean());
  }
  write(&db, "5");
  must(db.close());
  EXPECT_LE(files("manifest-").size(), db.effective_options().options.snapshots_kept);
}

TEST_F(LastSnapshotTest, a_close_without_news_makes_none) {
  Database db = must(Database::open(options(60'000'000)));
  write(&db, "row");
  must(db.close());
  const auto before = files("snapshot-");
  Database again = must(Database::open(options(60'000'000)));
  expect(&again, "row");
  must(again.close());
  EXPECT_EQ(files("snapshot-"), before);
}

}  // namespace
}  // namespace foedus::last_snapshot_test
