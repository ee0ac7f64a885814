#include "foedus-core/page/session_pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <vector>

#include "tests/testing/at_sync_point.h"
#include "tests/testing/manual_runtime.h"

namespace foedus::page::session_pages_test {
namespace {

constexpr std::uint64_t kMiB = 1u << 20;
constexpr std::uint64_t kUsable = PagePool::kExtentPages - 1;
constexpr std::uint64_t kIntervalUs = 1'000;

// A pool, a clock that is stepped by hand, and sessions 0..7, session i on SOC i % socs.
class SessionPagesTest : public ::testing::Test {
 protected:
  void open(std::uint32_t socs, std::uint64_t bytes_budget) {
    topology_.emplace(*numa::Topology::make(socs));
    budget_.emplace(bytes_budget);
    pool_ = *PagePool::make(&*topology_, &*budget_, bytes_budget, Facility::kTry, Facility::kTry);
    for (std::uint32_t i = 0; i < 8; ++i) sessions_[i].emplace(&*pool_, &clock_, i % socs);
  }
  ~SessionPagesTest() override {
    for (auto& session : sessions_) session.reset();
  }
  // Lets at least two epochs pass, as far as pins allow.
  void pass_epochs() {
    for (int i = 0; i < 4; ++i) {
      runtime_.run_for(kIntervalUs + 1);
      clock_.step();
    }
  }
  std::vector<PageHeader*> allocate_all(SessionPages* session) {
    std::vector<PageHeader*> pages;
    while (PageHeader* const page = session->allocate()) pages.push_back(page);
    return pages;
  }

  testing::ManualRuntime runtime_;
  epoch::EpochClock clock_{&runtime_, Epoch(10), 8, kIntervalUs};
  std::optional<numa::Topology> topology_;
  std::optional<base::MemoryBudget> budget_;
  std::unique_ptr<PagePool> pool_;
  std::optional<SessionPages> sessions_[8];
};

TEST_F(SessionPagesTest, pages_of_all_sessions_are_distinct_and_on_their_soc) {
  open(4, 32 * kMiB);
  std::set<PageHeader*> pages;
  for (std::uint32_t i = 0; i < 8; ++i) {
    for (int n = 0; n < 300; ++n) {
      PageHeader* const page = sessions_[i]->allocate();
      ASSERT_NE(page, nullptr);
      ASSERT_TRUE(pages.insert(page).second);
      ASSERT_EQ(pool_->id_of(page).soc(), i % 4);
    }
  }
}

// Goal: pages are counted by the SOC that they come from. Method: one session takes all memory,
// first of its SOC and then pages that others returned.
TEST_F(SessionPagesTest, pages_that_a_session_takes_are_counted_by_their_soc) {
  open(2, 4 * kMiB);
  EXPECT_NE(sessions_[1]->allocate(), nullptr);
  const std::uint64_t taken = sessions_[1]->taken_local();
  EXPECT_GT(taken, 1u);
  EXPECT_EQ(sessions_[1]->taken_remote(), 0u);
  sessions_[1].reset();  // returns all but the page in use
  const std::size_t pages = allocate_all(&*sessions_[0]).size();
  EXPECT_EQ(sessions_[0]->taken_local() + sessions_[0]->taken_remote(), pages);
  EXPECT_GE(sessions_[0]->taken_local(), kUsable);
  EXPECT_GE(sessions_[0]->taken_remote(), taken - 1);
}

TEST_F(SessionPagesTest, a_released_page_is_the_next_allocated) {
  open(1, 16 * kMiB);
  PageHeader* const page = sessions_[0]->allocate();
  sessions_[0]->release(page);
  EXPECT_EQ(sessions_[0]->allocate(), page);
}

TEST_F(SessionPagesTest, released_pages_reach_other_sessions_and_all_return_at_the_end) {
  open(1, 2 * kMiB);
  const std::vector<PageHeader*> pages = allocate_all(&*sessions_[0]);
  EXPECT_EQ(pages.size(), kUsable);
  EXPECT_EQ(sessions_[1]->allocate(), nullptr);
  for (PageHeader* const page : pages) sessions_[0]->release(page);
  const std::vector<PageHeader*> others = allocate_all(&*sessions_[1]);
  EXPECT_GE(others.size(), kUsable - SessionPages::kStockPages);
  for (PageHeader* const page : others) sessions_[1]->release(page);
  sessions_[0].reset();
  sessions_[1].reset();
  EXPECT_EQ(pool_->pages_in_use(), 0u);
}

TEST_F(SessionPagesTest, pages_of_another_soc_go_home_when_they_are_released) {
  open(2, 32 * kMiB);
  std::vector<PageHeader*> pages;
  for (int i = 0; i < 300; ++i) pages.push_back(sessions_[0]->allocate());
  for (PageHeader* const page : pages) sessions_[1]->release(page);
  for (int i = 0; i < 500; ++i) {
    ASSERT_EQ(pool_->id_of(sessions_[1]->allocate()).soc(), 1u);
    ASSERT_EQ(pool_->id_of(sessions_[0]->allocate()).soc(), 0u);
  }
}

TEST_F(SessionPagesTest, without_pins_a_retired_page_is_reused_after_its_epoch) {
  open(1, 16 * kMiB);
  PageHeader* const page = sessions_[0]->allocate();
  sessions_[0]->retire(page);
  sessions_[0]->reclaim();
  EXPECT_EQ(sessions_[0]->retired_count(), 1u);
  pass_epochs();
  EXPECT_EQ(sessions_[0]->retired_count(), 1u);
  sessions_[0]->reclaim();
  EXPECT_EQ(sessions_[0]->retired_count(), 0u);
}

// E3: a transaction of another session is open while pages are retired. None of them is reused
// until it ends, whatever else happens; then all are.
TEST_F(SessionPagesTest, no_page_is_reused_while_an_older_transaction_is_pinned) {
  open(1, 2 * kMiB);
  std::vector<PageHeader*> pages;
  for (int i = 0; i < 300; ++i) pages.push_back(sessions_[0]->allocate());
  clock_.pin(7);
  const std::set<PageHeader*> retired(pages.begin(), pages.end());
  for (PageHeader* const page : pages) sessions_[0]->retire(page);
  for (int round = 0; round < 5; ++round) {
    pass_epochs();
    clock_.pin(3);  // transactions that come and go do not matter
    clock_.unpin(3);
    sessions_[0]->reclaim();
    ASSERT_EQ(sessions_[0]->retired_count(), retired.size());
  }
  for (PageHeader* const page : allocate_all(&*sessions_[0])) ASSERT_FALSE(retired.contains(page));
  clock_.unpin(7);
  pass_epochs();
  for (int i = 0; i < 10; ++i) sessions_[0]->reclaim();
  EXPECT_EQ(sessions_[0]->retired_count(), 0u);
  std::size_t found = 0;  // beside pages of the FIFO
  for (PageHeader* const page : allocate_all(&*sessions_[0])) found += retired.count(page);
  EXPECT_EQ(found, retired.size());
}

// Goal: P14 from the moment of the retirement on. Method: just after it epochs pass, the session
// searches pages that are due, and another transaction begins; an older one is open.
TEST_F(SessionPagesTest, a_page_is_kept_from_its_retirement_on) {
  open(1, 8 * kMiB);
  PageHeader* const page = sessions_[0]->allocate();
  std::memset(static_cast<void*>(page), 0x5a, kPageBytes);
  clock_.pin(1);
  {
    const testing::AtSyncPoint at("pages:retired", [&] {
      pass_epochs();
      clock_.pin(2);
      sessions_[0]->reclaim();
      EXPECT_EQ(sessions_[0]->retired_count(), 1u);
    });
    sessions_[0]->retire(page);
    ASSERT_EQ(at.runs(), 1u);
  }
  for (PageHeader* const other : allocate_all(&*sessions_[3])) ASSERT_NE(other, page);
  sessions_[0]->reclaim();
  EXPECT_EQ(sessions_[0]->retired_count(), 1u);
  EXPECT_EQ(reinterpret_cast<const char*>(page)[kPageBytes - 1], 0x5a);
  clock_.unpin(1);
  pass_epochs();  // a later transaction holds no page back
  sessions_[0]->reclaim();
  EXPECT_EQ(sessions_[0]->retired_count(), 0u);
  clock_.unpin(2);
}

TEST_F(SessionPagesTest, a_transaction_that_began_later_holds_nothing_back) {
  open(1, 16 * kMiB);
  sessions_[0]->retire(sessions_[0]->allocate());
  runtime_.run_for(kIntervalUs + 1);
  clock_.step();  // the next epoch
  clock_.pin(7);
  pass_epochs();
  sessions_[0]->reclaim();
  EXPECT_EQ(sessions_[0]->retired_count(), 0u);
}

// P15: pages that waited for a long transaction are reclaimed over many calls, none of them long.
TEST_F(SessionPagesTest, no_call_of_reclaim_pays_for_all_that_piled_up) {
  open(1, 32 * kMiB);
  clock_.pin(7);
  std::vector<PageHeader*> pages;
  for (int i = 0; i < 3000; ++i) pages.push_back(sessions_[0]->allocate());
  constexpr std::uint64_t kPerTxn = 10;
  for (std::size_t i = 0; i < pages.size(); ++i) {
    if (i % kPerTxn == 0) sessions_[0]->reclaim();
    sessions_[0]->retire(pages[i]);
  }
  clock_.unpin(7);
  pass_epochs();
  int calls = 0;
  while (sessions_[0]->retired_count() != 0) {
    const std::uint64_t before = sessions_[0]->retired_count();
    sessions_[0]->reclaim();
    ++calls;
    const std::uint64_t moved = before - sessions_[0]->retired_count();
    ASSERT_LE(moved, PagePool::kBatchPages + before / 16 + 2 * kPerTxn);
    ASSERT_GE(moved, std::min<std::uint64_t>(before, PagePool::kBatchPages));
  }
  EXPECT_GT(calls, 10);
}

// Each transaction retires more than a batch; the waiting pages stay bounded.
TEST_F(SessionPagesTest, reclaim_keeps_up_with_a_high_rate_of_retirement) {
  open(1, 32 * kMiB);
  for (int txn = 0; txn < 300; ++txn) {
    sessions_[0]->reclaim();
    for (int i = 0; i < 150; ++i) {
      PageHeader* const page = sessions_[0]->allocate();
      ASSERT_NE(page, nullptr);
      sessions_[0]->retire(page);
    }
    runtime_.run_for(kIntervalUs + 1);
    clock_.step();
    ASSERT_LE(sessions_[0]->retired_count(), 20u * 150);
  }
}

// P15: each transaction retires a good part of memory, such as a load of a thousand rows. Only
// pages of the last few wait, for as long as the epochs hold them back.
TEST_F(SessionPagesTest, large_transactions_leave_no_more_waiting_than_the_epochs_hold_back) {
  open(1, 32 * kMiB);
  constexpr std::uint64_t kPerTxn = 600;
  for (int txn = 0; txn < 300; ++txn) {
    sessions_[0]->reclaim();
    for (std::uint64_t i = 0; i < kPerTxn; ++i) {
      PageHeader* const page = sessions_[0]->allocate();
      ASSERT_NE(page, nullptr);
      sessions_[0]->retire(page);
    }
    runtime_.run_for(kIntervalUs + 1);
    clock_.step();
    ASSERT_LE(sessions_[0]->retired_count(), 4 * kPerTxn);
  }
}

TEST_F(SessionPagesTest, due_pages_are_found_when_memory_is_spent) {
  open(1, 2 * kMiB);
  const std::vector<PageHeader*> pages = allocate_all(&*sessions_[0]);
  for (std::size_t i = 0; i < 200; ++i) sessions_[0]->retire(pages[i]);
  EXPECT_EQ(sessions_[0]->allocate(), nullptr);
  pass_epochs();
  for (int i = 0; i < 200; ++i) ASSERT_NE(sessions_[0]->allocate(), nullptr) << i;
  EXPECT_EQ(sessions_[0]->allocate(), nullptr);
}

// Retiring cannot fail: without a page for the FIFO, its chunks come from the heap.
TEST_F(SessionPagesTest, retiring_works_without_any_free_page) {
  open(1, 2 * kMiB);
  const std::vector<PageHeader*> pages = allocate_all(&*sessions_[0]);
  for (PageHeader* const page : pages) sessions_[0]->retire(page);
  EXPECT_EQ(sessions_[0]->retired_count(), kUsable);
  EXPECT_EQ(pool_->pages_in_use(), kUsable);
  pass_epochs();
  sessions_[0]->reclaim();
  EXPECT_EQ(allocate_all(&*sessions_[0]).size(), kUsable);
}

TEST_F(SessionPagesTest, orphans_of_a_session_that_ended_wait_for_their_epoch_and_go_to_another) {
  open(1, 2 * kMiB);
  std::vector<PageHeader*> pages = allocate_all(&*sessions_[0]);
  for (int i = 0; i < 300; ++i) {
    sessions_[0]->retire(pages.back());
    pages.pop_back();
  }
  clock_.pin(7);
  sessions_[0].reset();
  EXPECT_EQ(sessions_[1]->allocate(), nullptr);
  pass_epochs();
  sessions_[1]->reclaim();
  EXPECT_EQ(sessions_[1]->allocate(), nullptr);
  clock_.unpin(7);
  pass_epochs();
  for (int i = 0; i < 10; ++i) sessions_[1]->reclaim();
  EXPECT_EQ(pool_->orphan_stamp(0), RetiredPages::kNever);
  EXPECT_EQ(allocate_all(&*sessions_[1]).size(), 300u);
}

TEST_F(SessionPagesTest, orphans_of_every_soc_are_found_when_memory_is_spent) {
  open(4, 2 * kMiB);
  const std::vector<PageHeader*> pages = allocate_all(&*sessions_[3]);
  EXPECT_EQ(pages.size(), kUsable);
  for (PageHeader* const page : pages) sessions_[2]->retire(page);
  sessions_[2].reset();
  pass_epochs();
  EXPECT_EQ(allocate_all(&*sessions_[0]).size(), kUsable);
}

TEST_F(SessionPagesTest, nothing_is_lost_over_many_retirements) {
  open(2, 8 * kMiB);
  for (int round = 0; round < 200; ++round) {
    for (std::uint32_t i = 0; i < 4; ++i) {
      sessions_[i]->reclaim();
      for (int n = 0; n < 20; ++n) {
        PageHeader* const page = sessions_[i]->allocate();
        ASSERT_NE(page, nullptr) << round;
        std::memset(static_cast<void*>(page), round, kPageBytes);
        sessions_[(i + 1) % 4]->retire(page);
      }
    }
    runtime_.run_for(kIntervalUs + 1);
    clock_.step();
  }
  pass_epochs();
  for (int n = 0; n < 100; ++n) {
    for (std::uint32_t i = 0; i < 4; ++i) sessions_[i]->reclaim();
  }
  for (std::uint32_t i = 0; i < 8; ++i) sessions_[i].reset();
  EXPECT_EQ(pool_->pages_in_use(), 0u);
}

}  // namespace
}  // namespace foedus::page::session_pages_test
