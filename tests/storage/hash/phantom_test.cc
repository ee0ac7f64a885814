// Phantoms, and own entries that follow records and bins that move.
#include <gtest/gtest.h>

#include <string>

#include "tests/storage/hash/fixture.h"

namespace foedus::storage::hash::phantom_test {
namespace {

using HashPhantomTest = HashTest;

// ---- phantoms -----------------------------------------------------------------------------------

// Goal: keys that come with spreads of a bin are phantoms. Method: between miss and commit another
// session inserts until the bin is spread several times.
TEST_F(HashPhantomTest, a_miss_survives_a_spread_only_if_no_key_was_added) {
  all_.session(0).begin();
  EXPECT_EQ(get(0, "missed"), std::nullopt);
  EXPECT_TRUE(put(0, "mine", "x").is_ok());
  for (int i = 0; i < 500; ++i) put_now(1, key_number(i), std::string(200, 'v'));
  EXPECT_EQ(all_.session(0).commit().conflict_reason(), ConflictReason::kPageGained);
}

// Goal: C5. Method: a transaction misses a key in a full bin, which is then rebuilt for a growing
// payload of a present key: no key was added.
TEST_F(HashPhantomTest, a_rebuilt_bin_is_no_phantom) {
  for (int i = 0; i < 40; ++i) put_now(1, key_number(i), std::string(200, 'v'));
  const std::uint64_t bins_before = statistics().bins;
  all_.session(0).begin();
  for (int i = 0; i < 40; ++i) EXPECT_EQ(get(0, "missed" + std::to_string(i)), std::nullopt);
  for (int i = 0; i < 40; ++i) EXPECT_NE(get(0, key_number(i)), std::nullopt);
  EXPECT_TRUE(put(0, key_number(3), "mine").is_ok());
  all_.session(1).begin();
  for (int i = 0; i < 40; ++i) EXPECT_TRUE(put(1, key_number(i), std::string(900, 'w')).is_ok());
  all_.session(1).rollback();
  EXPECT_GT(statistics().bins, bins_before);
  const Status status = all_.session(0).commit();
  EXPECT_TRUE(status.is_ok()) << status.message();
  EXPECT_EQ(get_now(key_number(3)), "mine");
}

// Goal: a key in the bin that replaced the old one is a phantom. Method: growing payloads replace
// the bin, then the missed key is added to a new one; the old one gained none.
TEST_F(HashPhantomTest, a_key_added_to_what_took_a_bins_place_conflicts) {
  for (int i = 0; i < 40; ++i) put_now(1, key_number(i), std::string(200, 'v'));
  const std::uint64_t bins_before = statistics().bins;
  all_.session(0).begin();
  EXPECT_EQ(get(0, "missed"), std::nullopt);
  all_.session(1).begin();
  for (int i = 0; i < 40; ++i) EXPECT_TRUE(put(1, key_number(i), std::string(900, 'w')).is_ok());
  all_.session(1).rollback();
  EXPECT_GT(statistics().bins, bins_before);
  put_now(1, "missed", "boo");
  EXPECT_EQ(all_.session(0).commit().conflict_reason(), ConflictReason::kPageGained);
}

// ---- locks held by transactions -----------------------------------------------------------------

TEST_F(HashPhantomTest, a_locked_record_does_not_move) {
  put_now(0, "locked", "x");
  all_.session(0).begin();
  occ::ReadRange range;
  EXPECT_TRUE(get_for_update(all_.ctx(), control_, "locked", &range).is_ok());
  // Other sessions chain pages where they cannot spread, and conflict where they need to grow the
  // record.
  for (int i = 0; i < 200; ++i) put_now(1, key_number(i), std::string(200, 'v'));
  all_.session(1).begin();
  EXPECT_EQ(put(1, "locked", std::string(400, 'y')).conflict_reason(),
            ConflictReason::kRecordLocked);
  all_.session(1).rollback();
  EXPECT_TRUE(put(0, "locked", "mine").is_ok());
  ASSERT_TRUE(all_.session(0).commit().is_ok());
  EXPECT_EQ(get_now("locked"), "mine");
  for (int i = 0; i < 200; ++i) EXPECT_EQ(get_now(key_number(i)), std::string(200, 'v'));
}

TEST_F(HashPhantomTest, an_own_lock_follows_the_record) {
  put_now(0, "locked", "x");
  all_.session(0).begin();
  occ::ReadRange range;
  EXPECT_TRUE(get_for_update(all_.ctx(), control_, "locked", &range).is_ok());
  EXPECT_TRUE(put(0, "locked", std::string(600, 'y')).is_ok());
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(put(0, key_number(i), std::string(200, 'v')).is_ok());
  all_.session(1).begin();
  EXPECT_EQ(put(1, "locked", std::string(900, 'z')).conflict_reason(),
            ConflictReason::kRecordLocked);
  all_.session(1).rollback();
  ASSERT_TRUE(all_.session(0).commit().is_ok());
  EXPECT_EQ(get_now("locked"), std::string(600, 'y'));
}

}  // namespace
}  // namespace foedus::storage::hash::phantom_test
