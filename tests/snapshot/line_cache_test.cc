#include "foedus-core/snapshot/cache/line_cache.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "foedus-core/page/page_bytes.h"
#include "foedus-core/snapshot/cache/page_cache.h"
#include "tests/snapshot/page_cache_pages.h"
#include "tests/testing/manual_runtime.h"

namespace foedus::snapshot::line_cache_test {
namespace {

using page::LineMask;

constexpr std::uint64_t kIntervalUs = 1000;

// A cache of a number of frames, and lines in it. The clock stands still until advance().
class LineCacheTest : public ::testing::Test {
 protected:
  ~LineCacheTest() override {
    clock_.unpin_cache(0);
    runtime_.stop(&clock_);
  }
  void make(LineCache::Frames frames, std::uint64_t bytes) {
    runtime_.start(&clock_);
    auto made = PageCache::make(&topology_, &budget_, bytes, Facility::kTry, Facility::kTry,
                                &pages_, &clock_);
    ASSERT_TRUE(made.is_ok()) << made.status().message();
    cache_ = std::move(made).value();
    lines_ = std::make_unique<LineCache>(cache_.get(), 0, frames);
    clock_.pin_cache(0);
  }
  void advance() {
    clock_.unpin_cache(0);
    runtime_.run_for(4 * kIntervalUs);
    clock_.pin_cache(0);
  }
  LinesAdded add(page::SnapshotPageId id, LineMask lines) {
    page::PageBytes page;
    for (std::size_t i = 0; i < kPageWords; ++i) {
      const std::uint64_t word = word_of_page(id, i);
      std::memcpy(page.bytes + i * 8, &word, 8);
    }
    return lines_->add(id, lines, lines, page.bytes);
  }
  // Returns the lines that are there, each checked.
  LineMask read(page::SnapshotPageId id, LineMask wanted = ~LineMask{0}) {
    page::PageBytes page;
    const LineMask found = lines_->read(id, wanted, page.bytes);
    for (std::size_t i = 0; i < kPageWords; ++i) {
      if ((found >> (i * 8 / page::kLineBytes) & 1) == 0) continue;
      std::uint64_t word;
      std::memcpy(&word, page.bytes + i * 8, 8);
      EXPECT_EQ(word, word_of_page(id, i)) << i;
    }
    return found;
  }

  MadePages pages_;
  testing::ManualRuntime runtime_;
  epoch::EpochClock clock_{&runtime_, Epoch(10), 8, kIntervalUs};
  numa::Topology topology_ = *numa::Topology::make(1);
  base::MemoryBudget budget_{64u << 20};
  std::unique_ptr<PageCache> cache_;
  std::unique_ptr<LineCache> lines_;
};

TEST_F(LineCacheTest, lines_of_many_pages_share_line_pages) {
  make(LineCache::Frames::kMiniPages, 2u << 20);
  for (std::uint32_t page = 0; page < 1'000; ++page) add(page_of(page), 0b101);
  std::uint32_t found = 0;
  for (std::uint32_t page = 0; page < 1'000; ++page) {
    found += read(page_of(page)) == 0b101 ? 1 : 0;
  }
  EXPECT_GT(found, 900u);
  EXPECT_LT(cache_->statistics().pages, 400u);
  EXPECT_EQ(lines_->statistics().loaded, 2'000u);
  EXPECT_EQ(pages_.reads.load_relaxed(), 0u) << "no line page is read from a device";
  EXPECT_EQ(lines_->lines_max(), LineCache::kMiniLines);
}

TEST_F(LineCacheTest, or_each_page_has_one_of_its_own) {
  make(LineCache::Frames::kOfOnePage, 2u << 20);
  for (std::uint32_t page = 0; page < 10; ++page) {
    add(page_of(page), 0xffff'ffff);
    add(page_of(page), LineMask{1} << 40);
  }
  for (std::uint32_t page = 0; page < 10; ++page) {
    EXPECT_EQ(read(page_of(page)), 0xffff'ffffu | LineMask{1} << 40);
  }
  EXPECT_EQ(cache_->statistics().pages, 10u);
  EXPECT_EQ(add(page_of(1), ~LineMask{0}), LinesAdded::kOutgrown);
  EXPECT_EQ(lines_->statistics().outgrown, 1u);
}

TEST_F(LineCacheTest, a_page_and_its_line_page_are_two) {
  make(LineCache::Frames::kOfOnePage, 2u << 20);
  add(page_of(1), 0b1);
  Status status;
  const page::PageHeader* const whole = cache_->find(0, page_of(1), &status);
  ASSERT_NE(whole, nullptr) << status.message();
  EXPECT_TRUE(is_page(whole, page_of(1)));
  EXPECT_EQ(read(page_of(1)), 0b1u);
}

// Goal: K23. Method: lines of many more pages than the cache can hold are added in turn; those of
// the last ones must still be there.
TEST_F(LineCacheTest, there_are_as_many_line_pages_as_stay) {
  make(LineCache::Frames::kMiniPages, PageCache::kBytesMin);
  std::uint32_t number = 0;
  for (int round = 0; round < 2'000; ++round) {
    for (int i = 0; i < 4; ++i, ++number) add(page_of(number % 2'000), 0b11);
    advance();
  }
  std::uint64_t found = 0;
  for (std::uint32_t page = number - 100; page < number; ++page) {
    found += read(page_of(page % 2'000)) != 0 ? 1 : 0;
  }
  EXPECT_GT(found, 20u);
  EXPECT_LE(cache_->statistics().pages, 64u);
}

}  // namespace
}  // namespace foedus::snapshot::line_cache_test
