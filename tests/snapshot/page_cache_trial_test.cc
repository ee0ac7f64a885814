// K15: the pages that stay once all frames are in use.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "foedus-core/snapshot/cache/page_cache.h"
#include "tests/snapshot/page_cache_pages.h"
#include "tests/testing/manual_runtime.h"

namespace foedus::snapshot::page_cache_trial_test {
namespace {

constexpr std::uint64_t kMiB = 1u << 20;
constexpr std::uint64_t kIntervalUs = 1000;

// A cache of some 500 frames, and a clock that stands still until advance().
class PageCacheTrialTest : public ::testing::Test {
 protected:
  PageCacheTrialTest() { runtime_.start(&clock_); }
  ~PageCacheTrialTest() override { runtime_.stop(&clock_); }

  void advance() { runtime_.run_for(4 * kIntervalUs); }
  const page::PageHeader* find(std::uint32_t page) {
    Status status;
    const page::PageHeader* const found = cache_->find(0, page_of(page), &status);
    EXPECT_TRUE(found == nullptr || is_page(found, page_of(page))) << page;
    return found;
  }
  // Uses pages, each in a search of its own. Returns how many had to be read.
  std::uint64_t use(std::uint32_t first, std::uint32_t count, int times = 1) {
    const std::uint64_t before = pages_.reads.load_relaxed();
    for (std::uint32_t i = 0; i < count; ++i) {
      if (i % 16 == 0) advance();
      for (int time = 0; time < times; ++time) {
        clock_.pin_cache(0);
        EXPECT_NE(find(first + i), nullptr) << i;
        clock_.unpin_cache(0);
      }
    }
    return pages_.reads.load_relaxed() - before;
  }
  void read_ahead(std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      CacheFrame frame = 0;
      if (cache_->find_or_take(0, page_of(first + i), &frame)) continue;
      ASSERT_NE(frame, 0u) << i;
      ASSERT_TRUE(pages_.read(page_of(first + i), cache_->page_at(0, frame)).is_ok());
      const PageCache::Read read{page_of(first + i), frame, true};
      cache_->put_ahead(0, &read, 1);
    }
  }

  MadePages pages_;
  testing::ManualRuntime runtime_;
  epoch::EpochClock clock_{&runtime_, Epoch(10), 8, kIntervalUs};
  numa::Topology topology_ = *numa::Topology::make(1);
  base::MemoryBudget budget_{64 * kMiB};
  std::unique_ptr<PageCache> cache_ = *PageCache::make(
      &topology_, &budget_, 2 * kMiB, Facility::kTry, Facility::kTry, &pages_, &clock_);
  const std::uint32_t frames_ = static_cast<std::uint32_t>(cache_->frames_max(0));
};

constexpr std::uint32_t kOthers = 100'000;  // the first of pages that are used once

// The id is right, but another check has failed.
TEST_F(PageCacheTrialTest, a_damaged_page_that_was_read_ahead_is_not_cached) {
  CacheFrame frame = 0;
  ASSERT_FALSE(cache_->find_or_take(0, page_of(1), &frame));
  ASSERT_NE(frame, 0u);
  ASSERT_TRUE(pages_.read(page_of(1), cache_->page_at(0, frame)).is_ok());
  const PageCache::Read read{page_of(1), frame, false};
  cache_->put_ahead(0, &read, 1);
  EXPECT_EQ(use(1, 1), 1u);
}

// The pages that stay are not used while the others come and go.
TEST_F(PageCacheTrialTest, what_is_used_once_does_not_take_the_place_of_what_was_used_again) {
  const std::uint32_t hot = frames_ * 6 / 10;
  use(0, hot, 3);
  EXPECT_EQ(use(kOthers, 20 * frames_), 20 * frames_);
  EXPECT_LE(use(0, hot), hot / 10);
}

TEST_F(PageCacheTrialTest, what_is_read_ahead_and_used_once_does_not_either) {
  const std::uint32_t hot = frames_ * 6 / 10;
  use(0, hot, 3);
  use(kOthers, frames_);
  for (std::uint32_t at = frames_; at < 20 * frames_; at += 8) {
    read_ahead(kOthers + at, 8);
    EXPECT_EQ(use(kOthers + at, 8), 0u);
  }
  EXPECT_LE(use(0, hot), hot / 10);
}

// Goal: ghosts let pages in. Method: after pages that were used again and are not any more, other
// pages are used in turn: too many for the list of leaving frames, few enough for the cache.
TEST_F(PageCacheTrialTest, pages_that_are_used_in_turn_stay_if_they_fit) {
  use(kOthers, frames_, 3);
  const std::uint32_t turn = frames_ * 6 / 10;
  EXPECT_EQ(use(0, turn), turn);
  for (int round = 0; round < 4; ++round) use(0, turn);
  EXPECT_LE(use(0, turn), turn / 10);
}

TEST_F(PageCacheTrialTest, a_page_on_trial_stays_when_it_is_used_again) {
  use(kOthers, 2 * frames_);
  const PageCacheStatistics before = cache_->statistics();
  EXPECT_EQ(use(1, 1), 1u);
  EXPECT_EQ(cache_->statistics().returns, before.returns);
  EXPECT_EQ(use(1, 1), 0u);
  EXPECT_EQ(cache_->statistics().returns, before.returns + 1);
  EXPECT_EQ(use(2 * kOthers, frames_), frames_);
  EXPECT_EQ(use(1, 1), 0u);
  EXPECT_EQ(cache_->statistics().returns, before.returns + 1) << "was leaving no more";
}

TEST_F(PageCacheTrialTest, a_page_that_was_read_ahead_stays_when_it_is_used_twice) {
  use(kOthers, 2 * frames_);
  const PageCacheStatistics before = cache_->statistics();
  read_ahead(1, 1);
  EXPECT_EQ(use(1, 1), 0u);
  EXPECT_EQ(cache_->statistics().returns, before.returns) << "on trial";
  EXPECT_EQ(use(1, 1), 0u);
  EXPECT_EQ(cache_->statistics().returns, before.returns + 1);
}

// K4 holds for pages that are leaving from the start: each stays unchanged until its reader's pin
// ends.
TEST_F(PageCacheTrialTest, a_page_on_trial_is_valid_for_as_long_as_a_pin_lasts) {
  use(kOthers, 2 * frames_);
  constexpr std::uint32_t kHeld = 10;
  read_ahead(100, kHeld);
  advance();  // their stamps alone would make them due
  clock_.pin_cache(7);
  std::vector<const page::PageHeader*> held;
  for (std::uint32_t i = 0; i < kHeld; ++i) held.push_back(find(i));
  for (std::uint32_t i = 100; i < 100 + kHeld; ++i) held.push_back(find(i));
  Status status;
  for (std::uint32_t i = 0; i < 4 * frames_; ++i) {
    clock_.pin_cache(0);
    cache_->find(0, page_of(2 * kOthers + i), &status);  // until no frame is due
    clock_.unpin_cache(0);
    if (i % 8 == 0) advance();
  }
  EXPECT_EQ(status.code(), ErrorCode::kOutOfMemory);
  for (std::uint32_t i = 0; i < kHeld; ++i) {
    EXPECT_TRUE(is_page(held[i], page_of(i))) << i;
    EXPECT_TRUE(is_page(held[kHeld + i], page_of(100 + i))) << i;
  }
  clock_.unpin_cache(7);
  advance();
  use(3 * kOthers, frames_);
}

}  // namespace
}  // namespace foedus::snapshot::page_cache_trial_test
