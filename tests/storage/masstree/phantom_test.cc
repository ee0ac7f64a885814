// Page-versions: a transaction notices keys that others add to pages which it has searched, but its
// own changes and those of the tree are no conflict.
#include <optional>

#include "tests/storage/masstree/fixture.h"

namespace foedus::testing::phantom_test {
namespace {

using MasstreePhantomTest = MasstreeTest;

TEST_F(MasstreePhantomTest, an_insert_through_a_split_conflicts) {
  fill(0, 0, 640, 10);
  begin(0);
  EXPECT_EQ(scan(0, key_of(0), key_of(100)).size(), 10u);
  put(0, "zzz", "x");
  fill(1, 5, 640, 10);  // the page splits more than once
  expect_conflict(0, ConflictReason::kPageGained);
  verify();
}

TEST_F(MasstreePhantomTest, an_insert_into_a_twin_after_a_move_conflicts) {
  fill(0, 0, 300, 10);
  begin(0);
  EXPECT_EQ(get(0, key_of(5)), "not_found");
  put(0, "zzz", "x");
  begin(1);
  put(1, key_of(20), std::string(900, 'b'));  // moves the page, adds no key
  expect_commit(1);
  begin(1);
  insert(1, key_of(5), "x");
  expect_commit(1);
  expect_conflict(0, ConflictReason::kPageGained);
}

// The page has moved before it gains a key, so only its twins tell.
TEST_F(MasstreePhantomTest, an_insert_into_what_took_a_moved_pages_place_conflicts) {
  fill(0, 0, 300, 10);
  begin(0);
  EXPECT_EQ(get(0, key_of(5)), "not_found");
  ASSERT_EQ(ctx(0).sets().pages().entries().size(), 1u);
  const page::PageHeader* const missed_in = ctx(0).sets().pages().entries()[0].page;
  for (unsigned i = 0; i < 300 && !missed_in->load_version().is_moved(); i += 10) {
    begin(1);
    put(1, key_of(i), std::string(900, 'b'));
    expect_commit(1);
  }
  ASSERT_TRUE(missed_in->load_version().is_moved());
  EXPECT_TRUE(txn::verify(&ctx(0)).is_ok());
  begin(1);
  insert(1, key_of(5), "x");
  expect_commit(1);
  expect_conflict(0, ConflictReason::kPageGained);
}

TEST_F(MasstreePhantomTest, a_moved_page_that_gained_nothing_does_not_conflict) {
  fill(0, 0, 300, 10);
  begin(0);
  put(0, "zzz", "x");
  EXPECT_EQ(get(0, key_of(5)), "not_found");
  EXPECT_EQ(scan(0, key_of(100), key_of(200)).size(), 10u);
  EXPECT_EQ(get(0, key_of(30)), "x");
  for (const unsigned i : {20u, 40u, 210u, 250u}) {
    begin(1);
    put(1, key_of(i), std::string(900, 'b'));
    expect_commit(1);
  }
  expect_commit(0);
  verify();
}

TEST_F(MasstreePhantomTest, an_insert_into_a_layer_made_since_conflicts) {
  begin(0);
  put(0, "samesliceA", "a");
  expect_commit(0);
  begin(0);
  EXPECT_EQ(scan(0, "s", "t").size(), 1u);
  EXPECT_EQ(get(0, "samesliceB"), "not_found");
  put(0, "zzz", "x");
  begin(1);
  insert(1, "samesliceB", "b");
  expect_commit(1);
  expect_conflict(0, ConflictReason::kPageGained);
}

TEST_F(MasstreePhantomTest, a_layer_under_a_read_record_does_not_conflict) {
  begin(0);
  put(0, "samesliceA", "a");
  expect_commit(0);
  begin(0);
  EXPECT_EQ(get(0, "samesliceA"), "a");
  begin(2);
  put(2, "samesliceA", "c");
  begin(1);
  insert(1, "samesliceB", "b");
  expect_commit(1);
  put(0, "zzz", "x");
  expect_commit(0);
  expect_commit(2);
  begin(0);
  EXPECT_EQ(get(0, "samesliceA"), "c");
  EXPECT_EQ(get(0, "samesliceB"), "b");
  expect_commit(0);
  EXPECT_EQ(verify().layers, 1u);
}

// A deleted record becomes a layer, and is purged when the layer's root is replaced.
class MasstreePhantomInLayerTest : public MasstreeTest {
 protected:
  MasstreePhantomInLayerTest() {
    begin(0);
    put(0, "samesliceA", "a");
    put(0, "zzz", "x");
    expect_commit(0);
    begin(0);
    erase(0, "samesliceA");
    expect_commit(0);
    begin(0);
    put(0, "zzz", "y");
  }
  void replace_root() {
    begin(1);
    insert(1, "samesliceB", "b");
    expect_commit(1);
    begin(1);
    put(1, "samesliceB", std::string(900, 'b'));
    expect_commit(1);
  }
};

TEST_F(MasstreePhantomInLayerTest, another_key_in_a_replaced_layer_root_conflicts) {
  EXPECT_EQ(get(0, "samesliceC"), "not_found");
  replace_root();
  expect_conflict(0, ConflictReason::kPageGained);
}

// The state of the key in between is not known (C6).
TEST_F(MasstreePhantomInLayerTest,
       a_deleted_record_that_a_replaced_layer_root_left_behind_conflicts) {
  EXPECT_EQ(get(0, "samesliceA"), "not_found");
  replace_root();
  expect_conflict(0, ConflictReason::kRecordChanged);
}

// Goal: own inserts, with the splits and layers that they cause, update the transaction's
// page-versions.
TEST_F(MasstreePhantomTest, own_inserts_do_not_conflict_with_own_scans) {
  fill(0, 0, 640, 10);
  begin(0);
  put(0, "samesliceA", "a");
  expect_commit(0);
  begin(0);
  EXPECT_EQ(scan(0, "", "").size(), 65u);
  EXPECT_EQ(get(0, key_of(11)), "not_found");
  for (unsigned i = 1; i < 640; i += 3) put(0, key_of(i - i % 10 + 1 + i % 9), "own");
  insert(0, "samesliceB", "b");
  insert(0, "samesliceBsamesliceC", "c");
  EXPECT_GT(scan(0, "", "").size(), 200u);
  expect_commit(0);
  verify();
}

// Goal: Q1, where the mark of a page is its count of layers. Method: a transaction begins when the
// slot is marked as a layer and not counted yet; it misses another key in the page, and inserts
// into the layer before the session that has made it does.
TEST_F(MasstreePhantomTest,
       an_own_insert_into_a_layer_that_was_about_to_be_counted_does_not_conflict) {
  begin(0);
  put(0, "samesliceM", "before");
  expect_commit(0);
  begin(0);
  std::optional<AtSyncPoint> counted;
  const AtSyncPoint marked("masstree:layer_marked", [&] {
    for (int i = 0; i < 3; ++i) rig_.tick();
    begin(1);
    EXPECT_EQ(get(1, "absent"), "not_found");
    counted.emplace("masstree:place_searched", [&] {
      insert(1, "samesliceO", "own");
      expect_commit(1);
    });
  });
  insert(0, "samesliceN", "new");
  EXPECT_EQ(marked.runs(), 1u);
  ASSERT_TRUE(counted.has_value());
  EXPECT_EQ(counted->runs(), 1u);
  expect_commit(0);
  verify();
}

TEST_F(MasstreePhantomTest, own_inserts_into_a_page_that_others_moved_do_not_conflict) {
  fill(0, 0, 300, 10);
  begin(0);
  put(0, "samesliceA", "a");
  expect_commit(0);
  for (int round = 0; round < 2; ++round) {
    begin(0);
    EXPECT_EQ(scan(0, "", "").size(), 31u + 3 * round);
    begin(1);
    put(1, "samesliceA", std::string(300 + 300 * round, 'b'));
    put(1, key_of(20), std::string(300 + 300 * round, 'b'));
    expect_commit(1);
    if (round == 0) {
      rig_.session(0).rollback();  // it has read a changed row
      begin(0);
      EXPECT_EQ(get(0, key_of(1)), "not_found");
      begin(1);
      put(1, key_of(290), std::string(1300, 'b'));
      expect_commit(1);
    } else {
      rig_.session(0).rollback();
      begin(0);
      EXPECT_EQ(get(0, key_of(2)), "not_found");
    }
    insert(0, key_of(1 + round), "own");
    insert(0, key_of(299 - round), "own");
    insert(0, round == 0 ? "samesliceB" : "samesliceC", "own");
    expect_commit(0);
  }
  verify();
}

TEST_F(MasstreePhantomTest, a_split_by_another_and_own_inserts_on_both_sides_do_not_conflict) {
  fill(0, 0, 400, 10, std::string(50, 'x'));
  begin(0);
  EXPECT_EQ(get(0, key_of(1)), "not_found");
  begin(1);
  for (unsigned i = 0; i < 400; i += 40) put(1, key_of(i), std::string(300, 'b'));
  expect_commit(1);
  EXPECT_GT(verify().border_pages, 2u);
  for (unsigned i = 1; i < 400; i += 20) insert(0, key_of(i), "own");
  expect_commit(0);
  verify();
}

}  // namespace
}  // namespace foedus::testing::phantom_test
