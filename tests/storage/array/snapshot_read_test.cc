// Reads of arrays in a snapshot, while the array changes and its pages are made and dropped.

#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/storage/array/array_install.h"
#include "foedus-core/storage/array/array_snapshot_read.h"
#include "foedus-core/storage/array/array_storage.h"
#include "tests/base/test_seed.h"
#include "tests/storage/array/gleaned_array.h"
#include "tests/storage/gleaned.h"

namespace foedus::storage::array::snapshot_read_test {
namespace {

constexpr std::uint64_t kRecords = 60'000;  // two levels of interior pages
constexpr std::uint32_t kReader = 3;

class ArraySnapshotReadTest : public ::testing::Test {
 protected:
  using Model = std::map<std::uint64_t, std::uint64_t>;

  void put(std::uint64_t index, std::uint64_t value) {
    all_.session(0).begin();
    ASSERT_TRUE(write_at(all_.session(0).ctx(), all_.control(), index, 0,
                         {reinterpret_cast<const char*>(&value), sizeof(value)})
                    .is_ok());
    ASSERT_TRUE(all_.session(0).commit().is_ok());
    model_[index] = value;
  }
  Result<std::uint64_t> get(page::SnapshotPageId root, std::uint64_t index) {
    std::uint64_t value = ~std::uint64_t{0};
    occ::ReadRange range;
    range.out = reinterpret_cast<char*>(&value);
    range.out_bytes = sizeof(value);
    FOEDUS_CHECK(get_in_snapshot(all_.session(kReader).ctx(), all_.control(), root, index, &range));
    return value;
  }
  void expect(page::SnapshotPageId root, const Model& model) {
    for (std::uint64_t index = 0; index < kRecords; index += 101) {
      const auto written = model.find(index);
      const Result<std::uint64_t> got = get(root, index);
      ASSERT_TRUE(got.is_ok()) << got.status().message();
      ASSERT_EQ(*got, written == model.end() ? 0 : written->second) << index;
    }
  }

  Gleaned all_{testing::array_meta(kRecords), compose_all, install};
  Model model_;
};

TEST_F(ArraySnapshotReadTest, each_snapshot_is_the_state_at_its_epoch) {
  base::Random random(testing::test_seed(3));
  std::vector<std::pair<page::SnapshotPageId, Model>> snapshots{{{}, {}}};
  all_.session(kReader).begin({.isolation = Isolation::kSnapshot});
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 200; ++i) put(random.below(kRecords / 101) * 101, random.next());
    if (round % 2 == 0) {
      all_.glean();  // drops pages in memory
    } else {
      all_.compose();
    }
    snapshots.emplace_back(all_.root(), model_);
    for (const auto& [root, model] : snapshots) expect(root, model);
  }
  EXPECT_TRUE(all_.session(kReader).ctx().sets().pointers().is_empty());
  EXPECT_TRUE(all_.session(kReader).ctx().sets().reads().is_empty());
  EXPECT_TRUE(all_.session(kReader).commit().is_ok());
}

TEST_F(ArraySnapshotReadTest, errors_are_told) {
  put(101, 7);
  all_.compose();
  all_.session(kReader).begin({.isolation = Isolation::kSnapshot});
  EXPECT_EQ(get(all_.root(), kRecords).code(), ErrorCode::kInvalidArgument);
  all_.pages().fail_read_after(1);
  EXPECT_EQ(get(all_.root(), 101).code(), ErrorCode::kIoError);
  EXPECT_EQ(*get(all_.root(), 101), 7u);
  all_.session(kReader).rollback();
}

}  // namespace
}  // namespace foedus::storage::array::snapshot_read_test
