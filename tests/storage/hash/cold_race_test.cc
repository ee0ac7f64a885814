// Hash storages: other sessions act at named places of cold reads, first touches and drops. One
// thread.
// ctest-labels: memory

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "foedus-core/occ/record_lock.h"
#include "foedus-core/storage/hash/layout/function.h"
#include "foedus-core/storage/hash/trie.h"
#include "tests/storage/hash/cold_fixture.h"
#include "tests/testing/at_sync_point.h"

namespace foedus::storage::hash::cold_race_test {
namespace {

using testing::AtSyncPoint;

class HashColdRaceTest : public HashColdTest {
 protected:
  HashInteriorPage* root() {
    return reinterpret_cast<HashInteriorPage*>(
        all_.all().pool().resolve(all_.control()->root.load_volatile()));
  }
  std::uint32_t owner_of(const std::string& key) {
    return root()->owner_of(root()->digit_of(hash_of(key)));
  }
  // Returns a row of a cold pointer that owns more than one digit.
  unsigned row_of_shared_pointer() {
    for (unsigned row = 0; row < kRows; ++row) {
      const std::uint32_t owner = owner_of(key_of(row));
      const bool is_cold = root()->pointers[owner].load_volatile().is_null();
      const bool is_last = owner + 1 == HashInteriorPage::kPointers;
      if (is_cold && !is_last && root()->owner_of(owner + 1) == owner) return row;
    }
    ADD_FAILURE() << "each cold pointer owns one digit";
    return 0;
  }
  // Puts enough rows to spread all bins.
  void spread_all(unsigned rows = 20'000) {
    for (unsigned i = 0; i < rows; ++i) put_alone(2, "new" + std::to_string(i), payload_of(i));
  }
};

// Goal: a key that was read as absent and was inserted since is noticed even if its bin is being
// dropped. Method: a spread purges the deleted record that was read. Another session commits the
// key, to a successor, together with another key, which the reader reads then. The reader commits
// when all records are marked for the first drop since it began, which is not announced yet. Drops
// begin with the lowest hashes.
TEST_F(HashColdRaceTest, what_came_to_a_successor_is_not_absent_where_that_is_dropped) {
  load(200);
  std::string came = key_of(0);
  std::string with_it = key_of(0);
  for (unsigned i = 1; i < 200; ++i) {
    if (hash_of(key_of(i)) < hash_of(came)) came = key_of(i);
    if (hash_of(key_of(i)) > hash_of(with_it)) with_it = key_of(i);
  }
  erase_alone(0, came);
  begin(1);
  ASSERT_EQ(get(1, came), std::nullopt);
  ASSERT_EQ(all_.session(1).ctx().sets().reads().size(), 1u);
  page::RecordHeader* const record = all_.session(1).ctx().sets().reads()[0].record;
  for (unsigned i = 0; i < 4'000 && !record->load_tid().is_moved(); ++i) {
    const std::string key = "new" + std::to_string(i);
    if (hash_of(key) >> 62 == 0) put_alone(0, key, payload_of(i));
  }
  ASSERT_TRUE(record->load_tid().is_moved());
  begin(2);
  ASSERT_TRUE(put(2, came, "there").is_ok());
  ASSERT_TRUE(put(2, with_it, "new").is_ok());
  ASSERT_TRUE(commit(2).is_ok());
  ASSERT_EQ(get(1, with_it), "new");
  all_.compose();
  Status status;
  {
    const AtSyncPoint at("hash:drop_marked", [&] { status = commit(1); });
    all_.install();
    EXPECT_EQ(at.runs(), 1u);
  }
  EXPECT_EQ(status.code(), ErrorCode::kConflict) << "it has seen half of a transaction";
}

// Goal: a page is checked against the owners that its pointer had when its volatile half was null,
// not against later ones, so a sound page is not refused. Method: the bin is made volatile and
// spread before its page is read.
TEST_F(HashColdRaceTest, a_spread_behind_a_cold_read_is_no_corruption) {
  load();
  all_.glean();
  put_alone(0, "something", "x");
  const unsigned row = row_of_shared_pointer();
  begin(1);
  {
    const AtSyncPoint at("hash:cold_read", [&] { spread_all(); });
    EXPECT_EQ(get(1, key_of(row)), payload_of(row));
    EXPECT_EQ(at.runs(), 1u);
  }
  EXPECT_EQ(commit(1).code(), ErrorCode::kConflict);
}

// The bin is made volatile and spread while a cold read loads the owners.
TEST_F(HashColdRaceTest, a_spread_within_the_look_before_a_cold_read_is_seen) {
  load();
  all_.glean();
  put_alone(0, "something", "x");
  const unsigned row = row_of_shared_pointer();
  begin(1);
  unsigned looks = 0;
  {
    const AtSyncPoint at(
        "hash:span",
        [&] {
          if (++looks == 2) spread_all();
        },
        true);
    EXPECT_EQ(get(1, key_of(row)), payload_of(row));
    EXPECT_GE(looks, 2u);
  }
  EXPECT_TRUE(commit(1).is_ok());
}

// Goal: a transaction that has read a page of an earlier snapshot conflicts, even if it makes the
// newer page volatile itself. Method: two rows of one page; the one that it read has changed since.
TEST_F(HashColdRaceTest, an_own_install_forgets_no_read_of_an_earlier_page) {
  load();
  all_.glean();
  unsigned other = 1;
  while (hash_of(key_of(other)) >> (kHashBits - 10) != hash_of(key_of(0)) >> (kHashBits - 10)) {
    ++other;
  }
  begin(1);
  EXPECT_EQ(get(1, key_of(0)), payload_of(0));
  put_alone(2, key_of(0), "changed");
  all_.glean();
  EXPECT_EQ(volatile_pages(), 0u);
  EXPECT_EQ(get(1, key_of(other)), payload_of(other));
  ASSERT_TRUE(put(1, key_of(other), "mine").is_ok());
  EXPECT_EQ(commit(1).code(), ErrorCode::kConflict);
}

// Goal: a first touch does not use owners that changed while they were loaded. Method: the bin is
// made, filled and spread in between.
TEST_F(HashColdRaceTest, a_spread_behind_a_first_touch_is_seen) {
  begin(1);
  unsigned looks = 0;
  {
    const AtSyncPoint at(
        "hash:span",
        [&] {
          if (++looks == 21) spread_all();
        },
        true);
    EXPECT_TRUE(put(1, key_of(5), "x").is_ok());
    EXPECT_GE(looks, 21u);
  }
  EXPECT_TRUE(commit(1).is_ok());
  EXPECT_EQ(get_alone(3, key_of(5)), "x");
}

// Goal: no session makes a child of an interior page volatile while the page is dropped, or after.
// Method: when the records are marked, a page that is dropped is locked, and marked too.
TEST_F(HashColdRaceTest, an_interior_page_that_is_dropped_is_locked_and_marked) {
  load();
  all_.compose();
  unsigned drops_of_root = 0;
  {
    const AtSyncPoint at(
        "hash:drop_marked",
        [&] {
          page::PageHeader& header = root()->header;
          if (header.load_version().is_dropped() && header.lock.load_relaxed() != 0) {
            ++drops_of_root;
          }
        },
        true);
    all_.install();
    EXPECT_GT(at.runs(), 1u);
  }
  EXPECT_EQ(drops_of_root, 1u);
  EXPECT_EQ(volatile_pages(), 0u);
}

// Goal: a bin that a session is changing is not dropped. Method: the lowest bin, to which the
// installer comes first, is locked when its pointer has been changed.
TEST_F(HashColdRaceTest, a_bin_that_is_locked_is_not_dropped) {
  load(200);
  all_.compose();
  std::string lowest = key_of(0);
  for (unsigned i = 1; i < 200; ++i) {
    if (hash_of(key_of(i)) < hash_of(lowest)) lowest = key_of(i);
  }
  HashBinPage* const bin = peek_bin(all_.all().pool(), all_.control(), hash_of(lowest));
  occ::LockWaiter waiter;
  unsigned pages = 0;
  {
    const AtSyncPoint at(
        "hash:installed",
        [&] {
          if (++pages == 2) occ::lock(&bin->header.lock, &waiter);  // the first page is the root
        },
        true);
    all_.install();
  }
  ASSERT_GE(pages, 2u);
  EXPECT_FALSE(bin->header.load_version().is_dropped());
  occ::unlock(&bin->header.lock, &waiter);
  check(1, 200);
}

// Goal: the chain of a record that has moved within its bin is freed once, as the rig checks at the
// end. Method: a payload with a chain becomes one that needs more space than the record has.
TEST_F(HashColdRaceTest, a_record_that_moved_within_its_bin_is_not_dropped_again) {
  put_alone(0, key_of(0), std::string(9'000, 'c'));
  put_alone(0, key_of(0), std::string(400, 'i'));
  all_.glean();
  EXPECT_EQ(volatile_pages(), 0u);
  EXPECT_EQ(get_alone(1, key_of(0)), std::string(400, 'i'));
}

// Goal: no prefix gets two bins. Method: between the making of a first bin and its installation,
// sessions fill, spread and empty that bin, and a glean drops the rest. The pointer then has its
// old value, but half of its digits.
TEST_F(HashColdRaceTest, a_glean_between_making_a_first_bin_and_its_installation_is_seen) {
  put_alone(0, "stays", "x");
  unsigned row = 0;
  while (owner_of(key_of(row)) == owner_of("stays")) ++row;
  const std::uint32_t mine = owner_of(key_of(row));
  begin(1);
  {
    const AtSyncPoint at("hash:before_install", [&] {
      for (const bool erases : {false, true}) {
        for (unsigned i = 0; i < 2'000; ++i) {
          const std::string key = "new" + std::to_string(i);
          if (hash_of(key) >> 62 != hash_of(key_of(row)) >> 62) continue;
          erases ? erase_alone(2, key) : put_alone(2, key, payload_of(i));
        }
      }
      all_.compose();
      put_alone(0, "stays", "hot");
      all_.install();
      ASSERT_TRUE(root()->pointers[mine].load().is_null());
    });
    EXPECT_TRUE(put(1, key_of(row), "x").is_ok());
    EXPECT_EQ(at.runs(), 1u);
  }
  EXPECT_TRUE(commit(1).is_ok());
  verify_trie(all_.all().pool(), all_.control());
  for (unsigned i = 0; i < 4'000; ++i) put_alone(3, "more" + std::to_string(i), payload_of(i));
  EXPECT_EQ(get_alone(3, key_of(row)), "x");
  for (unsigned i = 0; i < 4'000; ++i) EXPECT_TRUE(get_alone(3, "more" + std::to_string(i)));
}

}  // namespace
}  // namespace foedus::storage::hash::cold_race_test
