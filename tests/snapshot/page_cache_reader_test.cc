// Tests of the cache and its reader: errors, wrong pages, two reads at once, deleted snapshots.
#include <gtest/gtest.h>

#include <utility>

#include "foedus-core/snapshot/cache/page_cache.h"
#include "tests/snapshot/page_cache_pages.h"
#include "tests/testing/manual_runtime.h"

namespace foedus::snapshot::page_cache_reader_test {
namespace {

constexpr std::uint64_t kBytes = 4u << 20;

class PageCacheReaderTest : public ::testing::Test {
 protected:
  PageCacheReaderTest() { clock_.pin_cache(0); }

  const page::PageHeader* find(page::SnapshotPageId id) {
    status_ = Status();
    const page::PageHeader* const page = cache_->find(0, id, &status_);
    EXPECT_EQ(page == nullptr, !status_.is_ok());
    EXPECT_TRUE(page == nullptr || is_page(page, id));
    return page;
  }
  std::uint64_t reads() const { return pages_.reads.load_relaxed(); }

  MadePages pages_;
  testing::ManualRuntime runtime_;
  epoch::EpochClock clock_{&runtime_, Epoch(10), 8, 1000};
  numa::Topology topology_ = *numa::Topology::make(1);
  base::MemoryBudget budget_{kBytes};
  std::unique_ptr<PageCache> cache_ = *PageCache::make(&topology_, &budget_, kBytes, Facility::kTry,
                                                       Facility::kTry, &pages_, &clock_);
  Status status_;
};

// After more failures than frames no frame is lost, and the page is read when that is possible.
TEST_F(PageCacheReaderTest, hands_out_read_errors_and_caches_nothing) {
  pages_.before_read = [](page::SnapshotPageId) {
    return Status::error(ErrorCode::kIoError, "no such luck");
  };
  for (std::uint32_t i = 0; i < 5000; ++i) {
    ASSERT_EQ(find(page_of(i % 3)), nullptr);
    ASSERT_EQ(status_.code(), ErrorCode::kIoError);
  }
  EXPECT_NE(status_.message().find("no such luck"), std::string::npos);
  EXPECT_EQ(reads(), 5000u);
  EXPECT_EQ(cache_->statistics().pages, 0u);
  pages_.before_read = nullptr;
  EXPECT_NE(find(page_of(1)), nullptr);
  EXPECT_EQ(cache_->statistics().pages, 1u);
}

TEST_F(PageCacheReaderTest, says_corruption_when_another_page_was_read) {
  pages_.id_error = 1;
  EXPECT_EQ(find(page_of(7, 3, 2)), nullptr);
  EXPECT_EQ(status_.code(), ErrorCode::kCorruption);
  EXPECT_NE(status_.message().find("page 7 of snapshot 3, SOC 2"), std::string::npos)
      << status_.message();
  pages_.id_error = 0;
  EXPECT_NE(find(page_of(8, 3, 2)), nullptr);
  EXPECT_NE(find(page_of(7, 3, 2)), nullptr);
  EXPECT_EQ(reads(), 3u);
}

// While one session reads a page, another one needs it, reads it too and is done first.
TEST_F(PageCacheReaderTest, the_second_reader_of_a_page_takes_the_first_ones) {
  const page::PageHeader* inner = nullptr;
  bool is_nested = false;
  pages_.before_read = [&](page::SnapshotPageId id) {
    if (!std::exchange(is_nested, true)) inner = find(id);
    return Status();
  };
  const page::PageHeader* const outer = find(page_of(5));
  EXPECT_NE(inner, nullptr);
  EXPECT_EQ(outer, inner);
  EXPECT_EQ(reads(), 2u);
  EXPECT_EQ(cache_->statistics().duplicates, 1u);
  EXPECT_EQ(cache_->statistics().pages, 1u);
  EXPECT_EQ(find(page_of(5)), outer);
}

// While one session reads a page, the read of another one fails: only that one gets an error.
TEST_F(PageCacheReaderTest, a_read_that_fails_does_not_disturb_another_of_the_same_page) {
  bool is_nested = false;
  pages_.before_read = [&](page::SnapshotPageId id) {
    if (std::exchange(is_nested, true)) return Status(ErrorCode::kIoError);
    Status status;
    EXPECT_EQ(cache_->find(0, id, &status), nullptr);
    EXPECT_EQ(status.code(), ErrorCode::kIoError);
    return Status();
  };
  EXPECT_NE(find(page_of(5)), nullptr);
  EXPECT_EQ(cache_->statistics().pages, 1u);
}

TEST_F(PageCacheReaderTest, forgets_the_pages_of_a_snapshot_and_no_others) {
  for (std::uint32_t i = 0; i < 100; ++i) {
    for (std::uint32_t snapshot = 1; snapshot <= 3; ++snapshot) {
      ASSERT_NE(find(page_of(i, snapshot)), nullptr);
    }
  }
  const page::PageHeader* const held = find(page_of(50, 2));
  cache_->forget(page::SnapshotNumber{2});
  EXPECT_EQ(cache_->statistics().pages, 200u);
  EXPECT_TRUE(is_page(held, page_of(50, 2)));  // the pin lasts
  const std::uint64_t reads_before = reads();
  for (std::uint32_t i = 0; i < 100; ++i) {
    ASSERT_NE(find(page_of(i, 1)), nullptr);
    ASSERT_NE(find(page_of(i, 3)), nullptr);
  }
  EXPECT_EQ(reads(), reads_before);
  pages_.before_read = [](page::SnapshotPageId) { return Status(ErrorCode::kCorruption); };
  for (std::uint32_t i = 0; i < 100; ++i) ASSERT_EQ(find(page_of(i, 2)), nullptr);
  EXPECT_EQ(cache_->statistics().pages, 200u);
}

// Leaving pages are forgotten, too, and all frames are used again.
TEST_F(PageCacheReaderTest, forgets_pages_that_are_leaving) {
  const std::uint32_t frames = static_cast<std::uint32_t>(cache_->frames_max(0));
  for (std::uint32_t i = 0; i < frames; ++i) ASSERT_NE(find(page_of(i, 2)), nullptr);
  ASSERT_GT(cache_->statistics().evictions, 100u);
  cache_->forget(page::SnapshotNumber{2});
  EXPECT_EQ(cache_->statistics().pages, 0u);
  clock_.unpin_cache(0);
  runtime_.start(&clock_);
  runtime_.run_for(4000);
  clock_.pin_cache(0);
  const std::uint64_t reads_before = reads();
  for (std::uint32_t i = 0; i < frames; ++i) ASSERT_NE(find(page_of(i, 2)), nullptr) << i;
  EXPECT_EQ(reads(), reads_before + frames);
  runtime_.stop(&clock_);
}

TEST_F(PageCacheReaderTest, counts_hits_in_samples) {
  ASSERT_NE(find(page_of(1)), nullptr);
  constexpr std::uint64_t kHits = 10 * PageCache::kHitsPerSample;
  for (std::uint64_t i = 0; i < kHits; ++i) ASSERT_NE(find(page_of(1)), nullptr);
  EXPECT_EQ(cache_->statistics().hits, kHits);
  EXPECT_EQ(cache_->statistics().misses, 1u);
}

TEST_F(PageCacheReaderTest, hints_read_nothing) {
  EXPECT_EQ(cache_->find_cached(0, page_of(1)), nullptr);
  EXPECT_EQ(reads(), 0u);
  ASSERT_NE(find(page_of(1)), nullptr);
  EXPECT_TRUE(is_page(cache_->find_cached(0, page_of(1)), page_of(1)));
  for (std::uint32_t i = 0; i < 100; ++i) {
    cache_->prefetch(0, page_of(i));
    cache_->prefetch_page(0, page_of(i), {.offset = 0, .bytes = page::kPageBytes});
  }
  EXPECT_EQ(reads(), 1u);
}

}  // namespace
}  // namespace foedus::snapshot::page_cache_reader_test
