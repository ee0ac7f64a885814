// P19: the pool lends pages.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "foedus-core/page/page_pool.h"

namespace foedus::page::page_lending_test {
namespace {

constexpr std::uint64_t kMiB = 1u << 20;
constexpr std::uint64_t kAll = ~std::uint64_t{0} >> 1;  // of a slice
constexpr std::uint32_t kBatch = PagePool::kBatchPages;

// A pool and a borrower of all pages that it gets, which returns them on demand, unless it is busy.
class PageLendingTest : public ::testing::Test, public PageBorrower {
 protected:
  void make(std::uint64_t bytes_max, std::uint32_t socs = 1) {
    topology_ = std::make_unique<numa::Topology>(*numa::Topology::make(socs));
    pool_ = *PagePool::make(topology_.get(), &budget_, bytes_max, Facility::kTry, Facility::kTry);
    pool_->set_borrower(this);
    pool_->allow_lending();
    lent_.resize(socs);
  }
  std::uint32_t give_back(std::uint32_t soc, std::uint32_t count) override {
    ++calls_;
    if (is_busy_) return 0;
    if (refusals_ != 0) {
      --refusals_;
      return 0;
    }
    std::vector<VolatilePageId>& lent = lent_[soc];
    count = std::min(count, static_cast<std::uint32_t>(lent.size()));
    std::vector<VolatilePageId> ids(lent.end() - count, lent.end());
    lent.resize(lent.size() - count);
    if (count != 0) pool_->take_back_lent(ids.data(), count);
    return count;
  }
  std::uint32_t borrow(std::uint32_t soc = 0, std::uint64_t offset_end = kAll) {
    VolatilePageId ids[kBatch];
    const std::uint32_t count = pool_->lend(soc, offset_end, ids, kBatch);
    lent_[soc].insert(lent_[soc].end(), ids, ids + count);
    return count;
  }
  void borrow_all(std::uint32_t soc = 0) {
    while (borrow(soc) != 0) {
    }
  }
  std::uint32_t take(std::uint32_t soc = 0) {
    VolatilePageId ids[kBatch];
    const std::uint32_t count = pool_->take(soc, ids, kBatch);
    taken_.insert(taken_.end(), ids, ids + count);
    return count;
  }
  std::uint64_t pages_max() const { return pool_->bytes_max() / kPageBytes; }

  base::MemoryBudget budget_{256 * kMiB};
  std::unique_ptr<numa::Topology> topology_;
  std::unique_ptr<PagePool> pool_;
  std::vector<std::vector<VolatilePageId>> lent_;  // by SOC
  std::vector<VolatilePageId> taken_;
  std::uint64_t calls_ = 0;
  bool is_busy_ = false;
  std::uint32_t refusals_ = 0;  // the next calls that return no page
};

TEST_F(PageLendingTest, nothing_is_lent_before_that_is_allowed) {
  topology_ = std::make_unique<numa::Topology>(*numa::Topology::make(1));
  pool_ = *PagePool::make(topology_.get(), &budget_, 64 * kMiB, Facility::kTry, Facility::kTry);
  lent_.resize(1);
  EXPECT_EQ(borrow(), 0u);
  pool_->allow_lending();
  EXPECT_EQ(borrow(), kBatch - 1);  // the first page has links
}

TEST_F(PageLendingTest, a_lent_page_is_nobody_elses_and_not_in_use) {
  make(64 * kMiB);
  EXPECT_NE(take(), 0u);
  const std::uint64_t in_use = pool_->pages_in_use();
  borrow_all();
  EXPECT_EQ(pool_->pages_in_use(), in_use);
  EXPECT_EQ(pool_->pages_lent(), lent_[0].size());
  while (take() != 0) {
  }
  std::set<std::uint64_t> all;
  for (const VolatilePageId id : taken_) EXPECT_TRUE(all.insert(id.word()).second);
  EXPECT_EQ(all.size(), pages_max() - pages_max() / PagePool::kExtentPages);
  EXPECT_EQ(pool_->pages_lent(), 0u);
  EXPECT_EQ(budget_.taken(), 64 * kMiB);
}

// E29: sessions may take uncommitted memory off the pool's bound.
TEST_F(PageLendingTest, a_quarter_of_the_bound_is_not_committed_for_the_borrower) {
  make(64 * kMiB);
  borrow_all();
  EXPECT_GE(pool_->bytes_taken(), 46 * kMiB);
  EXPECT_LE(pool_->bytes_taken(), 48 * kMiB);
  EXPECT_TRUE(pool_->try_give_up(16 * kMiB, 0));
}

TEST_F(PageLendingTest, an_eighth_of_the_bound_is_left_free_where_all_is_committed) {
  make(64 * kMiB);
  while (take() != 0) {
  }
  pool_->give(taken_.data(), static_cast<std::uint32_t>(taken_.size()));
  taken_.clear();
  borrow_all();
  EXPECT_GE(pool_->pages_free() + 2 * kBatch, pages_max() / 8);
  EXPECT_LE(pool_->pages_free(), pages_max() / 8 + 2 * kBatch);
}

TEST_F(PageLendingTest, lent_pages_come_back_before_more_is_committed) {
  make(64 * kMiB);
  borrow_all();
  const std::uint64_t taken = pool_->bytes_taken();
  while (pool_->pages_lent() > kBatch) ASSERT_NE(take(), 0u);
  EXPECT_EQ(pool_->bytes_taken(), taken);
}

// Goal: the borrower has an epoch to free pages. Method: it returns none for a while.
TEST_F(PageLendingTest, they_are_called_in_while_a_sixteenth_is_left) {
  make(64 * kMiB);
  while (take() != 0) {
  }
  pool_->give(taken_.data(), static_cast<std::uint32_t>(taken_.size()));
  taken_.clear();
  borrow_all();
  is_busy_ = true;
  while (calls_ == 0) ASSERT_NE(take(), 0u);
  EXPECT_GE(pool_->pages_free(), pages_max() / 16 - 3 * kBatch);
  is_busy_ = false;
  const std::uint64_t free_before = pool_->pages_free();
  for (int i = 0; i < 100; ++i) ASSERT_NE(take(), 0u);
  EXPECT_GE(pool_->pages_free() + 2 * kBatch, free_before);
}

TEST_F(PageLendingTest, pages_beyond_the_borrowers_names_stay) {
  make(64 * kMiB);
  constexpr std::uint64_t kNamed = 100;
  EXPECT_EQ(borrow(0, kNamed), 63u);
  EXPECT_EQ(borrow(0, kNamed), 36u);
  EXPECT_EQ(borrow(0, kNamed), 0u);
  for (const VolatilePageId id : lent_[0]) EXPECT_LT(id.number(), kNamed);
  EXPECT_EQ(pool_->pages_in_use(), 0u);
}

TEST_F(PageLendingTest, pages_of_other_socs_are_called_in_before_take_fails) {
  make(64 * kMiB, 2);
  borrow_all(0);
  EXPECT_NE(pool_->pages_lent(), 0u);
  while (take(1) != 0) {
  }
  EXPECT_EQ(pool_->pages_lent(), 0u);
  EXPECT_EQ(pool_->pages_free(), 0u);
}

// Goal: a page that its readers leave while take() searches elsewhere is found before take() fails.
// Method: the early call to the borrower returns no page, the next one returns some.
TEST_F(PageLendingTest, they_are_called_in_once_more_before_take_fails) {
  make(64 * kMiB, 2);
  borrow_all(0);
  is_busy_ = true;
  while (take(1) != 0) {
  }
  EXPECT_NE(pool_->pages_lent(), 0u);
  is_busy_ = false;
  refusals_ = 1;
  EXPECT_NE(take(1), 0u);
}

}  // namespace
}  // namespace foedus::page::page_lending_test
