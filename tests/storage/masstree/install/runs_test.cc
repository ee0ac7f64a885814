// The neighbours that are exchanged for pages of a snapshot, by a model of ranges alone.

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/storage/masstree/install/runs.h"
#include "tests/base/test_seed.h"

namespace foedus::storage::masstree::runs_test {
namespace {

class RunsTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kSlices = 10'000;

  // Returns the fences of `pages` pages: 0, and random ones.
  std::set<std::uint64_t> fences(unsigned pages) {
    std::set<std::uint64_t> lows{0};
    while (lows.size() < pages) lows.insert(1 + random_.below(kSlices - 1));
    return lows;
  }
  void make_row(unsigned pages) {
    row_.clear();
    for (const std::uint64_t low : fences(pages)) {
      if (!row_.empty()) row_.back().last = low - 1;
      row_.push_back({low, kSlices - 1, page::SnapshotPageId(++ids_)});
    }
  }
  void make_children(unsigned pages, unsigned hot_percent) {
    children_.clear();
    for (const std::uint64_t low : fences(pages)) {
      if (!children_.empty()) children_.back().last = low - 1;
      children_.push_back(volatile_child(low, kSlices - 1));
      children_.back().contents.is_quiet = random_.below(100) >= hot_percent;
      if (random_.below(20) == 0) children_.back().is_divisible = false;  // the page has twins
    }
  }
  Child volatile_child(std::uint64_t low, std::uint64_t last) {
    return {{page::VolatilePageId(++ids_), {}}, low, last, {1, 20, true}, true};
  }

  // Checks the promises of both kinds of runs.
  void check(const masstree::Run& run, std::size_t at) {
    const Exchange& exchange = run.exchange;
    ASSERT_GE(run.first, at);
    ASSERT_FALSE(exchange.out.empty());
    ASSERT_EQ(exchange.out.data(), children_.data() + run.first);
    ASSERT_LE(run.first + exchange.out.size(), children_.size());
    std::uint64_t next = exchange.out.front().low;  // all slices, once
    const auto take = [&next](std::uint64_t low, std::uint64_t last) {
      EXPECT_EQ(low, next);
      EXPECT_LE(low, last);
      next = last + 1;
    };
    if (!exchange.left.is_empty()) take(exchange.left.low, exchange.left.last);
    for (const ColdPage& page : exchange.in) take(page.low, page.last);
    if (!exchange.right.is_empty()) take(exchange.right.low, exchange.right.last);
    EXPECT_EQ(next, exchange.out.back().last + 1);
    for (const Child& child : exchange.out) {
      EXPECT_TRUE(child.is_cold() || child.contents.is_quiet);
      const auto meets = [&child](const SliceRange& range) {
        return !range.is_empty() && child.low <= range.last && child.last >= range.low;
      };
      if (meets(exchange.left) || meets(exchange.right)) {
        EXPECT_TRUE(child.is_divisible);
      }
    }
  }
  std::size_t apply(const masstree::Run& run) {
    std::vector<Child> made;
    if (!run.exchange.left.is_empty()) {
      made.push_back(volatile_child(run.exchange.left.low, run.exchange.left.last));
    }
    for (const ColdPage& page : run.exchange.in) {
      made.push_back({{{}, page.id}, page.low, page.last, {}, false});
    }
    const std::size_t next = run.first + made.size();
    if (!run.exchange.right.is_empty()) {
      made.push_back(volatile_child(run.exchange.right.low, run.exchange.right.last));
    }
    const auto first = children_.begin() + static_cast<std::ptrdiff_t>(run.first);
    const auto behind = first + static_cast<std::ptrdiff_t>(run.exchange.out.size());
    children_.insert(children_.erase(first, behind), made.begin(), made.end());
    return next;
  }
  // Exchanges as an installation does; some exchanges fail.
  void exchange_all(unsigned failing_percent) {
    for (unsigned rounds = 0;; ++rounds) {
      ASSERT_LT(rounds, 1'000u);
      bool done = false;
      for (const auto next : {next_exchange, next_merge}) {
        masstree::Run run;
        for (std::size_t at = 0; next(children_, row_, at, &run);) {
          ASSERT_NO_FATAL_FAILURE(check(run, at));
          if (random_.below(100) < failing_percent) {
            at = run.first + run.exchange.out.size();
          } else {
            at = apply(run);
            done = true;
          }
        }
      }
      if (!done) return;
    }
  }
  std::size_t volatile_pages(bool quiet) const {
    std::size_t count = 0;
    for (const Child& child : children_) {
      count += !child.is_cold() && child.contents.is_quiet == quiet ? 1 : 0;
    }
    return count;
  }

  base::Random random_{testing::test_seed(1)};
  std::vector<Child> children_;
  std::vector<ColdPage> row_;
  std::uint64_t ids_ = 0;
};

TEST_F(RunsTest, quiet_pages_go_whatever_their_fences) {
  for (unsigned round = 0; round < 300; ++round) {
    make_row(1 + static_cast<unsigned>(random_.below(150)));
    make_children(1 + static_cast<unsigned>(random_.below(160)), 0);
    for (Child& child : children_) child.is_divisible = true;
    exchange_all(0);
    EXPECT_EQ(volatile_pages(true), 0u);
    EXPECT_EQ(children_.size(), row_.size());
  }
}

TEST_F(RunsTest, hot_pages_keep_few_others) {
  for (unsigned round = 0; round < 300; ++round) {
    make_row(100);
    make_children(150, 5);
    for (Child& child : children_) child.is_divisible = true;
    exchange_all(0);
    // Between two hot pages there is at most a rest on either side, and one more across a fence if
    // no page of the snapshot lies between them.
    EXPECT_LE(volatile_pages(true), 3 * (volatile_pages(false) + 1));
  }
}

// The runs include cold pages of the snapshot before, and pages whose locks were not free.
TEST_F(RunsTest, runs_are_of_the_same_slices_on_both_sides) {
  for (unsigned round = 0; round < 300; ++round) {
    make_row(20 + static_cast<unsigned>(random_.below(100)));
    make_children(100, 20);
    exchange_all(30);
    make_row(20 + static_cast<unsigned>(random_.below(100)));
    exchange_all(30);
    exchange_all(0);
  }
}

TEST_F(RunsTest, what_the_new_snapshot_takes_over_changes_nothing) {
  make_row(50);
  make_children(80, 0);
  exchange_all(0);
  masstree::Run run;
  EXPECT_FALSE(next_exchange(children_, row_, 0, &run));
  EXPECT_FALSE(next_merge(children_, row_, 0, &run));
  make_row(50);
  EXPECT_TRUE(next_exchange(children_, row_, 0, &run));
  EXPECT_FALSE(next_exchange(children_, {}, 0, &run));
}

}  // namespace
}  // namespace foedus::storage::masstree::runs_test
