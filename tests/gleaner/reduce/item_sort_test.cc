// The records of a storage are sorted as G2 says, however many there are and however long the
// common prefixes of their keys.
#include "gleaner/reduce/item_sort.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "foedus-core/base/line_allocator.h"
#include "tests/gleaner/reduce/random_log.h"

namespace foedus::gleaner::testing::item_sort_test {
namespace {

class Records {
 public:
  void add(StorageKind kind, const std::string& key, std::uint64_t tid, std::uint32_t session,
           std::uint64_t sequence) {
    const std::string record =
        make_record(log::LogRecordType::kPut, 1, tid, key, 0, std::string("payload"));
    const std::uint64_t position =
        position_of(kind, *reinterpret_cast<const log::LogRecord*>(record.data()));
    const RecordEntry entry{position, sequence, session, 0};
    items_.push_back({position, static_cast<std::uint32_t>(memory_.size() / 8), 0});
    const auto* const bytes = reinterpret_cast<const char*>(&entry);
    memory_.insert(memory_.end(), bytes, bytes + sizeof(entry));
    memory_.insert(memory_.end(), record.begin(), record.end());
  }

  // Returns whether the result is that of std::sort, positions included.
  bool sorts(StorageKind kind) {
    std::vector<SortItem> expected = items_;
    std::sort(expected.begin(), expected.end(), [this](const SortItem& a, const SortItem& b) {
      return is_before(a.entry(memory_.data())->record(), b.entry(memory_.data())->record());
    });
    std::vector<SortItem> scratch(items_.size());
    sort_items(memory_.data(), kind, items_.data(), scratch.data(), items_.size());
    return std::equal(items_.begin(), items_.end(), expected.begin(),
                      [](const SortItem& a, const SortItem& b) {
                        return a.unit == b.unit && a.position == b.position;
                      });
  }

 private:
  base::LineVector<char> memory_;
  std::vector<SortItem> items_;
};

// Sizes below and above the limit of sorting by comparison, and of a processor cache.
constexpr std::size_t kSizes[] = {1, 2, 23, 24, 255, 256, 5'000, 40'000};

TEST(ItemSortTest, indexes_are_sorted_with_few_or_many_records_each) {
  base::Random random(1);
  for (const std::size_t size : kSizes) {
    for (const std::uint64_t indexes : {1ull, 7ull, 1'000ull, ~0ull}) {
      Records records;
      for (std::size_t i = 0; i < size; ++i) {
        records.add(StorageKind::kArray, index_key(random.below(indexes)), random.below(size) << 4,
                   static_cast<std::uint32_t>(random.below(3)), i);
      }
      EXPECT_TRUE(records.sorts(StorageKind::kArray)) << size << " " << indexes;
    }
  }
}

TEST(ItemSortTest, keys_are_sorted_beyond_their_common_slices) {
  base::Random random(2);
  for (const StorageKind kind : {StorageKind::kMasstree, StorageKind::kHash}) {
    for (const std::size_t size : kSizes) {
      for (const std::size_t common : {0u, 3u, 8u, 20u, 100u}) {
        Records records;
        for (std::size_t i = 0; i < size; ++i) {
          std::string key(random.below(common + 1) == 0 ? random.below(common + 1) : common, 'c');
          for (std::uint64_t more = random.below(12); more != 0; --more) {
            key += static_cast<char>(random.below(3) * 127);
          }
          records.add(kind, key, random.below(size) << 4,
                     static_cast<std::uint32_t>(random.below(3)), i);
        }
        EXPECT_TRUE(records.sorts(kind)) << size << " " << common;
      }
    }
  }
}

TEST(ItemSortTest, appends_are_sorted_by_tid_session_and_sequence) {
  base::Random random(3);
  for (const std::size_t size : kSizes) {
    Records records;
    for (std::size_t i = 0; i < size; ++i) {
      records.add(StorageKind::kSequential, "", random.below(9) << 4,
                 static_cast<std::uint32_t>(random.below(3)), i);
    }
    EXPECT_TRUE(records.sorts(StorageKind::kSequential)) << size;
  }
}

}  // namespace
}  // namespace foedus::gleaner::testing::item_sort_test
