#include "foedus-core/snapshot/cache/line_page.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "foedus-core/page/page_bytes.h"
#include "tests/snapshot/page_cache_pages.h"
#include "tests/testing/at_sync_point.h"

namespace foedus::snapshot::line_page_test {
namespace {

using page::kLineBytes;
using page::LineMask;

void make_page(page::SnapshotPageId id, page::PageBytes* to) {
  for (std::size_t i = 0; i < kPageWords; ++i) {
    const std::uint64_t word = word_of_page(id, i);
    std::memcpy(to->bytes + i * 8, &word, 8);
  }
}

// Returns whether these lines are those of the page.
bool are_of(page::SnapshotPageId id, LineMask lines, const page::PageBytes& page) {
  page::PageBytes made;
  make_page(id, &made);
  while (lines != 0) {
    const page::LineRun run = page::take_run(&lines);
    if (std::memcmp(page.bytes + run.offset(), made.bytes + run.offset(), run.bytes()) != 0) {
      return false;
    }
  }
  return true;
}

// A frame with a line page.
class LinePageTest : public ::testing::Test {
 protected:
  LinePageTest() { lines_->initialize(page_of(9'999)); }
  LinesAdded add(page::SnapshotPageId id, LineMask lines) {
    page::PageBytes page;
    make_page(id, &page);
    return lines_->add(id, lines, page.bytes, kMiniLines, &evicted_);
  }
  // Returns the lines that are there, each checked.
  LineMask read(page::SnapshotPageId id, LineMask lines = ~LineMask{0}) {
    page::PageBytes page;
    const LineMask found = lines_->read(id, lines, page.bytes);
    EXPECT_TRUE(are_of(id, found, page)) << found;
    return found;
  }

  static constexpr std::uint32_t kMiniLines = 16;

  page::PageBytes frame_;
  LinePage* const lines_ = frame_.as<LinePage>();
  std::uint32_t evicted_ = 0;
};

TEST(LineMaskTest, a_part_of_a_page_is_the_lines_that_it_touches) {
  EXPECT_EQ(page::lines_of({.offset = 0, .bytes = 0}), 0u);
  EXPECT_EQ(page::lines_of({.offset = 0, .bytes = 1}), 1u);
  EXPECT_EQ(page::lines_of({.offset = 63, .bytes = 2}), 3u);
  EXPECT_EQ(page::lines_of({.offset = 0, .bytes = 4096}), ~LineMask{0});
  EXPECT_EQ(page::lines_of({.offset = 4095, .bytes = 1}), LineMask{1} << 63);
  EXPECT_TRUE(page::is_within_page({.offset = 4096, .bytes = 0}));
  EXPECT_FALSE(page::is_within_page({.offset = 4096, .bytes = 1}));
  EXPECT_FALSE(page::is_within_page({.offset = 1, .bytes = ~0u}));
}

TEST(LineMaskTest, runs_are_taken_from_the_first_on) {
  LineMask lines = 0xf000'0000'0000'00d1u;
  const page::LineRun expected[] = {{0, 1}, {4, 1}, {6, 2}, {60, 4}};
  for (const page::LineRun& run : expected) {
    const page::LineRun taken = page::take_run(&lines);
    EXPECT_EQ(taken.first, run.first);
    EXPECT_EQ(taken.count, run.count);
  }
  EXPECT_EQ(lines, 0u);
}

TEST_F(LinePageTest, lines_are_found_however_they_came) {
  EXPECT_EQ(read(page_of(1)), 0u);
  EXPECT_EQ(add(page_of(1), 0b1001'0000), LinesAdded::kKept);
  EXPECT_EQ(read(page_of(1)), 0b1001'0000u);
  EXPECT_EQ(add(page_of(1), 0b0110'0001), LinesAdded::kKept);
  EXPECT_EQ(add(page_of(1), LineMask{1} << 63), LinesAdded::kKept);
  EXPECT_EQ(add(page_of(1), 0b0000'1001), LinesAdded::kKept);
  EXPECT_EQ(read(page_of(1)), 0b1111'1001u | LineMask{1} << 63);
  EXPECT_EQ(read(page_of(1), 0b1100), 0b1000u);
  EXPECT_EQ(read(page_of(2)), 0u);
}

TEST_F(LinePageTest, an_empty_one_has_nothing) {
  EXPECT_TRUE(lines_->is_empty());
  EXPECT_EQ(read(page_of(1)), 0u);
  EXPECT_EQ(lines_->page_id, page_of(9'999).word());
  add(page_of(1), 1);
  EXPECT_FALSE(lines_->is_empty());
}

TEST_F(LinePageTest, a_page_with_more_lines_than_a_mini_page_is_for_the_page_cache) {
  EXPECT_EQ(add(page_of(1), 0xffff), LinesAdded::kKept);
  EXPECT_EQ(add(page_of(3), 0b1010), LinesAdded::kKept);
  EXPECT_EQ(add(page_of(1), 0x1'0000), LinesAdded::kOutgrown);
  EXPECT_EQ(read(page_of(1)), 0u);
  EXPECT_EQ(read(page_of(3)), 0b1010u);
  EXPECT_EQ(add(page_of(2), 0x1'ffff), LinesAdded::kOutgrown);
  EXPECT_EQ(add(page_of(1), 1), LinesAdded::kKept);
  EXPECT_EQ(read(page_of(1)), 1u);
}

TEST_F(LinePageTest, one_page_can_have_nearly_all_of_its_lines) {
  page::PageBytes page;
  make_page(page_of(1), &page);
  constexpr LineMask kMany = ~LineMask{0} >> (64 - LinePage::kLines);
  constexpr LineMask kOdd = 0xaaaa'aaaa'aaaa'aaaau;
  for (const LineMask lines : {kMany & kOdd, kMany & ~kOdd}) {
    EXPECT_EQ(lines_->add(page_of(1), lines, page.bytes, LinePage::kLines, &evicted_),
              LinesAdded::kKept);
  }
  EXPECT_EQ(read(page_of(1)), kMany);
  EXPECT_EQ(lines_->add(page_of(1), ~kMany, page.bytes, LinePage::kLines, &evicted_),
            LinesAdded::kOutgrown);
}

TEST_F(LinePageTest, what_is_used_stays_and_what_is_not_makes_room) {
  for (std::uint32_t page = 0; page < 1'000; ++page) {
    add(page_of(page), LineMask{0b111} << page % 60);
    EXPECT_EQ(read(page_of(0)), 0b111u) << page;
  }
  EXPECT_NE(read(page_of(999)), 0u);
  EXPECT_EQ(evicted_, 1'000 - LinePage::kPages);
}

TEST_F(LinePageTest, where_all_are_used_one_goes_all_the_same) {
  for (std::uint32_t page = 0; page < 100; ++page) {
    add(page_of(page), 0xff);
    for (std::uint32_t used = 0; used <= page; ++used) read(page_of(used));
    EXPECT_EQ(read(page_of(page)), 0xffu);
  }
}

// Unused mini pages are evicted in the order in which they came.
TEST_F(LinePageTest, the_hand_goes_round) {
  for (std::uint32_t page = 0; page < 100; ++page) {
    add(page_of(page), 0b1);
    for (std::uint32_t other = 0; other <= page; ++other) {
      page::PageBytes bytes;
      const bool is_there = page - other < LinePage::kPages;
      if (is_there) continue;
      EXPECT_EQ(lines_->read(page_of(other), 1, bytes.bytes), 0u) << page << " " << other;
    }
  }
}

// Goal: lines are those of their page, in any order of changes. Method: random changes; each read
// is checked.
TEST_F(LinePageTest, lines_survive_any_order_of_changes) {
  std::uint64_t random = 7;
  std::uint64_t found = 0;
  for (int i = 0; i < 100'000; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const page::SnapshotPageId id = page_of(static_cast<std::uint32_t>(random >> 40) % 24);
    const LineMask lines =
        (LineMask{1} << (random >> 33) % 64) | (LineMask{1} << (random >> 50) % 64);
    add(id, lines);
    found += page::count_of(read(id));
  }
  EXPECT_GT(found, 100'000u);
}

// Goal: a reader does not use a copy of a frame that changed (K18). Method: after the copy another
// page comes into the frame.
TEST_F(LinePageTest, a_copy_of_a_frame_that_changes_counts_for_nothing) {
  add(page_of(0), 0b11);
  {
    testing::AtSyncPoint between("line_page:copied", [&] {
      for (std::uint32_t page = 1; page < 60; ++page) add(page_of(page), 0b11);
    });
    EXPECT_EQ(read(page_of(0)), 0u);
    EXPECT_EQ(between.runs(), 1u);
  }
  add(page_of(20), 0b1);
  testing::AtSyncPoint between("line_page:copied", [&] { add(page_of(20), 0b10); });
  EXPECT_EQ(read(page_of(20)), 0u);
  EXPECT_EQ(read(page_of(20)), 0b11u);
}

// Goal: no wait (K20), for a reader that comes during a change and for a second writer.
TEST_F(LinePageTest, nobody_waits_for_who_changes_a_frame) {
  add(page_of(0), 0b1);
  testing::AtSyncPoint between("line_page:changing", [&] {
    EXPECT_EQ(read(page_of(0)), 0u);
    EXPECT_EQ(add(page_of(1), 0b1), LinesAdded::kKept);
    EXPECT_EQ(read(page_of(1)), 0u);
  });
  add(page_of(0), 0b10);
  EXPECT_EQ(between.runs(), 1u);
  EXPECT_EQ(read(page_of(0)), 0b11u);
}

// Goal: lines are those of their page whatever other threads do. Method: threads read and add lines
// of more pages than fit.
TEST_F(LinePageTest, threads_find_lines_of_their_pages_only) {
  std::vector<std::jthread> threads;
  std::atomic<std::uint64_t> found{0};
  for (std::uint64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      std::uint64_t random = thread + 1;
      for (int i = 0; i < 20'000; ++i) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const page::SnapshotPageId id = page_of(static_cast<std::uint32_t>(random >> 40) % 20);
        const LineMask wanted = LineMask{0b111} << (random >> 33) % 60;
        const LineMask there = read(id, wanted);
        found += page::count_of(there);
        if (there != wanted) {
          std::uint32_t evicted = 0;
          page::PageBytes page;
          make_page(id, &page);
          lines_->add(id, wanted, page.bytes, kMiniLines, &evicted);
        }
      }
    });
  }
  threads.clear();
  EXPECT_GT(found.load(), 0u);
}

}  // namespace
}  // namespace foedus::snapshot::line_page_test
