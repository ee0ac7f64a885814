// A tree with a delta: of two changes to one key, the later one has the higher TID, whichever trees
// they were made in. The last tests are of scans whose transaction writes.

#include <gtest/gtest.h>

#include <string>

#include "tests/storage/masstree/delta/tree_fixture.h"

namespace foedus::storage::masstree::order_test {
namespace {

class DeltaOrderTest : public DeltaTreeTest {
 protected:
  // The first session has committed often in this epoch, the second one never.
  static constexpr unsigned kFirst = 0;
  static constexpr unsigned kSecond = 1;

  void load_and_open() {
    load(kRows, key_of);
    open_delta();
  }
  void raise_ordinal() {
    for (unsigned i = 0; i < 50; ++i) put_alone(kFirst, key_of(kRows - 1), std::to_string(i));
  }
  // Returns a key between the rows `i` and i + 1.
  static std::string key_between(std::uint64_t i, unsigned n) {
    std::string key(8, '\0');
    put_slice(i * 16 + n, key.data());
    return key;
  }
  // Returns whether the tree has a record of the key, deleted or not.
  bool has_record(occ::StorageControl* tree, std::string_view key) {
    return find_below(all_.all().pool(), {&tree->root, nullptr}, key).found();
  }
  // Checks the row after a new snapshot was installed while no page except the delta's is volatile.
  void expect_after_glean(const std::string& key, const std::optional<std::string>& payload) {
    EXPECT_EQ(get_alone(2, key), payload) << "before the glean";
    all_.glean();
    EXPECT_EQ(get_alone(2, key), payload) << "after the glean";
    all_.glean();
    EXPECT_EQ(get_alone(2, key), payload) << "after another glean";
  }
};

// Goal: a put into the delta is newer than an erasure of which the main tree keeps no record (P7).
// Method: one session erases a row of a volatile page. In the same epoch the page is reorganized
// and purges the record, and another session, of low TIDs, puts the row again.
TEST_F(DeltaOrderTest, a_put_is_newer_than_an_erasure_that_left_no_record_in_the_main_tree) {
  load_and_open();
  const std::string key = key_of(100);
  raise_ordinal();
  erase_alone(kFirst, key);
  ASSERT_TRUE(has_record(control(), key));
  for (unsigned n = 1; n < 16 && has_record(control(), key); ++n) {
    for (std::uint64_t i = 95; i < 105; ++i) {
      // The rows go to the main tree, until the page is full and is reorganized.
      begin(2);
      const std::string name = key_between(i, n);
      ASSERT_TRUE(
          one_tree::write_whole(ctx(2), control(), WriteMode::kPut, name, std::string(200, 'n'))
              .is_ok());
      expect_commit(2);
    }
  }
  ASSERT_FALSE(has_record(control(), key)) << "the page has not been reorganized";
  put_alone(kSecond, key, "put again");
  ASSERT_TRUE(is_in_delta(key));
  expect_after_glean(key, "put again");
}

// Goal: a chain in the main tree is newer than an erasure of which the delta keeps no record.
// Method: the row was in the delta alone, whose page is reorganized; the new row is a chain.
TEST_F(DeltaOrderTest, a_chain_is_newer_than_an_erasure_that_left_no_record_in_the_delta) {
  load_and_open();
  const std::string key = key_between(100, 15);
  put_alone(kFirst, key, "in the delta");
  ASSERT_TRUE(is_in_delta(key));
  raise_ordinal();
  erase_alone(kFirst, key);
  ASSERT_TRUE(has_record(delta(), key));
  for (unsigned n = 1; n < 15 && has_record(delta(), key); ++n) {
    for (std::uint64_t i = 80; i < 120; ++i) {
      put_alone(2, key_between(i, n), std::string(200, 'n'));
    }
  }
  ASSERT_FALSE(has_record(delta(), key)) << "the page has not been reorganized";
  const std::string chain(9'000, 'c');
  put_alone(kSecond, key, chain);
  expect_after_glean(key, chain);
}

// Goal: chains leave the delta, too (M50). Method: small rows that are in the delta become chains.
TEST_F(DeltaOrderTest, rows_that_have_become_chains_leave_the_delta) {
  load_and_open();
  constexpr unsigned kChains = 50;
  for (unsigned i = 0; i < kChains; ++i) put_alone(0, key_of(i * 10), "small");
  for (unsigned i = 0; i < kChains; ++i) put_alone(0, key_of(i * 10), std::string(9'000, 'c'));
  for (unsigned i = 0; i < 3; ++i) all_.glean();
  for (unsigned i = 0; i < kChains; ++i) {
    EXPECT_FALSE(is_in_delta(key_of(i * 10))) << i;
    EXPECT_EQ(get_alone(0, key_of(i * 10)), std::string(9'000, 'c')) << i;
  }
  EXPECT_LE(delta_pages(), 1u);
}

// Goal: a row that one transaction puts, erases, updates and puts again has its last value, with
// one TID for all changes. Method: keys that are in a snapshot only, in the delta only, in both and
// in none.
TEST_F(DeltaOrderTest, changes_of_one_transaction_are_replayed_in_their_order) {
  load_and_open();
  const std::string keys[] = {key_of(1'000), key_of(2'000), key_between(3'000, 3),
                              key_between(4'000, 4)};
  put_alone(0, keys[1], "in both");
  put_alone(0, keys[2], "in the delta");
  begin(0);
  for (const std::string& key : keys) {
    ASSERT_TRUE(put(0, key, "one").is_ok());
    ASSERT_TRUE(erase(0, key).is_ok());
    ASSERT_EQ(get(0, key), std::nullopt);
    ASSERT_EQ(put(0, key, "none", WriteMode::kUpdate).code(), ErrorCode::kNotFound);
    ASSERT_TRUE(put(0, key, "two", WriteMode::kInsert).is_ok());
    ASSERT_EQ(put(0, key, "none", WriteMode::kInsert).code(), ErrorCode::kAlreadyExists);
    ASSERT_TRUE(erase(0, key).is_ok());
    ASSERT_TRUE(put(0, key, std::string(9'000, 'c')).is_ok());
    ASSERT_TRUE(put(0, key, "12345678", WriteMode::kUpdate).is_ok());
    ASSERT_TRUE(write_at(ctx(0), control(), key, 0, "X").is_ok());
    ASSERT_TRUE(increment(ctx(0), control(), key, 0, 1).is_ok());
    ASSERT_EQ(get(0, key), "Y2345678");
  }
  expect_commit(0);
  begin(0);
  for (const std::string& key : {keys[0], keys[2]}) {
    ASSERT_TRUE(put(0, key, "gone").is_ok());
    ASSERT_TRUE(erase(0, key).is_ok());
  }
  expect_commit(0);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(get_alone(0, keys[0]), std::nullopt);
    EXPECT_EQ(get_alone(0, keys[1]), "Y2345678");
    EXPECT_EQ(get_alone(0, keys[2]), std::nullopt);
    EXPECT_EQ(get_alone(0, keys[3]), "Y2345678");
    all_.glean();
  }
}

// Goal: the erasure of a row that is in both trees can be gleaned (M49). Method: the older row is
// on a snapshot page, or on a volatile one; there are no other writes.
TEST_F(DeltaOrderTest, an_erasure_of_a_row_of_both_trees_can_be_gleaned) {
  load_and_open();
  put_alone(0, key_of(100), "newer, over a snapshot page");
  begin(0);
  ASSERT_TRUE(
      one_tree::write_whole(ctx(0), control(), WriteMode::kPut, key_of(200), "old").is_ok());
  expect_commit(0);
  put_alone(0, key_of(200), "newer, over a volatile page");
  ASSERT_TRUE(is_in_delta(key_of(100)) && is_in_delta(key_of(200)));
  erase_alone(0, key_of(100));
  erase_alone(0, key_of(200));
  expect_after_glean(key_of(100), std::nullopt);
  expect_after_glean(key_of(200), std::nullopt);
}

// Goal: a scan at its end stays there, whatever its transaction writes then.
TEST_F(DeltaOrderTest, a_scan_at_its_end_stays_there_after_a_write) {
  load_and_open();
  for (const bool reverse : {false, true}) {
    put_alone(0, key_of(20), "in the delta");
    begin(0);
    MergedCursor cursor;
    cursor.open(ctx(0), control(), key_of(10), key_of(30), reverse);
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(cursor.next().is_ok());
      ASSERT_FALSE(cursor.at_end()) << i;
    }
    ASSERT_TRUE(cursor.next().is_ok());
    ASSERT_TRUE(cursor.at_end());
    ASSERT_TRUE(put(0, key_of(15), "written").is_ok());
    ASSERT_TRUE(cursor.next().is_ok());
    EXPECT_TRUE(cursor.at_end()) << "the scan began again";
    cursor.close();
    expect_commit(0);
  }
}

// Goal: the empty key is a key as any other. Method: it is the last row of a scan in reverse, which
// goes on after a write.
TEST_F(DeltaOrderTest, a_scan_in_reverse_ends_at_the_empty_key) {
  load_and_open();
  for (const bool in_delta : {false, true}) {
    if (in_delta) {
      put_alone(0, "", "empty");
    } else {
      put_alone(0, "", std::string(9'000, 'e'));
    }
    begin(0);
    MergedCursor cursor;
    cursor.open(ctx(0), control(), "", key_of(5), true);
    for (int i = 0; i < 6; ++i) ASSERT_TRUE(cursor.next().is_ok());
    ASSERT_FALSE(cursor.at_end());
    ASSERT_EQ(cursor.key(), "");
    ASSERT_TRUE(put(0, key_of(2), "written").is_ok());
    ASSERT_TRUE(cursor.next().is_ok());
    EXPECT_TRUE(cursor.at_end()) << "the scan began again";
    cursor.close();
    expect_commit(0);
    erase_alone(0, "");
  }
}

}  // namespace
}  // namespace foedus::storage::masstree::order_test
