// New trees, composed of log records alone.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/gleaner/compose/masstree_table.h"

namespace foedus::gleaner::masstree_composer_test {
namespace {

using storage::masstree::BorderPage;

TEST(MasstreeComposerTest, an_empty_tree_is_one_empty_page) {
  MasstreeTable table;
  table.glean_and_check();
  EXPECT_EQ(table.written, 1u);
  EXPECT_EQ(table.seen->border_pages, 1u);
  EXPECT_EQ(table.seen->empty_pages, 1u);
}

TEST(MasstreeComposerTest, a_few_keys_are_one_page) {
  MasstreeTable table;
  for (std::uint64_t i = 0; i < 10; ++i) table.put(key_of(i * 3), payload_of(20, i));
  table.glean_and_check();
  EXPECT_EQ(table.written, 1u);
}

// Three rows of 1 KB, each with a footprint of 1040, fit into a body of 3968 bytes with 128 of
// directory.
TEST(MasstreeComposerTest, pages_of_large_rows_are_full) {
  MasstreeTable table;
  constexpr unsigned kRows = 100000;
  for (std::uint64_t i = 0; i < kRows; ++i) table.put(key_of(i), payload_of(1000 + i % 24, i));
  table.glean_and_check();
  EXPECT_EQ(table.seen->border_pages, (kRows + 2) / 3);
  EXPECT_LE(table.seen->interior_pages, table.seen->border_pages / 160 + 4);
  EXPECT_EQ(table.seen->levels_max, 3u);
}

TEST(MasstreeComposerTest, pages_of_small_rows_are_full) {
  MasstreeTable table;
  constexpr unsigned kRows = 100000;
  for (std::uint64_t i = 0; i < kRows; ++i) table.put(key_of(i * 7), payload_of(8, i));
  table.glean_and_check();
  EXPECT_EQ(table.seen->border_pages, (kRows + 63) / 64);
  EXPECT_EQ(table.seen->levels_max, 2u);
}

// With rows of mixed size, the free bytes of a page are fewer than the first row of the next page
// needs.
TEST(MasstreeComposerTest, no_page_has_room_for_the_next_row) {
  MasstreeTable table;
  for (std::uint64_t i = 0; i < 20000; ++i) {
    table.put(key_of(i * 5), payload_of(i * 7919 % 300, i));
  }
  table.glean_and_check();
  std::uint64_t free_bytes = 0;
  for (const auto& border : table.seen->borders) free_bytes += border.free_bytes;
  const double body_bytes =
      static_cast<double>(table.seen->borders.size()) * BorderPage::kBodyBytes;
  EXPECT_LT(static_cast<double>(free_bytes), 0.05 * body_bytes);
}

TEST(MasstreeComposerTest, short_keys_with_trailing_zeroes_stand_in_order) {
  MasstreeTable table;
  std::vector<std::string> keys = {""};
  for (std::size_t i = 0; i < keys.size() && keys.size() < 3000; ++i) {
    const std::string base = keys[i];
    if (base.size() == 20) continue;
    keys.push_back(base + '\0');
    if (base.size() < 6) keys.push_back(base + 'a');
  }
  for (std::size_t i = 0; i < keys.size(); ++i) table.put(keys[i], payload_of(i % 40, i));
  table.glean_and_check();
}

TEST(MasstreeComposerTest, long_keys_share_layers) {
  for (const std::size_t prefix_bytes : {8u, 16u, 100u, 1000u}) {
    MasstreeTable table;
    const std::string prefix = payload_of(prefix_bytes, 9);
    for (std::uint64_t i = 0; i < 3000; ++i) {
      std::string key = prefix + key_of(i * 11);
      if (i % 3 == 0) key += payload_of(i % 16, i);
      table.put(key, payload_of(100, i));
    }
    table.put(payload_of(5, 7), "beside");
    table.glean_and_check();
    EXPECT_EQ(table.seen->layers_max, (prefix_bytes + 4) / 8) << prefix_bytes;
  }
}

TEST(MasstreeComposerTest, one_long_key_is_no_layer) {
  MasstreeTable table;
  for (unsigned i = 0; i < 50; ++i) table.put(key_of(i) + payload_of(1016, i), payload_of(60, i));
  table.glean_and_check();
  EXPECT_EQ(table.seen->layers_max, 0u);
}

TEST(MasstreeComposerTest, the_deepest_layers_work) {
  MasstreeTable table;
  const std::string base(1023, 'k');
  for (char c = 'a'; c < 'f'; ++c) table.put(base + c, payload_of(1400, c));
  for (std::size_t bytes = 0; bytes < 1023; ++bytes) {
    table.put(base.substr(0, bytes), payload_of(bytes, bytes));
  }
  table.glean_and_check();
  EXPECT_EQ(table.seen->layers_max, 127u);
}

TEST(MasstreeComposerTest, large_payloads_are_chains) {
  MasstreeTable table;
  const std::size_t sizes[] = {0, 1, 1400, 1401, 4016, 4017, 100 << 10, 4 << 20};
  for (const std::size_t bytes : sizes) {
    table.put(key_of(bytes), payload_of(bytes, bytes));
    table.put("with a longer key " + std::to_string(bytes), payload_of(bytes, bytes));
  }
  table.glean_and_check();
  EXPECT_EQ(table.seen->crowded, 0u);
}

// One slice has ten keys, each of which would fit inline.
TEST(MasstreeComposerTest, keys_of_one_slice_fit_into_one_page) {
  MasstreeTable table;
  for (std::size_t zeroes = 0; zeroes <= 8; ++zeroes) {
    table.put(std::string(zeroes, '\0'), payload_of(1400, zeroes));
  }
  table.put(std::string(1024, '\0'), payload_of(1400, 99));
  table.put("12345678", payload_of(1400, 1));
  table.put("12345678" + payload_of(1016, 4), payload_of(1400, 2));
  table.glean_and_check();
  EXPECT_EQ(table.seen->borders.size(), 2u);
  EXPECT_GE(table.seen->crowded, 8u);
  EXPECT_EQ(table.seen->layers_max, 0u);
}

TEST(MasstreeComposerTest, records_of_one_key_become_its_last_state) {
  MasstreeTable table;
  table.put("a", "first");
  table.put("a", payload_of(16, 1));
  table.increment("a", 8, 5);
  table.increment("a", 8, 6);
  table.write_at("a", 2, "xy");
  table.put("b", "1");
  table.erase("b");
  table.put("c", "1");
  table.erase("c");
  table.put("c", "2");
  table.put("d-and-a-long-key", "1");
  table.erase("d-and-a-long-key");
  table.glean_and_check();
}

TEST(MasstreeComposerTest, the_same_input_gives_the_same_bytes) {
  std::string bytes[2];
  for (std::string& file : bytes) {
    MasstreeTable table;
    for (std::uint64_t i = 0; i < 5000; ++i) {
      table.put(key_of(i * 3) + payload_of(i % 20, i / 4), payload_of(i % 1600, i));
    }
    table.glean_and_check();
    file = table.bytes_of_last();
    EXPECT_FALSE(file.empty());
  }
  EXPECT_TRUE(bytes[0] == bytes[1]);
}

}  // namespace
}  // namespace foedus::gleaner::masstree_composer_test
