#include "foedus-core/occ/cold_lines.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "foedus-core/snapshot/cache/page_cache.h"
#include "tests/snapshot/page_cache_pages.h"
#include "tests/testing/manual_runtime.h"

namespace foedus::occ::cold_lines_test {
namespace {

using page::LineMask;
using snapshot::LineCache;
using snapshot::page_of;

// Returns lines whose words follow from the page, and remembers the ones that were asked for.
class MadeLines final : public snapshot::PageReader {
 public:
  Status read(page::SnapshotPageId, page::PageHeader*) override {
    return Status(ErrorCode::kNotSupported);
  }
  Status read_lines(page::SnapshotPageId id, LineMask lines, char* to) override {
    if (fails) return Status(ErrorCode::kIoError);
    asked.push_back(lines);
    while (lines != 0) {
      const page::LineRun run = page::take_run(&lines);
      for (std::uint32_t at = run.offset(); at < run.offset() + run.bytes(); at += 8) {
        const std::uint64_t word = snapshot::word_of_page(id, at / 8);
        std::memcpy(to + at, &word, 8);
      }
    }
    return {};
  }

  std::vector<LineMask> asked;
  bool fails = false;
};

class ColdLinesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    runtime_.start(&clock_);
    auto made = snapshot::PageCache::make(&topology_, &budget_, 2u << 20, Facility::kTry,
                                          Facility::kTry, &reader_, &clock_);
    ASSERT_TRUE(made.is_ok()) << made.status().message();
    pages_ = std::move(made).value();
    cache_ = std::make_unique<LineCache>(pages_.get(), 0, LineCache::Frames::kMiniPages);
    clock_.pin_cache(0);
  }
  void TearDown() override {
    clock_.unpin_cache(0);
    runtime_.stop(&clock_);
  }
  bool load(ColdLines* lines, std::uint32_t offset, std::uint32_t bytes) {
    status_ = {};
    if (!lines->load({.offset = offset, .bytes = bytes}, &status_)) return false;
    const char* const begin = reinterpret_cast<const char*>(lines->page());
    for (std::uint32_t at = (offset + 7) / 8 * 8; at + 8 <= offset + bytes; at += 8) {
      std::uint64_t word;
      std::memcpy(&word, begin + at, 8);
      EXPECT_EQ(word, snapshot::word_of_page(lines->id(), at / 8)) << at;
    }
    return true;
  }

  numa::Topology topology_ = *numa::Topology::make(1);
  base::MemoryBudget budget_{64u << 20};
  MadeLines reader_;
  testing::ManualRuntime runtime_;
  epoch::EpochClock clock_{&runtime_, Epoch(10), 8, 1'000};
  std::unique_ptr<snapshot::PageCache> pages_;
  std::unique_ptr<LineCache> cache_;
  Status status_;
};

TEST_F(ColdLinesTest, what_is_looked_at_is_loaded_once) {
  ColdLines lines(cache_.get(), &reader_);
  ASSERT_NE(lines.open(page_of(1), 0b11, &status_), nullptr);
  EXPECT_TRUE(load(&lines, 0, 128));
  EXPECT_TRUE(load(&lines, 1'000, 200));
  EXPECT_TRUE(load(&lines, 1'100, 8));
  EXPECT_EQ(reader_.asked, (std::vector<LineMask>{0b11, page::lines_of({1'000, 200})}));
  ColdLines others(cache_.get(), &reader_);
  ASSERT_NE(others.open(page_of(1), 0b1, &status_), nullptr);
  EXPECT_TRUE(load(&others, 1'000, 200));
  EXPECT_EQ(reader_.asked.size(), 2u) << "the cache has them";
  EXPECT_TRUE(load(&others, 1'000, 300));
  EXPECT_EQ(reader_.asked.back(), page::lines_of({1'200, 100}) & ~page::lines_of({1'000, 200}));
}

TEST_F(ColdLinesTest, another_page_has_nothing_of_the_one_before) {
  ColdLines lines(cache_.get(), &reader_);
  ASSERT_NE(lines.open(page_of(1), 0b11, &status_), nullptr);
  ASSERT_NE(lines.open(page_of(2), 0b1, &status_), nullptr);
  EXPECT_TRUE(load(&lines, 0, 128));
  ASSERT_NE(lines.open(page_of(1), 0b11, &status_), nullptr);
  EXPECT_TRUE(load(&lines, 0, 128));
  EXPECT_EQ(reader_.asked, (std::vector<LineMask>{0b11, 0b1, 0b10}));
}

TEST_F(ColdLinesTest, a_part_beyond_the_page_is_refused) {
  ColdLines lines(cache_.get(), &reader_);
  ASSERT_NE(lines.open(page_of(1), 0b1, &status_), nullptr);
  for (const page::PagePart part : {page::PagePart{4'096, 1}, page::PagePart{4'000, 97},
                                    page::PagePart{65'535, 16}, page::PagePart{64, ~0u}}) {
    EXPECT_FALSE(load(&lines, part.offset, part.bytes));
    EXPECT_EQ(status_.code(), ErrorCode::kCorruption);
  }
  EXPECT_TRUE(load(&lines, 4'000, 96));
}

TEST_F(ColdLinesTest, a_page_outgrows_the_cache_and_goes_on_here) {
  ColdLines lines(cache_.get(), &reader_);
  constexpr LineMask kFull = ~LineMask{0} >> (64 - LineCache::kMiniLines);
  ASSERT_NE(lines.open(page_of(1), kFull, &status_), nullptr);
  EXPECT_FALSE(lines.take_outgrown());
  EXPECT_TRUE(load(&lines, 2'048, 64));
  EXPECT_TRUE(lines.take_outgrown());
  EXPECT_FALSE(lines.take_outgrown());
  EXPECT_TRUE(load(&lines, 0, 64 * LineCache::kMiniLines));
}

TEST_F(ColdLinesTest, lines_that_cannot_be_read_are_asked_for_again) {
  ColdLines lines(cache_.get(), &reader_);
  reader_.fails = true;
  EXPECT_EQ(lines.open(page_of(1), 0b1, &status_), nullptr);
  EXPECT_EQ(status_.code(), ErrorCode::kIoError);
  reader_.fails = false;
  status_ = {};
  ASSERT_NE(lines.open(page_of(1), 0b1, &status_), nullptr);
  EXPECT_TRUE(load(&lines, 0, 64));
}

TEST_F(ColdLinesTest, without_a_cache_nothing_is_kept_but_the_page_at_hand) {
  ColdLines lines(nullptr, &reader_);
  ASSERT_NE(lines.open(page_of(1), 0b11, &status_), nullptr);
  EXPECT_TRUE(load(&lines, 1'000, 200));
  ASSERT_NE(lines.open(page_of(1), 0b11, &status_), nullptr);
  EXPECT_TRUE(load(&lines, 1'000, 200));
  EXPECT_EQ(reader_.asked, (std::vector<LineMask>{0b11, page::lines_of({1'000, 200})}));
  lines.forget();
  ASSERT_NE(lines.open(page_of(1), 0b11, &status_), nullptr);
  EXPECT_EQ(reader_.asked.size(), 3u);
  ASSERT_NE(lines.open(page_of(2), 0b1, &status_), nullptr);
  ASSERT_NE(lines.open(page_of(1), 0b1, &status_), nullptr);
  EXPECT_EQ(reader_.asked.size(), 5u);
  EXPECT_FALSE(lines.would_outgrow({.offset = 0, .bytes = 4'096}));
  EXPECT_TRUE(load(&lines, 0, 4'096));
  EXPECT_FALSE(lines.take_outgrown());
}

// A search that reads a line which it has not loaded fails in the tests, not at a user (O21).
#if defined(__SANITIZE_ADDRESS__)
TEST_F(ColdLinesTest, what_is_not_there_is_poison) {
  ColdLines lines(cache_.get(), &reader_);
  ASSERT_NE(lines.open(page_of(1), 0b1, &status_), nullptr);
  const volatile char* const page = reinterpret_cast<const volatile char*>(lines.page());
  EXPECT_DEATH(static_cast<void>(page[64]), "use-after-poison");
  lines.forget();
  EXPECT_DEATH(static_cast<void>(page[0]), "use-after-poison");
}
#endif

}  // namespace
}  // namespace foedus::occ::cold_lines_test
