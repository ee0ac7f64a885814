// K13, K14: the cache borrows memory that volatile pages do not use.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "foedus-core/snapshot/cache/page_cache.h"
#include "tests/snapshot/page_cache_pages.h"
#include "tests/testing/manual_runtime.h"

namespace foedus::snapshot::page_cache_borrow_test {
namespace {

constexpr std::uint64_t kMiB = 1u << 20;
constexpr std::uint64_t kIntervalUs = 1000;
constexpr std::uint64_t kOwnBytes = 2 * kMiB;
constexpr std::uint64_t kPoolBytes = 16 * kMiB;
constexpr std::uint32_t kBatch = page::PagePool::kBatchPages;

// A small cache, a pool, and a clock that stands still until advance().
class PageCacheBorrowTest : public ::testing::Test {
 protected:
  PageCacheBorrowTest() {
    runtime_.start(&clock_);
    pool_->allow_lending();
  }
  ~PageCacheBorrowTest() override { runtime_.stop(&clock_); }

  void advance() { runtime_.run_for(4 * kIntervalUs); }
  const page::PageHeader* find(page::SnapshotPageId id) {
    Status status;
    const page::PageHeader* const page = cache_->find(0, id, &status);
    EXPECT_TRUE(page == nullptr || is_page(page, id)) << id.page();
    return page;
  }
  // Reads the first `count` pages, each in a search of its own, `times` times.
  void read(std::uint32_t count, int times = 1) {
    for (std::uint32_t i = 0; i < count; ++i) {
      if (i % 32 == 0) advance();
      for (int time = 0; time < times; ++time) {
        clock_.pin_cache(0);
        EXPECT_NE(find(page_of(i)), nullptr) << i;
        clock_.unpin_cache(0);
      }
    }
  }
  // Overwrites a volatile page, as its session does.
  void write(page::VolatilePageId id) {
    std::memset(static_cast<void*>(pool_->resolve(id)), 0xab, page::kPageBytes);
  }
  std::uint32_t take() {
    page::VolatilePageId ids[kBatch];
    const std::uint32_t count = pool_->take(0, ids, kBatch);
    for (std::uint32_t i = 0; i < count; ++i) write(ids[i]);
    taken_.insert(taken_.end(), ids, ids + count);
    return count;
  }
  void check_bound() {
    EXPECT_LE(budget_.taken(), budget_.limit());
    const std::uint64_t own = cache_->statistics().bytes - pool_->pages_lent() * page::kPageBytes;
    EXPECT_LE(own, kOwnBytes);
    EXPECT_LE(pool_->bytes_taken(), kPoolBytes);
    EXPECT_LE(own + pool_->bytes_taken(), budget_.taken());
  }

  MadePages pages_;
  testing::ManualRuntime runtime_;
  epoch::EpochClock clock_{&runtime_, Epoch(10), 8, kIntervalUs};
  numa::Topology topology_ = *numa::Topology::make(1);
  base::MemoryBudget budget_{kOwnBytes + kPoolBytes};
  std::unique_ptr<page::PagePool> pool_ =
      *page::PagePool::make(&topology_, &budget_, kPoolBytes, Facility::kTry, Facility::kTry);
  std::unique_ptr<PageCache> cache_ =
      *PageCache::make(&topology_, &budget_, kOwnBytes, Facility::kTry, Facility::kTry, &pages_,
                       &clock_, pool_.get());
  std::vector<page::VolatilePageId> taken_;
};

TEST_F(PageCacheBorrowTest, grows_into_what_volatile_pages_leave_idle) {
  constexpr std::uint32_t kPages = 3000;
  read(kPages);
  EXPECT_GE(pool_->pages_lent(), kPages - kOwnBytes / page::kPageBytes);
  EXPECT_EQ(cache_->statistics().pages, kPages);
  EXPECT_GE(cache_->statistics().bytes, kPages * page::kPageBytes);
  check_bound();
  const std::uint64_t reads = pages_.reads.load_relaxed();
  read(kPages);
  EXPECT_EQ(pages_.reads.load_relaxed(), reads);
}

TEST_F(PageCacheBorrowTest, is_as_large_as_its_share_where_volatile_pages_have_all) {
  while (take() != 0) {
  }
  for (int i = 0; i < 20; ++i) {
    read(100 * (i + 1));
    advance();
  }
  EXPECT_EQ(pool_->pages_lent(), 0u);
  EXPECT_LE(cache_->statistics().bytes, kOwnBytes);
  check_bound();
}

// Goal: volatile pages get all their memory, however much of it the cache has. Method: an epoch
// passes at times, as with a running clock; the cached pages are used again and again.
TEST_F(PageCacheBorrowTest, gives_all_back_while_volatile_pages_grow_and_no_take_fails) {
  read(3000, 3);
  ASSERT_GT(pool_->pages_lent(), 2000u);
  const std::uint64_t pages_max = kPoolBytes / page::kPageBytes;
  const std::uint64_t usable = pages_max - pages_max / page::PagePool::kExtentPages;
  while (taken_.size() < usable) {
    ASSERT_NE(take(), 0u) << taken_.size() << " of " << usable;
    advance();
    check_bound();
  }
  EXPECT_EQ(pool_->pages_lent(), 0u);
  EXPECT_EQ(take(), 0u);
  read(300);
}

// K4: a reader that found the page may read it until its pin ends.
TEST_F(PageCacheBorrowTest, a_page_is_not_given_back_while_its_reader_is_pinned) {
  clock_.pin_cache(1);
  std::vector<const page::PageHeader*> held;
  for (std::uint32_t i = 0; i < 3000; ++i) held.push_back(find(page_of(i)));
  for (int i = 0; i < 100; ++i) {
    take();
    advance();
  }
  for (std::uint32_t i = 0; i < 3000; ++i) {
    ASSERT_NE(held[i], nullptr);
    ASSERT_TRUE(is_page(held[i], page_of(i))) << i;
  }
  clock_.unpin_cache(1);
  const std::uint64_t lent = pool_->pages_lent();
  advance();
  EXPECT_NE(take(), 0u);
  EXPECT_LT(pool_->pages_lent(), lent);
}

// P18: the hint names a frame that is a page of the pool by now.
TEST_F(PageCacheBorrowTest, a_stale_hint_of_a_frame_that_was_given_back_does_no_harm) {
  read(3000);
  const page::PagePart wanted{.offset = 1000, .bytes = 200};
  std::vector<page::DualPagePointer> pointers(3000);
  for (std::uint32_t i = 0; i < 3000; ++i) {
    pointers[i].store({page::VolatilePageId(), page_of(i)});
    clock_.pin_cache(0);
    cache_->find_cached_child(0, &pointers[i], wanted);
    clock_.unpin_cache(0);
  }
  while (pool_->pages_lent() != 0) {
    take();
    advance();
  }
  for (std::uint32_t i = 0; i < 3000; ++i) {
    clock_.pin_cache(0);
    const page::PageHeader* const page = cache_->find_cached_child(0, &pointers[i], wanted);
    EXPECT_TRUE(page == nullptr || is_page(page, page_of(i))) << i;
    clock_.unpin_cache(0);
  }
}

// A frame of a page in flight is not returned, because the device writes to it.
TEST_F(PageCacheBorrowTest, a_page_in_flight_is_not_given_back) {
  read(1500);
  constexpr std::uint32_t kFirst = 10'000;
  std::vector<PageCache::Read> flying;
  for (std::uint32_t i = 0; i < 40; ++i) {
    CacheFrame frame = 0;
    ASSERT_FALSE(cache_->find_or_take(0, page_of(kFirst + i), &frame));
    if (frame != 0) flying.push_back({page_of(kFirst + i), frame, true});
  }
  ASSERT_FALSE(flying.empty());
  for (int i = 0; i < 100; ++i) {
    take();
    advance();
  }
  for (const PageCache::Read& read : flying) {
    page::PageHeader* const page = cache_->page_at(0, read.frame);
    for (const page::VolatilePageId id : taken_) ASSERT_NE(pool_->resolve(id), page);
    ASSERT_TRUE(pages_.read(read.id, page).is_ok());
  }
  cache_->put_ahead(0, flying.data(), static_cast<std::uint32_t>(flying.size()));
  clock_.pin_cache(0);
  for (const PageCache::Read& read : flying) EXPECT_NE(find(read.id), nullptr);
  clock_.unpin_cache(0);
}

// Goal: the entry of a leaving page is removed with its frame. Method: there are more pages than
// frames, so that some are leaving and would return; the pool's page stays unchanged.
TEST_F(PageCacheBorrowTest, a_leaving_page_whose_frame_was_given_back_does_not_return) {
  read(8000);
  ASSERT_NE(cache_->statistics().evictions, 0u);
  while (pool_->pages_lent() != 0) {
    page::VolatilePageId ids[kBatch];
    ASSERT_NE(pool_->take(0, ids, kBatch), 0u);
    advance();
  }
  read(8000);
}

// Without a hurried clock volatile pages would wait for an epoch.
TEST_F(PageCacheBorrowTest, the_clock_hurries_where_no_frame_is_due) {
  read(3000);
  while (pool_->pages_lent() != 0) {
    const std::uint64_t lent = pool_->pages_lent();
    take();
    if (pool_->pages_lent() == lent) break;
  }
  ASSERT_NE(pool_->pages_lent(), 0u);
  const Epoch before = clock_.current();
  take();
  runtime_.run_due();
  EXPECT_GT(clock_.current(), before);
}

TEST_F(PageCacheBorrowTest, grows_again_when_volatile_pages_shrink) {
  read(3000);
  for (int i = 0; i < 200; ++i) {
    take();
    advance();
  }
  ASSERT_EQ(pool_->pages_lent(), 0u);
  for (const page::VolatilePageId id : taken_) {
    page::VolatilePageId one = id;
    pool_->give(&one, 1);
  }
  read(3000);
  EXPECT_GT(pool_->pages_lent(), 2000u);
  check_bound();
}

}  // namespace
}  // namespace foedus::snapshot::page_cache_borrow_test
