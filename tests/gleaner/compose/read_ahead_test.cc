// Pages that are announced ahead of a composer are those that it reads (G67), for each kind.
#include "gleaner/compose/read_ahead.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "tests/base/test_seed.h"
#include "tests/gleaner/compose/array_rig.h"
#include "tests/gleaner/compose/hash_gleans.h"
#include "tests/gleaner/compose/masstree_table.h"

namespace foedus::gleaner::read_ahead_test {
namespace {

// Announces pages for the records of `stream`, in windows as a task would, and returns them; reads
// of its own do not count.
std::set<std::uint64_t> announce(const storage_meta::StorageMeta& meta, page::SnapshotPageId root,
                                 MemoryPages* pages, ListStream* stream) {
  pages->take_announced();
  const Composition composition{&meta, root, pages, nullptr, nullptr};
  const std::vector<StreamRecord> records = stream->records();
  constexpr std::size_t kWindow = 100;
  for (std::size_t begin = 0; begin < records.size(); begin += kWindow) {
    const std::size_t count = std::min(kWindow, records.size() - begin);
    read_ahead(composition, std::span(records).subspan(begin, count));
  }
  pages->take_read();
  return pages->take_announced();
}

// Checks that all read pages were announced, and that few announced pages were not read.
void expect_announced(const std::set<std::uint64_t>& announced, const std::set<std::uint64_t>& read,
                      std::size_t idle_max) {
  std::size_t idle = announced.size();
  for (const std::uint64_t id : read) {
    EXPECT_TRUE(announced.contains(id)) << id;
    idle -= announced.contains(id) ? 1 : 0;
  }
  EXPECT_LE(idle, idle_max) << "of " << announced.size();
  EXPECT_GT(read.size(), 2u);
}

std::string long_key(std::uint64_t number) {
  return "prefix of " + std::to_string(number % 13) + " and more " + key_of(number) + "tail";
}

// Goal: pages are announced for trees of several levels, layers of several levels, and single keys
// that become layers.
TEST(ReadAheadTest, announces_what_a_composer_of_a_masstree_reads) {
  base::Random random(testing::test_seed(3));
  MasstreeTable table;
  for (std::uint64_t i = 0; i < 30'000; ++i) table.put(key_of(i * 10), payload_of(100, i));
  for (std::uint64_t i = 0; i < 3000; ++i) table.put(long_key(i * 10), payload_of(100, i));
  table.glean_only();
  ASSERT_GE(table.pages.at(table.root)->level, 1);
  for (int round = 0; round < 5; ++round) {
    table.put(key_of(299'990), payload_of(90, random.next()));  // in the first layer's page
    for (int i = 0; i < 300; ++i) {
      table.put(key_of(random.below(300'000)), payload_of(90, random.next()));
      if (i % 5 == 0) table.put(long_key(random.below(30'000)), payload_of(90, random.next()));
    }
    const auto announced = announce(table.meta, table.root, &table.pages, table.stream.get());
    ASSERT_TRUE(table.glean().is_ok());
    expect_announced(announced, table.pages.take_read(), 0);
    table.start_epoch();
  }
}

// Goal: pages are announced for tries of several levels. A composer does not read untouched bins,
// even if they are merged or divided.
TEST(ReadAheadTest, announces_what_a_composer_of_a_hash_storage_reads) {
  base::Random random(testing::test_seed(4));
  HashGleans hash(1);
  for (std::uint64_t i = 0; i < 30'000; ++i) hash.put(key_of(i), payload_of(100, i));
  ASSERT_TRUE(hash.glean().is_ok());
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 300; ++i) {
      hash.put(key_of(random.below(40'000)), payload_of(90, random.next()));
    }
    const auto announced = announce(hash.meta_, hash.root_, &hash.pages_, hash.stream_.get());
    ASSERT_TRUE(hash.glean().is_ok());
    expect_announced(announced, hash.pages_.take_read(), 0);
  }
}

TEST(ReadAheadTest, announces_what_a_composer_of_an_array_reads) {
  base::Random random(testing::test_seed(5));
  ArrayRig array(300'000, 100);
  for (std::uint64_t i = 0; i < 100'000; ++i) array.write(i, std::string(100, 'a'));
  ASSERT_TRUE(array.glean().is_ok());
  ASSERT_GE(array.levels(), 2u);
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 300; ++i) array.write(random.below(300'000), std::string(100, 'b'));
    const auto announced = announce(array.meta(), array.root(), &array.pages(), &array.stream());
    ASSERT_TRUE(array.glean().is_ok());
    expect_announced(announced, array.pages().take_read(), 0);
  }
}

// Goal: interior pages at the depth of bins are not followed. Method: a path of interior pages for
// more digits than a hash has.
TEST(ReadAheadTest, does_not_follow_a_hash_beyond_its_bits) {
  HashGleans hash(1);
  hash.put(key_of(1), "payload");
  MemoryPages pages;
  MemoryWriter writer(&pages, 1);
  page::PageBytes block;
  page::SnapshotPageId below(page::SnapshotNumber{1}, 0, 99);
  for (int bits = 63; bits >= 0; bits -= static_cast<int>(storage::hash::kDigitBits)) {
    block.initialize(hash.meta_.id, page::PageKind::kHashInterior, 1);
    auto* const interior = block.as<storage::hash::HashInteriorPage>();
    interior->header.flags = static_cast<std::uint8_t>(bits);
    for (std::uint32_t digit = 0; digit < interior->kPointers; ++digit) {
      interior->set_owners(digit, 1);
      interior->pointers[digit].store({page::VolatilePageId(), below});
    }
    below = writer.append(block.header()).value();
  }
  pages.finish();
  const auto announced = announce(hash.meta_, below, &pages, hash.stream_.get());
  EXPECT_EQ(announced.size(), 10u);
  EXPECT_FALSE(announced.contains(page::SnapshotPageId(page::SnapshotNumber{1}, 0, 99).word()));
}

// Goal: damage does not fail the announcement, and the composer still reports it. Method: each page
// in turn cannot be read; then pointers lead to pages of other places, kinds and storages.
TEST(ReadAheadTest, is_silent_about_damage) {
  MasstreeTable table;
  HashGleans hash(1);
  ArrayRig array(300'000, 100);
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    table.put(i % 10 == 0 ? long_key(i) : key_of(i), payload_of(100, i));
    hash.put(key_of(i), payload_of(100, i));
    array.write(i * 15, std::string(100, 'a'));
  }
  table.glean_only();
  ASSERT_TRUE(hash.glean().is_ok());
  ASSERT_TRUE(array.glean().is_ok());
  for (std::uint64_t i = 0; i < 20'000; i += 50) {
    table.put(i % 20 == 0 ? long_key(i) : key_of(i), payload_of(90, i));
    hash.put(key_of(i), payload_of(90, i));
    array.write(i * 15, std::string(100, 'b'));
  }
  struct Kind {
    const storage_meta::StorageMeta* meta;
    MemoryPages* pages;
    ListStream* stream;
    page::SnapshotPageId root;
  };
  const Kind kinds[] = {{&table.meta, &table.pages, table.stream.get(), table.root},
                        {&hash.meta_, &hash.pages_, hash.stream_.get(), hash.root_},
                        {&array.meta(), &array.pages(), &array.stream(), array.root()}};
  for (const Kind& kind : kinds) {
    const auto all = announce(*kind.meta, kind.root, kind.pages, kind.stream);
    for (const std::uint64_t id : all) {
      kind.pages->fail_reads_of(page::SnapshotPageId(id));
      const auto some = announce(*kind.meta, kind.root, kind.pages, kind.stream);
      EXPECT_TRUE(std::includes(all.begin(), all.end(), some.begin(), some.end()));
      EXPECT_TRUE(some.contains(id));
    }
    kind.pages->fail_reads_of({});
    for (const std::uint64_t id : all) {
      announce(*kind.meta, page::SnapshotPageId(id), kind.pages, kind.stream);
      for (const Kind& other : kinds) {
        announce(*other.meta, page::SnapshotPageId(id), kind.pages, other.stream);
      }
    }
  }
}

}  // namespace
}  // namespace foedus::gleaner::read_ahead_test
