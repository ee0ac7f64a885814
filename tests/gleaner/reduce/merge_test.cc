// Merges of sources that have few of many storages.
#include "gleaner/reduce/merge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "tests/gleaner/reduce/random_log.h"

namespace foedus::gleaner::testing::merge_test {
namespace {

// A source of one piece, sorted by storage, then by position.
class Source final : public SortedSource {
 public:
  explicit Source(const std::vector<std::pair<std::uint32_t, std::uint64_t>>& records) {
    for (const auto& [storage, position] : records) {
      const RecordEntry entry{position, 0, 0, 0};
      bytes_.append(reinterpret_cast<const char*>(&entry), sizeof(entry));
      bytes_ += make_record(log::LogRecordType::kPut, storage, 1, index_key(position), 0, "");
    }
    at_ = bytes_.data();
    end_ = at_ + bytes_.size();
    take_first();
  }

 private:
  Status next_piece() override { return {}; }
  Result<const log::LogRecord*> fetch_cut() override { return nullptr; }
  std::string bytes_;
};

// Merges all sources and returns the records in their order.
std::vector<std::pair<std::uint32_t, std::uint64_t>> run(Merge* merge) {
  std::vector<std::pair<std::uint32_t, std::uint64_t>> all;
  for (;;) {
    const page::StorageId storage = merge->begin_storage();
    if (storage == page::StorageId{0}) return all;
    for (;;) {
      const StreamRecord* const record = merge->next();
      EXPECT_TRUE(merge->status().is_ok());
      if (record == nullptr) break;
      EXPECT_EQ(record->log->storage_id, storage);
      all.emplace_back(static_cast<std::uint32_t>(storage), record->position);
    }
  }
}

TEST(MergeTest, all_records_come_in_order_whatever_storages_their_sources_have) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    base::Random random(seed);
    std::vector<std::unique_ptr<Source>> sources;
    std::vector<SortedSource*> pointers;
    std::vector<std::pair<std::uint32_t, std::uint64_t>> expected;
    const std::uint64_t count = random.below(30);
    for (std::uint64_t i = 0; i < count; ++i) {
      std::vector<std::pair<std::uint32_t, std::uint64_t>> records;
      for (std::uint64_t n = random.below(20); n != 0; --n) {
        records.emplace_back(1 + random.below(6), expected.size());
        expected.push_back(records.back());
      }
      std::sort(records.begin(), records.end());
      sources.push_back(std::make_unique<Source>(records));
      pointers.push_back(sources.back().get());
    }
    std::sort(expected.begin(), expected.end());
    Merge merge(pointers);
    ASSERT_EQ(run(&merge), expected) << seed;
  }
}

// Goal: the cost of a storage depends on the sources that have records of it. Method: the test
// counts comparisons of storages, which are n log n of sources; visiting each source for each
// storage would make 16 million.
TEST(MergeTest, a_storage_does_not_meet_the_sources_that_have_none_of_it) {
  constexpr std::uint32_t kStorages = 4'000;
  std::vector<std::unique_ptr<Source>> sources;
  std::vector<SortedSource*> pointers;
  for (std::uint32_t i = 0; i < kStorages; ++i) {
    const std::uint32_t storage = 1 + i * 1'009 % kStorages;
    sources.push_back(std::make_unique<Source>(
        std::vector<std::pair<std::uint32_t, std::uint64_t>>{{storage, 1}, {storage, 2}}));
    pointers.push_back(sources.back().get());
  }
  Merge merge(pointers);
  EXPECT_EQ(run(&merge).size(), 2 * kStorages);
  EXPECT_LT(merge.storages_compared(), 30 * kStorages);
}

}  // namespace
}  // namespace foedus::gleaner::testing::merge_test
