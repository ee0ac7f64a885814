// The operations of transactions on a Master-Tree with a delta: the tree that gets a put, and reads
// of rows that the main tree has, the delta, or both.
// ctest-labels: memory

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/storage/masstree/delta/fixture.h"

namespace foedus::storage::masstree::delta_test {
namespace {

class DeltaTest : public MasstreeDeltaTest {
 protected:
  static std::string number(std::int64_t value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  // A row of each kind: in the main tree alone, in the delta alone, in both.
  struct Kinds {
    std::string main_only = key_of(100);
    std::string delta_only = key_between(100);
    std::string both = key_of(101);
  };
  Kinds put_kinds() {
    put_row(kinds_.delta_only, "delta");
    put_row(kinds_.both, "both");
    EXPECT_TRUE(is_in_delta(kinds_.delta_only) && is_in_delta(kinds_.both));
    EXPECT_FALSE(is_in_delta(kinds_.main_only));
    EXPECT_EQ(volatile_pages(), 0u);
    return kinds_;
  }
  std::vector<std::string> all_kinds() {
    const Kinds kinds = put_kinds();
    return {kinds.main_only, kinds.delta_only, kinds.both};
  }
  const Kinds kinds_;
};

// Goal: a put to a cold range reads no page and makes none volatile. Method: no page is cached;
// puts of present and of new rows, all over the keys.
TEST_F(DeltaTest, a_put_of_a_cold_row_reads_no_page) {
  load_and_open();
  forget_pages();
  const std::uint64_t reads = all_.pages().reads();
  for (unsigned i = 0; i < kRows; i += 10) {
    put_row(key_of(i), "put " + std::to_string(i));
    put_row(key_between(i), "new " + std::to_string(i));
  }
  EXPECT_EQ(all_.pages().reads(), reads);
  EXPECT_EQ(volatile_pages(), 0u);
  EXPECT_GT(delta_pages(), 1u);
  begin(1);
  EXPECT_EQ(get(1, key_of(10)), "put 10");
  expect_commit(1);
  EXPECT_EQ(all_.pages().reads(), reads) << "the delta's row needs no page";
  check_rows();
  expect_all_goes();
}

TEST_F(DeltaTest, an_insert_looks_at_both_trees) {
  load_and_open();
  const Kinds kinds = put_kinds();
  begin(0);
  for (const std::string& key : {kinds.main_only, kinds.delta_only, kinds.both}) {
    EXPECT_EQ(put(0, key, "x", WriteMode::kInsert).code(), ErrorCode::kAlreadyExists);
  }
  expect_commit(0);
  for (const std::string& key : {kinds.main_only, kinds.delta_only, kinds.both}) {
    erase_row(key);
    begin(0);
    EXPECT_TRUE(put(0, key, "inserted", WriteMode::kInsert).is_ok());
    EXPECT_EQ(put(0, key, "x", WriteMode::kInsert).code(), ErrorCode::kAlreadyExists);
    expect_commit(0);
    rows_[key] = "inserted";
  }
  check_rows();
  expect_all_goes();
}

TEST_F(DeltaTest, an_update_finds_rows_of_both_trees) {
  load_and_open();
  const Kinds kinds = put_kinds();
  begin(0);
  for (const std::string& key : {kinds.main_only, kinds.delta_only, kinds.both}) {
    EXPECT_TRUE(put(0, key, "updated", WriteMode::kUpdate).is_ok());
    rows_[key] = "updated";
  }
  EXPECT_EQ(put(0, key_between(300), "x", WriteMode::kUpdate).code(), ErrorCode::kNotFound);
  expect_commit(0);
  EXPECT_TRUE(is_in_delta(kinds.main_only)) << "a cold row is updated in the delta";
  EXPECT_EQ(volatile_pages(), 0u);
  heat(key_of(500));
  begin(0);
  EXPECT_TRUE(put(0, key_of(500), "updated", WriteMode::kUpdate).is_ok());
  expect_commit(0);
  rows_[key_of(500)] = "updated";
  EXPECT_FALSE(is_in_delta(key_of(500))) << "a volatile row is updated where it is";
  check_rows();
  expect_all_goes();
}

TEST_F(DeltaTest, parts_and_numbers_are_changed_where_the_row_is) {
  load_and_open();
  for (const std::string& key : all_kinds()) {
    put_row(key, number(40) + "tail");
    begin(0);
    EXPECT_TRUE(add(0, key, 2).is_ok());
    EXPECT_EQ(get(0, key), number(42) + "tail");
    EXPECT_TRUE(storage::write_at(ctx(0), control(), key, 8, "TA").is_ok());
    EXPECT_EQ(storage::write_at(ctx(0), control(), key, 8, "too long").code(),
              ErrorCode::kInvalidArgument);
    EXPECT_EQ(get(0, key), number(42) + "TAil");
    expect_commit(0);
    rows_[key] = number(42) + "TAil";
  }
  heat(key_of(200));
  const std::string missing = key_between(200);
  begin(0);
  EXPECT_EQ(write_part(0, missing, "x").code(), ErrorCode::kNotFound);
  EXPECT_EQ(add(0, missing, 1).code(), ErrorCode::kNotFound);
  EXPECT_EQ(lock(0, missing).status.code(), ErrorCode::kNotFound);
  expect_commit(0);
  check_rows();
  expect_all_goes();
}

TEST_F(DeltaTest, a_row_is_locked_where_it_is) {
  load_and_open();
  for (const std::string& key : all_kinds()) {
    begin(0);
    EXPECT_EQ(get(0, key_between(250)), std::nullopt);  // so that it has a page-version to update
    EXPECT_EQ(lock(0, key).payload, rows_.at(key));
    begin_impatient(1);
    ASSERT_TRUE(write_part(1, key, "X").is_ok());
    EXPECT_EQ(commit(1).code(), ErrorCode::kConflict);
    ASSERT_TRUE(put(0, key, "locked").is_ok());
    expect_commit(0);
    rows_[key] = "locked";
  }
  check_rows();
}

TEST_F(DeltaTest, an_erased_row_is_in_no_tree) {
  load_and_open();
  for (const std::string& key : all_kinds()) {
    begin(0);
    EXPECT_TRUE(erase(0, key).is_ok());
    EXPECT_EQ(get(0, key), std::nullopt);
    EXPECT_EQ(erase(0, key).code(), ErrorCode::kNotFound);
    expect_commit(0);
    rows_.erase(key);
    begin(0);
    EXPECT_EQ(get(0, key), std::nullopt);
    EXPECT_EQ(erase(0, key).code(), ErrorCode::kNotFound);
    EXPECT_EQ(put(0, key, "x", WriteMode::kUpdate).code(), ErrorCode::kNotFound);
    expect_commit(0);
  }
  check_rows();
  expect_all_goes();
}

TEST_F(DeltaTest, an_erasure_that_is_rolled_back_changes_nothing) {
  load_and_open();
  for (const std::string& key : all_kinds()) {
    begin(0);
    ASSERT_TRUE(erase(0, key).is_ok());
    all_.session(0).rollback();
  }
  check_rows();
  expect_all_goes();
}

TEST_F(DeltaTest, erased_put_and_erased_again_in_one_transaction) {
  load_and_open();
  std::vector<std::string> keys = all_kinds();
  keys.push_back(key_between(400));  // in none
  for (const bool is_kept : {false, true}) {
    begin(0);
    for (const std::string& key : keys) {
      if (rows_.contains(key)) {
        ASSERT_TRUE(erase(0, key).is_ok());
      }
      ASSERT_TRUE(put(0, key, "between").is_ok());
      ASSERT_EQ(get(0, key), "between");
      ASSERT_TRUE(erase(0, key).is_ok());
      ASSERT_EQ(get(0, key), std::nullopt);
      rows_.erase(key);
      if (!is_kept) continue;
      ASSERT_TRUE(put(0, key, "kept", WriteMode::kInsert).is_ok());
      rows_[key] = "kept";
    }
    expect_commit(0);
    check_rows();
    all_.glean();
    check_rows();
  }
  expect_all_goes();
}

// Goal: a failed erasure has no effect (storage/masstree/storage.h: a failed operation changes
// nothing visible). Method: the row is in both trees; the page of the main tree, which is to be
// made volatile, cannot be read; the transaction goes on and commits.
TEST_F(DeltaTest, an_erasure_that_cannot_read_its_page_erases_nothing) {
  load_and_open();
  const std::string key = key_of(100);
  put_row(key, "newer");
  forget_pages();
  all_.pages().fail_read_after(0);
  begin(0);
  EXPECT_EQ(erase(0, key).code(), ErrorCode::kIoError);
  all_.pages().read_well();
  if (!ctx(0).is_doomed()) {
    EXPECT_EQ(get(0, key), "newer") << "the older row is back";
    ASSERT_TRUE(put(0, key_of(1'500), "goes on").is_ok());
    rows_[key_of(1'500)] = "goes on";
    expect_commit(0);
  } else {
    all_.session(0).rollback();
  }
  check_rows();
  expect_all_goes();
}

// Goal: keys that share slices are found. Method: layers in the main tree, in the delta, and in
// both.
TEST_F(DeltaTest, long_keys_and_layers) {
  load_and_open(kRows, [](std::uint64_t i) { return deep_key(i); });
  for (unsigned i = 0; i < kRows; i += 7) put_row(deep_key(i), "put " + std::to_string(i));
  for (unsigned i = 0; i < 300; ++i) {
    put_row(deep_key(i) + "--longer--" + std::to_string(i % 3), std::to_string(i));
    put_row("zz same slices " + std::to_string(i / 2) + std::string(i % 9, '.'), "z");
  }
  EXPECT_EQ(volatile_pages(), 0u);
  EXPECT_GT(delta()->layers.load_relaxed(), 10u);
  check_rows();
  for (unsigned i = 0; i < kRows; i += 21) erase_row(deep_key(i));
  for (unsigned i = 0; i < 300; i += 5) {
    erase_row(deep_key(i) + "--longer--" + std::to_string(i % 3));
  }
  check_rows();
  expect_all_goes();
  EXPECT_EQ(delta()->layers.load_relaxed(), 0u);
}

TEST_F(DeltaTest, the_longest_keys) {
  const auto longest = [](std::uint64_t i) {
    return std::string(kMaxKeyBytes - 8, 'k') + key_of(i);
  };
  load_and_open(60, longest);
  for (unsigned i = 0; i < 60; i += 2) put_row(longest(i), "put");
  begin(0);
  MergedCursor cursor;
  cursor.open(ctx(0), control(), "", "", false);
  for (unsigned i = 0; i < 60; ++i) {
    ASSERT_TRUE(cursor.next().is_ok());
    ASSERT_FALSE(cursor.at_end());
    ASSERT_EQ(cursor.key(), longest(i));
    ASSERT_TRUE(put(0, longest(i), "seen").is_ok());
    rows_[longest(i)] = "seen";
  }
  ASSERT_TRUE(cursor.next().is_ok());
  EXPECT_TRUE(cursor.at_end());
  cursor.close();
  expect_commit(0);
  check_rows();
  expect_all_goes();
}

// Goal: payloads above the inline limit replace rows and are replaced by rows. Method: chains over
// a row in the delta, over a cold row, and for a new key; and small rows over them.
TEST_F(DeltaTest, chains_are_put_over_rows_and_give_way_to_rows) {
  load_and_open();
  std::vector<std::string> keys = all_kinds();
  keys.push_back(key_between(700));
  for (const std::string& key : keys) put_row(key, kChain + key);
  check_rows();
  begin(0);
  for (const std::string& key : keys) {
    ASSERT_TRUE(storage::write_at(ctx(0), control(), key, 8'000, "part").is_ok());
    rows_[key].replace(8'000, 4, "part");
    ASSERT_EQ(get(0, key), rows_[key]);
  }
  expect_commit(0);
  check_rows();
  all_.glean();
  check_rows();
  for (const std::string& key : keys) put_row(key, "small");
  check_rows();
  for (const std::string& key : keys) put_row(key, kChain);
  erase_row(keys[0]);
  erase_row(keys[1]);
  check_rows();
  expect_all_goes();
}

// Goal: layers in the delta are few (M51), and no row is lost when it takes no more of them.
// Method: more pairs of keys that make a layer than the limit.
TEST_F(DeltaTest, layers_of_the_delta_are_limited) {
  load_and_open();
  const std::uint64_t limit = all_.all().pool().bytes_max() / page::kPageBytes / 16;
  const auto pair_key = [](std::uint64_t i, char end) { return key_of(i * 16 + 5) + "pair" + end; };
  for (std::uint64_t i = 0; i < limit + 50; ++i) {
    put_row(pair_key(i, 'a'), "first");
    put_row(pair_key(i, 'b'), "second");
    if (i % 100 == 0) all_.all().pass_epochs();
  }
  EXPECT_EQ(delta()->layers.load_relaxed(), limit);
  EXPECT_FALSE(is_in_delta(pair_key(limit + 10, 'b')));
  EXPECT_GT(volatile_pages(), 0u);
  put_row(pair_key(3, 'c'), "into a layer that is there");
  EXPECT_TRUE(is_in_delta(pair_key(3, 'c')));
  check_rows();
  expect_all_goes();
  EXPECT_EQ(delta()->layers.load_relaxed(), 0u);
  put_row(pair_key(1, 'x'), "again");
  EXPECT_TRUE(is_in_delta(pair_key(1, 'x')));
}

// Goal: locks make no more layers in the delta than puts may (M51). Method: rows of snapshot pages
// that share their first slice in pairs are locked, more of them than the limit.
TEST_F(DeltaTest, locks_make_few_layers_in_the_delta) {
  const std::uint64_t limit = all_.all().pool().bytes_max() / page::kPageBytes / 16;
  const auto pair_key = [](std::uint64_t i) {
    return key_of(i / 2) + "pair" + static_cast<char>('a' + i % 2);
  };
  load_and_open(2 * static_cast<unsigned>(limit) + 200, pair_key);
  for (std::uint64_t i = 0; i < 2 * limit + 200; ++i) {
    begin(0);
    ASSERT_EQ(lock(0, pair_key(i)).payload, payload_of(i));
    expect_commit(0);
    if (i % 100 == 0) all_.all().pass_epochs();
  }
  EXPECT_LE(delta()->layers.load_relaxed(), limit);
  check_rows();
  expect_all_goes();
}

// Goal: puts do not use the delta while older transactions are open (M47). Method: a transaction
// that began without a delta puts to the main tree; one that began with the delta puts to either,
// before and after.
TEST_F(DeltaTest, a_delta_takes_no_puts_before_it_may) {
  load(kRows, key_of);
  for (unsigned i = 0; i < kRows; ++i) rows_[key_of(i)] = payload_of(i);
  all_.glean();
  begin(0);
  EXPECT_EQ(get(0, key_of(10)), payload_of(10));
  control()->cold_puts.store_relaxed(999);  // order: relaxed, a statistic
  EXPECT_FALSE(all_.install().has_new_delta);
  control()->cold_puts.store_relaxed(1'000);  // order: relaxed, a statistic
  EXPECT_FALSE(all_.install(0).has_new_delta);
  control()->cold_puts.store_relaxed(1'000);  // order: relaxed, a statistic
  EXPECT_TRUE(all_.install().has_new_delta);
  ASSERT_TRUE(put(0, key_of(11), "older").is_ok());
  EXPECT_EQ(get(0, key_of(11)), "older");
  begin(1);
  expect_commit(0);
  ASSERT_TRUE(put(1, key_of(1'012), "between").is_ok());
  control()->set_delta_takes_puts();
  ASSERT_TRUE(put(1, key_of(13), "in the delta").is_ok());
  ASSERT_TRUE(put(1, key_of(1'012), "again").is_ok());
  EXPECT_EQ(get(1, key_of(13)), "in the delta");
  EXPECT_EQ(get(1, key_of(1'012)), "again");
  expect_commit(1);
  rows_[key_of(11)] = "older";
  rows_[key_of(13)] = "in the delta";
  rows_[key_of(1'012)] = "again";
  EXPECT_FALSE(is_in_delta(key_of(11)));
  EXPECT_TRUE(is_in_delta(key_of(13)));
  check_rows();
  expect_all_goes();
}

}  // namespace
}  // namespace foedus::storage::masstree::delta_test
