// The partition of a position (G10).
#include "gleaner/handoff/partition_table.h"

#include <gtest/gtest.h>

namespace foedus::gleaner::partition_table_test {
namespace {

StoragePartitions storage_of(std::uint32_t id, std::vector<std::uint64_t> boundaries) {
  return {page::StorageId{id}, StorageKind::kHash, std::move(boundaries)};
}

TEST(PartitionTableTest, a_partition_begins_at_its_boundary_and_ends_before_the_next) {
  const StoragePartitions storage = storage_of(1, {10, 20, 20});
  EXPECT_EQ(storage.partition_of(0), 0u);
  EXPECT_EQ(storage.partition_of(9), 0u);
  EXPECT_EQ(storage.partition_of(10), 1u);
  EXPECT_EQ(storage.partition_of(19), 1u);
  EXPECT_EQ(storage.partition_of(20), 3u);
  EXPECT_EQ(storage.partition_of(~std::uint64_t{0}), 3u);
  EXPECT_EQ(storage.range_of(0), (PositionRange{0, 9}));
  EXPECT_EQ(storage.range_of(1), (PositionRange{10, 19}));
  EXPECT_EQ(storage.range_of(2), std::nullopt);
  EXPECT_EQ(storage.range_of(3), (PositionRange{20, ~std::uint64_t{0}}));
  EXPECT_EQ(storage_of(1, {0}).range_of(0), std::nullopt);
  EXPECT_EQ(storage_of(1, {}).range_of(0), PositionRange());
}

TEST(PartitionTableTest, every_storage_is_found_and_others_are_dropped_ones) {
  std::vector<StoragePartitions> storages;
  for (std::uint32_t i = 100; i > 0; --i) storages.push_back(storage_of(i * i, {i}));
  const auto table = PartitionTable::make(2, storages, page::StorageId{20'000});
  ASSERT_TRUE(table.is_ok());
  std::uint32_t found = 0;
  for (std::uint32_t id = 1; id < 20'000; ++id) {
    const std::uint32_t index = table->index_of(page::StorageId{id});
    if (index == PartitionTable::kDropped) continue;
    ASSERT_EQ(table->storages()[index].id, page::StorageId{id});
    EXPECT_EQ(index, found++);
  }
  EXPECT_EQ(found, 100u);
}

TEST(PartitionTableTest, what_g10_does_not_allow_is_refused) {
  const page::StorageId end{10};
  const auto code = [&](std::uint32_t partitions, std::vector<StoragePartitions> storages) {
    return PartitionTable::make(partitions, std::move(storages), end).code();
  };
  EXPECT_EQ(code(0, {}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(2, {storage_of(1, {})}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(3, {storage_of(1, {2, 1})}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(1, {storage_of(1, {}), storage_of(1, {})}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(1, {storage_of(0, {})}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(1, {storage_of(10, {})}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(1, {storage_of(9, {}), storage_of(3, {})}), ErrorCode::kOk);
}

}  // namespace
}  // namespace foedus::gleaner::partition_table_test
