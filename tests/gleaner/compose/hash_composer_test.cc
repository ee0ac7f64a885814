#include "gleaner/compose/hash/composer.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/gleaner/compose/hash_gleans.h"

namespace foedus::gleaner::hash_composer_test {
namespace {

void glean(HashGleans* gleans, const std::vector<std::uint64_t>& digits = {0}) {
  const Status status = gleans->glean(digits);
  ASSERT_TRUE(status.is_ok()) << status.message();
}

// Goal: a storage without records has a root, which stays. Method: two gleans without records.
TEST(HashComposerTest, an_empty_storage_has_a_root_that_stays) {
  HashGleans gleans;
  glean(&gleans);
  EXPECT_EQ(gleans.written_, 1u);
  const page::SnapshotPageId root = gleans.root_;
  const HashWalk::Seen seen = gleans.verify();
  EXPECT_EQ(seen.interiors.size(), 1u);
  EXPECT_TRUE(seen.bins.empty());
  glean(&gleans, {0, 64});
  EXPECT_EQ(gleans.written_, 0u);
  EXPECT_EQ(gleans.root_, root);
}

TEST(HashComposerTest, few_records_are_two_bins) {
  HashGleans gleans(14);
  for (int i = 0; i < 20; ++i) gleans.put(key_number(i), "payload" + std::to_string(i));
  glean(&gleans);
  EXPECT_EQ(gleans.verify().bins.size(), 2u);
  EXPECT_EQ(gleans.written_, 3u);
}

// Goal: bins have the shortest prefix that fits one page, in tries of several levels.
// Method: 100,000 keys at once; no two bins that are buddies would fit together.
TEST(HashComposerTest, a_hundred_thousand_keys_fill_their_pages) {
  for (const std::uint32_t bits : {1u, 7u, 13u, 21u}) {
    HashGleans gleans(bits);
    for (int i = 0; i < 100'000; ++i) gleans.put(key_number(i), std::string(8, 'a' + i % 26));
    glean(&gleans);
    const HashWalk::Seen seen = gleans.verify(97);
    EXPECT_GT(seen.interiors.size(), 100u);
    EXPECT_EQ(seen.chained, 0u);
    // A record takes about 52 bytes, so 72 fit on a page; halving fills pages to 69 % on average.
    EXPECT_LT(seen.bins.size(), 100'000u / 40);
    EXPECT_EQ(gleans.written_, seen.bins.size() + seen.interiors.size());
  }
}

TEST(HashComposerTest, random_writes_over_many_gleans_match_a_model) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("FOEDUS_TEST_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (const std::uint32_t bits : {1u, 4u, 9u}) {
    HashGleans gleans(bits);
    const std::vector<std::vector<std::uint64_t>> ranges = {
        {0}, {0, 64}, {0, 1, 37, 38, 101}, {0, 127}, {0, 32, 96}};
    for (int round = 0; round < 12; ++round) {
      const std::uint64_t writes = random() % (round % 3 == 0 ? 20 : 4'000);
      const std::uint64_t keys = 1 + random() % 6'000;
      for (std::uint64_t i = 0; i < writes; ++i) {
        const std::string key = random() % 16 == 0 ? equal_hash_key(random() % 300)
                                                   : key_number(random() % keys);
        const auto found = gleans.model_.find(key);
        const std::uint64_t what = random() % 8;
        gleans.set_same_tid(false);
        if (found == gleans.model_.end() || what < 2) {
          const std::size_t bytes = random() % 50 == 0 ? random() % 6'000 : random() % 60;
          gleans.put(key, std::string(bytes, static_cast<char>('a' + random() % 26)));
          continue;
        }
        const std::size_t bytes = found->second.payload.size();
        const bool partial = bytes >= 8 && bytes <= 1400;
        if (what < 5 || !partial) {
          gleans.erase(key);
        } else if (what == 5) {
          gleans.increment(key, static_cast<std::uint32_t>(random() % (bytes - 7)), random());
        } else {
          gleans.write_at(key, static_cast<std::uint32_t>(random() % (bytes - 3)), "part");
        }
      }
      glean(&gleans, ranges[random() % ranges.size()]);
      gleans.verify(13);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(HashComposerTest, grows_from_one_record_and_shrinks_to_none) {
  HashGleans gleans(8);
  std::size_t bins = 0;
  for (const int keys : {1, 10, 100, 1'000, 10'000, 40'000}) {
    for (int i = keys / 10; i < keys; ++i) gleans.put(key_number(i), "some payload");
    glean(&gleans);
    const HashWalk::Seen seen = gleans.verify(7);
    EXPECT_GE(seen.bins.size(), bins);
    bins = seen.bins.size();
  }
  for (const int keys : {20'000, 1'000, 50, 1}) {
    while (gleans.model_.size() > static_cast<std::size_t>(keys)) {
      gleans.erase(gleans.model_.begin()->first);
    }
    glean(&gleans);
    const HashWalk::Seen seen = gleans.verify(7);
    EXPECT_LT(seen.bins.size(), bins);
    bins = seen.bins.size();
  }
  EXPECT_EQ(bins, 1u);
  gleans.erase(gleans.model_.begin()->first);
  glean(&gleans);
  const HashWalk::Seen seen = gleans.verify();
  EXPECT_TRUE(seen.bins.empty());
  EXPECT_EQ(seen.interiors.size(), 1u);
}

// Goal: G6. Method: one write to a storage of many pages; all pages off its path keep their ids,
// and none of them is read.
TEST(HashComposerTest, what_is_not_touched_is_neither_read_nor_written) {
  HashGleans gleans;
  for (int i = 0; i < 50'000; ++i) gleans.put(key_number(i), "some payload");
  glean(&gleans, {0, 40});
  const HashWalk::Seen before = gleans.verify(1'000);
  const std::uint64_t reads = gleans.pages_.reads();
  gleans.put(key_number(77), "changed");
  glean(&gleans, {0, 40});
  // Both ranges and the join read the root, and one of them a path.
  EXPECT_LE(gleans.pages_.reads() - reads, 3u + 2u);
  EXPECT_EQ(gleans.written_, 3u);
  const HashWalk::Seen after = gleans.verify(1'000);
  std::size_t kept = 0;
  for (const auto& [id, bits] : before.bins) kept += after.bins.count(id);
  EXPECT_EQ(kept, before.bins.size() - 1);
  EXPECT_EQ(after.bins.size(), before.bins.size());
}

// Goal: G7, equal input gives equal bytes.
TEST(HashComposerTest, the_same_input_gives_the_same_bytes) {
  HashGleans gleans[2];
  for (HashGleans& each : gleans) {
    for (int i = 0; i < 5'000; ++i) each.put(key_number(i), std::string(i % 70, 'x'));
    each.put("large", std::string(10'000, 'l'));
    glean(&each, {0, 50});
    for (int i = 0; i < 5'000; i += 3) each.erase(key_number(i));
    glean(&each, {0, 50});
  }
  EXPECT_EQ(gleans[0].root_, gleans[1].root_);
  for (const std::uint32_t snapshot : {1u, 2u}) {
    for (const std::uint32_t soc : {0u, 1u}) {
      const std::string bytes = gleans[0].pages_.file_bytes(page::SnapshotNumber{snapshot}, soc);
      EXPECT_FALSE(bytes.empty());
      EXPECT_EQ(bytes, gleans[1].pages_.file_bytes(page::SnapshotNumber{snapshot}, soc));
    }
  }
}

// Goal: old bins with hashes of two ranges are divided. Method: few records, so that the root has
// two bins; then ranges that cut them, some without any log record.
TEST(HashComposerTest, bins_that_two_ranges_share_are_divided) {
  HashGleans gleans;
  for (int i = 0; i < 60; ++i) gleans.put(key_number(i), "payload");
  glean(&gleans);
  EXPECT_EQ(gleans.verify().bins.size(), 2u);
  gleans.put("one more", "payload");
  glean(&gleans, {0, 3, 64, 65, 120});
  const HashWalk::Seen divided = gleans.verify();
  EXPECT_GT(divided.bins.size(), 4u);
  gleans.put("another", "payload");
  glean(&gleans, {0, 3, 64, 65, 120});
  EXPECT_EQ(gleans.written_, 2u);
  EXPECT_EQ(gleans.verify().bins.size(), divided.bins.size());
  for (int i = 0; i < 60; ++i) gleans.put(key_number(i), "newer");
  glean(&gleans);
  EXPECT_EQ(gleans.verify().bins.size(), 2u);
}

TEST(HashComposerTest, several_ranges_have_the_records_of_one) {
  HashGleans one(10);
  HashGleans several(10);
  for (HashGleans* gleans : {&one, &several}) {
    for (int i = 0; i < 30'000; ++i) gleans->put(key_number(i), "payload");
  }
  glean(&one);
  glean(&several, {0, 11, 12, 64, 90});
  EXPECT_EQ(one.verify(101).records, several.verify(101).records);
  EXPECT_EQ(one.written_, several.written_);  // no bin is larger than a digit of the root here
}

}  // namespace
}  // namespace foedus::gleaner::hash_composer_test
