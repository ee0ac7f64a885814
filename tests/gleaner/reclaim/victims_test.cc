#include "gleaner/reclaim/victims.h"

#include <gtest/gtest.h>

#include <vector>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/snapshot/files/format.h"
#include "tests/base/test_seed.h"

namespace foedus::gleaner::victims_test {
namespace {

using page::SnapshotNumber;
using snapshot::ManifestFile;

snapshot::Manifest manifest_of(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& files) {
  snapshot::Manifest manifest;
  for (const auto& [pages, live] : files) {
    const auto number = static_cast<std::uint32_t>(manifest.files.size() + 1);
    manifest.files.push_back({SnapshotNumber{number}, 0, pages, live});
  }
  return manifest;
}

std::vector<std::uint32_t> numbers_of(const std::vector<ManifestFile>& files) {
  std::vector<std::uint32_t> numbers;
  for (const ManifestFile& file : files)
    numbers.push_back(static_cast<std::uint32_t>(file.snapshot));
  return numbers;
}

using Numbers = std::vector<std::uint32_t>;

TEST(VictimsTest, none_up_to_the_limit) {
  EXPECT_TRUE(choose_victims(manifest_of({}), {}).empty());
  EXPECT_TRUE(choose_victims(manifest_of({{1000, 1000}}), {}).empty());
  EXPECT_TRUE(choose_victims(manifest_of({{1000, 300}, {998, 700}}), {}).empty());
}

// Goal: files with the smallest live share are chosen first, then the oldest. Method: fewer than
// all files suffice.
TEST(VictimsTest, the_smallest_shares_go_first) {
  const snapshot::Manifest manifest =
      manifest_of({{1000, 1000}, {1000, 100}, {1000, 200}, {1000, 100}, {1000, 300}});
  // 1700 of 5005 pages are live: 3430 pages are left after the first two files, and 2529, so fewer
  // than 2975, after the third.
  EXPECT_EQ(numbers_of(choose_victims(manifest, {})), (Numbers{2, 3, 4}));
  EXPECT_EQ(numbers_of(choose_victims(manifest, {.total_percent_goal = 200})), (Numbers{2, 4}));
  EXPECT_EQ(numbers_of(choose_victims(manifest, {.total_percent_goal = 101})),
            (Numbers{2, 3, 4, 5}));
}

// Goal: a walk of hash storages, which reads all live pages, frees more. Method: 1460 of 3003 pages
// are live; without the second file there are 157 pages for 100 live ones.
TEST(VictimsTest, more_go_where_most_pages_are_of_hash_storages) {
  snapshot::Manifest manifest = manifest_of({{1000, 600}, {1000, 300}, {1000, 560}});
  EXPECT_EQ(numbers_of(choose_victims(manifest, {})), (Numbers{2}));
  snapshot::ManifestStorage tree;
  tree.live = {{SnapshotNumber{1}, 0, 600, 0}, {SnapshotNumber{2}, 0, 130, 0}};
  snapshot::ManifestStorage hash;
  hash.kind = StorageKind::kHash;
  hash.live = {{SnapshotNumber{2}, 0, 170, 0}, {SnapshotNumber{3}, 0, 560, 0}};
  manifest.storages = {tree, hash};
  EXPECT_EQ(numbers_of(choose_victims(manifest, {})), (Numbers{2})) << "half of them";
  --manifest.storages[0].live[1].pages;
  EXPECT_EQ(numbers_of(choose_victims(manifest, {})), (Numbers{2, 3}));
  EXPECT_EQ(numbers_of(choose_victims(manifest, {.total_percent_goal = 101})), (Numbers{1, 2, 3}));
}

TEST(VictimsTest, what_one_call_moves_is_limited_but_not_nothing) {
  const snapshot::Manifest manifest =
      manifest_of({{1000, 1000}, {1000, 100}, {1000, 200}, {1000, 100}, {1000, 300}});
  EXPECT_EQ(numbers_of(choose_victims(manifest, {.moved_pages_max = 200})), (Numbers{2, 4}));
  EXPECT_EQ(numbers_of(choose_victims(manifest, {.moved_pages_max = 1})), (Numbers{2}));
}

// Goal: the moved pages and their ancestors fit into one file. Method: files of the largest size.
TEST(VictimsTest, what_one_call_moves_fits_one_file) {
  constexpr std::uint32_t kPages = snapshot::kFilePagesMax - 1;
  constexpr std::uint32_t kLive = snapshot::kFilePagesMax / 4;
  const snapshot::Manifest manifest =
      manifest_of({{kPages, kLive}, {kPages, kLive}, {kPages, kLive}, {kPages, kLive}});
  EXPECT_EQ(numbers_of(choose_victims(manifest, {})), (Numbers{1, 2}));
}

// Goal: a file that would become one file again is not moved, because each call would repeat it.
TEST(VictimsTest, one_of_many_files_stays_where_it_is) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> files(9, {100, 100});
  const ReclaimOptions options{.files_max = 8, .moved_pages_max = 150};
  EXPECT_TRUE(choose_victims(manifest_of(files), options).empty());
  files[3] = files[5] = {50, 50};
  EXPECT_EQ(numbers_of(choose_victims(manifest_of(files), options)), (Numbers{4, 6}));
}

TEST(VictimsTest, a_few_pages_are_not_worth_it) {
  EXPECT_TRUE(choose_victims(manifest_of({{100, 1}, {100, 1}}), {}).empty());
  EXPECT_EQ(numbers_of(choose_victims(manifest_of({{200, 1}, {100, 1}}), {})), (Numbers{1, 2}));
}

TEST(VictimsTest, of_many_files_the_smallest_become_one) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> files = {{5000, 5000}, {40, 40}};
  for (std::uint32_t i = 0; i < 8; ++i) files.emplace_back(i + 1, i + 1);
  const snapshot::Manifest manifest = manifest_of(files);
  EXPECT_TRUE(choose_victims(manifest, {.files_max = 10}).empty());
  // Five of eight files are left, and the new one.
  EXPECT_EQ(numbers_of(choose_victims(manifest, {.files_max = 8})), (Numbers{3, 4, 5, 6, 7, 8}));
}

// Goal: loaded data is not written again because it has many files, up to a bound.
TEST(VictimsTest, large_files_may_be_four_times_as_many) {
  const ReclaimOptions options{.files_max = 8, .large_file_pages = 100};
  const auto files_of = [](std::size_t count, std::uint32_t pages) {
    return manifest_of(std::vector<std::pair<std::uint32_t, std::uint32_t>>(count, {pages, pages}));
  };
  EXPECT_FALSE(choose_victims(files_of(9, 50), options).empty());
  EXPECT_TRUE(choose_victims(files_of(9, 150), options).empty());
  EXPECT_TRUE(choose_victims(files_of(32, 150), options).empty());
  EXPECT_FALSE(choose_victims(files_of(33, 150), options).empty());
}

// Goal: joining files because of their number delays the next glean for a short time only, and
// leaves few enough files.
TEST(VictimsTest, files_become_one_a_few_pages_at_a_time) {
  const std::vector<std::pair<std::uint32_t, std::uint32_t>> files(10, {100, 100});
  const auto merged = [&](std::uint64_t pages_max) {
    return numbers_of(choose_victims(manifest_of(files),
                                     {.files_max = 8, .merged_pages_max = pages_max}));
  };
  EXPECT_EQ(merged(1), (Numbers{1, 2, 3})) << "eight with the new one";
  EXPECT_EQ(merged(350), (Numbers{1, 2, 3, 4}));
  EXPECT_EQ(merged(10'000), (Numbers{1, 2, 3, 4, 5, 6})) << "half of eight are left";
}

// Goal: after a reclamation there are no more victims.
TEST(VictimsTest, once_moved_there_are_no_more) {
  base::Random random(testing::test_seed(31));
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> files;
    for (std::uint64_t i = 0; i < random.below(100); ++i) {
      const auto pages = static_cast<std::uint32_t>(1 + random.below(1000));
      files.emplace_back(pages, static_cast<std::uint32_t>(1 + random.below(pages)));
    }
    snapshot::Manifest manifest = manifest_of(files);
    const std::vector<ManifestFile> victims = choose_victims(manifest, {});
    if (victims.empty()) continue;
    std::uint32_t moved = 0;
    for (const ManifestFile& victim : victims) {
      ASSERT_EQ(std::erase(manifest.files, victim), 1u);
      moved += victim.live_pages;
    }
    manifest.files.push_back({SnapshotNumber{1000}, 0, moved, moved});
    ASSERT_TRUE(choose_victims(manifest, {}).empty()) << round;
  }
}

}  // namespace
}  // namespace foedus::gleaner::victims_test
