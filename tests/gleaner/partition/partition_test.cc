#include "gleaner/partition/partition.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "foedus-core/base/system/clock.h"

namespace foedus::gleaner::partition_test {
namespace {

storage_meta::StorageMeta meta_of(StorageKind kind, std::uint32_t id = 1) {
  storage_meta::StorageMeta meta;
  meta.id = page::StorageId{id};
  meta.kind = kind;
  meta.records = 1'000'000;
  return meta;
}

struct Shares {
  std::vector<std::size_t> sizes;
  std::size_t own = 0;  // samples in a partition of their SOC
};

Shares shares_of(const std::vector<storage::PageSample>& samples,
                 const std::vector<std::uint64_t>& boundaries, std::uint32_t socs) {
  Shares shares{std::vector<std::size_t>(boundaries.size() + 1, 0)};
  for (const storage::PageSample& sample : samples) {
    const auto above = std::upper_bound(boundaries.begin(), boundaries.end(), sample.position);
    const auto partition = static_cast<std::size_t>(above - boundaries.begin());
    ++shares.sizes[partition];
    shares.own += partition % socs == sample.soc;
  }
  return shares;
}

TEST(PartitionTest, pages_go_to_the_soc_that_changed_them_last) {
  std::vector<storage::PageSample> samples;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    samples.push_back({i * 10, i < 6'200 ? 0u : 1u});
  }
  const auto boundaries = choose_boundaries(meta_of(StorageKind::kMasstree), samples, 2, 2);
  const Shares shares = shares_of(samples, boundaries, 2);
  EXPECT_GT(shares.own, 9'500u);
}

TEST(PartitionTest, no_partition_has_more_than_twice_its_share) {
  base::Random random(4);
  for (const std::uint32_t partitions : {2u, 3u, 4u, 16u}) {
    std::vector<storage::PageSample> samples;
    // SOC 0 changed all records.
    for (std::uint64_t i = 0; i < 20'000; ++i) samples.push_back({random.next(), 0});
    const auto boundaries =
        choose_boundaries(meta_of(StorageKind::kHash), samples, partitions, partitions);
    ASSERT_EQ(boundaries.size(), partitions - 1);
    EXPECT_TRUE(std::is_sorted(boundaries.begin(), boundaries.end()));
    for (const std::size_t size : shares_of(samples, boundaries, partitions).sizes) {
      EXPECT_LE(size, 2 * samples.size() / partitions) << partitions;
    }
    // With one SOC the shares are even.
    const auto even = choose_boundaries(meta_of(StorageKind::kHash), samples, partitions, 1);
    for (const std::size_t size : shares_of(samples, even, 1).sizes) {
      EXPECT_GT(size, samples.size() / partitions * 9 / 10) << partitions;
      EXPECT_LT(size, samples.size() / partitions * 11 / 10) << partitions;
    }
  }
}

TEST(PartitionTest, the_order_of_samples_does_not_matter) {
  base::Random random(5);
  std::vector<storage::PageSample> samples;
  for (std::uint64_t i = 0; i < 5'000; ++i) {
    samples.push_back({random.below(1'000), static_cast<std::uint32_t>(random.below(3))});
  }
  const auto first = choose_boundaries(meta_of(StorageKind::kMasstree), samples, 3, 3);
  std::reverse(samples.begin(), samples.end());
  EXPECT_EQ(choose_boundaries(meta_of(StorageKind::kMasstree), samples, 3, 3), first);
}

TEST(PartitionTest, without_samples_ranges_are_equal_and_sequential_storages_whole) {
  EXPECT_EQ(choose_boundaries(meta_of(StorageKind::kArray), {}, 4, 4),
            (std::vector<std::uint64_t>{250'000, 500'000, 750'000}));
  const auto hashes = choose_boundaries(meta_of(StorageKind::kHash), {}, 2, 2);
  EXPECT_EQ(hashes, std::vector<std::uint64_t>{std::uint64_t{1} << 63});
  for (std::uint32_t id = 0; id < 6; ++id) {
    const auto list = choose_boundaries(meta_of(StorageKind::kSequential, id), {}, 3, 3);
    EXPECT_EQ(shares_of({{0, 0}}, list, 3).sizes[id % 3], 1u);
  }
  EXPECT_TRUE(choose_boundaries(meta_of(StorageKind::kHash), {}, 1, 1).empty());
}

TEST(PartitionTest, samples_of_few_positions_are_still_divided_in_order) {
  std::vector<storage::PageSample> samples(1'000, storage::PageSample{7, 0});
  const auto boundaries = choose_boundaries(meta_of(StorageKind::kMasstree), samples, 4, 4);
  EXPECT_EQ(boundaries.size(), 3u);
  EXPECT_TRUE(std::is_sorted(boundaries.begin(), boundaries.end()));
}

}  // namespace
}  // namespace foedus::gleaner::partition_test
