// Records of many storages are sorted in place, with the space that is left.
#include "gleaner/reduce/sorted_records.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "foedus-core/base/line_allocator.h"
#include "gleaner/reduce/merge.h"
#include "tests/gleaner/reduce/random_log.h"

namespace foedus::gleaner::testing::sorted_records_test {
namespace {

// A reducer's memory: blocks of the smallest records, one after another without a gap, and the free
// area after them.
class FullMemory {
 public:
  static constexpr std::uint64_t kBlockBytes = 4'096;

  FullMemory(std::uint64_t blocks, std::uint32_t storages, bool has_small_scratch) {
    const std::uint64_t bytes = blocks * kBlockBytes;
    const std::uint64_t area_bytes =
        has_small_scratch ? SortedRecords::area_bytes_for(bytes) : bytes;
    memory_.resize(bytes + area_bytes);
    base::Random random(blocks);
    for (std::uint64_t i = 0; i < blocks; ++i) fill(i * kBlockBytes, storages, &random);
    sorted_.emplace(&table_, memory_.data(), memory_.data() + bytes, area_bytes);
  }

  std::vector<const BlockHeader*> blocks() const { return blocks_; }
  SortedRecords& sorted() { return *sorted_; }
  std::uint64_t records() const { return sequence_; }

 private:
  void fill(std::uint64_t offset, std::uint32_t storages, base::Random* random) {
    char* const block = memory_.data() + offset;
    char* at = block + sizeof(BlockHeader);
    char* items = block + kBlockBytes;
    for (;;) {
      // An erasure of the empty key is the smallest record.
      const std::uint32_t storage =
          storages == 1 ? kHashId : kHashId + static_cast<std::uint32_t>(random->below(2));
      const std::string record = make_record(log::LogRecordType::kErase, storage,
                                             tid_of(11, static_cast<std::uint32_t>(sequence_)), "",
                                             0, "");
      const RecordEntry entry{random->below(100), sequence_, 1, 0};
      if (sizeof(entry) + record.size() + sizeof(SortItem) >
          static_cast<std::uint64_t>(items - at)) {
        break;
      }
      const SortItem item{entry.position,
                          static_cast<std::uint32_t>((at - memory_.data()) / 8),
                          table_.index_of(page::StorageId{storage})};
      std::memcpy(at, &entry, sizeof(entry));
      std::memcpy(at + sizeof(entry), record.data(), record.size());
      at += sizeof(entry) + record.size();
      items -= sizeof(item);
      std::memcpy(items, &item, sizeof(item));
      ++sequence_;
    }
    const BlockHeader header{
        kBlockBytes, static_cast<std::uint64_t>(block + kBlockBytes - items) / sizeof(SortItem)};
    std::memcpy(block, &header, sizeof(header));
    blocks_.push_back(reinterpret_cast<const BlockHeader*>(block));
  }

  const PartitionTable table_ = RandomLog::table(1, 10);
  base::LineVector<char> memory_;
  std::vector<const BlockHeader*> blocks_;
  std::uint64_t sequence_ = 0;
  std::optional<SortedRecords> sorted_;
};

// Merges all groups. Expects records in the order of storages and G2. Returns their number.
std::uint64_t count_in_order(const SortedRecords& sorted) {
  std::vector<std::unique_ptr<SortedSource>> sources;
  std::vector<SortedSource*> pointers;
  for (const SortedGroup& group : sorted.groups()) {
    sources.push_back(std::make_unique<GroupSource>(group));
    pointers.push_back(sources.back().get());
  }
  Merge merge(pointers);
  std::uint64_t count = 0;
  while (merge.begin_storage() != page::StorageId{0}) {
    StreamRecord before{};
    for (const StreamRecord* record = merge.next(); record != nullptr; record = merge.next()) {
      EXPECT_TRUE(before.log == nullptr || is_before(before, *record)) << count;
      before = *record;
      ++count;
    }
  }
  return count;
}

TEST(SortedRecordsTest, those_of_each_storage_are_one_group_in_order) {
  FullMemory memory(50, 2, false);
  memory.sorted().distribute(memory.blocks());
  while (memory.sorted().sort_next()) {
  }
  ASSERT_EQ(memory.sorted().groups().size(), 2u);
  EXPECT_EQ(memory.sorted().groups()[0].storage, page::StorageId{kHashId});
  EXPECT_EQ(memory.sorted().groups()[1].storage, page::StorageId{kMasstreeId});
  EXPECT_EQ(count_in_order(memory.sorted()), memory.records());
}

// Goal: even the smallest records have space for their items. Method: the smallest records, of one
// storage.
TEST(SortedRecordsTest, an_area_has_room_for_the_smallest_records_and_sorts_them_in_groups) {
  for (const std::uint64_t blocks : {1u, 2u, 64u, 300u}) {
    FullMemory memory(blocks, 1, true);
    memory.sorted().distribute(memory.blocks());
    while (memory.sorted().sort_next()) {
    }
    EXPECT_GE(memory.sorted().groups().size(), 2u);
    EXPECT_LE(memory.sorted().groups().size(), 4u);
    EXPECT_EQ(count_in_order(memory.sorted()), memory.records()) << blocks;
  }
}

TEST(SortedRecordsTest, what_was_dealt_before_is_forgotten) {
  FullMemory memory(50, 2, false);
  memory.sorted().distribute(memory.blocks());
  while (memory.sorted().sort_next()) {
  }
  memory.sorted().distribute({memory.blocks()[7]});
  while (memory.sorted().sort_next()) {
  }
  EXPECT_EQ(count_in_order(memory.sorted()), memory.blocks()[7]->record_count);
  memory.sorted().distribute({});
  EXPECT_FALSE(memory.sorted().sort_next());
  EXPECT_TRUE(memory.sorted().groups().empty());
}

}  // namespace
}  // namespace foedus::gleaner::testing::sorted_records_test
