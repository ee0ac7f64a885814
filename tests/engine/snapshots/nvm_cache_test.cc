// PageOptions::nvm_cache: pages of snapshots on non-volatile memory that DRAM keeps in part.
// Transactions see the same rows as with whole pages, fewer lines are loaded, and unverified bytes
// do no harm.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "foedus-core/page/page_header.h"
#include "tests/engine/storages_of_each_kind.h"
#include "tests/testing/test_database.h"

namespace foedus::nvm_cache_test {
namespace {

using testing::must;
using testing::Storages;
using testing::TestDatabase;

constexpr std::uint64_t kRows = Storages::kRows;

Options options_of(NvmCache cache) {
  Options options = testing::small_options("");
  options.files.device = DeviceKind::kEmulated;
  options.emulation.nvm_latency_ns = 0;
  options.pages.nvm_cache = cache;
  options.pages.volatile_percent = 0;  // all pages are dropped after a glean
  return options;
}

class NvmCacheTest : public ::testing::TestWithParam<NvmCache> {};

// Goal: rows of all sizes and kinds, present and missing, in the snapshot, above it, and after a
// restart, are the same however their pages are kept.
TEST_P(NvmCacheTest, rows_are_what_they_are_with_whole_pages) {
  TestDatabase db(options_of(GetParam()));
  EXPECT_EQ(db->effective_options().options.pages.nvm_cache, GetParam());
  {
    Storages storages(&*db);
    storages.write('a', 0, kRows);
    must(db->glean());
    storages.expect('a', 0, kRows);
    storages.expect('a', 0, kRows);
    EXPECT_EQ(storages.scanned(false), 2 * kRows - kRows / 200);
    storages.write('b', 100, 700);
    storages.expect('b', 100, 700);
    must(db->glean());
    storages.expect('a', 0, 100);
    storages.expect('b', 100, 700);
  }
  ASSERT_NO_FATAL_FAILURE(db.reopen());
  Storages storages(&*db);
  storages.expect('b', 100, 700);
  storages.expect('a', 700, kRows);
  EXPECT_EQ(storages.scanned(true), 2 * kRows - kRows / 200);
  storages.write('c', 0, 100);
  storages.expect('c', 0, 100);
}

// Returns keys of all lengths: some end in a slice, some have a remainder, and some share slices,
// so that there are layers. Each present key has an absent neighbour.
std::string long_key(std::uint64_t row) {
  const std::string number = std::to_string(row);
  if (row % 3 == 0) return number;
  if (row % 3 == 1) return "a key with a long beginning, the same for many of them " + number;
  return number + " and what is behind it";
}

// Returns the row, or an empty string if there is none.
std::string found_by(Result<std::string> got) {
  if (got.is_ok()) return std::move(got).value();
  EXPECT_EQ(got.code(), ErrorCode::kNotFound) << got.status().message();
  return "";
}

TEST_P(NvmCacheTest, keys_of_any_length_are_found_and_missed) {
  TestDatabase db(options_of(GetParam()));
  Masstree tree = must(db->open_masstree("tree"));
  Hash hash = must(db->open_hash("hash"));
  for (std::uint64_t row = 0; row < kRows; row += 2) {
    must(db->transact([&](Txn& txn) -> Status {
      FOEDUS_CHECK(txn.put(tree, long_key(row), std::to_string(row)));
      return txn.put(hash, long_key(row), std::to_string(row));
    }));
  }
  must(db->glean());
  const auto look = [&](Txn& txn) -> Status {
    for (std::uint64_t row = 0; row < kRows; ++row) {
      const std::string there = row % 2 == 0 ? std::to_string(row) : "";
      EXPECT_EQ(found_by(txn.get(tree, long_key(row))), there) << row;
      EXPECT_EQ(found_by(txn.get(hash, long_key(row))), there) << row;
      // A part that would lie beyond the page is the caller's error, and no damage.
      const auto refusal = row % 2 == 0 ? ErrorCode::kInvalidArgument : ErrorCode::kNotFound;
      std::byte part[1];
      EXPECT_EQ(txn.read_at(tree, long_key(row), 4'096, part).code(), refusal) << row;
    }
    return {};
  };
  must(db->transact(look));
  must(db->snapshot(look));
  ASSERT_NO_FATAL_FAILURE(db.reopen());  // installers have read roots of layers whole
  tree = must(db->open_masstree("tree"));
  hash = must(db->open_hash("hash"));
  must(db->transact(look));
  must(db->snapshot(look));
}

// The root of a tree has all slices, and so has that of a layer with one key.
TEST_P(NvmCacheTest, a_row_that_is_alone_is_found) {
  TestDatabase db(options_of(GetParam()));
  const std::string rows[] = {"x", "a key of more than one slice, which has layers"};
  for (const std::string& row : rows) {
    const Masstree tree = must(db->open_masstree(row.substr(0, 1)));
    must(db->transact([&](Txn& txn) { return txn.put(tree, row, row); }));
    must(db->transact([&](Txn& txn) { return txn.put(tree, row + " and another", row); }));
  }
  must(db->glean());
  ASSERT_NO_FATAL_FAILURE(db.reopen());
  for (const std::string& row : rows) {
    const Masstree tree = must(db->open_masstree(row.substr(0, 1)));
    must(db->transact([&](Txn& txn) -> Status {
      EXPECT_EQ(found_by(txn.get(tree, row)), row);
      EXPECT_EQ(found_by(txn.get(tree, row + " and another")), row);
      EXPECT_EQ(found_by(txn.get(tree, row + "?")), "");
      EXPECT_EQ(found_by(txn.get(tree, "z")), "");
      return {};
    }));
  }
}

TEST(NvmCacheAutoTest, lines_are_for_memory_that_is_fast) {
  for (const std::uint64_t latency : {1'000, 1'001}) {
    Options options = options_of(NvmCache::kAuto);
    options.emulation.nvm_latency_ns = latency;
    TestDatabase db(options);
    EXPECT_EQ(db->effective_options().options.pages.nvm_cache,
              latency == 1'000 ? NvmCache::kAuto : NvmCache::kPages);
  }
}

// Goal: pages are loaded whole while there is memory for them, and by lines when there is none.
TEST(NvmCacheAutoTest, lines_are_for_what_memory_has_no_room_for) {
  Options options = options_of(NvmCache::kAuto);
  options.memory_bytes = 64u << 20;
  options.pages.cache_bytes = 1u << 20;
  TestDatabase db(options);
  constexpr std::uint64_t kMany = 6'000;
  const Masstree tree = must(db->open_masstree("tree"));
  for (std::uint64_t row = 0; row < kMany; ++row) {
    must(db->transact([&](Txn& txn) { return txn.put(tree, key(row), std::string(1'000, 'r')); }));
  }
  must(db->glean());
  const auto read = [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t row = begin; row < end; ++row) {
      must(db->transact([&](Txn& txn) -> Status {
        std::byte field[100];
        return txn.read_at(tree, key(row), 500, field);
      }));
    }
  };
  read(0, 100);
  EXPECT_EQ(db->stats().cache_lines_loaded, 0u);
  read(100, kMany);
  EXPECT_GT(db->stats().cache_lines_loaded, 0u);
}

INSTANTIATE_TEST_SUITE_P(Each, NvmCacheTest,
                         ::testing::Values(NvmCache::kMiniPages, NvmCache::kLines, NvmCache::kPages,
                                           NvmCache::kHybrid, NvmCache::kDirect));

// Returns how many lines `reads` reads of rows of the tree load.
std::uint64_t lines_loaded(Database* db, std::uint64_t reads, std::uint64_t spread) {
  const Masstree tree = must(db->open_masstree("tree"));
  const std::uint64_t before = db->stats().nvm.lines_read;
  for (std::uint64_t i = 0; i < reads; ++i) {
    must(db->transact([&](Txn& txn) { return txn.get(tree, key(i * spread % kRows)).status(); }));
  }
  return db->stats().nvm.lines_read - before;
}

TEST(NvmCacheLinesTest, a_read_of_a_row_loads_a_few_lines_of_its_page) {
  std::uint64_t loaded[2];
  for (const NvmCache cache : {NvmCache::kMiniPages, NvmCache::kPages}) {
    TestDatabase db(options_of(cache));
    Storages(&*db).write('a', 0, kRows);
    must(db->glean());
    ASSERT_NO_FATAL_FAILURE(db.reopen());
    lines_loaded(&*db, 1, 1);  // the pages above it
    loaded[cache == NvmCache::kPages] = lines_loaded(&*db, 40, kRows / 40);
  }
  EXPECT_LT(loaded[0], 40 * 12u);
  EXPECT_GE(loaded[1], 40 * 48u);
}

TEST(NvmCacheLinesTest, what_was_loaded_is_not_loaded_again) {
  TestDatabase db(options_of(NvmCache::kLines));
  Storages(&*db).write('a', 0, kRows);
  must(db->glean());
  EXPECT_GT(lines_loaded(&*db, 100, 29), 0u);
  lines_loaded(&*db, 100, 29);  // the guessed lines may differ now
  EXPECT_EQ(lines_loaded(&*db, 100, 29), 0u);
  EXPECT_GT(db->stats().cache_lines_loaded, 0u);
  EXPECT_EQ(db->stats().cache_pages_outgrown, 0u);
}

TEST(NvmCacheLinesTest, a_page_of_which_all_rows_are_read_becomes_a_whole_one) {
  TestDatabase db(options_of(NvmCache::kMiniPages));
  Storages(&*db).write('a', 0, kRows);
  must(db->glean());
  lines_loaded(&*db, kRows, 1);
  EXPECT_GT(db->stats().cache_pages_outgrown, kRows / 100);
  lines_loaded(&*db, kRows, 1);
  EXPECT_EQ(lines_loaded(&*db, kRows, 1), 0u);
}

TEST(NvmCacheLinesTest, files_that_are_no_memory_are_read_by_pages) {
  for (const NvmCache cache : {NvmCache::kMiniPages, NvmCache::kHybrid, NvmCache::kDirect}) {
    Options options = options_of(cache);
    options.files.device = DeviceKind::kFile;
    TestDatabase db(options);
    EXPECT_EQ(db->effective_options().options.pages.nvm_cache, NvmCache::kPages);
  }
}

TEST(NvmCacheLinesTest, a_way_that_there_is_not_is_refused) {
  for (const int cache : {6, 7, 255}) {
    Options options = options_of(static_cast<NvmCache>(cache));
    options.dir = "/tmp/foedus-never-made";
    EXPECT_EQ(Database::open(options).code(), ErrorCode::kInvalidArgument) << cache;
  }
}

// Overwrites random bytes of all snapshot files.
void damage(const std::string& dir, std::mt19937_64* random) {
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("snapshot-", 0) != 0) continue;
    const std::uint64_t bytes = std::filesystem::file_size(entry.path());
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    for (std::uint64_t at = 4096; at < bytes; at += 1 + (*random)() % 512) {
      file.seekp(static_cast<std::streamoff>(at));
      file.put(static_cast<char>((*random)()));
    }
  }
}

// Goal: damaged memory that no checksum has covered causes no crash and no endless loop. Method:
// random bytes of the files are overwritten; each read of a row returns a row, none, or an error
// that names the damage.
void expect_no_way_out_of_damaged_lines(NvmCache cache, bool is_reopened) {
  const std::uint64_t seed = std::random_device{}();
  std::mt19937_64 random(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  TestDatabase db(options_of(cache));
  Masstree tree = must(db->open_masstree("tree"));
  Hash hash = must(db->open_hash("hash"));
  Array array = must(db->open_array("array", kRows, 8));
  for (std::uint64_t row = 0; row < kRows; ++row) {
    must(db->transact([&](Txn& txn) -> Status {
      FOEDUS_CHECK(txn.put(tree, long_key(row), std::string(row % 300, 'x')));
      FOEDUS_CHECK(txn.put(hash, long_key(row), std::string(row % 300, 'x')));
      return txn.put(array, row, std::string(8, 'x'));
    }));
  }
  must(db->glean());
  // The pages above the rows are in the cache, whole and checked.
  must(db->transact([&](Txn& txn) -> Status {
    for (std::uint64_t row = 0; row < kRows; row += 10) {
      EXPECT_TRUE(txn.get(tree, long_key(row)).is_ok());
      EXPECT_TRUE(txn.get(hash, long_key(row)).is_ok());
    }
    return {};
  }));
  if (is_reopened) {
    ASSERT_NO_FATAL_FAILURE(db.reopen());
    tree = must(db->open_masstree("tree"));
    hash = must(db->open_hash("hash"));
    array = must(db->open_array("array", kRows, 8));
  }
  damage(db.options().dir, &random);
  std::uint64_t damaged = 0;
  const auto note = [&](const Status& status) {
    const bool is_known = status.is_ok() || status.code() == ErrorCode::kNotFound ||
                          status.code() == ErrorCode::kCorruption;
    EXPECT_TRUE(is_known) << status.message();
    damaged += status.code() == ErrorCode::kCorruption ? 1 : 0;
  };
  for (std::uint64_t row = 0; row < kRows; ++row) {
    must(db->snapshot([&](Txn& txn) -> Status {
      note(txn.get(tree, long_key(row)).status());
      note(txn.get(hash, long_key(row)).status());
      std::string of_array(8, ' ');
      note(txn.get(array, row, std::as_writable_bytes(std::span(of_array))));
      return {};
    }));
  }
  EXPECT_GT(damaged, 0u);
}

TEST(NvmCacheLinesTest, damaged_lines_lead_nowhere) {
  expect_no_way_out_of_damaged_lines(NvmCache::kMiniPages, false);
}
TEST(NvmCacheLinesTest, nor_where_nothing_is_in_the_cache) {
  expect_no_way_out_of_damaged_lines(NvmCache::kMiniPages, true);
}
TEST(NvmCacheInPlaceTest, damaged_lines_of_rows_lead_nowhere) {
  expect_no_way_out_of_damaged_lines(NvmCache::kHybrid, false);
}
TEST(NvmCacheInPlaceTest, damaged_lines_above_the_rows_lead_nowhere) {
  for (int round = 0; round < 10; ++round) {
    expect_no_way_out_of_damaged_lines(NvmCache::kDirect, true);
  }
}

TEST(NvmCacheLinesTest, a_row_of_more_lines_than_a_mini_page_is_read_whole) {
  TestDatabase db(options_of(NvmCache::kMiniPages));
  const Array array = must(db->open_array("array", 100, 2'000));
  const Masstree tree = must(db->open_masstree("tree"));
  const std::string row(2'000, 'r');
  for (std::uint64_t i = 0; i < 100; ++i) {
    must(db->transact([&](Txn& txn) -> Status {
      FOEDUS_CHECK(txn.put(tree, key(i), row));
      return txn.put(array, i, row);
    }));
  }
  must(db->glean());
  ASSERT_NO_FATAL_FAILURE(db.reopen());
  const Array opened = must(db->open_array("array", 100, 2'000));
  const Masstree opened_tree = must(db->open_masstree("tree"));
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t i = 0; i < 100; ++i) {
      must(db->transact([&](Txn& txn) -> Status {
        std::string out(2'000, ' ');
        FOEDUS_CHECK(txn.get(opened, i, std::as_writable_bytes(std::span(out))));
        EXPECT_EQ(out, row);
        EXPECT_EQ(found_by(txn.get(opened_tree, key(i))), row);
        return {};
      }));
    }
  }
  EXPECT_LE(db->stats().cache_pages_outgrown, 100u);
}

// Lines that a read of a row reads, by storage.
struct LinesOfRead {
  std::uint64_t of_tree;
  std::uint64_t of_hash;
  std::uint64_t of_array;
};

// Returns the fewest lines of several reads, because the engine's tasks read files meanwhile.
LinesOfRead lines_of_read(Database* db, std::uint64_t row) {
  const Masstree tree = must(db->open_masstree("tree"));
  const Hash hash = must(db->open_hash("hash"));
  const Array array = must(db->open_array("array", kRows, 8));
  const auto count = [&](auto&& read) {
    std::uint64_t fewest = ~std::uint64_t{0};
    for (int i = 0; i < 5; ++i) {
      const std::uint64_t before = db->stats().nvm.lines_read;
      must(db->transact(read));
      fewest = std::min(fewest, db->stats().nvm.lines_read - before);
    }
    return fewest;
  };
  return {
      .of_tree = count([&](Txn& txn) { return txn.get(tree, key(row)).status(); }),
      .of_hash = count([&](Txn& txn) { return txn.get(hash, key(row)).status(); }),
      .of_array = count([&](Txn& txn) {
        std::byte out[8];
        return txn.get(array, row, out);
      }),
  };
}

// Makes a database whose rows are all in a snapshot, and opens it again.
void fill(TestDatabase* db) {
  Storages(&**db).write('a', 0, kRows);
  must((*db)->glean());
  ASSERT_NO_FATAL_FAILURE(db->reopen());
}

// Goal: no page is kept, not even above the rows, and few lines are read of each page. Method: each
// of several reads of one row reads some lines.
TEST(NvmCacheInPlaceTest, a_direct_read_reads_a_few_lines_each_time) {
  TestDatabase db(options_of(NvmCache::kDirect));
  ASSERT_NO_FATAL_FAILURE(fill(&db));
  const std::uint64_t cache_bytes = db->stats().cache_bytes;
  for (std::uint64_t row = 1; row < kRows; row += kRows / 40) {
    const LinesOfRead lines = lines_of_read(&*db, row);
    EXPECT_GE(lines.of_tree, 4u + 3 + 2) << row << ": two levels";
    EXPECT_GE(lines.of_hash, 4u + 4) << row;
    EXPECT_GE(lines.of_array, 2u + 2) << row;
    for (const std::uint64_t read : {lines.of_tree, lines.of_hash, lines.of_array}) {
      EXPECT_LE(read, 30u) << row << ": a page has 64";
    }
  }
  EXPECT_EQ(db->stats().cache_bytes, cache_bytes);
  EXPECT_EQ(db->stats().cache_misses, 0u);
  EXPECT_EQ(db->stats().cache_lines_loaded, 0u);
}

// Goal: pages above the rows are read once, whole; of pages with rows a few lines are read each
// time.
TEST(NvmCacheInPlaceTest, a_hybrid_read_reads_a_few_lines_of_the_page_of_the_row) {
  TestDatabase db(options_of(NvmCache::kHybrid));
  ASSERT_NO_FATAL_FAILURE(fill(&db));
  constexpr std::uint64_t kApart = kRows / 40;
  for (std::uint64_t row = 1; row < kRows; row += kApart) lines_of_read(&*db, row);
  const std::uint64_t misses = db->stats().cache_misses;
  EXPECT_GT(misses, 0u);
  for (std::uint64_t row = 1; row < kRows; row += kApart) {
    const LinesOfRead lines = lines_of_read(&*db, row);
    for (const std::uint64_t read : {lines.of_tree, lines.of_hash, lines.of_array}) {
      EXPECT_GE(read, 2u) << row;
      EXPECT_LE(read, 12u) << row;
    }
  }
  EXPECT_EQ(db->stats().cache_misses, misses);
  EXPECT_LT(misses, 16u) << "fewer than there are pages of rows";
}

// Goal: a search of a partly loaded interior page does not trust the count of its keys. Method: all
// such pages of the tree claim more keys than a page can hold.
TEST(NvmCacheInPlaceTest, more_keys_than_a_page_has_room_for_are_refused) {
  TestDatabase db(options_of(NvmCache::kDirect));
  ASSERT_NO_FATAL_FAILURE(fill(&db));
  std::uint64_t damaged = 0;
  for (const auto& entry : std::filesystem::directory_iterator(db.options().dir)) {
    if (entry.path().filename().string().rfind("snapshot-", 0) != 0) continue;
    const std::uint64_t bytes = std::filesystem::file_size(entry.path());
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    for (std::uint64_t at = page::kPageBytes; at < bytes; at += page::kPageBytes) {
      file.seekg(static_cast<std::streamoff>(at + offsetof(page::PageHeader, kind)));
      if (file.get() != static_cast<int>(page::PageKind::kMasstreeInterior)) continue;
      const page::PageVersion version(0xffff, 0);
      const std::uint64_t word = version.word();
      file.seekp(static_cast<std::streamoff>(at + offsetof(page::PageHeader, version)));
      file.write(reinterpret_cast<const char*>(&word), sizeof(word));
      ++damaged;
    }
  }
  ASSERT_GT(damaged, 0u);
  const Masstree tree = must(db->open_masstree("tree"));
  must(db->snapshot([&](Txn& txn) -> Status {
    for (std::uint64_t row = 0; row < kRows; row += 100) {
      const Status status = txn.get(tree, key(row)).status();
      EXPECT_EQ(status.code(), ErrorCode::kCorruption) << row;
      EXPECT_NE(std::string(status.message()).find("is not the page"), std::string::npos)
          << status.message();
    }
    return {};
  }));
}

// Goal: reads of rows do not use pages of rows that a scan or a write has put into the cache.
TEST(NvmCacheInPlaceTest, reads_of_rows_pass_by_whole_pages_of_them) {
  for (const NvmCache cache : {NvmCache::kHybrid, NvmCache::kDirect}) {
    TestDatabase db(options_of(cache));
    ASSERT_NO_FATAL_FAILURE(fill(&db));
    Storages storages(&*db);
    for (int round = 0; round < 2; ++round) {
      EXPECT_EQ(storages.scanned(false), 2 * kRows - kRows / 200);
      EXPECT_EQ(storages.scanned(true), 2 * kRows - kRows / 200);
    }
    for (std::uint64_t row = 1; row < kRows; row += kRows / 40) {
      EXPECT_GE(lines_of_read(&*db, row).of_tree, 2u) << row;
    }
  }
}

// Goal: announced rows are found as others are.
TEST(NvmCacheInPlaceTest, reads_ahead_are_of_no_harm) {
  for (const NvmCache cache : {NvmCache::kHybrid, NvmCache::kDirect}) {
    TestDatabase db(options_of(cache));
    ASSERT_NO_FATAL_FAILURE(fill(&db));
    const Masstree tree = must(db->open_masstree("tree"));
    const Hash hash = must(db->open_hash("hash"));
    const Array array = must(db->open_array("array", kRows, 8));
    for (int round = 0; round < 2; ++round) {
      must(db->transact([&](Txn& txn) -> Status {
        for (std::uint64_t row = 0; row < kRows; row += 17) {
          txn.prefetch(tree, key(row));
          txn.prefetch(hash, key(row));
          txn.prefetch(array, row);
        }
        return {};
      }));
      Storages(&*db).expect('a', 0, kRows);
    }
  }
}

}  // namespace
}  // namespace foedus::nvm_cache_test
