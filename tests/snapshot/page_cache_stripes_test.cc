// K16, K17: a cache that is large enough for several stripes.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "foedus-core/snapshot/cache/page_cache.h"
#include "tests/snapshot/page_cache_pages.h"
#include "tests/testing/at_sync_point.h"
#include "tests/testing/manual_runtime.h"

namespace foedus::snapshot::page_cache_stripes_test {
namespace {

constexpr std::uint64_t kMiB = 1u << 20;
constexpr std::uint64_t kIntervalUs = 1000;
constexpr std::uint64_t kOwnBytes = 34 * kMiB;
constexpr std::uint64_t kPoolBytes = 16 * kMiB;
constexpr std::uint32_t kStripes = 4;
constexpr std::uint32_t kBatch = page::PagePool::kBatchPages;

// A cache that borrows nothing unless `lends`, and a clock that stands still until advance().
class PageCacheStripesTest : public ::testing::Test {
 protected:
  ~PageCacheStripesTest() override { runtime_.stop(&clock_); }

  void make(bool lends = false, std::uint64_t bytes_budget = kOwnBytes + kPoolBytes) {
    page::PagePool* const lender = lends ? pool_.get() : nullptr;
    budget_ = std::make_unique<base::MemoryBudget>(bytes_budget);
    cache_ = *PageCache::make(&topology_, budget_.get(), kOwnBytes, Facility::kTry, Facility::kTry,
                              &pages_, &clock_, lender);
    twin_memory_ = *CacheMemory::make(topology_, 0, &twin_budget_, kOwnBytes, Facility::kTry,
                                      Facility::kTry, lender);
    twin_.emplace(twin_memory_->index_memory(),
                  twin_memory_->own_max() + twin_memory_->borrowed_max(), twin_memory_->places());
    ASSERT_EQ(twin_->stripe_count(), kStripes);
    ASSERT_EQ(twin_memory_->own_max(), cache_->frames_max(0));
    pool_->allow_lending();
    runtime_.start(&clock_);
  }
  void advance() { runtime_.run_for(4 * kIntervalUs); }
  // Returns another page of this stripe with each call.
  page::SnapshotPageId next_of(std::uint32_t stripe) {
    while (twin_->stripe_of(page_of(++next_)) != stripe) {
    }
    return page_of(next_);
  }
  bool can_find(page::SnapshotPageId id) {
    Status status;
    const page::PageHeader* const page = cache_->find(0, id, &status);
    EXPECT_TRUE(page == nullptr || is_page(page, id)) << id.page();
    EXPECT_TRUE(page != nullptr || status.code() == ErrorCode::kOutOfMemory) << status.message();
    return page != nullptr;
  }
  // Finds pages of this stripe until there is no frame for the next. No epoch passes.
  std::uint64_t fill(std::uint32_t stripe) {
    std::uint64_t count = 0;
    while (can_find(next_of(stripe))) ++count;
    return count;
  }
  // Finds `count` pages of this stripe, each in a search of its own.
  void read(std::uint32_t stripe, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      if (i % 8 == 0) advance();
      clock_.pin_cache(0);
      ASSERT_TRUE(can_find(next_of(stripe))) << i;
      clock_.unpin_cache(0);
    }
  }
  static std::uint64_t share_of(std::uint64_t total, std::uint32_t stripe) {
    return total * (stripe + 1) / kStripes - total * stripe / kStripes;
  }

  MadePages pages_;
  testing::ManualRuntime runtime_;
  epoch::EpochClock clock_{&runtime_, Epoch(10), 8, kIntervalUs};
  numa::Topology topology_ = *numa::Topology::make(1);
  base::MemoryBudget pool_budget_{kPoolBytes};
  std::unique_ptr<page::PagePool> pool_ = *page::PagePool::make(
      &topology_, &pool_budget_, kPoolBytes, Facility::kTry, Facility::kTry);
  std::unique_ptr<base::MemoryBudget> budget_;
  std::unique_ptr<PageCache> cache_;
  // An index as large as that of the cache, which tells the stripe of a page.
  base::MemoryBudget twin_budget_{kOwnBytes};
  std::unique_ptr<CacheMemory> twin_memory_;
  std::optional<CacheIndex> twin_;
  std::uint32_t next_ = 0;
};

TEST_F(PageCacheStripesTest, pages_of_one_stripe_take_its_share_and_leave_the_others_theirs) {
  make();
  clock_.pin_cache(0);
  for (const std::uint32_t stripe : {2u, 0u, 3u, 1u}) {
    EXPECT_EQ(fill(stripe), share_of(cache_->frames_max(0), stripe)) << stripe;
    EXPECT_LE(budget_->taken(), kOwnBytes);
  }
  EXPECT_GT(budget_->taken(), kOwnBytes - page::kPageBytes);
  clock_.unpin_cache(0);
}

TEST_F(PageCacheStripesTest, pages_of_one_stripe_borrow_its_share_and_leave_the_others_theirs) {
  make(true);
  const std::uint64_t borrowed_max = twin_memory_->borrowed_max();
  clock_.pin_cache(0);
  for (const std::uint32_t stripe : {3u, 1u}) {
    const std::uint64_t lent_before = pool_->pages_lent();
    const std::uint64_t found = fill(stripe);
    const std::uint64_t lent = pool_->pages_lent() - lent_before;
    EXPECT_EQ(found, share_of(cache_->frames_max(0), stripe) + lent);
    EXPECT_LE(lent, share_of(borrowed_max, stripe));
    EXPECT_GT(lent + kBatch, share_of(borrowed_max, stripe));
  }
  clock_.unpin_cache(0);
}

// Goal: no stripe starves. Method: the budget is smaller than the cache may be; pages of one stripe
// take as much of it as they can, and others the rest.
TEST_F(PageCacheStripesTest, each_stripe_works_with_its_first_frames_where_the_budget_is_taken) {
  make(false, 4 * kMiB);
  const std::uint64_t first = cache_->statistics().bytes;
  EXPECT_GE(first, kStripes * CacheMemory::kFramesMin * page::kPageBytes);
  read(1, 1'000);
  ASSERT_GT(cache_->statistics().bytes, first);
  ASSERT_TRUE(budget_->try_take(budget_->remaining()));
  for (const std::uint32_t stripe : {0u, 2u, 3u}) read(stripe, 1'000);
}

// Goal: the first stripes do not get all of the budget. Method: pages of all stripes are read in
// turn, with a budget of less than an extent for each.
TEST_F(PageCacheStripesTest, a_budget_that_is_short_is_divided_among_stripes_that_ask_in_turn) {
  make(false, 5 * kMiB);
  const std::uint64_t left = budget_->remaining() / page::kPageBytes;
  ASSERT_LT(left, 2 * CacheMemory::kExtentFrames);
  clock_.pin_cache(0);
  std::uint64_t found[kStripes] = {};
  for (std::uint64_t tries = 0; tries < left; ++tries) {
    for (std::uint32_t stripe = 0; stripe < kStripes; ++stripe) {
      found[stripe] += can_find(next_of(stripe)) ? 1 : 0;
    }
  }
  clock_.unpin_cache(0);
  for (std::uint32_t stripe = 0; stripe < kStripes; ++stripe) {
    EXPECT_GE(found[stripe], CacheMemory::kFramesMin + left / kStripes / 3) << stripe;
  }
}

// Goal: a frame that is free in one stripe does not count for pages of another one. Method: all
// frames of one stripe are taken, then those of a second one.
TEST_F(PageCacheStripesTest, a_frame_is_due_for_the_pages_of_its_stripe) {
  make();
  EXPECT_EQ(cache_->due(0, next_of(2)), Epoch());
  clock_.pin_cache(0);
  fill(2);
  EXPECT_EQ(cache_->due(0, next_of(2)), clock_.current());
  for (const std::uint32_t stripe : {0u, 1u, 3u}) {
    EXPECT_EQ(cache_->due(0, next_of(stripe)), Epoch()) << stripe;
  }
  fill(0);
  EXPECT_EQ(cache_->due(0, next_of(0)), clock_.current());
  EXPECT_EQ(cache_->due(0, next_of(1)), Epoch());
  clock_.unpin_cache(0);
}

// Goal: a miss does not wait for a miss of another stripe. Method: one thread is stopped when it
// has evicted pages, with its stripe's lock; another one misses pages of all other stripes
// meanwhile.
TEST_F(PageCacheStripesTest, misses_of_different_stripes_do_not_exclude_each_other) {
  make();
  std::vector<page::SnapshotPageId> others;
  for (int i = 0; i < 30; ++i) {
    for (const std::uint32_t stripe : {0u, 2u, 3u}) others.push_back(next_of(stripe));
  }
  std::atomic<bool> is_done = false;
  bool was_done_in_time = false;
  std::thread other;
  const testing::AtSyncPoint evicted("cache:unlinked", [&] {
    other = std::thread([&] {
      for (const page::SnapshotPageId id : others) EXPECT_TRUE(can_find(id));
      is_done = true;
    });
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!is_done && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    was_done_in_time = is_done;
  });
  clock_.pin_cache(0);
  fill(1);
  ASSERT_EQ(evicted.runs(), 1u);
  other.join();
  EXPECT_TRUE(was_done_in_time);
  const std::uint64_t reads = pages_.reads.load_relaxed();
  for (const page::SnapshotPageId id : others) EXPECT_TRUE(can_find(id));
  EXPECT_EQ(pages_.reads.load_relaxed(), reads);
  clock_.unpin_cache(0);
}

// Goal: each page in flight goes to the stripe of its frame, or returns the frame. Method: more
// pages than there are frames, some of which cannot be read.
TEST_F(PageCacheStripesTest, pages_in_flight_of_several_stripes_come_together) {
  make();
  pages_.keeps_sent = false;
  const std::unique_ptr<PagesInFlight> in_flight = cache_->make_pages_in_flight(0);
  constexpr std::uint32_t kCount = 16;
  const std::uint32_t batches = static_cast<std::uint32_t>(3 * cache_->frames_max(0) / kCount);
  for (std::uint32_t batch = 0; batch < batches; ++batch) {
    const std::uint32_t first = batch * kCount;  // the sixth of each batch cannot be read
    pages_.before_read = [&](page::SnapshotPageId id) {
      return id.page() % 16 == 5 ? Status(ErrorCode::kIoError) : Status();
    };
    advance();
    clock_.pin_cache(0);
    for (std::uint32_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(in_flight->begin(page_of(first + i)), Begun::kBegun) << first + i;
    }
    ASSERT_TRUE(in_flight->finish(page_of(first)));
    const std::uint64_t reads = pages_.reads.load_relaxed();
    for (std::uint32_t i = 0; i < kCount; ++i) {
      const page::SnapshotPageId id = page_of(first + i);
      ASSERT_EQ(cache_->find_cached(0, id) == nullptr && in_flight->begin(id) != Begun::kCached,
                i == 5)
          << first + i;
    }
    EXPECT_EQ(pages_.reads.load_relaxed(), reads);
    in_flight->settle();
    clock_.unpin_cache(0);
  }
}

TEST_F(PageCacheStripesTest, pages_of_all_stripes_are_forgotten) {
  make();
  clock_.pin_cache(0);
  for (std::uint32_t i = 0; i < 1'000; ++i) ASSERT_TRUE(can_find(page_of(i)));
  EXPECT_EQ(cache_->statistics().pages, 1'000u);
  EXPECT_EQ(cache_->statistics().misses, 1'000u);
  cache_->forget(page::SnapshotNumber{1});
  EXPECT_EQ(cache_->statistics().pages, 0u);
  for (std::uint32_t i = 0; i < 1'000; ++i) ASSERT_EQ(cache_->find_cached(0, page_of(i)), nullptr);
  clock_.unpin_cache(0);
}

// Goal: the pool gets its pages back from any stripe. Method: only one stripe has borrowed pages,
// and only some of the calls begin with it.
TEST_F(PageCacheStripesTest, one_stripe_gives_back_as_well_as_all) {
  make(true);
  read(2, static_cast<std::uint32_t>(share_of(cache_->frames_max(0), 2)) + 1'500);
  ASSERT_GT(pool_->pages_lent(), 900u);
  EXPECT_NE(cache_->give_back(0, kBatch), 0u);
  advance();
  for (std::uint32_t i = 0; i < 2 * kStripes; ++i) {
    EXPECT_EQ(cache_->give_back(0, kBatch), kBatch) << i;
    advance();
  }
}

TEST_F(PageCacheStripesTest, all_is_given_back_while_volatile_pages_grow_and_no_take_fails) {
  make(true);
  const auto wanted = static_cast<std::uint32_t>(cache_->frames_max(0) + 3'000);
  for (std::uint32_t i = 0; i < wanted; ++i) read(i % kStripes, 1);
  ASSERT_GT(pool_->pages_lent(), 2'000u);
  const std::uint64_t pages_max = kPoolBytes / page::kPageBytes;
  const std::uint64_t usable = pages_max - pages_max / page::PagePool::kExtentPages;
  std::uint64_t taken = 0;
  while (taken < usable) {
    page::VolatilePageId ids[kBatch];
    const std::uint32_t count = pool_->take(0, ids, kBatch);
    ASSERT_NE(count, 0u) << taken << " of " << usable;
    taken += count;
    advance();
  }
  EXPECT_EQ(pool_->pages_lent(), 0u);
  for (std::uint32_t stripe = 0; stripe < kStripes; ++stripe) read(stripe, 100);
}

}  // namespace
}  // namespace foedus::snapshot::page_cache_stripes_test
