// Erased records are purged when their pages move (M11): the note of them in the new pages, and the
// records that have to move along.
#include "tests/storage/masstree/fixture.h"

namespace foedus::testing::purge_test {
namespace {

constexpr unsigned kStep = 10;
const std::string kPayload(100, 'x');

class MasstreePurgeTest : public MasstreeTest {
 protected:
  // Erases a row under a TID far above all others, and returns that.
  page::Tid erase_late(unsigned session, const std::string& key) {
    for (int i = 0; i < 300; ++i) {  // ordinals grow within the epoch
      begin(session);
      put(session, key, "again");
      expect_commit(session);
    }
    begin(session);
    erase(session, key);
    expect_commit(session);
    return find(key).record()->load_tid();
  }
  // Inserts the key again, by a session without earlier commits, and checks the TID: replay sorts
  // by version.
  void expect_back_above(unsigned session, const std::string& key, page::Tid erased) {
    ASSERT_TRUE(erased.is_deleted());
    ASSERT_FALSE(find(key).found());
    begin(session);
    insert(session, key, "back");
    expect_commit(session);
    EXPECT_GT(find(key).record()->load_tid().version(), erased.version());
  }
};

// Goal: P7 over several moves: a page that purged a record passes its note on. Method: pages split
// once, with the erased record, and then again, with no record to purge.
TEST_F(MasstreePurgeTest, a_key_that_was_purged_two_moves_ago_comes_back_above_its_erasure) {
  fill(0, 0, 640, kStep);
  const std::string key = key_of(100);
  const page::Tid erased = erase_late(0, key);
  fill(1, 1, 640, kStep);
  const masstree::BorderPage* const first = find(key).at.page;
  ASSERT_FALSE(find(key).found());
  fill(2, 2, 640, kStep);
  fill(2, 3, 640, kStep);
  EXPECT_NE(find(key).at.page, first);
  expect_back_above(3, key, erased);
  verify();
}

// The parameter says whether, of two joined pages, the right one has the erased record with the
// highest TID.
class MasstreePurgeOfTwoTest : public MasstreePurgeTest,
                               public ::testing::WithParamInterface<bool> {};

// Goal: a page that replaces two notes the highest purged TID of both.
TEST_P(MasstreePurgeOfTwoTest, a_key_that_a_join_purged_comes_back_above_its_erasure) {
  constexpr unsigned kKeysPerPage = 27;
  fill(0, 0, 2 * kKeysPerPage * kStep, kStep, kPayload);
  ASSERT_EQ(verify().border_pages, 2u);
  for (unsigned i = 0; i < 2 * kKeysPerPage; ++i) {
    if (i % 9 == 8) continue;
    begin(0);
    erase(0, key_of(i * kStep));
    expect_commit(0);
  }
  const std::string key = key_of((GetParam() ? kKeysPerPage + 8 : 8) * kStep);
  const page::Tid erased = erase_late(0, key);
  begin(1);
  insert(1, key_of(5), kPayload);
  expect_commit(1);
  ASSERT_EQ(verify().border_pages, 1u);
  expect_back_above(2, key, erased);
  verify();
}

INSTANTIATE_TEST_SUITE_P(RightOne, MasstreePurgeOfTwoTest, ::testing::Bool());

// Goal: a transaction that has locked an erased row keeps the lock when own inserts move the page;
// otherwise another session could insert the row. Method: the erased record, which would be purged
// without the lock, moves along with its lock, and the transaction inserts the row.
TEST_F(MasstreePurgeTest, the_lock_of_an_erased_record_moves_with_it) {
  fill(0, 0, 640, kStep);
  begin(0);
  erase(0, key_of(100));
  erase(0, key_of(110));
  expect_commit(0);
  begin(0);
  occ::ReadRange range;
  const Status status = masstree::get_for_update(ctx(0), rig_.control(), key_of(100), &range);
  EXPECT_EQ(status.code(), ErrorCode::kNotFound) << status.message();
  ASSERT_TRUE(ctx(0).locks().holds(find(key_of(100)).record()));
  for (unsigned i = 1; i < 640; i += kStep) insert(0, key_of(i), "own");
  EXPECT_FALSE(find(key_of(110)).found());
  const masstree::KeyPosition position = find(key_of(100));
  ASSERT_TRUE(position.found());
  EXPECT_TRUE(ctx(0).locks().holds(position.record()));
  EXPECT_NE(position.record()->lock.load_relaxed(), 0u);
  insert(0, key_of(100), "back");
  expect_commit(0);
  EXPECT_EQ(position.record()->lock.load_relaxed(), 0u);
  begin(1);
  EXPECT_EQ(get(1, key_of(100)), "back");
  expect_commit(1);
  verify();
}

// The record of an erased row that is put again with a larger payload moves along and grows, and is
// not inserted again.
TEST_F(MasstreePurgeTest, an_erased_record_that_is_to_grow_goes_along) {
  fill(0, 0, 100, kStep);
  const std::string key = key_of(50);
  begin(0);
  erase(0, key);
  expect_commit(0);
  begin(0);
  const AtSyncPoint placed("masstree:place_searched", [] {}, true);
  put(0, key, kPayload);
  EXPECT_EQ(placed.runs(), 0u);
  expect_commit(0);
  begin(0);
  EXPECT_EQ(get(0, key), kPayload);
  expect_commit(0);
  EXPECT_EQ(verify().records, 10u);
}

}  // namespace
}  // namespace foedus::testing::purge_test
