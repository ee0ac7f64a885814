#include "foedus-core/snapshot/cache/page_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "tests/snapshot/page_cache_pages.h"
#include "tests/testing/at_sync_point.h"
#include "tests/testing/manual_runtime.h"

namespace foedus::snapshot::page_cache_test {
namespace {

using testing::AtSyncPoint;

constexpr std::uint64_t kMiB = 1u << 20;
constexpr std::uint64_t kIntervalUs = 1000;
constexpr std::uint64_t kSmallFrames = 64;

// A cache with emulated SOCs and a clock that stands still until advance().
class PageCacheTest : public ::testing::Test {
 protected:
  ~PageCacheTest() override { runtime_.stop(&clock_); }

  void make(std::uint64_t bytes_max = PageCache::kBytesMin, std::uint32_t socs = 1,
            std::uint64_t bytes_budget = 64 * kMiB) {
    topology_ = std::make_unique<numa::Topology>(*numa::Topology::make(socs));
    budget_ = std::make_unique<base::MemoryBudget>(bytes_budget);
    runtime_.start(&clock_);
    auto made = PageCache::make(topology_.get(), budget_.get(), bytes_max, Facility::kTry,
                                Facility::kTry, &pages_, &clock_);
    ASSERT_TRUE(made.is_ok()) << made.status().message();
    cache_ = std::move(made).value();
  }
  // Lets two epochs pass: frames that were evicted before are due unless a pin holds them.
  void advance() { runtime_.run_for(4 * kIntervalUs); }

  // Returns the page, checked; null if the cache returns kOutOfMemory.
  const page::PageHeader* find(page::SnapshotPageId id, std::uint32_t soc = 0) {
    Status status;
    const page::PageHeader* const page = cache_->find(soc, id, &status);
    if (page == nullptr) {
      EXPECT_EQ(status.code(), ErrorCode::kOutOfMemory) << status.message();
    } else {
      EXPECT_TRUE(is_page(page, id)) << id.page();
    }
    return page;
  }
  // Reads one page in session 0, and lets time pass until evicted frames are due.
  bool read_and_advance(page::SnapshotPageId id) {
    clock_.pin_cache(0);
    const bool is_found = find(id) != nullptr;
    clock_.unpin_cache(0);
    advance();
    return is_found;
  }
  std::uint64_t reads() const { return pages_.reads.load_relaxed(); }

  MadePages pages_;
  testing::ManualRuntime runtime_;
  epoch::EpochClock clock_{&runtime_, Epoch(10), 8, kIntervalUs};
  std::unique_ptr<numa::Topology> topology_;
  std::unique_ptr<base::MemoryBudget> budget_;
  std::unique_ptr<PageCache> cache_;
};

TEST_F(PageCacheTest, reads_a_page_once_and_finds_it_afterwards) {
  make(8 * kMiB);
  clock_.pin_cache(0);
  const page::PageHeader* const page = find(page_of(0));
  ASSERT_NE(page, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(page) % page::kPageBytes, 0u);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(find(page_of(0)), page);
  EXPECT_EQ(reads(), 1u);
  EXPECT_EQ(cache_->statistics().misses, 1u);
  EXPECT_EQ(cache_->statistics().pages, 1u);
}

// P18: the frame of a hint changes only which memory is prefetched.
TEST_F(PageCacheTest, finds_a_child_whatever_the_hint_says) {
  make(8 * kMiB);
  clock_.pin_cache(0);
  const page::PagePart wanted{.offset = 1000, .bytes = 200};
  page::DualPagePointer pointer;
  pointer.store({page::VolatilePageId(), page_of(1)});
  EXPECT_EQ(cache_->find_cached_child(0, &pointer, wanted), nullptr);
  EXPECT_EQ(pointer.hint(), 0u);
  const page::PageHeader* const other = find(page_of(0));
  const page::PageHeader* const page = find(page_of(1));
  EXPECT_EQ(cache_->find_cached_child(0, &pointer, wanted), page);
  const std::uint32_t frame = pointer.hint();
  ASSERT_NE(frame, 0u);
  for (const std::uint32_t wrong : {frame - 1, frame + 1, frame + 1000, (1u << 28) - 1}) {
    pointer.set_hint(wrong);
    EXPECT_EQ(cache_->find_cached_child(0, &pointer, wanted), page) << wrong;
    EXPECT_EQ(pointer.hint(), frame) << wrong;
  }
  pointer.store({page::VolatilePageId(), page_of(0)});
  pointer.set_hint(frame);
  EXPECT_EQ(cache_->find_cached_child(0, &pointer, wanted), other);
  EXPECT_NE(pointer.hint(), frame);
}

// Ids that differ in one part only are different pages, also if their hashes are equal.
TEST_F(PageCacheTest, tells_ids_apart_that_differ_in_one_part) {
  make(8 * kMiB);
  clock_.pin_cache(0);
  std::set<const page::PageHeader*> pages;
  for (std::uint32_t snapshot = 1; snapshot <= 8; ++snapshot) {
    for (std::uint32_t soc = 0; soc < 8; ++soc) {
      for (std::uint32_t page = 0; page < 8; ++page) {
        pages.insert(find(page_of(page << 20, snapshot << 20, soc << 5)));
      }
    }
  }
  EXPECT_EQ(pages.size(), 512u);
  EXPECT_EQ(reads(), 512u);
}

TEST_F(PageCacheTest, caches_a_page_for_each_soc_that_asks_for_it) {
  make(16 * kMiB, 2);
  clock_.pin_cache(0);
  const page::PageHeader* const first = find(page_of(3), 0);
  const page::PageHeader* const second = find(page_of(3), 1);
  EXPECT_NE(first, second);
  EXPECT_EQ(find(page_of(3), 0), first);
  EXPECT_EQ(find(page_of(3), 1), second);
  EXPECT_EQ(cache_->statistics(0).pages, 1u);
  EXPECT_EQ(cache_->statistics(1).pages, 1u);
  EXPECT_EQ(cache_->statistics().misses, 2u);
}

TEST_F(PageCacheTest, takes_few_frames_at_once_extents_later_and_gives_all_back) {
  make(8 * kMiB);
  const std::uint64_t first = budget_->taken();
  EXPECT_LT(first, kMiB);
  clock_.pin_cache(0);
  for (std::uint32_t i = 0; i < 100; ++i) ASSERT_NE(find(page_of(i)), nullptr);
  EXPECT_EQ(budget_->taken(), 2 * kMiB);
  EXPECT_EQ(cache_->statistics().bytes, 2 * kMiB);
  for (std::uint32_t i = 0; i < cache_->frames_max(0); ++i) ASSERT_NE(find(page_of(i)), nullptr);
  EXPECT_LE(budget_->taken(), 8 * kMiB);
  EXPECT_GT(budget_->taken(), 8 * kMiB - page::kPageBytes);
  cache_.reset();
  EXPECT_EQ(budget_->taken(), 0u);
}

TEST_F(PageCacheTest, works_with_its_first_frames_when_others_have_the_budget) {
  make(8 * kMiB, 2);
  ASSERT_TRUE(budget_->try_take(budget_->remaining()));
  const std::uint64_t taken = cache_->statistics().bytes;
  for (std::uint32_t i = 0; i < 500; ++i) ASSERT_TRUE(read_and_advance(page_of(i))) << i;
  EXPECT_EQ(cache_->statistics().bytes, taken);
  budget_->give_back(kMiB);
  for (std::uint32_t i = 0; i < 500; ++i) ASSERT_TRUE(read_and_advance(page_of(i))) << i;
  EXPECT_EQ(cache_->statistics().bytes, taken + kMiB);
  EXPECT_EQ(budget_->remaining(), 0u);
}

TEST_F(PageCacheTest, refuses_sizes_that_cannot_work) {
  const numa::Topology topology = *numa::Topology::make(2);
  base::MemoryBudget budget(kMiB);
  const auto code = [&](std::uint64_t bytes) {
    return PageCache::make(&topology, &budget, bytes, Facility::kTry, Facility::kTry, &pages_,
                           &clock_)
        .code();
  };
  runtime_.start(&clock_);
  EXPECT_EQ(code(0), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(2 * PageCache::kBytesMin - 1), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(std::uint64_t{1} << 50), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(2 * PageCache::kBytesMin), ErrorCode::kOk);
  EXPECT_EQ(budget.taken(), 0u);
  ASSERT_TRUE(budget.try_take(kMiB - PageCache::kBytesMin));
  EXPECT_EQ(code(2 * PageCache::kBytesMin), ErrorCode::kOutOfMemory);
  EXPECT_EQ(budget.remaining(), PageCache::kBytesMin);
}

// ---- eviction --------------------------------------------------------------------------------

TEST_F(PageCacheTest, refuses_a_binding_that_it_cannot_have) {
  topology_ = std::make_unique<numa::Topology>(*numa::Topology::make(2));
  budget_ = std::make_unique<base::MemoryBudget>(64 * kMiB);
  const auto made = PageCache::make(topology_.get(), budget_.get(), 2 * PageCache::kBytesMin,
                                    Facility::kTry, Facility::kRequire, &pages_, &clock_);
  EXPECT_EQ(made.code(), ErrorCode::kNotSupported);
  EXPECT_EQ(budget_->remaining(), 64 * kMiB);
  runtime_.start(&clock_);
}

// Goal: a search without a frame waits for the right epoch. Method: reads are nested until each
// frame belongs to one of them, and no page leaves.
TEST_F(PageCacheTest,
       a_frame_is_due_at_once_while_one_is_free_and_not_before_the_next_epoch_while_all_are_read) {
  make();
  EXPECT_EQ(cache_->due(0, page_of(1)), Epoch());
  clock_.pin_cache(0);
  std::uint32_t depth = 0;
  pages_.before_read = [&](page::SnapshotPageId id) -> Status {
    ++depth;
    Status status;
    if (cache_->find(0, page_of(id.page() + 1), &status) == nullptr && depth == kSmallFrames) {
      EXPECT_EQ(status.code(), ErrorCode::kOutOfMemory);
      EXPECT_EQ(cache_->due(0, page_of(1)), clock_.current());
      depth = 1'000;
    }
    return {};
  };
  EXPECT_NE(find(page_of(1)), nullptr);
  EXPECT_EQ(depth, 1'000u);
  clock_.unpin_cache(0);
}

// Pages that are used all the time stay during a scan of twenty times the cache.
TEST_F(PageCacheTest, keeps_pages_that_are_used_again_during_a_scan) {
  make();
  EXPECT_EQ(cache_->frames_max(0), kSmallFrames);
  constexpr std::uint32_t kHot = 10;
  constexpr std::uint32_t kScanned = 20 * kSmallFrames;
  for (std::uint32_t i = 0; i < kScanned; ++i) {
    ASSERT_TRUE(read_and_advance(page_of(1000 + i)));
    ASSERT_TRUE(read_and_advance(page_of(i % kHot)));
    ASSERT_TRUE(read_and_advance(page_of(i % kHot)));
  }
  EXPECT_EQ(reads(), kScanned + kHot);
  const PageCacheStatistics statistics = cache_->statistics();
  EXPECT_GE(statistics.evictions, kScanned - kSmallFrames);
  EXPECT_LE(statistics.pages, kSmallFrames);
}

// All cached pages are used again before the hand comes: it still takes some of them.
TEST_F(PageCacheTest, evicts_where_all_pages_are_used_again_and_again) {
  make(2 * kMiB);
  const std::uint32_t frames = static_cast<std::uint32_t>(cache_->frames_max(0));
  std::set<std::uint32_t> hot;
  for (std::uint32_t i = 0; i < 4 * frames; ++i) {
    ASSERT_TRUE(read_and_advance(page_of(i))) << i;
    clock_.pin_cache(0);
    const std::uint64_t reads_before = reads();
    hot.insert(i);
    for (auto at = hot.begin(); at != hot.end() && reads() == reads_before;) {
      ASSERT_NE(find(page_of(*at)), nullptr);
      ASSERT_NE(find(page_of(*at)), nullptr);
      at = reads() == reads_before ? std::next(at) : hot.erase(at);
    }
    clock_.unpin_cache(0);
    advance();
  }
}

// A page is valid for as long as a pin lasts, whatever other sessions read meanwhile: they get the
// frames that are free without it, and then kOutOfMemory, until the pin ends.
TEST_F(PageCacheTest, a_page_stays_valid_for_as_long_as_a_pin_lasts) {
  make(8 * kMiB);
  const std::uint32_t frames = static_cast<std::uint32_t>(cache_->frames_max(0));
  for (std::uint32_t i = 0; i < 2 * frames; ++i) ASSERT_TRUE(read_and_advance(page_of(i)));
  clock_.pin_cache(7);
  std::vector<std::pair<std::uint32_t, const page::PageHeader*>> held;
  for (std::uint32_t i = 5000; i < 5010; ++i) held.emplace_back(i, find(page_of(i)));
  std::uint32_t found = 0;
  for (std::uint32_t i = 10'000; i < 20'000; ++i) {
    if (read_and_advance(page_of(i))) ++found;
    if (i % 100 != 0) continue;
    for (const auto& [number, page] : held) ASSERT_TRUE(is_page(page, page_of(number)));
  }
  EXPECT_GE(found, frames / 5);
  EXPECT_LE(found, frames / 3);
  EXPECT_TRUE(read_and_advance(page_of(10'000))) << "hits and returns go on";
  clock_.unpin_cache(7);
  advance();
  for (std::uint32_t i = 30'000; i < 40'000; ++i) ASSERT_TRUE(read_and_advance(page_of(i)));
}

// A transaction is pinned in the epoch in which a page leaves; after its end one more epoch has to
// begin.
TEST_F(PageCacheTest, uses_a_frame_again_only_when_the_epoch_of_its_eviction_is_reclaimable) {
  make();
  clock_.pin_cache(0);
  std::uint32_t next = 0;
  while (next < 1000 && find(page_of(next)) != nullptr) ++next;  // no epoch passes: none is due
  EXPECT_EQ(next, kSmallFrames);
  EXPECT_EQ(find(page_of(next)), nullptr);
  clock_.pin_cache(1);  // began after the evictions, in the same epoch
  clock_.unpin_cache(0);
  advance();
  EXPECT_EQ(find(page_of(next)), nullptr);
  const Epoch evicted_in = clock_.current();
  EXPECT_LT(clock_.cache_reclaimable().number(), evicted_in.number());
  clock_.unpin_cache(1);
  advance();
  clock_.pin_cache(0);
  EXPECT_NE(find(page_of(next)), nullptr);
}

TEST_F(PageCacheTest, says_out_of_memory_when_a_transaction_reads_more_than_there_are_frames) {
  make();
  clock_.pin_cache(0);
  for (std::uint32_t i = 0; i < kSmallFrames; ++i) ASSERT_NE(find(page_of(i)), nullptr);
  Status status;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(cache_->find(0, page_of(1000 + i), &status), nullptr);
    ASSERT_EQ(status.code(), ErrorCode::kOutOfMemory);
    runtime_.run_for(kIntervalUs);
  }
  EXPECT_NE(status.message().find("64 frames of SOC 0's page cache"), std::string::npos)
      << status.message();
  std::uint32_t hits = 0;
  for (std::uint32_t i = 0; i < kSmallFrames; ++i) hits += find(page_of(i)) != nullptr;
  EXPECT_GT(hits, kSmallFrames / 2);
  EXPECT_EQ(reads(), kSmallFrames);
  clock_.unpin_cache(0);
  advance();
  EXPECT_TRUE(read_and_advance(page_of(1000)));
}

TEST_F(PageCacheTest, a_page_that_is_leaving_comes_back_without_a_read) {
  make(2 * kMiB);
  const std::uint32_t frames = static_cast<std::uint32_t>(cache_->frames_max(0));
  clock_.pin_cache(0);
  std::vector<const page::PageHeader*> first;
  for (std::uint32_t i = 0; i < frames; ++i) first.push_back(find(page_of(i)));
  const PageCacheStatistics before = cache_->statistics();
  EXPECT_GT(before.evictions, 100u);
  EXPECT_EQ(before.pages, frames - before.evictions);
  const std::unique_ptr<PagesInFlight> in_flight = cache_->make_pages_in_flight(0);
  for (std::uint32_t i = 0; i < 10; ++i) EXPECT_EQ(in_flight->begin(page_of(i)), Begun::kCached);
  constexpr std::uint64_t kReturns = 40;
  for (std::uint32_t i = 0; i < frames && cache_->statistics().returns < kReturns; ++i) {
    EXPECT_EQ(find(page_of(i)), first[i]);
  }
  EXPECT_EQ(reads(), frames);
  EXPECT_EQ(cache_->statistics().returns, kReturns);
  EXPECT_EQ(cache_->statistics().pages, before.pages + kReturns);
}

// Pages that return do not take the frames that misses need: transactions use all cached pages all
// the time, and at times a new one.
TEST_F(PageCacheTest, finds_a_frame_for_a_new_page_where_all_others_are_used_all_the_time) {
  make();
  std::uint32_t failures = 0;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    clock_.pin_cache(0);
    for (std::uint32_t j = 0; j < kSmallFrames * 3 / 4; ++j) failures += !find(page_of(j));
    clock_.unpin_cache(0);
    if (i % 2 == 0) failures += !read_and_advance(page_of(1000 + i));
  }
  EXPECT_EQ(failures, 0u);
}

TEST_F(PageCacheTest, hurries_the_clock_when_the_last_frame_that_is_due_is_taken) {
  make();
  clock_.pin_cache(0);
  for (std::uint32_t i = 0; i < kSmallFrames - 1; ++i) ASSERT_NE(find(page_of(i)), nullptr);
  runtime_.run_due();
  const Epoch before = clock_.current();
  ASSERT_NE(find(page_of(kSmallFrames)), nullptr);
  runtime_.run_due();  // no time passes
  EXPECT_GT(clock_.current().number(), before.number());
}

// ---- others at a step ------------------------------------------------------------------------

// Finds pages from `first` on until there is no frame for the next; no epoch passes.
std::uint32_t fill(PageCache* cache, std::uint32_t first) {
  Status status;
  std::uint32_t count = 0;
  while (cache->find(0, page_of(first + count), &status) != nullptr) ++count;
  EXPECT_EQ(status.code(), ErrorCode::kOutOfMemory) << status.message();
  return count;
}

TEST_F(PageCacheTest, a_page_that_two_read_at_once_is_cached_once) {
  make();
  clock_.pin_cache(0);
  const page::PageHeader* theirs = nullptr;
  const AtSyncPoint other("cache:before_publish", [&] { theirs = find(page_of(0)); });
  EXPECT_EQ(find(page_of(0)), theirs);
  EXPECT_NE(theirs, nullptr);
  EXPECT_EQ(reads(), 2u);
  EXPECT_EQ(cache_->statistics().duplicates, 1u);
  EXPECT_EQ(cache_->statistics().pages, 1u);
  EXPECT_EQ(fill(cache_.get(), 1), kSmallFrames - 1) << "the frame that was read in vain is free";
  EXPECT_TRUE(is_page(theirs, page_of(0)));
}

// Goal: a session whose read fails after another's has succeeded gets the error, and removes no
// page.
TEST_F(PageCacheTest, a_read_that_fails_beside_another_leaves_its_page) {
  make();
  clock_.pin_cache(0);
  pages_.before_read = [&](page::SnapshotPageId) {
    return reads() == 1 ? Status::error(ErrorCode::kIoError, "once") : Status();
  };
  const page::PageHeader* theirs = nullptr;
  const AtSyncPoint other("cache:before_publish", [&] { theirs = find(page_of(0)); });
  Status status;
  EXPECT_EQ(cache_->find(0, page_of(0), &status), nullptr);
  EXPECT_EQ(status.code(), ErrorCode::kIoError);
  EXPECT_EQ(find(page_of(0)), theirs);
  EXPECT_EQ(reads(), 2u);
  EXPECT_EQ(fill(cache_.get(), 1), kSmallFrames - 1);
}

TEST_F(PageCacheTest, a_page_that_is_read_while_others_fill_the_cache_is_cached) {
  make();
  clock_.pin_cache(0);
  std::uint32_t others = 0;
  const AtSyncPoint other("cache:before_publish", [&] {
    others = fill(cache_.get(), 100);
    advance();  // frames that they evicted wait for this reader, too
    EXPECT_EQ(fill(cache_.get(), 1'000), 0u);
  });
  const page::PageHeader* const page = find(page_of(0));
  EXPECT_EQ(others, kSmallFrames - 1);
  EXPECT_EQ(find(page_of(0)), page);
  clock_.unpin_cache(0);
  advance();
  EXPECT_TRUE(read_and_advance(page_of(2'000)));
}

// Goal: K3 at the moment of the eviction. Method: a transaction has found pages. When some of them
// are unlinked it searches and reads them, and epochs pass before they get their stamp. Their
// frames stay unchanged until it ends, and other reads get the remaining frames.
TEST_F(PageCacheTest, what_is_unlinked_stays_for_who_has_found_it) {
  make();
  for (std::uint32_t i = 0; i < 2 * kSmallFrames; ++i) ASSERT_TRUE(read_and_advance(page_of(i)));
  clock_.pin_cache(7);
  std::vector<std::pair<std::uint32_t, const page::PageHeader*>> held;
  for (std::uint32_t i = 5000; i < 5010; ++i) held.emplace_back(i, find(page_of(i)));
  std::uint32_t unlinked_max = 0;
  const auto look = [&] {
    std::uint32_t unlinked = 0;
    for (const auto& [number, page] : held) {
      ASSERT_NE(page, nullptr);
      ASSERT_TRUE(is_page(page, page_of(number)));
      const page::PageHeader* const cached = cache_->find_cached(0, page_of(number));
      ASSERT_TRUE(cached == nullptr || cached == page);
      unlinked += cached == nullptr ? 1 : 0;
    }
    unlinked_max = std::max(unlinked_max, unlinked);
  };
  {
    const AtSyncPoint at(
        "cache:unlinked",
        [&] {
          look();
          advance();
        },
        true);
    for (std::uint32_t i = 10'000; i < 10'500 && !HasFatalFailure(); ++i) {
      read_and_advance(page_of(i));
      look();
    }
    EXPECT_GT(at.runs(), 0u);
  }
  EXPECT_GT(unlinked_max, 0u);
  clock_.unpin_cache(7);
  advance();
  for (std::uint32_t i = 20'000; i < 20'200; ++i) ASSERT_TRUE(read_and_advance(page_of(i))) << i;
}

}  // namespace
}  // namespace foedus::snapshot::page_cache_test
