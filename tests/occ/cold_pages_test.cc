// O14, O15: the duration of a session's cache pin, and searches while no frame is due.
#include "foedus-core/occ/cold_pages.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/snapshot/cache/page_cache.h"
#include "tests/snapshot/page_cache_pages.h"
#include "tests/testing/manual_runtime.h"

namespace foedus::occ::cold_pages_test {
namespace {

using snapshot::is_page;
using snapshot::page_of;
using snapshot::PageCache;

constexpr std::uint64_t kIntervalUs = 10'000;
constexpr std::uint32_t kFrames = 64;
constexpr std::uint32_t kSession = 2;

// State that the hook inspects.
epoch::EpochClock* hooked_clock = nullptr;
std::uint64_t waits = 0;
std::uint64_t waits_with_a_pin = 0;

void look_at_pin(const char* place) {
  if (std::string_view(place) != "occ:waits_for_frame") return;
  ++waits;
  if (hooked_clock->slot(kSession).cache_pin.load_relaxed() != 0) ++waits_with_a_pin;
}

class ColdPagesTest : public ::testing::Test {
 protected:
  ColdPagesTest() {
    runtime_.start(&clock_);
    hooked_clock = &clock_;
    waits = 0;
    waits_with_a_pin = 0;
    base::set_sync_point_hook(look_at_pin);
  }
  ~ColdPagesTest() override {
    base::set_sync_point_hook(nullptr);
    runtime_.stop(&clock_);
  }

  std::uint64_t pin_of(std::uint32_t session) {
    return clock_.slot(session).cache_pin.load_relaxed();
  }
  // Reads pages [begin, begin + count), each in a search of its own.
  void read(std::uint32_t begin, std::uint32_t count) {
    for (std::uint32_t i = begin; i < begin + count; ++i) {
      const ColdReads reads(&cold_);
      const page::PageHeader* const page = cold_.page(page_of(i));
      ASSERT_NE(page, nullptr) << i << ": " << cold_.take_failure().message();
      ASSERT_NE(pin_of(kSession), 0u) << i << ": also if it was waited for";
      ASSERT_TRUE(is_page(page, page_of(i)));
    }
  }

  snapshot::MadePages pages_;
  testing::ManualRuntime runtime_;
  epoch::EpochClock clock_{&runtime_, Epoch(10), 8, kIntervalUs};
  numa::Topology topology_ = *numa::Topology::make(1);
  base::MemoryBudget budget_{1u << 20};
  std::unique_ptr<PageCache> cache_ = *PageCache::make(
      &topology_, &budget_, PageCache::kBytesMin, Facility::kOff, Facility::kOff, &pages_, &clock_);
  ColdPages cold_{{.cache = cache_.get(), .clock = &clock_, .session = kSession}};
};

TEST_F(ColdPagesTest, the_outermost_search_ends_the_pin) {
  {
    const ColdReads reads(&cold_);
    EXPECT_EQ(pin_of(kSession), 0u);  // sets no pin until there is a page
    EXPECT_NE(cold_.page(page_of(1)), nullptr);
    EXPECT_EQ(pin_of(kSession), clock_.current().number());
    {
      const ColdReads inner(&cold_);
      EXPECT_NE(cold_.page(page_of(2)), nullptr);
    }
    EXPECT_NE(pin_of(kSession), 0u);
    EXPECT_TRUE(cold_.is_open());
  }
  EXPECT_EQ(pin_of(kSession), 0u);
  EXPECT_FALSE(cold_.is_open());
}

// The pin protects the page of the pointer, so a hint may be written to the pointer.
TEST_F(ColdPagesTest, a_child_is_found_under_the_pin_of_its_parent) {
  page::DualPagePointer pointer;
  pointer.store({page::VolatilePageId(), page_of(1)});
  const ColdReads reads(&cold_);
  ASSERT_NE(cold_.page(page_of(0)), nullptr);
  const std::uint64_t pin = pin_of(kSession);
  runtime_.run_for(2 * kIntervalUs);
  ASSERT_NE(cold_.child(&pointer), nullptr);  // the child is not cached
  const std::uint64_t renewed = pin_of(kSession);
  EXPECT_GT(renewed, pin);
  EXPECT_EQ(pointer.hint(), 0u) << "the page that it was in may have gone";
  runtime_.run_for(2 * kIntervalUs);
  const page::PageHeader* const page = cold_.child(&pointer);
  ASSERT_NE(page, nullptr);
  EXPECT_TRUE(is_page(page, page_of(1)));
  EXPECT_EQ(pin_of(kSession), renewed);
  EXPECT_NE(pointer.hint(), 0u);
}

TEST_F(ColdPagesTest, a_page_outside_of_a_search_is_a_bug) {
  EXPECT_DEATH(cold_.page(page_of(1)), "open_ != 0");
}

// The clock advances only for waiters. A transaction of any length can read a hundred times the
// size of the cache, because its pin of reclamation is not the cache pin.
TEST_F(ColdPagesTest, a_transaction_reads_a_hundred_times_the_cache) {
  clock_.pin(kSession);
  const std::uint64_t begin_us = runtime_.now_us();
  read(0, 100 * kFrames);
  EXPECT_EQ(pages_.reads.load_relaxed(), 100u * kFrames);
  EXPECT_LT(runtime_.now_us() - begin_us, 100 * kIntervalUs) << "epochs on demand";
  EXPECT_EQ(waits_with_a_pin, 0u);
  clock_.unpin(kSession);
}

// A single search can do so, too: each page() releases the page before.
TEST_F(ColdPagesTest, one_search_may_be_longer_than_the_cache) {
  const ColdReads reads(&cold_);
  for (std::uint32_t i = 0; i < 10 * kFrames; ++i) {
    const page::PageHeader* const page = cold_.page(page_of(i));
    ASSERT_NE(page, nullptr) << cold_.take_failure().message();
    ASSERT_TRUE(is_page(page, page_of(i)));
  }
  EXPECT_EQ(waits_with_a_pin, 0u);
}

// The search of another session, which lasts for some time.
class Search : public base::Task {
 public:
  Search(epoch::EpochClock* clock, std::uint64_t lasts_us) : clock_(clock), lasts_us_(lasts_us) {
    clock_->pin_cache(7);
  }
  const char* name() const override { return "search"; }
  std::uint64_t step() override {
    if (std::exchange(is_first_, false)) return lasts_us_;
    clock_->unpin_cache(7);
    return kUntilNotified;
  }

 private:
  epoch::EpochClock* const clock_;
  const std::uint64_t lasts_us_;
  bool is_first_ = true;
};

TEST_F(ColdPagesTest, waits_while_another_search_holds_the_frames) {
  Search search(&clock_, 30'000);
  runtime_.start(&search);
  const std::uint64_t begin_us = runtime_.now_us();
  read(0, 4 * kFrames);
  EXPECT_GT(waits, 0u);
  EXPECT_EQ(waits_with_a_pin, 0u);
  EXPECT_GE(runtime_.now_us() - begin_us, 30'000u);
  EXPECT_LT(runtime_.now_us() - begin_us, 33'000u) << "looked again soon after it was over";
  runtime_.stop(&search);
}

// No frame becomes free: the call fails after five seconds and leaves no state.
TEST_F(ColdPagesTest, says_out_of_memory_after_a_while_and_works_again_later) {
  clock_.pin_cache(7);
  std::uint32_t i = 0;
  for (bool is_found = true; is_found && i < 1000; i += is_found) {
    const ColdReads reads(&cold_);
    const std::uint64_t begin_us = runtime_.now_us();
    is_found = cold_.page(page_of(i)) != nullptr;
    if (is_found) continue;
    EXPECT_EQ(cold_.take_failure().code(), ErrorCode::kOutOfMemory);
    EXPECT_GE(runtime_.now_us() - begin_us, 5'000'000u);
    EXPECT_LT(runtime_.now_us() - begin_us, 5'050'000u);
  }
  EXPECT_EQ(i, kFrames);
  EXPECT_EQ(waits_with_a_pin, 0u);
  EXPECT_EQ(pin_of(kSession), 0u);
  clock_.unpin_cache(7);
  read(1000, 4 * kFrames);
}

TEST_F(ColdPagesTest, other_errors_are_not_waited_for) {
  pages_.before_read = [](page::SnapshotPageId) { return Status(ErrorCode::kIoError); };
  const std::uint64_t begin_us = runtime_.now_us();
  const ColdReads reads(&cold_);
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(cold_.page(page_of(1)), nullptr);
    EXPECT_EQ(cold_.take_failure().code(), ErrorCode::kIoError);
  }
  EXPECT_EQ(runtime_.now_us(), begin_us);
}

}  // namespace
}  // namespace foedus::occ::cold_pages_test
