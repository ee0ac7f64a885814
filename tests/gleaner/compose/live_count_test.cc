// The composers' counts of pages equal those of a walk from the root (G63). The rigs check that
// after every glean, in all tests; these tests have the remaining cases.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "foedus-core/snapshot/files/manifest.h"
#include "tests/base/test_seed.h"
#include "tests/gleaner/compose/array_rig.h"
#include "tests/gleaner/compose/hash_gleans.h"
#include "tests/gleaner/compose/masstree_table.h"

namespace foedus::gleaner::live_count_test {
namespace {

using page::SnapshotNumber;

// Returns payloads without overflow pages, with one and with several.
std::string payload_for(std::uint64_t i) {
  constexpr std::size_t kSizes[] = {0, 8, 200, 1400, 1401, 4016, 4017, 30'000};
  return payload_of(kSizes[i % 8], i);
}

TEST(LiveCountTest, chains_of_master_trees_go_with_their_records) {
  base::Random random(testing::test_seed(7));
  MasstreeTable table;
  for (int round = 0; round < 25; ++round) {
    for (int i = 0; i < 60; ++i) {
      // Layers are made and freed, and some have one record at a time.
      const std::uint64_t number = random.below(80);
      const std::string key = "a prefix" + std::to_string(number % 7) + key_of(number / 5);
      if (table.model.count(key) != 0 && random.below(2) == 0) {
        table.erase(key);
      } else {
        table.put(key, payload_for(random.next()));
      }
    }
    table.glean_and_check();
    ASSERT_FALSE(HasFailure());
  }
  while (!table.model.empty()) table.erase(table.model.begin()->first);
  table.glean_and_check();
  EXPECT_EQ(table.written, 1u);
}

// Goal: pages that cross ends of ranges are counted once. Method: each glean has other ranges.
TEST(LiveCountTest, pages_that_cross_ranges_are_counted_once) {
  base::Random random(testing::test_seed(8));
  MasstreeTable table;
  HashGleans hash(9);
  ArrayRig array(100'000, 100);
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 200; ++i) {
      const std::uint64_t number = random.below(3000);
      table.put(key_of(number), payload_for(random.below(5)));
      hash.put(key_of(number), payload_for(random.next()));
      array.write(number * 33, std::string(100, 'x'));
    }
    std::vector<std::uint64_t> slices;
    std::vector<std::uint64_t> digits = {0};
    std::vector<std::uint64_t> indexes;
    for (std::uint64_t i = 0; i < random.below(5); ++i) {
      slices.push_back(1 + i * 700 + random.below(600));
      digits.push_back(1 + i * 25 + random.below(25));
      indexes.push_back(align_array_boundary(array.meta(), (i + 1) * 20'000));
    }
    table.glean_and_check(slices);
    ASSERT_TRUE(hash.glean(digits).is_ok());
    ASSERT_TRUE(array.glean(indexes).is_ok());
    ASSERT_FALSE(HasFailure());
  }
}

// Goal: counts are right when bins become interior pages, and back. Method: all keys, some with
// chains, are inserted and erased.
TEST(LiveCountTest, hash_tries_that_grow_and_shrink_are_counted) {
  base::Random random(testing::test_seed(9));
  HashGleans hash(1);
  for (const int target : {10, 3000, 100, 2000, 0}) {
    while (hash.model_.size() < static_cast<std::size_t>(target)) {
      hash.put(key_number(random.below(5000)), payload_for(random.next()));
    }
    while (hash.model_.size() > static_cast<std::size_t>(target)) {
      hash.erase(hash.model_.begin()->first);
    }
    ASSERT_TRUE(hash.glean().is_ok());
    for (int i = 0; i < target / 20; ++i) {
      hash.put(hash.model_.begin()->first, payload_for(random.next()));
    }
    ASSERT_TRUE(hash.glean().is_ok());
    ASSERT_FALSE(HasFailure());
  }
}

struct Header : page::PageHeader {
  Header(page::PageKind page_kind, std::uint8_t depth) {
    initialize(page::VolatilePageId(), page::StorageId{1}, page_kind, 0);
    layer = depth;
  }
};

TEST(PageLedgerTest, parts_add_up_and_empty_files_go) {
  const Header border(page::PageKind::kMasstreeBorder, 0);
  const Header layer(page::PageKind::kMasstreeBorder, 3);
  const Header chain(page::PageKind::kOverflow, 0);
  const page::SnapshotPageId old_id(SnapshotNumber{3}, 1, 17);
  const page::SnapshotPageId new_id(SnapshotNumber{4}, 0, 1);
  snapshot::PageAccounting first;
  first.supersede(old_id, border);
  first.supersede(old_id, chain, 4);
  snapshot::PageAccounting second;
  second.append(new_id, border);
  second.append(new_id.plus(1), layer);
  second.supersede(old_id, layer);
  first.add(second);

  std::vector<snapshot::LivePages> live = {{SnapshotNumber{2}, 0, 9, 1},
                                           {SnapshotNumber{3}, 1, 6, 5}};
  ASSERT_TRUE(first.apply_to(&live).is_ok());
  const std::vector<snapshot::LivePages> expected = {{SnapshotNumber{2}, 0, 9, 1},
                                                     {SnapshotNumber{4}, 0, 2, 1}};
  EXPECT_EQ(live, expected);
  const Status status = first.apply_to(&live);
  EXPECT_EQ(status.code(), ErrorCode::kCorruption);
  EXPECT_NE(status.message().find("snapshot-00000003-1"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace foedus::gleaner::live_count_test
