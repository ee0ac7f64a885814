// Records of one slice are all in one page (M5). These tests let them need more space than it has,
// while other sessions take space or free it.
#include "foedus-core/page/overflow_page.h"
#include "tests/storage/masstree/fixture.h"

namespace foedus::testing::crowded_test {
namespace {

using MasstreeCrowdedTest = MasstreeTest;

// Returns keys that differ in their length only: they share a slice.
std::string zeros(std::size_t bytes) { return std::string(bytes, '\0'); }
// Beside the longest key a page has space for two such payloads.
const std::string kLarge(1200, 'l');
const std::size_t kLongest = kMaxKeyBytes;

// Goal: a record whose space was taken meanwhile becomes a chain. Method: another record is
// inserted between the check of the space and the page's lock.
TEST_F(MasstreeCrowdedTest, room_that_another_takes_meanwhile_is_not_grown_into) {
  begin(0);
  put(0, zeros(1), "small");
  put(0, zeros(2), kLarge);
  put(0, zeros(kLongest), "behind");
  expect_commit(0);
  begin(0);
  const AtSyncPoint other("masstree:room_searched", [&] {
    begin(1);
    put(1, zeros(3), kLarge);
    expect_commit(1);
  });
  put(0, zeros(1), kLarge);
  EXPECT_EQ(other.runs(), 1u);
  expect_commit(0);
  begin(0);
  for (const std::size_t bytes : {1, 2, 3}) EXPECT_EQ(get(0, zeros(bytes)), kLarge) << bytes;
  EXPECT_EQ(get(0, zeros(kLongest)), "behind");
  expect_commit(0);
  EXPECT_EQ(verify().records, 4u);
}

// Goal: a slice always has space for its longest key. Method: two large records beside a short one
// with a long key; that one is erased and purged, and one of the longest keys is inserted instead.
TEST_F(MasstreeCrowdedTest, room_for_the_longest_key_is_kept_where_a_shorter_one_is) {
  const std::string largest(page::kInlinePayloadBytesMax, 'l');
  begin(0);
  put(0, zeros(9), "behind");
  put(0, zeros(1), largest);
  put(0, zeros(2), largest);
  expect_commit(0);
  begin(0);
  erase(0, zeros(9));
  expect_commit(0);
  begin(0);
  for (const char* const other : {"a", "b", "c"}) put(0, other, largest);  // the page splits
  expect_commit(0);
  begin(0);
  for (std::size_t bytes = 3; bytes <= 8; ++bytes) put(0, zeros(bytes), largest);
  put(0, zeros(kLongest), largest);
  expect_commit(0);
  begin(0);
  for (std::size_t bytes = 1; bytes <= 8; ++bytes) EXPECT_EQ(get(0, zeros(bytes)), largest);
  EXPECT_EQ(get(0, zeros(kLongest)), largest);
  expect_commit(0);
  EXPECT_EQ(verify().records, 12u);
}

// Goal: a put finds its record purged and space for a chain only, and is followed by own writes to
// parts of the row. Method: another session's insert makes the page move before the commit, and
// takes the space.
TEST_F(MasstreeCrowdedTest, parts_of_a_put_that_has_become_a_chain_are_not_written_over_others) {
  const std::string changed = kLarge.substr(0, 1000) + "own" + kLarge.substr(1003);
  for (const bool again : {false, true}) {
    begin(0);
    insert(0, zeros(1), kLarge);
    ASSERT_TRUE(storage::write_at(ctx(0), rig_.control(), zeros(1), 1000, "own").is_ok());
    if (again) break;
    begin(1);
    put(1, zeros(kLongest), "behind");
    put(1, zeros(2), kLarge);
    put(1, "other", std::string(900, 'o'));  // the page moves, and the first record is purged
    put(1, zeros(3), kLarge);
    expect_commit(1);
    expect_conflict(0, ConflictReason::kRecordChanged);
  }
  expect_commit(0);
  begin(0);
  EXPECT_EQ(get(0, zeros(1)), changed);
  for (const std::size_t bytes : {2, 3}) EXPECT_EQ(get(0, zeros(bytes)), kLarge) << bytes;
  EXPECT_EQ(get(0, zeros(kLongest)), "behind");
  EXPECT_EQ(get(0, "other"), std::string(900, 'o'));
  expect_commit(0);
  EXPECT_EQ(verify().records, 5u);
}

// Goal: a record that must grow, but fits beside no boundary, first moves unchanged, and grows in
// the page of its half. Method: three slices, of which the grown middle one fits into one page with
// neither of the others.
TEST_F(MasstreeCrowdedTest, a_record_that_no_boundary_makes_room_for_grows_after_the_split) {
  const std::string largest(page::kInlinePayloadBytesMax, 'l');
  const std::string side(400, 's');
  const std::string longer = "m-slice." + std::string(800, 'r');
  begin(0);
  put(0, "a", side);
  put(0, "m-slice.", "small");
  put(0, longer, largest);
  put(0, "z", side);
  expect_commit(0);
  ASSERT_EQ(verify().border_pages, 1u);
  begin(0);
  put(0, "m-slice.", largest);
  expect_commit(0);
  begin(0);
  for (const char* const key : {"a", "z"}) EXPECT_EQ(get(0, key), side) << key;
  EXPECT_EQ(get(0, "m-slice."), largest);
  EXPECT_EQ(get(0, longer), largest);
  expect_commit(0);
  EXPECT_EQ(verify().border_pages, 3u);
}

}  // namespace
}  // namespace foedus::testing::crowded_test
