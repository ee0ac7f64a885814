// Tests of the index and the frames alone, without a reader or a clock.
#include "foedus-core/snapshot/cache/index.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/snapshot/cache/frames.h"
#include "tests/base/test_seed.h"
#include "tests/snapshot/page_cache_pages.h"
#include "tests/testing/at_sync_point.h"

namespace foedus::snapshot::page_cache_index_test {
namespace {

// Memory of an index, and frames that have only an id.
class CacheIndexTest : public ::testing::Test {
 protected:
  // Makes the index; the first `own` frames are the cache's own, the others borrowed.
  void make(std::uint32_t frames, std::uint32_t frames_of_index, std::uint32_t own) {
    const std::uint64_t index_bytes = CacheIndex::bytes_for(frames_of_index);
    const std::uint64_t offset = (index_bytes / page::kPageBytes + 1) * page::kPageBytes;
    memory_ = *numa::SocMemory::reserve(offset + frames * page::kPageBytes, Facility::kOff);
    ASSERT_TRUE(memory_.commit(0, memory_.bytes()).is_ok());
    char* const begin = memory_.begin() + offset;
    links_ = std::make_unique<CacheIndex::Link[]>(frames);
    index_.emplace(memory_.begin(), frames_of_index,
                   CacheIndex::Places{begin, own, begin + own * page::kPageBytes, frames,
                                      links_.get()});
  }
  void make(std::uint32_t frames, std::uint32_t frames_of_index) {
    make(frames, frames_of_index, frames);
  }
  CacheFrame put(page::SnapshotPageId id, CacheFrame frame, CacheMark mark) {
    index_->page_at(frame)->page_id = id.word();
    return index_->put(id, frame, mark);
  }
  void put_leaving(page::SnapshotPageId id, CacheFrame frame, CacheMark mark) {
    index_->page_at(frame)->page_id = id.word();
    EXPECT_EQ(index_->put(id, frame, mark, true), 0u);
  }
  bool has(page::SnapshotPageId id) {
    const CacheFrame frame = index_->peek(id);
    EXPECT_TRUE(frame == 0 || index_->page_at(frame)->page_id == id.word());
    return frame != 0;
  }

  std::uint64_t pages_cached() const {
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < index_->stripe_count(); ++i) sum += index_->pages_cached(i);
    return sum;
  }

  numa::SocMemory memory_;
  std::unique_ptr<CacheIndex::Link[]> links_;
  std::optional<CacheIndex> index_;
};

constexpr std::uint32_t kPairEntries = 2 * CacheIndex::kBucketEntries;

// With as many pages as frames, from consecutive places in files, few find both of their buckets
// full.
TEST_F(CacheIndexTest, nearly_all_pages_find_a_place) {
  constexpr std::uint32_t kFrames = 12'000;
  make(kFrames, kFrames);
  std::uint32_t evicted = 0;
  for (std::uint32_t i = 0; i < kFrames; ++i) {
    const page::SnapshotPageId id = page_of(i / 6, 1 + i % 3, i % 2);
    evicted += put(id, i + 1, CacheMark::kUsedOnce) != 0;
  }
  EXPECT_LT(evicted, kFrames / 200);
  EXPECT_EQ(pages_cached(), kFrames - evicted);
}

// In one pair of buckets each new page replaces one, which is returned and is not found any more.
TEST_F(CacheIndexTest, a_full_pair_gives_away_a_page_that_was_not_used_again) {
  make(100, 1);
  for (std::uint32_t i = 0; i < kPairEntries; ++i) {
    EXPECT_EQ(put(page_of(i), i + 1, CacheMark::kUsedAgain), 0u);
  }
  const page::SnapshotPageId cold = page_of(1000);
  EXPECT_NE(put(cold, 90, CacheMark::kUsedOnce), 0u);  // all were used again: any
  EXPECT_EQ(put(page_of(1001), 91, CacheMark::kUsedAgain), 90u);
  EXPECT_FALSE(has(cold));
  EXPECT_TRUE(has(page_of(1001)));
  EXPECT_EQ(pages_cached(), kPairEntries);
}

TEST_F(CacheIndexTest, a_sweep_for_borrowed_frames_takes_no_others) {
  constexpr std::uint32_t kOwn = 60;
  make(100, 100, kOwn);
  for (std::uint32_t i = 0; i < 100; ++i) put(page_of(i), i + 1, CacheMark::kUsedOnce);
  std::uint32_t swept = 0;
  for (int round = 0; round < 100; ++round) {
    CacheFrame frames[16];
    const std::uint32_t count = index_->sweep_borrowed(0, frames, 16, CacheSweep::kAny);
    for (std::uint32_t i = 0; i < count; ++i) EXPECT_GT(frames[i], kOwn);
    swept += count;
  }
  EXPECT_GE(swept, 35u);  // a few pages may have found both of their buckets full
}

TEST_F(CacheIndexTest, a_full_pair_gives_away_a_leaving_page_first) {
  make(100, 1);
  for (std::uint32_t i = 0; i < kPairEntries; ++i) put(page_of(i), i + 1, CacheMark::kUsedOnce);
  CacheFrame leaving[CacheIndex::kBucketEntries];
  const std::uint32_t count =
      index_->sweep(0, leaving, CacheIndex::kBucketEntries, CacheSweep::kColdForNow);
  ASSERT_EQ(count, CacheIndex::kBucketEntries);
  for (std::uint32_t i = 0; i < count; ++i) {
    EXPECT_EQ(put(page_of(100 + i), 50 + i, CacheMark::kUsedOnce), 0u);
  }
  EXPECT_EQ(pages_cached(), kPairEntries);
  for (std::uint32_t i = 0; i < count; ++i) {
    EXPECT_EQ(index_->restore(page_of(leaving[i] - 1), CacheMark::kUsedOnce), 0u);
    index_->remove_leaving(leaving[i]);  // has no entry: no effect
    EXPECT_TRUE(has(page_of(100 + i)));
  }
}

TEST_F(CacheIndexTest, a_mark_is_taken_by_the_hand_once) {
  make(10, 190);
  ASSERT_EQ(index_->bucket_count(), CacheIndex::kSweepBuckets);  // a sweep goes once around
  put(page_of(1), 1, CacheMark::kUsedOnce);
  put(page_of(2), 2, CacheMark::kUsedOnce);
  put(page_of(3), 3, CacheMark::kReadAhead);
  EXPECT_NE(index_->find(page_of(1)), 0u);
  EXPECT_NE(index_->find(page_of(3)), 0u);  // used once is not used again
  CacheFrame frames[16];
  EXPECT_EQ(index_->sweep(0, frames, 16, CacheSweep::kCold), 2u);
  EXPECT_TRUE(has(page_of(1)));
  EXPECT_FALSE(has(page_of(2)));
  EXPECT_FALSE(has(page_of(3)));
  EXPECT_EQ(index_->sweep(0, frames, 16, CacheSweep::kCold), 1u);
  EXPECT_EQ(frames[0], 1u);
}

TEST_F(CacheIndexTest, a_page_that_left_has_a_ghost_until_it_is_taken) {
  make(10, 190);
  index_->page_at(0)->page_id = page_of(1).word();  // bytes before the frames may be any
  put(page_of(1), 1, CacheMark::kUsedOnce);
  EXPECT_FALSE(index_->take_ghost(page_of(1))) << "it is there";
  CacheFrame frames[16];
  ASSERT_EQ(index_->sweep(0, frames, 16, CacheSweep::kColdForNow), 1u);
  EXPECT_FALSE(index_->take_ghost(page_of(1))) << "it may return";
  index_->remove_leaving(1);
  EXPECT_FALSE(has(page_of(1)));
  EXPECT_EQ(index_->restore(page_of(1), CacheMark::kUsedAgain), 0u);
  EXPECT_EQ(index_->use_leaving(page_of(1)), 0u);
  EXPECT_EQ(index_->sweep(0, frames, 16, CacheSweep::kAny), 0u);
  for (std::uint64_t i = 0; i < index_->bucket_count(); ++i) {
    EXPECT_EQ(index_->forget(page::SnapshotNumber{1}, i, frames), 0u);
  }
  EXPECT_FALSE(index_->take_ghost(page_of(2)));
  EXPECT_TRUE(index_->take_ghost(page_of(1)));
  EXPECT_FALSE(index_->take_ghost(page_of(1)));
}

// In one pair of buckets ghosts are replaced first, then leaving pages, then others.
TEST_F(CacheIndexTest, ghosts_give_way_to_pages_before_leaving_ones_do) {
  make(100, 1);
  for (std::uint32_t i = 0; i < kPairEntries; ++i) {
    put_leaving(page_of(i), i + 1, CacheMark::kUsedOnce);
  }
  for (std::uint32_t i = 0; i < kPairEntries; i += 2) index_->remove_leaving(i + 1);
  for (std::uint32_t i = 0; i < kPairEntries; i += 2) {
    EXPECT_EQ(put(page_of(100 + i), i + 1, CacheMark::kUsedOnce), 0u);
  }
  for (std::uint32_t i = 1; i < kPairEntries; i += 2) {
    EXPECT_EQ(index_->restore(page_of(i), CacheMark::kUsedOnce), i + 1) << "has kept its entry";
  }
}

// In one pair of buckets every entry is a ghost's, and then a page's.
TEST_F(CacheIndexTest, ghosts_give_way_to_pages) {
  make(100, 1);
  for (std::uint32_t i = 0; i < kPairEntries; ++i) {
    put_leaving(page_of(i), 1, CacheMark::kUsedOnce);
    index_->remove_leaving(1);
  }
  EXPECT_EQ(pages_cached(), 0u);
  for (std::uint32_t i = 0; i < kPairEntries; ++i) {
    EXPECT_EQ(put(page_of(100 + i), i + 1, CacheMark::kUsedOnce), 0u);
  }
  EXPECT_EQ(pages_cached(), kPairEntries);
  for (std::uint32_t i = 0; i < kPairEntries; ++i) {
    EXPECT_FALSE(index_->take_ghost(page_of(i)));
    EXPECT_TRUE(has(page_of(100 + i)));
  }
}

TEST_F(CacheIndexTest, a_page_that_is_put_leaving_is_found_when_it_is_restored) {
  make(10, 10);
  put_leaving(page_of(1), 1, CacheMark::kReadAhead);
  EXPECT_FALSE(has(page_of(1)));
  EXPECT_EQ(pages_cached(), 0u);
  EXPECT_EQ(index_->use_leaving(page_of(1)), 1u);
  EXPECT_EQ(index_->use_leaving(page_of(1)), 0u) << "it was used before";
  EXPECT_EQ(index_->restore(page_of(1), CacheMark::kUsedAgain), 1u);
  EXPECT_TRUE(has(page_of(1)));
  EXPECT_EQ(pages_cached(), 1u);
}

// Random operations agree with a map.
TEST_F(CacheIndexTest, agrees_with_a_map) {
  constexpr std::uint32_t kFrames = 64;
  make(kFrames, kFrames);
  base::Random random(testing::test_seed(3));
  std::map<std::uint32_t, CacheFrame> cached;   // by page
  std::map<CacheFrame, std::uint32_t> leaving;  // by frame
  std::vector<CacheFrame> free;
  for (CacheFrame frame = 1; frame <= kFrames; ++frame) free.push_back(frame);
  for (int step = 0; step < 20'000; ++step) {
    const std::uint32_t page = static_cast<std::uint32_t>(random.below(100));
    if (const CacheFrame back = index_->restore(page_of(page), CacheMark::kUsedOnce); back != 0) {
      ASSERT_EQ(leaving.at(back), page);
      leaving.erase(back);
      cached[page] = back;
    } else if (cached.count(page) == 0 && !free.empty()) {
      const CacheFrame evicted = put(page_of(page), free.back(), CacheMark::kUsedOnce);
      if (evicted != 0) {
        std::erase_if(cached, [&](const auto& at) { return at.second == evicted; });
        free.insert(free.begin(), evicted);
      }
      cached[page] = free.back();
      free.pop_back();
    }
    if (free.size() < 8 && leaving.size() < 8) {
      CacheFrame frames[16];
      const std::uint32_t count = index_->sweep(0, frames, 16, CacheSweep::kColdForNow);
      for (std::uint32_t i = 0; i < count; ++i) {
        leaving[frames[i]] = page::SnapshotPageId(index_->page_at(frames[i])->page_id).page();
        ASSERT_EQ(cached.erase(leaving[frames[i]]), 1u);
      }
    }
    if (!leaving.empty() && random.below(4) == 0) {
      index_->remove_leaving(leaving.begin()->first);
      free.push_back(leaving.begin()->first);
      leaving.erase(leaving.begin());
    }
    ASSERT_EQ(pages_cached(), cached.size());
    ASSERT_EQ(has(page_of(page)), cached.count(page) == 1) << page;
  }
}

// ---- stripes ---------------------------------------------------------------------------------

TEST(CacheStripesTest, small_caches_have_one_and_no_cache_has_more_than_the_most) {
  constexpr std::uint64_t kOne = CacheIndex::kFramesPerStripe;
  EXPECT_EQ(CacheIndex::stripes_for(64), 1u);
  EXPECT_EQ(CacheIndex::stripes_for(2 * kOne - 1), 1u);
  EXPECT_EQ(CacheIndex::stripes_for(2 * kOne), 2u);
  EXPECT_EQ(CacheIndex::stripes_for(7 * kOne), 4u);
  EXPECT_EQ(CacheIndex::stripes_for(32 * kOne), CacheIndex::kStripesMax);
  EXPECT_EQ(CacheIndex::stripes_for(CacheIndex::kFramesMax), CacheIndex::kStripesMax);
}

TEST(CacheStripesTest, are_whole_pairs_of_buckets_and_all_of_them) {
  alignas(128) char nothing[page::kPageBytes];  // stands for the memory, which is not read
  for (const std::uint64_t frames : {1, 64, 4'096, 4'100, 5'000, 9'999, 70'001, 1'000'003}) {
    char* const begin = nothing + sizeof(nothing);
    const CacheIndex index(nothing, frames,
                           CacheIndex::Places{begin, frames, begin, frames, nullptr});
    std::uint64_t next = 0;
    for (std::uint32_t stripe = 0; stripe < index.stripe_count(); ++stripe) {
      const CacheIndex::BucketRange buckets = index.buckets_of(stripe);
      EXPECT_EQ(buckets.begin, next) << frames;
      EXPECT_EQ(buckets.begin % 2, 0u) << frames;
      EXPECT_GT((buckets.end - buckets.begin) * index.stripe_count(),
                index.bucket_count() * 9 / 10)
          << frames;
      next = buckets.end;
    }
    EXPECT_EQ(next, index.bucket_count()) << frames;
  }
}

// With as many pages as frames some are in the buddy of their home bucket.
TEST_F(CacheIndexTest, a_sweep_of_a_stripe_takes_its_pages_and_no_others) {
  constexpr std::uint32_t kFrames = 12'001;
  make(kFrames, kFrames);
  ASSERT_EQ(index_->stripe_count(), 4u);
  for (std::uint32_t i = 0; i < kFrames; ++i) put(page_of(i), i + 1, CacheMark::kUsedOnce);
  for (const std::uint32_t stripe : {1u, 3u, 0u, 2u}) {
    const std::uint64_t cached_before = pages_cached();
    const std::uint64_t cached_here = index_->pages_cached(stripe);
    EXPECT_GT(cached_here, kFrames / 4 * 9 / 10);
    std::uint64_t swept = 0;
    for (int round = 0; round < 2'000; ++round) {
      CacheFrame frames[16];
      const std::uint32_t count = index_->sweep(stripe, frames, 16, CacheSweep::kAny);
      for (std::uint32_t i = 0; i < count; ++i) {
        ASSERT_EQ(index_->stripe_of(page::SnapshotPageId(index_->page_at(frames[i])->page_id)),
                  stripe);
      }
      swept += count;
    }
    EXPECT_EQ(swept, cached_here);
    EXPECT_EQ(index_->pages_cached(stripe), 0u);
    EXPECT_EQ(pages_cached(), cached_before - swept);
  }
}

// ---- frames ----------------------------------------------------------------------------------

// Returns an id with this hash, as CacheIndex::key_of() computes it.
page::SnapshotPageId id_of_hash(std::uint64_t hash) {
  constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15u;
  std::uint64_t inverse = kFactor;  // three bits of it are right, and twice as many after each step
  for (int i = 0; i < 5; ++i) inverse *= 2 - kFactor * inverse;
  const std::uint64_t folded = hash * inverse;
  return page::SnapshotPageId(folded ^ (folded >> 32));
}

// The tag is 35 bits of the hash, and the bucket is chosen by its high bits.
TEST_F(CacheIndexTest, a_page_whose_tag_is_zero_is_not_an_empty_entry) {
  make(10, 10);
  constexpr std::uint64_t kHalf = 0x12345678;  // the same half twice, and three bits more
  const page::SnapshotPageId id = id_of_hash(kHalf << 32 | kHalf);
  EXPECT_FALSE(has(id));
  EXPECT_EQ(put(id, 1, CacheMark::kUsedOnce), 0u);
  EXPECT_TRUE(has(id));
}

TEST_F(CacheIndexTest, two_pages_of_one_tag_in_one_bucket_are_told_apart) {
  make(10, 10);
  constexpr std::uint64_t kHigh = 0x12345678;
  constexpr std::uint64_t kLow = 0xabcdef01;
  const page::SnapshotPageId one = id_of_hash(kHigh << 32 | kLow);
  const page::SnapshotPageId other = id_of_hash((kHigh ^ 8) << 32 | (kLow ^ 8));
  ASSERT_NE(one, other);
  EXPECT_EQ(put(one, 1, CacheMark::kUsedOnce), 0u);
  EXPECT_FALSE(has(other));
  EXPECT_EQ(put(other, 2, CacheMark::kUsedOnce), 0u);
  EXPECT_TRUE(has(one));
  EXPECT_TRUE(has(other));
}

TEST(CacheFramesTest, frames_are_due_in_the_order_of_their_stamps_unless_they_stay) {
  const numa::Topology topology = *numa::Topology::make(1);
  base::MemoryBudget budget(CacheMemory::kBytesMin);
  const std::unique_ptr<CacheMemory> memory = *CacheMemory::make(
      topology, 0, &budget, CacheMemory::kBytesMin, Facility::kOff, Facility::kTry);
  CacheFrames frames(memory.get(), 0);
  for (CacheFrame i = 1; i <= CacheMemory::kFramesMin; ++i) ASSERT_EQ(frames.take_fresh(), i);
  EXPECT_EQ(frames.take_fresh(), 0u);
  EXPECT_FALSE(frames.grow());
  EXPECT_EQ(frames.oldest_stamp(), CacheFrames::kNever);
  for (CacheFrame i = 1; i <= 6; ++i) frames.leave(i, 10 + i / 2);
  EXPECT_EQ(frames.take_due(9), 0u);
  frames.stay(1);  // the first, the last, one in between
  frames.stay(6);
  frames.stay(3);
  EXPECT_EQ(frames.leaving(), 3u);
  EXPECT_EQ(frames.take_due(10), 0u);
  EXPECT_EQ(frames.take_due(11), 2u);
  EXPECT_EQ(frames.take_due(11), 0u);
  frames.leave(3, 13);
  EXPECT_EQ(frames.take_due(13), 4u);
  EXPECT_EQ(frames.take_due(13), 5u);
  EXPECT_EQ(frames.take_due(13), 3u);
  EXPECT_EQ(frames.leaving(), 0u);
  frames.release(5);
  frames.release(2);
  EXPECT_EQ(frames.fresh(), 2u);
  EXPECT_EQ(frames.take_fresh(), 2u);
  EXPECT_EQ(frames.take_fresh(), 5u);
}

TEST(CacheFramesTest, whose_memory_others_take_first_grow_later) {
  const numa::Topology topology = *numa::Topology::make(1);
  constexpr std::uint64_t kBytesMax = CacheMemory::kBytesMin + (4u << 20);
  base::MemoryBudget budget(kBytesMax);
  const std::unique_ptr<CacheMemory> memory =
      *CacheMemory::make(topology, 0, &budget, kBytesMax, Facility::kOff, Facility::kTry);
  CacheFrames frames(memory.get(), 0);
  const std::uint64_t fresh = frames.fresh();
  const std::uint64_t others = budget.remaining();
  {
    const testing::AtSyncPoint taken("page_cache:before_take",
                                     [&] { ASSERT_TRUE(budget.try_take(others)); });
    EXPECT_FALSE(frames.grow());
    EXPECT_EQ(taken.runs(), 1u);
  }
  EXPECT_EQ(frames.fresh(), fresh);
  EXPECT_EQ(budget.remaining(), 0u);
  budget.give_back(others);
  EXPECT_TRUE(frames.grow());
  EXPECT_GT(frames.fresh(), fresh);
}

}  // namespace
}  // namespace foedus::snapshot::page_cache_index_test
