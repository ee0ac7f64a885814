// Partitions and fences: boundaries that a composer is given.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "gleaner/compose/masstree/levels.h"
#include "tests/gleaner/compose/masstree_table.h"

namespace foedus::gleaner::masstree_ranges_test {
namespace {

void load(MasstreeTable* table, std::uint64_t rows, std::size_t payload_bytes) {
  for (std::uint64_t i = 0; i < rows; ++i) table->put(key_of(i), payload_of(payload_bytes, i));
}

std::vector<std::uint64_t> random_slices(std::mt19937_64& random, std::size_t count,
                                         std::uint64_t below) {
  std::vector<std::uint64_t> slices;
  for (std::size_t i = 0; i < count; ++i) slices.push_back(1 + random() % below);
  std::sort(slices.begin(), slices.end());
  slices.erase(std::unique(slices.begin(), slices.end()), slices.end());
  return slices;
}

TEST(MasstreeRangesTest, several_ranges_are_one_tree) {
  const std::vector<std::vector<std::uint64_t>> boundaries = {
      {1}, {500}, {1000, 2000, 3000}, {4999, 5000, 5001}, {7, 8, 9, 10, ~std::uint64_t{0}}};
  for (const auto& list : boundaries) {
    MasstreeTable table;
    load(&table, 5000, 1000);
    table.glean_and_check(list);
    EXPECT_LE(table.seen->levels_max, 3u);
    for (const std::uint64_t boundary : list) {
      const auto& borders = table.seen->borders;
      EXPECT_TRUE(std::any_of(borders.begin(), borders.end(),
                              [&](const auto& border) { return border.low == boundary; }));
    }
  }
}

TEST(MasstreeRangesTest, empty_ranges_are_empty_pages) {
  MasstreeTable table;
  table.glean_and_check({100, 200});
  EXPECT_EQ(table.seen->border_pages, 3u);
  table.put(key_of(150), "here");
  table.glean_and_check({100, 200});
  EXPECT_EQ(table.seen->border_pages, 3u);
  table.put(key_of(150), "gone with the boundaries");
  table.put(key_of(0), "more");
  table.glean_and_check();
}

// Goal: a high subtree waits while pages of lower levels are made after it. Method: so many pages
// of records follow that pages above them are made one after the other.
TEST(MasstreeRangesTest, a_high_subtree_waits_for_low_ones) {
  MasstreeTable table;
  MemoryWriter writer(&table.pages, 1);
  const Composition composition{&table.meta, {}, &table.pages, &writer, nullptr};
  MasstreeLevels levels(composition, 0);
  const page::SnapshotPageId earlier(page::SnapshotNumber{7}, 0, 1);
  ASSERT_TRUE(levels.push({{0, 99}, earlier, 2}).is_ok());
  const std::uint64_t last = 100 + 3 * storage::masstree::InteriorPage::kSeparatorsMax;
  for (std::uint64_t slice = 100; slice <= last; ++slice) {
    const auto index = static_cast<std::uint32_t>(slice);
    ASSERT_TRUE(levels.push({{slice, slice}, earlier.plus(index), 0}).is_ok());
  }
  const Result<Subtree> root = levels.finish_root();
  ASSERT_TRUE(root.is_ok());
  EXPECT_EQ(root->level, 3u);
  EXPECT_EQ(root->range.begin, 0u);
  EXPECT_EQ(root->range.last, last);
}

// The heights differ: thousands of pages beside one, several times.
TEST(MasstreeRangesTest, subtrees_of_different_height_have_one_root) {
  MasstreeTable table;
  load(&table, 30000, 1000);
  table.put(key_of(1000000), "alone");
  table.glean_and_check({29990, 900000});
  EXPECT_EQ(table.seen->levels_max, 2u);
  table.put(key_of(1000001), "not any more");
  table.put(key_of(29995), "beside");
  table.glean_and_check({29990, 900000});
  EXPECT_EQ(table.seen->levels_max, 2u);
  table.put(key_of(17), "other boundaries");
  table.glean_and_check({18});
}

TEST(MasstreeRangesTest, ranges_that_change_match_the_model) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    MasstreeTable table;
    load(&table, 2000, 700);
    for (unsigned glean = 0; glean < 8; ++glean) {
      table.glean_and_check(random_slices(random, random() % 6, 2200),
                            random_slices(random, random() % 6, 2200));
      ASSERT_FALSE(::testing::Test::HasFailure()) << glean;
      EXPECT_LE(table.seen->levels_max, 3u);
      for (unsigned i = random() % 200; i != 0; --i) {
        const std::string key = key_of(random() % 2100);
        if (table.model.count(key) != 0 && random() % 2 == 0) {
          table.erase(key);
        } else {
          table.put(key, payload_of(random() % 1500, i));
        }
      }
      if (random() % 2 == 0) {
        const std::uint64_t begin = random() % 2000;
        for (std::uint64_t i = begin; i < begin + 300; ++i) {
          if (table.model.count(key_of(i)) != 0) table.erase(key_of(i));
        }
      }
    }
  }
}

TEST(MasstreeRangesTest, untouched_ranges_are_reused_where_they_do_not_cut_pages) {
  MasstreeTable table;
  load(&table, 4800, 1000);
  table.glean_and_check({960, 1920});
  const auto before = table.seen->borders;
  table.put(key_of(3), payload_of(1000, 9));
  table.glean_and_check({960, 1920});
  ASSERT_EQ(table.seen->borders.size(), before.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(before[i].id == table.seen->borders[i].id, i != 1) << i;
  }
}

// Goal: G69. Method: keys ascend, and each glean is divided in the middle of its keys, so that
// pages to the left of the boundary are never touched again.
TEST(MasstreeRangesTest, boundaries_that_move_on_with_the_keys_leave_no_thin_pages_above) {
  MasstreeTable table;
  std::uint64_t next = 0;
  for (unsigned glean = 0; glean < 400; ++glean) {
    const std::uint64_t begin = next;
    for (; next < begin + 20; ++next) table.put(key_of(next), payload_of(400, next));
    const std::vector<std::uint64_t> boundaries = {begin + 7, begin + 14};
    if (glean % 100 == 99) {
      table.glean_and_check(boundaries);
      EXPECT_LE(table.seen->levels_max, 2u) << glean;
      EXPECT_LE(table.seen->interior_pages, 4 + table.seen->border_pages / 80) << glean;
    } else {
      const Status status = table.glean(boundaries);
      ASSERT_TRUE(status.is_ok()) << status.message();
      table.start_epoch();
    }
  }
}

// Goal: G69 for a boundary within the earlier snapshot. Method: the boundary divides the children
// of a page of level 1, each time of another one, where a page of records begins, so that none of
// these is split.
TEST(MasstreeRangesTest, a_boundary_in_a_page_of_level_1_makes_no_page_more) {
  MasstreeTable table;
  load(&table, 5000, 1000);
  table.glean_and_check();
  const std::uint64_t interior_pages = table.seen->interior_pages;
  ASSERT_EQ(interior_pages, 12u);
  for (std::uint64_t boundary = 720; boundary < 4800; boundary += 480) {
    table.put(key_of(boundary - 1), payload_of(1000, 1));
    table.put(key_of(boundary), payload_of(1000, 2));
    table.glean_and_check({boundary});
    EXPECT_EQ(table.seen->border_pages, 1667u);
    EXPECT_EQ(table.seen->interior_pages, interior_pages) << boundary;
  }
}

// ---- fences

bool is_low(const MasstreeTable& table, std::uint64_t slice) {
  const auto& borders = table.seen->borders;
  return std::any_of(borders.begin(), borders.end(),
                     [&](const auto& border) { return border.low == slice; });
}

TEST(MasstreeRangesTest, fences_of_a_fresh_tree_are_kept) {
  MasstreeTable table;
  load(&table, 5000, 1000);
  const std::vector<std::uint64_t> fences = {0, 1, 2, 100, 481, 2000, 2001, 4999, 6000, 7000};
  table.glean_and_check({}, fences);
  for (const std::uint64_t fence : fences) {
    EXPECT_TRUE(is_low(table, fence)) << fence;
    EXPECT_EQ(table.seen->level_1_lows.count(fence), 1u) << fence;
  }
  EXPECT_EQ(table.seen->empty_pages, 2u);  // from 6000 and from 7000 on
}

TEST(MasstreeRangesTest, fences_cut_touched_pages_only) {
  MasstreeTable table;
  load(&table, 5000, 1000);
  table.glean_and_check();
  table.put(key_of(1000), payload_of(1000, 1));
  table.glean_and_check({}, {1000, 3001});
  EXPECT_TRUE(is_low(table, 1000));
  EXPECT_EQ(table.seen->level_1_lows.count(1000), 1u);
  EXPECT_FALSE(is_low(table, 3001));
}

// An empty page that begins at a fence stays, because its range must have a page.
TEST(MasstreeRangesTest, pages_between_fences_may_be_empty) {
  MasstreeTable table;
  load(&table, 3000, 1000);
  const std::vector<std::uint64_t> fences = {600, 1200, 1800};
  table.glean_and_check({}, fences);
  for (std::uint64_t i = 600; i < 1200; ++i) table.erase(key_of(i));
  for (std::uint64_t i = 1800; i < 3000; ++i) table.erase(key_of(i));
  table.glean_and_check({}, fences);
  for (const std::uint64_t fence : fences) EXPECT_TRUE(is_low(table, fence)) << fence;
  EXPECT_EQ(table.seen->empty_pages, 2u);
  table.put(key_of(700), "filled again");
  table.glean_and_check({}, fences);
  EXPECT_EQ(table.seen->empty_pages, 1u);
}

TEST(MasstreeRangesTest, the_same_input_gives_the_same_bytes) {
  std::string files[2];
  for (std::string& file : files) {
    std::mt19937_64 random(5);
    MasstreeTable table;
    load(&table, 2000, 600);
    table.glean_and_check({700}, {100, 900});
    for (std::uint64_t i = 600; i < 800; ++i) table.erase(key_of(i));
    table.glean_and_check({700, 1500}, {650, 1000});
    file = table.bytes_of_last();
  }
  EXPECT_TRUE(files[0] == files[1]);
}

}  // namespace
}  // namespace foedus::gleaner::masstree_ranges_test
