#include "foedus-core/storage/array/array_storage.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/storage/array/array_page.h"
#include "foedus/options.h"
#include "tests/storage/storages.h"

namespace foedus::storage::array::storage_test {
namespace {

class ArrayTest : public ::testing::Test {
 protected:
  occ::StorageControl* make(std::uint64_t records, std::uint32_t payload_bytes) {
    storage_meta::StorageMeta meta;
    meta.kind = StorageKind::kArray;
    meta.records = records;
    meta.payload_bytes = payload_bytes;
    return all_.make(meta);
  }
  std::string get(std::uint32_t session, occ::StorageControl* control, std::uint64_t index) {
    const WholeRead read = read_whole([&](occ::ReadRange* range) {
      return array::get(all_.ctx(session), control, index, range);
    });
    EXPECT_TRUE(read.status.is_ok()) << read.status.message();
    return read.payload;
  }

  Storages all_{{.socs = 2}};
};

// Goal: the reciprocal divides exactly. Method: all shapes, at multiples and their neighbours.
TEST(ArrayShapeTest, reciprocals_divide_exactly) {
  for (std::uint32_t bytes = 1; bytes <= kMaxArrayPayloadBytes; ++bytes) {
    const ArrayShape& shape = shape_of(bytes);
    ASSERT_GE(shape.record_bytes, bytes + sizeof(page::RecordHeader));
    ASSERT_LE(shape.record_bytes * shape.records_per_page, ArrayBorderPage::kDataBytes);
    ASSERT_GT(shape.record_bytes * (shape.records_per_page + 1), ArrayBorderPage::kDataBytes);
    for (std::uint64_t q = 1; q < (std::uint64_t{1} << 55) / shape.records_per_page; q *= 37) {
      const std::uint64_t n = q * shape.records_per_page;
      ASSERT_EQ(shape.page_of(n), q) << bytes;
      ASSERT_EQ(shape.page_of(n - 1), q - 1) << bytes;
      ASSERT_EQ(shape.page_of(n + 1), n + 1 == (q + 1) * shape.records_per_page ? q + 1 : q);
    }
  }
}

TEST(ArrayShapeTest, levels_grow_with_pages) {
  EXPECT_EQ(levels_of(1), 0u);
  EXPECT_EQ(levels_of(2), 1u);
  EXPECT_EQ(levels_of(252), 1u);
  EXPECT_EQ(levels_of(253), 2u);
  EXPECT_EQ(levels_of(252 * 252), 2u);
  EXPECT_EQ(levels_of(252 * 252 + 1), 3u);
  EXPECT_LE(levels_of(shape_of(kMaxArrayPayloadBytes).pages_of(kMaxArrayRecords)), kLevelsMax);
}

TEST_F(ArrayTest, shapes_out_of_range_are_refused) {
  for (const auto& [records, bytes] : std::vector<std::pair<std::uint64_t, std::uint32_t>>{
           {0, 8}, {8, 0}, {8, kMaxArrayPayloadBytes + 1}, {kMaxArrayRecords + 1, 8}}) {
    storage_meta::StorageMeta meta;
    meta.kind = StorageKind::kArray;
    meta.records = records;
    meta.payload_bytes = bytes;
    occ::StorageControl control(meta);
    EXPECT_EQ(create(&all_.pool(), &all_.session(0).pages(), &control).code(),
              ErrorCode::kInvalidArgument);
  }
}

TEST_F(ArrayTest, untouched_records_are_zero_and_made_once) {
  occ::StorageControl* const control = make(1'000'000'000, 24);
  all_.session(0).begin();
  for (const std::uint64_t index : {0ull, 5ull, 123'456'789ull, 999'999'999ull}) {
    EXPECT_EQ(get(0, control, index), std::string(24, '\0'));
  }
  const std::uint64_t pages = control->volatile_pages.load_relaxed();
  EXPECT_EQ(get(0, control, 999'999'998), std::string(24, '\0'));
  ASSERT_TRUE(all_.session(0).commit().is_ok());
  EXPECT_EQ(control->volatile_pages.load_relaxed(), pages);
}

TEST_F(ArrayTest, indexes_and_parts_out_of_range_are_refused) {
  occ::StorageControl* const control = make(100, 10);
  all_.session(0).begin();
  occ::ReadRange range;
  occ::TxnContext& ctx = all_.ctx();
  EXPECT_EQ(array::get(ctx, control, 100, &range).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(get_for_update(ctx, control, 100, &range).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(write_at(ctx, control, 100, 0, "x").code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(write_at(ctx, control, 1, 8, "xyz").code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(write_at(ctx, control, 1, ~0u, "x").code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(increment(ctx, control, 1, 3, 1).code(), ErrorCode::kInvalidArgument);
  EXPECT_TRUE(increment(ctx, control, 1, 2, 1).is_ok());
  prefetch(ctx, control, 100);
  EXPECT_TRUE(all_.session(0).commit().is_ok());
}

// Goal: reads, own writes and commits agree with a model, for each number of levels. Method: random
// writes to few indexes, some of them at the ends.
TEST_F(ArrayTest, agrees_with_a_model) {
  for (const auto& [records, bytes] : std::vector<std::pair<std::uint64_t, std::uint32_t>>{
           {2, 2000}, {3, 2000}, {500, 100}, {40'000, 400}, {3'000'000, 1000}}) {
    occ::StorageControl* const control = make(records, bytes);
    base::Random random(records);
    std::map<std::uint64_t, std::string> committed;
    for (int t = 0; t < 300; ++t) {
      std::map<std::uint64_t, std::string> model = committed;
      all_.session(0).begin();
      for (int n = 0; n < 6; ++n) {
        const std::uint64_t places[] = {0, records - 1, random.below(records), records / 2};
        const std::uint64_t index = places[random.below(4)];
        std::string& expected = model.try_emplace(index, std::string(bytes, '\0')).first->second;
        if (random.below(3) == 0) {
          expected.assign(bytes, static_cast<char>('a' + t % 26));
          ASSERT_TRUE(write_at(all_.ctx(), control, index, 0, expected).is_ok());
        } else if (random.below(2) == 0) {
          const auto offset = static_cast<std::uint32_t>(random.below(bytes - 5));
          ASSERT_TRUE(write_at(all_.ctx(), control, index, offset, "12345").is_ok());
          expected.replace(offset, 5, "12345");
        } else {
          const auto offset = static_cast<std::uint32_t>(random.below(bytes - 8));
          ASSERT_TRUE(increment(all_.ctx(), control, index, offset, 99).is_ok());
          std::uint64_t value;
          std::memcpy(&value, &expected[offset], 8);
          value += 99;
          std::memcpy(&expected[offset], &value, 8);
        }
        ASSERT_EQ(get(0, control, index), expected) << index;
        prefetch(all_.ctx(), control, index);
      }
      if (t % 4 == 0) {
        all_.session(0).rollback();
      } else {
        ASSERT_TRUE(all_.session(0).commit().is_ok());
        committed = model;
      }
    }
    all_.session(1).begin();
    for (const auto& [index, payload] : committed) EXPECT_EQ(get(1, control, index), payload);
    ASSERT_TRUE(all_.session(1).commit().is_ok());
  }
}

TEST_F(ArrayTest, a_write_to_a_record_that_was_read_conflicts) {
  occ::StorageControl* const control = make(10, 8);
  all_.session(0).begin();
  EXPECT_EQ(get(0, control, 3), std::string(8, '\0'));
  ASSERT_TRUE(write_at(all_.ctx(0), control, 4, 0, "mine").is_ok());
  all_.session(1).begin();
  ASSERT_TRUE(write_at(all_.ctx(1), control, 3, 0, "yours").is_ok());
  ASSERT_TRUE(all_.session(1).commit().is_ok());
  EXPECT_EQ(all_.session(0).commit().conflict_reason(), ConflictReason::kRecordChanged);
}

// Goal: blind writes of different parts and increments never conflict.
TEST_F(ArrayTest, blind_writes_do_not_conflict) {
  occ::StorageControl* const control = make(10, 32);
  all_.session(0).begin();
  all_.session(1).begin();
  ASSERT_TRUE(increment(all_.ctx(0), control, 3, 0, 5).is_ok());
  ASSERT_TRUE(increment(all_.ctx(1), control, 3, 0, 6).is_ok());
  ASSERT_TRUE(write_at(all_.ctx(1), control, 3, 8, "abc").is_ok());
  ASSERT_TRUE(write_at(all_.ctx(0), control, 3, 16, "def").is_ok());
  ASSERT_TRUE(all_.session(1).commit().is_ok());
  ASSERT_TRUE(all_.session(0).commit().is_ok());
  all_.session(0).begin();
  std::string expected(32, '\0');
  expected[0] = 11;
  expected.replace(8, 3, "abc");
  expected.replace(16, 3, "def");
  EXPECT_EQ(get(0, control, 3), expected);
  ASSERT_TRUE(all_.session(0).commit().is_ok());
}

TEST_F(ArrayTest, dropped_arrays_are_not_found) {
  occ::StorageControl* const control = make(100'000, 100);
  all_.session(0).begin();
  for (std::uint64_t i = 0; i < 100'000; i += 777) get(0, control, i);
  ASSERT_TRUE(all_.session(0).commit().is_ok());
  control->set_dropped();  // as the catalog does
  drop(&all_.pool(), &all_.session(0).pages(), control);
  EXPECT_EQ(control->volatile_pages.load_relaxed(), 0u);
  all_.session(0).begin();
  occ::ReadRange range;
  EXPECT_EQ(array::get(all_.ctx(), control, 5, &range).code(), ErrorCode::kNotFound);
  all_.session(0).rollback();
}

}  // namespace
}  // namespace foedus::storage::array::storage_test
