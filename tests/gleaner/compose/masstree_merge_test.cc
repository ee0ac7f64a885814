// Several gleans of one table: merges of log records with the earlier snapshot.
#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/gleaner/compose/masstree_table.h"

namespace foedus::gleaner::masstree_merge_test {
namespace {

// ---- random operations

// Returns keys of all the lengths and similarities that make layers, crowded slices and neighbours.
std::string random_key(std::mt19937_64& random, std::uint64_t keys) {
  const std::uint64_t number = random() % keys;
  switch (number % 7) {
    case 0: return key_of(number);
    case 1: return std::string(number % 9, '\0');
    case 2: return std::to_string(number % 100) + std::string(number % 5, '\0');
    case 3: return "a prefix of 16 b" + std::to_string(number);
    case 4: return std::string(100, 'p') + key_of(number / 8) + std::string(number % 8, '\0');
    case 5: return key_of(number / 50) + payload_of(number % 200, number);
    default: return key_of(number << 40) + payload_of(number % 1017, 3);
  }
}

std::size_t random_size(std::mt19937_64& random) {
  switch (random() % 20) {
    case 0: return 0;
    case 1: return 1390 + random() % 20;
    case 2: return random() % 12000;
    case 3: return 900 + random() % 400;
    default: return random() % 60;
  }
}

void run_random(MasstreeTable* table, std::mt19937_64& random, unsigned operations,
                std::uint64_t keys) {
  for (unsigned i = 0; i < operations; ++i) {
    std::string key = random_key(random, keys);
    if (random() % 3 != 0 && !table->model.empty()) {
      auto at = table->model.lower_bound(key);
      if (at == table->model.end()) at = table->model.begin();
      key = at->first;
    }
    const bool is_there = table->model.count(key) != 0;
    const std::size_t bytes = is_there ? table->model.at(key).size() : 0;
    const unsigned what = random() % 8;
    if (is_there && what < 3) {
      table->erase(key);
    } else if (bytes > 0 && what == 3) {
      const auto offset = static_cast<std::uint32_t>(random() % bytes);
      table->write_at(key, offset, payload_of(random() % (bytes - offset + 1), i));
    } else if (bytes >= 8 && what == 4) {
      table->increment(key, static_cast<std::uint32_t>(random() % (bytes - 7)), random());
    } else {
      table->put(key, payload_of(random_size(random), random()));
    }
  }
}

TEST(MasstreeMergeTest, random_operations_over_many_gleans_match_the_model) {
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u}) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    MasstreeTable table;
    for (unsigned glean = 0; glean < 25; ++glean) {
      const unsigned operations = glean % 5 == 4 ? 3 : 20 + random() % 600;
      run_random(&table, random, operations, seed % 2 == 0 ? 300 : 3000);
      table.glean_and_check();
      ASSERT_FALSE(::testing::Test::HasFailure()) << glean;
      EXPECT_EQ(table.seen->empty_pages, table.model.empty() ? 1u : 0u);
    }
  }
}

// The bytes are equal even if the stream does not mark the last record of a key.
TEST(MasstreeMergeTest, the_same_input_gives_the_same_bytes) {
  std::vector<std::string> files[3];
  for (auto& run : files) {
    std::mt19937_64 random(7);
    MasstreeTable table;
    for (unsigned glean = 0; glean < 6; ++glean) {
      table.stream->say_last_of_key(&run != &files[2]);
      run_random(&table, random, 500, 2000);
      table.glean_and_check();
      run.push_back(table.bytes_of_last());
    }
  }
  EXPECT_TRUE(files[0] == files[1]);
  EXPECT_TRUE(files[0] == files[2]);
}

// ---- reused pages

// A page has three rows, and a page of level 1 has 480 rows below it.
constexpr std::uint64_t kRows = 5000;
constexpr std::uint64_t kRowsOfLevel1 = 480;

void load(MasstreeTable* table, std::uint64_t rows = kRows) {
  for (std::uint64_t i = 0; i < rows; ++i) table->put(key_of(i), payload_of(1000, i));
  table->glean_and_check();
}

TEST(MasstreeMergeTest, without_records_the_root_is_the_same) {
  MasstreeTable table;
  load(&table);
  const page::SnapshotPageId root = table.root;
  table.glean_and_check();
  EXPECT_EQ(table.root, root);
  EXPECT_EQ(table.written, 0u);
  EXPECT_EQ(table.reads, 1u);  // the root, for its level
}

TEST(MasstreeMergeTest, one_record_reads_and_writes_one_path) {
  MasstreeTable table;
  load(&table);
  const auto before = table.seen->borders;
  ASSERT_EQ(table.seen->levels_max, 2u);
  table.put(key_of(1234), payload_of(1000, 7));
  table.glean_and_check();
  EXPECT_EQ(table.reads, 3u);
  EXPECT_EQ(table.written, 3u);
  const auto& after = table.seen->borders;
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t i = 0; i < after.size(); ++i) {
    EXPECT_EQ(after[i].id == before[i].id, i != 1234 / 3) << i;
    EXPECT_EQ(after[i].low, before[i].low);
  }
}

TEST(MasstreeMergeTest, untouched_layers_and_chains_are_not_read) {
  MasstreeTable table;
  for (char c = 'a'; c < 'e'; ++c) {
    for (std::uint64_t i = 0; i < 300; ++i) {
      table.put("prefix " + std::string(1, c) + key_of(i), payload_of(500, i));
    }
  }
  table.put("prefix f", payload_of(1 << 20, 1));
  table.put("prefix g", "1");
  table.glean_and_check();
  table.put("prefix g", "2");
  table.glean_and_check();
  EXPECT_EQ(table.reads, 1u);
  EXPECT_EQ(table.written, 1u);
  table.put("prefix b" + key_of(7), "2");
  table.glean_and_check();
  EXPECT_EQ(table.reads, 3u);  // including two of the layer
  EXPECT_EQ(table.written, 3u);
  table.write_at("prefix f", 5000, "x");
  table.glean_and_check();
  const std::uint32_t chain = page::OverflowPage::pages_of(1 << 20);
  EXPECT_EQ(table.reads, 1u + chain + 1);  // one to count superseded pages
  EXPECT_EQ(table.written, 1u + chain);
}

TEST(MasstreeMergeTest, runs_of_touched_pages_are_packed_again) {
  MasstreeTable table;
  load(&table);
  for (std::uint64_t i = 300; i < 900; i += 2) table.erase(key_of(i));
  table.glean_and_check();
  // The erasures touched 200 pages, and half of their rows are left.
  EXPECT_EQ(table.seen->border_pages, (kRows + 2) / 3 - 100);
  EXPECT_EQ(table.seen->empty_pages, 0u);
}

// Inserts come one at a time, everywhere: pages split as they would in memory.
TEST(MasstreeMergeTest, sparse_inserts_leave_pages_more_than_half_full) {
  MasstreeTable table;
  std::mt19937_64 random(11);
  for (unsigned i = 0; i < 10000; ++i) table.put(key_of(random()), payload_of(100, i));
  table.glean_and_check();
  for (unsigned glean = 0; glean < 100; ++glean) {
    for (unsigned i = 0; i < 100; ++i) table.put(key_of(random()), payload_of(100, i));
    table.glean_only();
  }
  table.glean_and_check();
  const std::uint64_t full = table.model.size() / 26;  // of 128 bytes, with 16 of directory
  EXPECT_LT(table.seen->border_pages, full * 5 / 3);
  EXPECT_LE(table.seen->interior_pages, table.seen->border_pages / 60);
}

// Goal: a page of level 1 with one child too many becomes two halves, not a full page and a nearly
// empty one. Method: one more row in the middle of a tree of full pages.
TEST(MasstreeMergeTest, a_full_page_above_records_is_split_into_halves) {
  MasstreeTable table;
  for (std::uint64_t i = 0; i < 10 * kRowsOfLevel1; ++i) {
    table.put(key_of(2 * i), payload_of(1000, i));
  }
  table.glean_and_check();
  ASSERT_EQ(table.seen->level_1_lows.size(), 10u);
  table.put(key_of(2 * (4 * kRowsOfLevel1 + 100) + 1), payload_of(1000, 1));
  table.glean_and_check();
  EXPECT_EQ(table.seen->border_pages, 10 * kRowsOfLevel1 / 3 + 1);
  const std::set<std::uint64_t>& lows = table.seen->level_1_lows;
  EXPECT_EQ(lows.size(), 11u);
  std::map<std::uint64_t, unsigned> children;  // by the first slice of a page of level 1
  for (const auto& border : table.seen->borders) ++children[*--lows.upper_bound(border.low)];
  for (const auto& [low, count] : children) EXPECT_GE(count, kRowsOfLevel1 / 3 / 2) << low;
}

// Goal: M5 when the last two pages share their keys. Method: each slice has a key with more bytes
// than the next one, so that the middle falls between the two. A reused page follows a page with
// one slice too many. The walk checks the places of keys.
TEST(MasstreeMergeTest, pages_that_share_keys_divide_no_slice) {
  for (std::size_t bytes = 60; bytes < 260; bytes += 20) {
    SCOPED_TRACE(bytes);
    MasstreeTable table;
    const auto put = [&](std::uint64_t number) {
      table.put(key_of(number), payload_of(bytes, number));
      table.put(key_of(number) + "longer", payload_of(bytes / 2, number));
    };
    for (std::uint64_t i = 0; i < 100; ++i) put(2 * i);
    table.glean_and_check();
    ASSERT_FALSE(HasFailure());
    const std::uint64_t border_pages = table.seen->border_pages;
    const unsigned keys = table.seen->borders[0].keys;
    put(1);
    table.glean_and_check();
    EXPECT_EQ(table.seen->border_pages, border_pages + 1);
    EXPECT_GE(table.seen->borders[1].keys, keys / 2 - 2) << "they share";
  }
}

// Goal: layers go along when the last two pages share their keys. Method: each slice has a row and
// a layer. The walk counts the layers of each page.
TEST(MasstreeMergeTest, pages_that_share_keys_share_layers) {
  MasstreeTable table;
  const auto put = [&](std::uint64_t number) {
    table.put(key_of(number), payload_of(100, number));
    table.put(key_of(number) + "one", payload_of(10, number));
    table.put(key_of(number) + "two", payload_of(20, number));
  };
  for (std::uint64_t i = 0; i < 100; ++i) put(2 * i);
  table.glean_and_check();
  ASSERT_FALSE(HasFailure());
  const unsigned keys = table.seen->borders[0].keys;
  put(1);
  table.glean_and_check();
  EXPECT_LT(table.seen->borders[0].keys, keys) << "they share";
}

// Goal: M5 when a new key comes before untouched keys of its slice. Method: keys of 7 and 8 bytes,
// then one of 6 for every other slice; payloads end a page at each of them.
TEST(MasstreeMergeTest, a_new_key_and_untouched_keys_of_its_slice_share_a_page) {
  for (std::size_t bytes = 20; bytes < 300; bytes += 12) {
    SCOPED_TRACE(bytes);
    MasstreeTable table;
    const auto key = [](std::uint64_t number, std::size_t length) {
      return key_of(number << 16).substr(0, length);
    };
    for (std::uint64_t i = 0; i < 100; ++i) {
      table.put(key(i, 7), payload_of(bytes, i));
      table.put(key(i, 8), payload_of(bytes / 2, i));
    }
    table.glean_and_check();
    for (std::uint64_t i = 0; i < 100; i += 2) table.put(key(i, 6), payload_of(bytes, i));
    table.glean_and_check();
    ASSERT_FALSE(HasFailure());
  }
}

// Goal: copied records are unchanged, layers and chains too, and full pages end where they did.
// Method: one record in a thousand of every kind is changed, in pages that the others fill.
TEST(MasstreeMergeTest, untouched_keys_of_touched_pages_are_as_they_were) {
  MasstreeTable table;
  for (std::uint64_t i = 0; i < 4000; ++i) {
    switch (i % 8) {
      case 0:
        table.put(key_of(i) + "one", payload_of(i % 90, i));
        table.put(key_of(i) + "two", payload_of(i % 90, i + 1));
        break;
      case 1: table.put(key_of(i) + "a remainder", payload_of(i % 300, i)); break;
      case 2: table.put(key_of(i), payload_of(i % 400 == 2 ? 9000 : 10, i)); break;
      default: table.put(key_of(i), payload_of(i % 120, i)); break;
    }
  }
  table.glean_and_check();
  const std::uint64_t border_pages = table.seen->border_pages;
  for (std::uint64_t i = 3; i < 4000; i += 40) table.put(key_of(i), payload_of(i % 120, i + 7));
  table.glean_and_check();
  EXPECT_EQ(table.seen->border_pages, border_pages);
}

// Goal: all keys of a page are copied together, whatever lies after its last slice. Method: the
// page has one slice, which is 0, as unused places have. A glean that copies nothing would write
// pages until its file is full.
TEST(MasstreeMergeTest, untouched_keys_of_slice_0_alone_are_copied) {
  MasstreeTable table;
  for (std::size_t zeroes = 0; zeroes <= 8; ++zeroes) {
    table.put(std::string(zeroes, '\0'), payload_of(10, zeroes));
  }
  table.glean_and_check();
  table.fail_append_after = 10;
  table.put("z", "1");
  table.glean_and_check();
  EXPECT_EQ(table.written, 1u);
}

// Rows come after those of one key prefix, before others: full pages stay full.
TEST(MasstreeMergeTest, ascending_inserts_leave_full_pages) {
  MasstreeTable table;
  constexpr std::uint64_t kDistrict = 1u << 20;
  for (std::uint64_t glean = 0; glean < 12; ++glean) {
    for (std::uint64_t district = 0; district < 6; ++district) {
      for (std::uint64_t i = 0; i < 500; ++i) {
        table.put(key_of(district * kDistrict + glean * 500 + i), payload_of(100, i));
      }
    }
    table.glean_only();
  }
  table.glean_and_check();
  const std::uint64_t full = table.model.size() / 26;
  EXPECT_LT(table.seen->border_pages, full * 107 / 100);
}

// ---- pages that vanish

TEST(MasstreeMergeTest, erase_everything) {
  MasstreeTable table;
  load(&table);
  for (std::uint64_t i = 0; i < kRows; ++i) table.erase(key_of(i));
  table.glean_and_check();
  EXPECT_EQ(table.written, 1u);
  EXPECT_EQ(table.seen->border_pages, 1u);
  EXPECT_EQ(table.seen->interior_pages, 0u);
  table.put("again", "there");
  table.glean_and_check();
  EXPECT_EQ(table.seen->border_pages, 1u);
}

void erase_and_check(std::uint64_t begin, std::uint64_t end) {
  SCOPED_TRACE(std::to_string(begin) + " .. " + std::to_string(end));
  MasstreeTable table;
  load(&table);
  const std::uint64_t pages_before = table.seen->border_pages;
  for (std::uint64_t i = begin; i < end; ++i) table.erase(key_of(i));
  table.glean_and_check();
  EXPECT_EQ(table.seen->empty_pages, 0u);
  EXPECT_LE(table.seen->border_pages, pages_before - (end - begin) / 3 + 1);
  // The reads are the path to the page, the touched pages, and at most one more page with its path.
  EXPECT_LE(table.reads, 1 + 2 + (end - begin) / 3 + (end - begin) / kRowsOfLevel1 + 2 + 3);
}

TEST(MasstreeMergeTest, emptied_pages_vanish) {
  erase_and_check(0, 3);                                    // the first page
  erase_and_check(600, 603);                                // one in the middle
  erase_and_check(600, 1200);                               // across pages of level 1
  erase_and_check(0, kRowsOfLevel1);                        // the first of level 1
  erase_and_check(kRowsOfLevel1, 2 * kRowsOfLevel1);        // the second
  erase_and_check(2 * kRowsOfLevel1 - 3, 2 * kRowsOfLevel1);  // the last page below one
  erase_and_check(kRows - 2, kRows);                        // the last page
  erase_and_check(kRows - 500, kRows);                      // more than the last of level 1
  erase_and_check(10 * kRowsOfLevel1, kRows);               // exactly the last of level 1
  erase_and_check(3, kRows);                                // all but the first page
  erase_and_check(0, kRows - 2);                            // all but the last page
}

TEST(MasstreeMergeTest, random_erasures_leave_no_empty_pages) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    std::mt19937_64 random(seed);
    MasstreeTable table;
    load(&table, 3000);
    for (unsigned glean = 0; glean < 6 && !table.model.empty(); ++glean) {
      for (unsigned run = 0; run < 3 && !table.model.empty(); ++run) {
        auto at = table.model.lower_bound(key_of(random() % 3000));
        for (std::uint64_t left = random() % 700; left != 0; --left) {
          if (at == table.model.end()) break;
          const std::string key = at->first;
          ++at;
          table.erase(key);
        }
      }
      table.glean_and_check();
      ASSERT_FALSE(::testing::Test::HasFailure()) << seed << " " << glean;
      EXPECT_EQ(table.seen->empty_pages, table.model.empty() ? 1u : 0u);
    }
  }
}

// Goal: G8. A first erasure may find no record, because the put before it was superseded. Method:
// such erasures, of keys beside others, and in present and absent layers.
TEST(MasstreeMergeTest, an_erasure_of_what_is_not_there_leaves_nothing) {
  MasstreeTable table;
  for (unsigned glean = 0; glean < 2; ++glean) {
    for (const char* key : {"a", "absent", "12345678", "12345678 absent", "12345678 absent, too"}) {
      table.log(log::LogRecordType::kErase, key, {});
    }
    table.log(log::LogRecordType::kErase, "again", {});
    table.put("again", "there");
    table.put("ab", payload_of(20, glean));
    table.put("12345678 one", payload_of(20, glean));
    table.put("12345678 two", payload_of(20, glean));
    table.glean_and_check();
    ASSERT_FALSE(HasFailure());
    EXPECT_EQ(table.seen->layers_max, 1u);
  }
}

// ---- layers that come and go

TEST(MasstreeMergeTest, a_layer_with_one_record_becomes_that_record) {
  MasstreeTable table;
  for (std::uint64_t i = 0; i < 500; ++i) table.put("12345678" + key_of(i) + "end", "x");
  table.put("12345678", "short");
  table.glean_and_check();
  EXPECT_EQ(table.seen->layers_max, 1u);
  for (std::uint64_t i = 0; i < 500; ++i) {
    if (i != 77) table.erase("12345678" + key_of(i) + "end");
  }
  table.glean_and_check();
  EXPECT_EQ(table.seen->layers_max, 0u);
  EXPECT_EQ(table.written, 1u);
  table.put("12345678" + key_of(77) + "end and more", "deeper");
  table.glean_and_check();
  EXPECT_EQ(table.seen->layers_max, 2u);
  table.erase("12345678" + key_of(77) + "end");
  table.erase("12345678" + key_of(77) + "end and more");
  table.glean_and_check();
  EXPECT_EQ(table.seen->layers_max, 0u);
  EXPECT_EQ(table.model.size(), 1u);
}

TEST(MasstreeMergeTest, the_last_page_of_a_layer_may_vanish) {
  MasstreeTable table;
  for (std::uint64_t i = 0; i < 600; ++i) {
    table.put("12345678" + key_of(i), payload_of(1000, i));
  }
  table.glean_and_check();
  for (std::uint64_t i = 450; i < 600; ++i) table.erase("12345678" + key_of(i));
  table.glean_and_check();
  EXPECT_EQ(table.seen->empty_pages, 0u);
  for (std::uint64_t i = 0; i < 450; ++i) table.erase("12345678" + key_of(i));
  table.put("1", "else");
  table.glean_and_check();
  EXPECT_EQ(table.seen->border_pages, 1u);
}

// A payload may be a chain only because its page is crowded: changing a part of it is allowed.
TEST(MasstreeMergeTest, parts_of_crowded_payloads_can_be_written) {
  MasstreeTable table;
  for (std::size_t zeroes = 0; zeroes <= 8; ++zeroes) {
    table.put(std::string(zeroes, '\0'), payload_of(1300, zeroes));
  }
  table.glean_and_check();
  ASSERT_GE(table.seen->crowded, 6u);
  for (std::size_t zeroes = 0; zeroes <= 8; ++zeroes) {
    table.write_at(std::string(zeroes, '\0'), 100, "changed");
    table.increment(std::string(zeroes, '\0'), 1292, 17);
  }
  table.glean_and_check();
}

}  // namespace
}  // namespace foedus::gleaner::masstree_merge_test
