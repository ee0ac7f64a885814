// Arrays in snapshots: reads return the written records, and pages without writes are neither
// copied nor made.
#include "gleaner/compose/array/composer.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/base/test_seed.h"
#include "tests/gleaner/compose/array_rig.h"

namespace foedus::gleaner::array_composer_test {
namespace {

#define ASSERT_OK(expression)                        \
  do {                                               \
    const Status status = (expression);              \
    ASSERT_TRUE(status.is_ok()) << status.message(); \
  } while (false)

// Makes a few hundred writes of all types, near each other and far apart.
void write_randomly(ArrayRig* rig, std::mt19937_64* random) {
  const std::uint32_t payload_bytes = rig->meta().payload_bytes;
  const std::uint64_t records = rig->meta().records;
  const std::uint64_t base = (*random)() % records;
  for (int i = 0; i < 300; ++i) {
    const bool is_near = (*random)() % 4 != 0;
    const std::uint64_t index = (is_near ? base + (*random)() % 500 : (*random)()) % records;
    const auto offset = static_cast<std::uint32_t>((*random)() % payload_bytes);
    if ((*random)() % 3 == 0 && payload_bytes >= 8) {
      rig->increment(index, static_cast<std::int64_t>((*random)()),
                     std::min(offset, payload_bytes - 8));
    } else if ((*random)() % 2 == 0) {
      rig->write(index, std::string(payload_bytes, static_cast<char>((*random)())));
    } else {
      const std::uint64_t bytes = (*random)() % (payload_bytes - offset + 1);
      rig->write(index, std::string(bytes, static_cast<char>((*random)())), offset);
    }
  }
}

TEST(ArrayComposerTest, an_array_of_one_record_is_one_border_page) {
  ArrayRig rig(1, 5);
  rig.write(0, "abcde");
  rig.write(0, "X", 3);
  ASSERT_OK(rig.glean());
  EXPECT_EQ(rig.root(), page::SnapshotPageId(page::SnapshotNumber{1}, 0, 1));
  EXPECT_EQ(rig.appended(), 1u);
  EXPECT_EQ(rig.read(0).payload, "abcXe");
  rig.expect_equal_to_model();
}

TEST(ArrayComposerTest, an_array_of_exactly_one_page_has_no_interior_page) {
  const std::uint64_t records = ArrayRig(1, 100).records_per_page();
  ArrayRig rig(records, 100);
  ASSERT_EQ(rig.levels(), 0u);
  rig.write(0, std::string(100, 'a'));
  rig.write(records - 1, std::string(100, 'z'));
  ASSERT_OK(rig.glean());
  EXPECT_EQ(rig.appended(), 1u);
  rig.expect_equal_to_model();
}

TEST(ArrayComposerTest, one_record_more_than_a_level_holds_is_a_level_more) {
  const std::uint64_t covered = ArrayRig(1, 100).records_per_page() * 252;
  ArrayRig full(covered, 100);
  full.write(covered - 1, "last");
  ASSERT_OK(full.glean());
  EXPECT_EQ(full.levels(), 1u);
  EXPECT_EQ(full.appended(), 2u);
  full.expect_equal_to_model();

  ArrayRig more(covered + 1, 100);
  more.write(covered, "last");
  ASSERT_OK(more.glean());
  EXPECT_EQ(more.levels(), 2u);
  EXPECT_EQ(more.appended(), 3u);
  EXPECT_TRUE(more.path_to(0)[1].is_null());
  more.expect_equal_to_model(7);

  more.write(covered - 1, "its neighbour");
  ASSERT_OK(more.glean({covered}));
  EXPECT_EQ(more.appended(), 3u);
  more.expect_equal_to_model(7);
}

// Goal: the work is proportional to the touched pages, not to the size. Method: the largest array,
// of which few records are written; pages are counted exactly.
TEST(ArrayComposerTest, touched_pages_of_a_huge_array_are_all_that_is_written) {
  ArrayRig rig(kMaxArrayRecords, 2000);
  ASSERT_EQ(rig.levels(), 5u);
  rig.write(0, "first");
  rig.write(kMaxArrayRecords - 1, "last");
  ASSERT_OK(rig.glean());
  EXPECT_EQ(rig.appended(), 2u * 5 + 1);
  rig.expect_equal_to_model(kMaxArrayRecords / 97);
}

// Goal: G6. Method: three levels; the second glean touches one record; all but its path keep ids.
TEST(ArrayComposerTest, untouched_pages_keep_their_ids) {
  ArrayRig rig(600'000, 500);
  ASSERT_EQ(rig.levels(), 3u);
  const std::uint64_t level_1 = rig.records_per_page() * 252;
  const std::uint64_t far = level_1 * 252 + 5;
  for (const std::uint64_t index : {std::uint64_t{3}, std::uint64_t{30}, level_1 + 9, far}) {
    rig.write(index, "old");
  }
  ASSERT_OK(rig.glean());
  EXPECT_EQ(rig.appended(), 4u + 3 + 2 + 1);
  const auto path = rig.path_to(3);
  const auto same_page_of_level_1 = rig.path_to(30);
  const auto same_page_of_level_2 = rig.path_to(level_1 + 9);
  const auto other_page_of_level_2 = rig.path_to(far);

  const std::uint64_t reads = rig.pages().reads();
  rig.write(3, "new");
  ASSERT_OK(rig.glean());
  EXPECT_EQ(rig.appended(), 4u);
  EXPECT_EQ(rig.pages().reads() - reads, 4u);
  for (int i = 0; i < 4; ++i) EXPECT_NE(rig.path_to(3)[i], path[i]) << i;
  EXPECT_EQ(rig.path_to(30)[3], same_page_of_level_1[3]);
  EXPECT_EQ(rig.path_to(level_1 + 9)[2], same_page_of_level_2[2]);
  EXPECT_EQ(rig.path_to(far)[1], other_page_of_level_2[1]);
  rig.expect_equal_to_model(101);
}

TEST(ArrayComposerTest, random_writes_over_several_snapshots_equal_the_model) {
  std::mt19937_64 random(testing::test_seed(1401));
  for (const std::uint32_t payload_bytes : {1u, 7u, 8u, 61u, 500u, 2000u}) {
    ArrayRig rig(1 + random() % 200'000, payload_bytes);
    for (int glean = 0; glean < 5; ++glean) {
      write_randomly(&rig, &random);
      ASSERT_OK(rig.glean());
      rig.expect_equal_to_model(11);
      if (HasFatalFailure()) return;
    }
  }
}

// Goal: ranges are invisible to readers. Method: the same writes are composed as one range and as
// several, with boundaries within and between pages of level 2. Records, and null pointers, must be
// equal.
TEST(ArrayComposerTest, ranges_joined_equal_one_range) {
  const std::uint64_t seed = testing::test_seed(1402);
  std::mt19937_64 random(seed);
  std::mt19937_64 same_random(seed);
  ArrayRig one(600'000, 500);
  ArrayRig many(600'000, 500);
  ASSERT_EQ(one.levels(), 3u);
  const std::uint64_t level_1 = one.records_per_page() * 252;
  const std::vector<std::vector<std::uint64_t>> boundaries = {
      {level_1},
      {level_1 * 2, level_1 * 200, level_1 * 252},
      {level_1 * 252, level_1 * 253},
      {},
      {level_1 * 7, level_1 * 8, level_1 * 9, level_1 * 100, level_1 * 251}};
  for (const auto& some : boundaries) {
    write_randomly(&one, &random);
    write_randomly(&many, &same_random);
    ASSERT_OK(one.glean());
    ASSERT_OK(many.glean(some));
    EXPECT_EQ(one.appended(), many.appended());
    one.expect_equal_to_model(53);
    many.expect_equal_to_model(53);
    for (std::uint64_t index = 0; index < 600'000; index += one.records_per_page()) {
      ASSERT_EQ(one.read(index), many.read(index));
      ASSERT_EQ(one.path_to(index).size(), many.path_to(index).size());
    }
  }
  EXPECT_EQ(one.pages_seen(), many.pages_seen());
}

TEST(ArrayComposerTest, the_same_input_gives_the_same_bytes) {
  const std::uint64_t seed = testing::test_seed(1403);
  std::string bytes[2];
  for (std::string& all : bytes) {
    std::mt19937_64 random(seed);
    ArrayRig rig(100'000, 100);
    for (int glean = 0; glean < 3; ++glean) {
      write_randomly(&rig, &random);
      ASSERT_OK(rig.glean({rig.records_per_page() * 252}));
      for (std::uint32_t soc = 0; soc < 2; ++soc) {
        all += rig.pages().file_bytes(page::SnapshotNumber{rig.snapshot()}, soc);
      }
    }
  }
  EXPECT_FALSE(bytes[0].empty());
  EXPECT_TRUE(bytes[0] == bytes[1]);
}

TEST(ArrayComposerTest, nothing_logged_gives_the_root_before) {
  ArrayRig rig(1'000'000, 100);
  ASSERT_OK(rig.glean());
  EXPECT_TRUE(rig.root().is_null());
  EXPECT_EQ(rig.read(5).tid, 0u);

  rig.write(5, "five");
  ASSERT_OK(rig.glean());
  const page::SnapshotPageId root = rig.root();
  const std::uint64_t reads = rig.pages().reads();
  ASSERT_OK(rig.glean({rig.records_per_page() * 252}));
  EXPECT_EQ(rig.root(), root);
  EXPECT_EQ(rig.appended(), 0u);
  EXPECT_EQ(rig.pages().reads(), reads);
}

// Empty partitions get a boundary after the last position.
TEST(ArrayComposerTest, a_range_behind_the_last_record_is_empty_wherever_it_begins) {
  ArrayRig rig(1000, 100);
  rig.write(0, "first");
  rig.write(999, "last");
  ASSERT_OK(rig.glean({~std::uint64_t{0}}));
  rig.expect_equal_to_model();
  rig.write(5, "five");
  ASSERT_OK(rig.glean({1000, 1001, ~std::uint64_t{0}}));
  rig.expect_equal_to_model();
}

TEST(ArrayComposerTest, boundaries_are_multiples_of_what_a_page_of_level_one_covers) {
  ArrayRig rig(1'000'000, 100);
  const std::uint64_t covered = rig.records_per_page() * 252;
  EXPECT_EQ(align_array_boundary(rig.meta(), 0), 0u);
  EXPECT_EQ(align_array_boundary(rig.meta(), covered - 1), 0u);
  EXPECT_EQ(align_array_boundary(rig.meta(), covered), covered);
  EXPECT_EQ(align_array_boundary(rig.meta(), covered * 5 + 3), covered * 5);
  EXPECT_EQ(align_array_boundary(rig.meta(), ~std::uint64_t{0}) % covered, 0u);
}

}  // namespace
}  // namespace foedus::gleaner::array_composer_test
