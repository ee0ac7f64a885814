// Snapshots that are kept beside the newest one stay for as long as promised, whatever is opened
// again or damaged meanwhile.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "gleaner/directory_glean.h"
#include "tests/testing/at_sync_point.h"
#include "tests/testing/test_database.h"

namespace foedus::kept_snapshots_test {
namespace {

using testing::must;
using testing::small_options;
using testing::TestDatabase;

Options options_of(std::uint32_t kept) {
  Options options = small_options("");
  options.snapshots_kept = kept;
  return options;
}

// Goal: repeated opens without a change lose no kept snapshot. Method: two snapshots are kept, and
// a new one is made only after a write or a drop.
TEST(KeptSnapshotsTest, an_open_without_news_makes_no_snapshot) {
  TestDatabase db(options_of(2));
  const auto numbers = [&] {
    std::vector<std::uint32_t> found;
    for (const SnapshotInfo& info : db->snapshots()) found.push_back(info.number);
    return found;
  };
  const auto files = [&] {
    const std::filesystem::directory_iterator all(db.options().dir);
    return std::distance(begin(all), end(all));
  };
  const auto value_as_of = [&](Epoch epoch) {
    const Array array = must(db->open_array("array", 10, 8));
    return must(db->snapshot([&](Txn& txn) { return txn.get_as<std::uint64_t>(array, 0); },
                             {.as_of = epoch}));
  };
  std::vector<Epoch> covered;
  for (std::uint64_t i = 1; i <= 2; ++i) {
    const Array array = must(db->open_array("array", 10, 8));
    must(db->transact([&](Txn& txn) { return txn.put(array, 0, i); }));
    covered.push_back(must(db->glean()).covered);
  }
  const std::vector<std::uint32_t> made = numbers();
  db.reopen();
  const auto files_then = files();
  for (int i = 0; i < 5; ++i) {
    db.reopen();
    EXPECT_EQ(numbers(), made);
    EXPECT_EQ(files(), files_then);
    EXPECT_EQ(value_as_of(covered[0]), 1u);
    EXPECT_EQ(value_as_of(Epoch(Epoch::kMax)), 2u);
  }
  const Array array = must(db->open_array("array", 10, 8));
  must(db->transact([&](Txn& txn) { return txn.put(array, 0, std::uint64_t{3}); }));
  db.reopen();
  EXPECT_GT(numbers().back(), made.back());
  EXPECT_EQ(value_as_of(covered[1]), 2u);
  EXPECT_EQ(value_as_of(Epoch(Epoch::kMax)), 3u);
  const std::uint32_t third = numbers().back();
  must(db->open_hash("hash"));
  db.reopen();
  const std::uint32_t with_hash = numbers().back();
  EXPECT_GT(with_hash, third);
  must(db->drop_storage("hash"));
  db.reopen();
  EXPECT_GT(numbers().back(), with_hash);
  EXPECT_EQ(db->storages().size(), 1u);
}

// Goal: a storage that is missing in a snapshot is noticed, even if its id is below the highest one
// that the snapshot counts. Method: a storage is created while a snapshot is made, which counts its
// id but does not have it; another one is dropped. The rows of the new one are found before its
// creation, which is in the log of another SOC.
TEST(KeptSnapshotsTest, a_storage_that_is_made_beside_a_snapshot_is_news) {
  Options options = options_of(2);
  options.socs = 2;
  options.sessions_max = 33;  // so that the engine's own session has the second SOC
  options.pages.numa_binding = Facility::kOff;
  TestDatabase db(options);
  must(db->open_hash("first"));
  {
    const testing::AtSyncPoint at("gleaning:covered", [&] { must(db->open_hash("second")); });
    must(db->glean());
    ASSERT_EQ(at.runs(), 1u);
  }
  const Hash made = must(db->open_hash("second"));
  must(db->transact([&](Txn& txn) { return txn.put(made, "key", "row"); }));
  must(db->drop_storage("first"));
  db.reopen();
  const Hash found = must(db->open_hash("second"));
  EXPECT_EQ(must(db->transact([&](Txn& txn) { return txn.get(found, "key"); })), "row");
}

// A glean of a closed directory goes on without a kept snapshot whose manifest is damaged.
TEST(KeptSnapshotsTest, a_kept_manifest_that_is_damaged_stops_no_glean_of_a_directory) {
  const testing::TestDirectory directory;
  Options options = small_options(directory.path());
  options.snapshots_kept = 3;
  {
    Database db = must(Database::open(options));
    const Hash hash = must(db.open_hash("hash"));
    for (unsigned i = 0; i < 4; ++i) {
      must(db.transact([&](Txn& txn) { return txn.put(hash, "key", i); }));
      if (i < 3) must(db.glean());
    }
    must(db.close());
  }
  std::filesystem::resize_file(directory.path() + "/manifest-00000002", 40);
  gleaner::DirectoryGleanOptions order;
  order.snapshots_kept = 3;
  must(gleaner::glean_directory(directory.path(), order));
  Database db = must(Database::open(options));
  EXPECT_EQ(db.snapshots().size(), 3u);
  const Hash hash = must(db.open_hash("hash"));
  EXPECT_EQ(must(db.transact([&](Txn& txn) { return txn.get_as<unsigned>(hash, "key"); })), 3u);
}

// Goal: a kept snapshot whose manifest is damaged while the database is open costs no newer one.
// Method: transactions still read it, the operator is told once, and it expires in its turn.
TEST(KeptSnapshotsTest, a_kept_manifest_that_is_damaged_stops_no_glean) {
  Options options = options_of(3);
  std::vector<std::string> said;
  options.log_sink = [&said](LogLevel level, std::string_view line) {
    if (level == LogLevel::kWarning) said.emplace_back(line);
  };
  TestDatabase db(options);
  const Array array = must(db->open_array("array", 10, 8));
  std::vector<Epoch> covered;
  std::uint64_t value = 0;
  const auto glean = [&] {
    ++value;
    must(db->transact([&](Txn& txn) { return txn.put(array, 0, value); }));
    covered.push_back(must(db->glean()).covered);
  };
  const auto value_as_of = [&](Epoch epoch) {
    return must(db->snapshot([&](Txn& txn) { return txn.get_as<std::uint64_t>(array, 0); },
                             {.as_of = epoch}));
  };
  glean();
  glean();
  const std::string path = db.options().dir + "/manifest-00000001";
  ASSERT_TRUE(std::filesystem::exists(path));
  std::filesystem::resize_file(path, 40);
  glean();
  EXPECT_EQ(value_as_of(covered[0]), 1u);
  EXPECT_EQ(value_as_of(covered[2]), 3u);
  for (int i = 0; i < 3; ++i) glean();
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_FALSE(std::filesystem::exists(db.options().dir + "/snapshot-00000001-0"));
  EXPECT_EQ(value_as_of(covered[5]), 6u);
  const auto tells = [](const std::string& line) {
    return line.find("manifest-00000001") != std::string::npos;
  };
  EXPECT_EQ(std::count_if(said.begin(), said.end(), tells), 1);
}

// Goal: the newest manifest, without which no row can be found after a restart, is written again if
// it is damaged or missing while the database is open. Method: the next glean tells the operator,
// and succeeds; the directory opens with all rows.
class NewestManifestTest : public ::testing::TestWithParam<bool> {};

TEST_P(NewestManifestTest, of_an_open_database_is_written_again) {
  const bool is_gone = GetParam();
  Options options = options_of(2);
  std::vector<std::string> said;
  options.log_sink = [&said](LogLevel level, std::string_view line) {
    if (level == LogLevel::kWarning) said.emplace_back(line);
  };
  TestDatabase db(options);
  const Hash hash = must(db->open_hash("hash"));
  const auto put = [&](std::uint32_t key) {
    must(db->transact([&](Txn& txn) { return txn.put(hash, foedus::key(key), key); }));
  };
  put(0);
  must(db->glean());
  put(1);
  must(db->glean());
  put(2);
  const std::string path = db.options().dir + "/manifest-00000002";
  ASSERT_TRUE(std::filesystem::exists(path));
  if (is_gone) {
    std::filesystem::remove(path);
  } else {
    std::filesystem::resize_file(path, 40);
  }
  must(db->glean());
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("manifest-00000002"), std::string::npos);
  put(3);
  must(db->glean());
  db.reopen();
  const Hash found = must(db->open_hash("hash"));
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(must(db->transact(
                  [&](Txn& txn) { return txn.get_as<std::uint32_t>(found, foedus::key(i)); })),
              i);
  }
}

// Goal: files that only the newest manifest lists are never taken for orphaned files. Method: the
// manifest is lost after the glean that made it, before superseded files are removed.
TEST_P(NewestManifestTest, is_written_again_before_files_are_removed) {
  TestDatabase db(options_of(1));
  const Hash hash = must(db->open_hash("hash"));
  for (std::uint32_t i = 0; i < 2; ++i) {
    must(db->transact([&](Txn& txn) { return txn.put(hash, foedus::key(i), i); }));
    if (i == 0) must(db->glean());
  }
  const std::string path = db.options().dir + "/manifest-00000002";
  {
    const testing::AtSyncPoint lost("gleaning:before_removal", [&] {
      ASSERT_TRUE(std::filesystem::exists(path));
      if (GetParam()) {
        std::filesystem::remove(path);
      } else {
        std::filesystem::resize_file(path, 40);
      }
    });
    must(db->glean());
    EXPECT_EQ(lost.runs(), 1u);
  }
  db.reopen();
  const Hash found = must(db->open_hash("hash"));
  for (std::uint32_t i = 0; i < 2; ++i) {
    EXPECT_EQ(must(db->transact(
                  [&](Txn& txn) { return txn.get_as<std::uint32_t>(found, foedus::key(i)); })),
              i);
  }
}

INSTANTIATE_TEST_SUITE_P(All, NewestManifestTest, ::testing::Bool(),
                         [](const auto& which) { return which.param ? "gone" : "damaged"; });

}  // namespace
}  // namespace foedus::kept_snapshots_test
