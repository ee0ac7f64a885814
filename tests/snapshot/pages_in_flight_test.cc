// Pages that a session has in flight: the reads of the device that they become, and the pages that
// the cache has afterwards. One thread; reads are made when they are waited for.
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "foedus-core/snapshot/cache/page_cache.h"
#include "foedus-core/snapshot/cache/pages_in_flight.h"
#include "tests/snapshot/page_cache_pages.h"
#include "tests/testing/at_sync_point.h"
#include "tests/testing/manual_runtime.h"

namespace foedus::snapshot::pages_in_flight_test {
namespace {

using testing::AtSyncPoint;

constexpr std::uint64_t kBytes = 8u << 20;

class PagesInFlightTest : public ::testing::Test {
 protected:
  PagesInFlightTest() {
    clock_.pin_cache(0);
    // Memory for some hundred frames is taken, because K11 lets only few pages of 64 frames be in
    // flight.
    for (std::uint32_t i = 0; i < 400; ++i) EXPECT_TRUE(can_find(page_of(10'000 + i)));
    reads_before_ = pages_.reads.load_relaxed();
  }

  bool can_find(page::SnapshotPageId id) {
    Status status;
    const page::PageHeader* const page = cache_->find(0, id, &status);
    return page != nullptr && is_page(page, id);
  }
  void begin(std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      ASSERT_EQ(in_flight_->begin(page_of(first + i)), Begun::kBegun) << first + i;
    }
  }
  std::uint64_t reads() const { return pages_.reads.load_relaxed() - reads_before_; }

  MadePages pages_;
  testing::ManualRuntime runtime_;
  epoch::EpochClock clock_{&runtime_, Epoch(10), 8, 1000};
  numa::Topology topology_ = *numa::Topology::make(1);
  base::MemoryBudget budget_{kBytes};
  std::unique_ptr<PageCache> cache_ = *PageCache::make(&topology_, &budget_, kBytes, Facility::kTry,
                                                       Facility::kTry, &pages_, &clock_);
  std::unique_ptr<PagesInFlight> in_flight_ = cache_->make_pages_in_flight(0);
  std::uint64_t reads_before_ = 0;
};

TEST_F(PagesInFlightTest, a_page_that_came_is_found_without_a_read) {
  begin(5, 1);
  EXPECT_EQ(reads(), 0u);
  EXPECT_TRUE(in_flight_->finish(page_of(5)));
  EXPECT_EQ(reads(), 1u);
  EXPECT_TRUE(can_find(page_of(5)));
  EXPECT_EQ(reads(), 1u);
  EXPECT_FALSE(in_flight_->finish(page_of(5)));
  EXPECT_EQ(in_flight_->begin(page_of(5)), Begun::kCached);
}

TEST_F(PagesInFlightTest, pages_that_follow_one_another_are_one_read) {
  begin(1, 3);
  begin(7, 1);
  begin(8, 1);
  begin(20, 1);
  begin(19, 1);
  begin(page::SnapshotPageId::kPageMax, 1);
  in_flight_->send();
  const std::vector<std::vector<page::SnapshotPageId>> expected = {
      {page_of(1), page_of(2), page_of(3)},
      {page_of(7), page_of(8)},
      {page_of(20)},
      {page_of(19)},
      {page_of(page::SnapshotPageId::kPageMax)}};
  EXPECT_EQ(pages_.sent, expected);
}

TEST_F(PagesInFlightTest, a_long_run_is_reads_of_thirty_two_pages) {
  begin(1, 64);
  in_flight_->send();
  ASSERT_EQ(pages_.sent.size(), 2u);
  EXPECT_EQ(pages_.sent[0].size(), PageReads::kPagesMax);
  EXPECT_EQ(pages_.sent[1].front(), page_of(33));
}

// The pages are far apart: the device begins with some while others are being searched.
TEST_F(PagesInFlightTest, some_of_many_begin_before_all_are_sent) {
  for (std::uint32_t i = 0; i < 20; ++i) begin(100 * i + 1, 1);
  EXPECT_EQ(pages_.sent.size(), 16u);
}

TEST_F(PagesInFlightTest, a_page_in_flight_is_not_begun_twice) {
  begin(5, 1);
  EXPECT_EQ(in_flight_->begin(page_of(5)), Begun::kBegun);
  in_flight_->send();
  EXPECT_EQ(in_flight_->begin(page_of(5)), Begun::kBegun);
  EXPECT_EQ(pages_.sent.size(), 1u);
}

TEST_F(PagesInFlightTest, more_than_there_are_places_for_are_refused) {
  begin(1, PagesInFlight::kPagesMax);
  EXPECT_EQ(in_flight_->begin(page_of(500)), Begun::kRefused);
  EXPECT_TRUE(in_flight_->finish(page_of(1)));
  begin(500, 1);
}

// K11. In a cache of 64 frames other searches get their frames while pages are in flight.
TEST_F(PagesInFlightTest, they_are_a_few_of_the_frames) {
  base::MemoryBudget budget{PageCache::kBytesMin};
  const auto cache = *PageCache::make(&topology_, &budget, PageCache::kBytesMin, Facility::kTry,
                                      Facility::kTry, &pages_, &clock_);
  const std::unique_ptr<PagesInFlight> both[] = {cache->make_pages_in_flight(0),
                                                 cache->make_pages_in_flight(0)};
  EXPECT_EQ(both[0]->begin(page_of(1)), Begun::kBegun);
  for (std::uint32_t i = 2; i < 5; ++i) EXPECT_EQ(both[1]->begin(page_of(i)), Begun::kBegun);
  EXPECT_EQ(both[0]->begin(page_of(5)), Begun::kRefused);
  Status status;
  for (std::uint32_t i = 0; i < 60; ++i) {
    EXPECT_NE(cache->find(0, page_of(100 + i), &status), nullptr) << i << ": " << status.message();
  }
  EXPECT_EQ(both[0]->begin(page_of(5)), Begun::kRefused);
  EXPECT_TRUE(both[1]->finish(page_of(2)));
  clock_.pin_cache(0);
  EXPECT_EQ(both[1]->begin(page_of(2)), Begun::kCached);
}

// Failures that are more than the frames lose no frame.
TEST_F(PagesInFlightTest, a_page_that_cannot_be_read_is_read_again_by_who_wants_it) {
  pages_.keeps_sent = false;
  pages_.before_read = [](page::SnapshotPageId id) {
    return id.page() == 52 ? Status(ErrorCode::kIoError) : Status();
  };
  for (std::uint64_t i = 0; i < 2 * kBytes / page::kPageBytes; ++i) {
    ASSERT_EQ(in_flight_->begin(page_of(52)), Begun::kBegun) << i;
    ASSERT_TRUE(in_flight_->finish(page_of(52)));
  }
  Status status;
  EXPECT_EQ(cache_->find(0, page_of(52), &status), nullptr);
  EXPECT_EQ(status.code(), ErrorCode::kIoError);
  pages_.before_read = nullptr;
  EXPECT_TRUE(can_find(page_of(52)));
}

TEST_F(PagesInFlightTest, another_page_than_the_one_asked_for_is_not_cached) {
  begin(50, 2);
  pages_.id_error = 1;
  EXPECT_TRUE(in_flight_->finish(page_of(50)));
  pages_.id_error = 0;
  const std::uint64_t before = reads();
  EXPECT_TRUE(can_find(page_of(50)));
  EXPECT_TRUE(can_find(page_of(51)));
  EXPECT_EQ(reads(), before + 2);
}

// The reader refuses more pages than there are frames, and more than can be in flight at once.
TEST_F(PagesInFlightTest, what_the_reader_refuses_takes_no_frame) {
  pages_.refuses = true;
  for (std::uint32_t i = 0; i < 2 * kBytes / page::kPageBytes; ++i) {
    ASSERT_EQ(in_flight_->begin(page_of(50 + i)), Begun::kBegun) << i;
    in_flight_->send();
    ASSERT_FALSE(in_flight_->finish(page_of(50 + i)));
  }
  pages_.refuses = false;
  EXPECT_TRUE(can_find(page_of(50)));
}

// Method: other sessions read one of the pages, and have some in flight, before these are put.
TEST_F(PagesInFlightTest, pages_that_others_read_meanwhile_are_cached_once) {
  const std::uint64_t pages_before = cache_->statistics().pages;
  const std::unique_ptr<PagesInFlight> theirs = cache_->make_pages_in_flight(0);
  bool is_nested = false;
  const AtSyncPoint other("cache:before_publish_ahead", [&] {
    if (std::exchange(is_nested, true)) return;
    EXPECT_TRUE(can_find(page_of(11)));
    for (std::uint32_t i = 12; i < 16; ++i) EXPECT_EQ(theirs->begin(page_of(i)), Begun::kBegun);
    EXPECT_TRUE(theirs->finish(page_of(12)));
  });
  begin(10, 4);
  EXPECT_TRUE(in_flight_->finish(page_of(10)));
  EXPECT_EQ(cache_->statistics().duplicates, 3u);
  EXPECT_EQ(cache_->statistics().pages, pages_before + 6);
  const std::uint64_t before = reads();
  for (std::uint32_t i = 10; i < 16; ++i) EXPECT_TRUE(can_find(page_of(i)));
  EXPECT_EQ(reads(), before);
}

// Unneeded pages go into the cache, too, if their reads have begun.
TEST_F(PagesInFlightTest, its_end_waits_for_what_is_in_flight) {
  const std::uint64_t pages_before = cache_->statistics().pages;
  begin(10, 2);
  in_flight_->send();
  begin(20, 1);
  in_flight_ = nullptr;
  EXPECT_EQ(reads(), 2u);
  EXPECT_EQ(cache_->statistics().pages, pages_before + 2);
}

// K12, for more pages than there are frames. Another page comes in between, so that some were
// added.
TEST_F(PagesInFlightTest, nothing_is_begun_after_the_transaction) {
  for (std::uint32_t i = 0; i < 1'000; ++i) {
    begin(20'000, 1);
    begin(40'000, 1);
    const std::size_t sent_before = pages_.sent.size();
    in_flight_->settle();
    ASSERT_EQ(pages_.sent.size(), sent_before + 1);
    ASSERT_TRUE(in_flight_->finish(page_of(20'000)));
    cache_->forget(page::SnapshotNumber{1});
    runtime_.run_for(1'001);
    clock_.step();
    clock_.pin_cache(0);
    in_flight_->send();
    ASSERT_EQ(pages_.sent.size(), sent_before + 1);
  }
}

}  // namespace
}  // namespace foedus::snapshot::pages_in_flight_test
