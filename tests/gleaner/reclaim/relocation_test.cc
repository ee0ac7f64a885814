// Pages of victims are moved, and all other pages stay: storages of all kinds, gleaned and
// reclaimed in turns, in memory.
#include "gleaner/reclaim/relocation.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/base/test_seed.h"
#include "tests/gleaner/compose/array_rig.h"
#include "tests/gleaner/compose/hash_gleans.h"
#include "tests/gleaner/compose/masstree_table.h"
#include "tests/gleaner/compose/sequential_rig.h"
#include "tests/gleaner/reclaim/content_walk.h"

namespace foedus::gleaner::relocation_test {
namespace {

using page::SnapshotNumber;
using page::SnapshotPageId;
using Files = std::vector<snapshot::ManifestFile>;

Result<SnapshotPageId> move(Relocation* relocation) {
  switch (relocation->storage().kind) {
    case StorageKind::kArray:
      return move_array(relocation);
    case StorageKind::kHash:
      return move_hash(relocation);
    case StorageKind::kMasstree:
      return move_masstree(relocation);
    default:
      return move_sequential(relocation);
  }
}

// One storage in memory, and the number of its next snapshot.
struct Moved {
  const storage_meta::StorageMeta& meta;
  SnapshotPageId root;
  LiveCheck<MemoryPages>& live;
  MemoryPages& pages;
  std::uint64_t pages_read = 0;
  std::uint32_t pages_written = 0;

  snapshot::ManifestStorage storage() const {
    return {.id = meta.id,
            .kind = meta.kind,
            .name = meta.name,
            .records = meta.records,
            .payload_bytes = meta.payload_bytes,
            .fan_out_bits = meta.fan_out_bits,
            .root = root,
            .boundaries = {},
            .live = live.live()};
  }
  ContentWalk::Content content() const {
    return ContentWalk([this](SnapshotPageId id) { return pages.at(id); }).look(root);
  }

  // Moves live pages of the files, and removes these.
  void reclaim(const Files& files, std::uint32_t number) {
    const ContentWalk::Content before = content();
    const snapshot::ManifestStorage old = storage();
    const Victims victims(files);
    MemoryWriter writer(&pages, number);
    Relocation relocation(old, victims, &pages, &writer);
    const Result<SnapshotPageId> moved = move(&relocation);
    ASSERT_TRUE(moved.is_ok()) << moved.status().message();
    const auto counted = relocation.finish();
    ASSERT_TRUE(counted.is_ok()) << counted.status().message();
    pages.finish();
    for (const snapshot::ManifestFile& file : files) pages.remove_file(file.snapshot, file.soc);
    root = *moved;
    live.set_live(*counted);
    live.expect_counted(pages, root);
    for (const snapshot::LivePages& file : *counted) {
      ASSERT_FALSE(victims.contains(file.snapshot, file.soc));
    }
    ASSERT_EQ(content(), before);
    pages_read = relocation.pages_read();
    pages_written = writer.count();
  }

  // Returns some of the files that the storage has pages in; at least one.
  Files some(base::Random* random) const {
    Files files;
    const std::uint64_t share = 1 + random->below(4);
    for (const snapshot::LivePages& file : live.live()) {
      if (random->below(4) < share) files.push_back({file.snapshot, file.soc, 0, 0});
    }
    const snapshot::LivePages& oldest = live.live().front();
    if (files.empty()) files.push_back({oldest.snapshot, oldest.soc, 0, 0});
    return files;
  }
};

std::string payload_for(std::uint64_t i) {
  constexpr std::size_t kSizes[] = {0, 8, 100, 300, 1400, 1401, 4017, 30'000};
  return payload_of(kSizes[i % 8], i);
}

void reclaim_some(MasstreeTable* table, base::Random* random) {
  Moved moved{table->meta, table->root, table->live(), table->pages};
  moved.reclaim(moved.some(random), ++table->snapshot);
  table->root = moved.root;
}

TEST(RelocationTest, master_trees_with_layers_and_large_payloads) {
  base::Random random(testing::test_seed(21));
  MasstreeTable table;
  for (int round = 0; round < 40; ++round) {
    for (std::uint64_t i = 0; i < 1 + random.below(150); ++i) {
      std::string key = key_of(random.below(400) * 17);
      if (random.below(2) == 0) key = "a prefix of" + std::to_string(random.below(9)) + key;
      if (table.model.count(key) != 0 && random.below(3) == 0) {
        table.erase(key);
      } else {
        table.put(key, payload_for(random.next()));
      }
    }
    table.glean_and_check();
    if (random.below(2) == 0) reclaim_some(&table, &random);
    ASSERT_FALSE(HasFailure());
  }
}

TEST(RelocationTest, hash_storages_with_chained_bins_and_large_payloads) {
  base::Random random(testing::test_seed(22));
  HashGleans hash(3);
  for (int round = 0; round < 40; ++round) {
    for (std::uint64_t i = 0; i < 1 + random.below(150); ++i) {
      const std::uint64_t number = random.below(600);
      const std::string key = number < 300 ? equal_hash_key(number) : key_number(number);
      if (hash.model_.count(key) != 0 && random.below(3) == 0) {
        hash.erase(key);
      } else {
        hash.put(key, payload_for(random.next()));
      }
    }
    ASSERT_TRUE(hash.glean(round % 3 == 0 ? std::vector<std::uint64_t>{0, 31}
                                          : std::vector<std::uint64_t>{0})
                    .is_ok());
    if (random.below(2) == 0) {
      Moved moved{hash.meta_, hash.root_, hash.live(), hash.pages_};
      moved.reclaim(moved.some(&random), hash.snapshot_++);
      hash.root_ = moved.root;
    }
    hash.verify(7);
    ASSERT_FALSE(HasFailure());
  }
}

TEST(RelocationTest, arrays_of_several_levels) {
  base::Random random(testing::test_seed(23));
  for (const std::uint64_t records : {1u, 30u, 5'000u, 3'000'000u}) {
    ArrayRig array(records, 200);
    for (int round = 0; round < 20; ++round) {
      for (std::uint64_t i = 0; i < 1 + random.below(100); ++i) {
        array.write(random.below(records), std::string(200, static_cast<char>('a' + round)));
      }
      ASSERT_TRUE(array.glean().is_ok());
      if (random.below(2) == 0) {
        Moved moved{array.meta(), array.root(), array.live(), array.pages()};
        moved.reclaim(moved.some(&random), array.snapshot() + 1);
        array.set_root(moved.root);
      }
      array.expect_equal_to_model(records / 100 + 1);
      ASSERT_FALSE(HasFailure());
    }
  }
}

// Goal: runs and several runs pages are moved. Method: more gleans than a runs page has runs.
TEST(RelocationTest, sequential_storages_of_many_runs) {
  base::Random random(testing::test_seed(24));
  SequentialRig list;
  for (std::uint64_t round = 0; round < 240; ++round) {
    for (std::uint32_t i = 0; i < 1 + random.below(9); ++i) {
      list.append(page::Tid(Epoch(round + 1), i + 1), 0, std::string(random.below(2000), 'x'));
    }
    ASSERT_TRUE(list.glean().is_ok());
    if (random.below(4) == 0) {
      Moved moved{list.meta(), list.root(), list.live(), list.pages()};
      moved.reclaim(moved.some(&random), list.take_snapshot_number());
      list.set_root(moved.root);
    }
    ASSERT_FALSE(HasFailure());
  }
  list.expect_equal_to_model();
}

// Goal: G64. Method: victims are in a part of a tree; pages that cannot lead there are not read.
TEST(RelocationTest, what_cannot_lead_to_victims_is_not_read) {
  MasstreeTable table;
  for (std::uint64_t i = 0; i < 40'000; ++i) table.put(key_of(i), payload_of(100, i));
  table.glean_only();
  for (std::uint64_t i = 20'000; i < 20'100; ++i) table.put(key_of(i), payload_of(100, i));
  table.glean_only();
  for (std::uint64_t i = 30'000; i < 40'000; ++i) table.put(key_of(i), payload_of(100, i));
  table.glean_only();
  const std::vector<snapshot::LivePages> live = table.live().live();
  ASSERT_EQ(live.size(), 3u);
  ASSERT_GT(live[0].pages, 700u);
  ASSERT_LT(live[1].pages, 10u);
  ASSERT_GT(live[2].pages, 250u);
  Moved moved{table.meta, table.root, table.live(), table.pages};
  moved.reclaim({{SnapshotNumber{2}, 0, 0, 0}}, ++table.snapshot);
  table.root = moved.root;
  // The reads are the pages of the victim and the root above them, whose other children are older,
  // or border pages, or superseded.
  EXPECT_LE(moved.pages_read, live[1].pages + 6u);
  EXPECT_LE(moved.pages_written, live[1].pages + 1u);
}

// Goal: G64 for an array: of pages of records only victims are read. Method: newer pages come
// first.
TEST(RelocationTest, of_an_array_no_page_of_records_is_read_that_is_no_victim) {
  ArrayRig array(5'000, 200);
  for (const std::uint64_t end : {5'000u, 2'500u}) {
    for (std::uint64_t i = 0; i < end; ++i) array.write(i, std::string(200, 'x'));
    ASSERT_TRUE(array.glean().is_ok());
  }
  const std::vector<snapshot::LivePages> live = array.live().live();
  ASSERT_EQ(live.size(), 2u);
  ASSERT_GT(live[0].pages, 100u);
  ASSERT_GT(live[1].pages, 100u);
  Moved moved{array.meta(), array.root(), array.live(), array.pages()};
  moved.reclaim({{SnapshotNumber{1}, 0, 0, 0}}, array.snapshot() + 1);
  EXPECT_LE(moved.pages_read, live[0].pages + 5u) << "what is above them";
}

TEST(RelocationTest, the_same_input_gives_the_same_bytes) {
  std::string bytes[2];
  for (std::string& one : bytes) {
    base::Random random(5);
    HashGleans hash;
    for (int round = 0; round < 5; ++round) {
      for (int i = 0; i < 300; ++i) hash.put(key_number(random.below(900)), payload_for(i));
      ASSERT_TRUE(hash.glean().is_ok());
    }
    Moved moved{hash.meta_, hash.root_, hash.live(), hash.pages_};
    moved.reclaim({{SnapshotNumber{1}, 0, 0, 0}, {SnapshotNumber{3}, 0, 0, 0}}, hash.snapshot_);
    one = hash.pages_.file_bytes(SnapshotNumber{hash.snapshot_}, 0);
  }
  EXPECT_GT(bytes[0].size(), 100u * page::kPageBytes);
  EXPECT_EQ(bytes[0], bytes[1]);
}

// Goal: a page of an array with another level than its place is not followed. Method: only the
// level of one interior page is wrong.
TEST(RelocationTest, pages_of_an_array_of_another_level_are_corruption) {
  ArrayRig array(100'000, 200);
  ASSERT_EQ(array.levels(), 2u);
  array.write(0, std::string(200, 'x'));
  array.write(99'999, std::string(200, 'x'));
  ASSERT_TRUE(array.glean().is_ok());
  const Victims victims({{SnapshotNumber{1}, 0, 0, 0}});
  const snapshot::ManifestStorage storage =
      Moved{array.meta(), array.root(), array.live(), array.pages()}.storage();
  array.pages().forge = [](page::PageHeader* page) {
    page->level = static_cast<std::uint8_t>(3 - page->level);
  };
  // The changed pages are the root, and the one below it on the path to either record.
  std::uint32_t number = array.snapshot();
  for (const std::uint64_t reads : {0u, 1u, 3u}) {
    array.pages().forge_read_after(reads);
    MemoryWriter writer(&array.pages(), ++number);
    Relocation relocation(storage, victims, &array.pages(), &writer);
    const Result<SnapshotPageId> moved = move(&relocation);
    EXPECT_EQ(moved.code(), ErrorCode::kCorruption) << reads;
    EXPECT_EQ(moved.status().storage(), "accounts");
    EXPECT_EQ(relocation.pages_read(), reads + 1);
    array.pages().finish();
  }
}

// Goal: wrong counts are detected. Method: one page more, and one less.
TEST(RelocationTest, wrong_counts_are_corruption) {
  ArrayRig array(5'000, 200);
  for (std::uint64_t i = 0; i < 5'000; i += 3) array.write(i, std::string(200, 'x'));
  ASSERT_TRUE(array.glean().is_ok());
  const Victims victims({{SnapshotNumber{1}, 0, 0, 0}});
  for (const int wrong : {-1, 1}) {
    Moved moved{array.meta(), array.root(), array.live(), array.pages()};
    snapshot::ManifestStorage storage = moved.storage();
    storage.live[0].pages += static_cast<std::uint32_t>(wrong);
    MemoryWriter writer(&array.pages(), 10 + static_cast<std::uint32_t>(wrong));
    Relocation relocation(storage, victims, &array.pages(), &writer);
    ASSERT_TRUE(move(&relocation).is_ok());
    const auto counted = relocation.finish();
    EXPECT_EQ(counted.code(), ErrorCode::kCorruption) << wrong;
    EXPECT_EQ(counted.status().storage(), "accounts");
    array.pages().finish();
  }
}

}  // namespace
}  // namespace foedus::gleaner::relocation_test
