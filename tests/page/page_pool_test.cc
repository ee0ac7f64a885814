#include "foedus-core/page/page_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

#include "foedus-core/base/system/sync_point.h"

namespace foedus::page::page_pool_test {
namespace {

constexpr std::uint64_t kMiB = 1u << 20;
constexpr std::uint64_t kUsable = PagePool::kExtentPages - 1;  // of an extent; one page has links

// A pool with emulated SOCs and a budget of its own.
struct TestPool {
  TestPool(std::uint32_t socs, std::uint64_t bytes_budget, std::uint64_t bytes_max = 0)
      : topology(*numa::Topology::make(socs)), budget(bytes_budget) {
    auto made = PagePool::make(&topology, &budget, bytes_max == 0 ? bytes_budget : bytes_max,
                               Facility::kTry, Facility::kTry);
    EXPECT_TRUE(made.is_ok()) << made.status().message();
    pool = std::move(made).value();
  }
  std::vector<VolatilePageId> take(std::uint32_t soc, std::uint32_t count) {
    std::vector<VolatilePageId> ids(count);
    ids.resize(pool->take(soc, ids.data(), count));
    return ids;
  }
  std::vector<VolatilePageId> take_all(std::uint32_t soc) {
    std::vector<VolatilePageId> all;
    for (;;) {
      const std::vector<VolatilePageId> some = take(soc, PagePool::kBatchPages);
      if (some.empty()) return all;
      all.insert(all.end(), some.begin(), some.end());
    }
  }
  void give(std::vector<VolatilePageId> ids) {
    pool->give(ids.data(), static_cast<std::uint32_t>(ids.size()));
  }

  numa::Topology topology;
  base::MemoryBudget budget;
  std::unique_ptr<PagePool> pool;
};

std::set<std::uint64_t> words(const std::vector<VolatilePageId>& ids) {
  std::set<std::uint64_t> result;
  for (const VolatilePageId id : ids) result.insert(id.word());
  return result;
}

TEST(PagePoolTest, takes_nothing_before_it_is_used) {
  TestPool test(2, 16 * kMiB);
  EXPECT_EQ(test.budget.taken(), 0u);
  EXPECT_EQ(test.pool->pages_in_use(), 0u);
  EXPECT_EQ(test.pool->pages_free(), 0u);
  EXPECT_EQ(test.pool->socs(), 2u);
}

// Ids and addresses lead to each other on every SOC; pages are aligned, writable and disjoint.
TEST(PagePoolTest, ids_and_addresses_lead_to_each_other) {
  for (std::uint32_t socs = 1; socs <= 8; ++socs) {
    TestPool test(socs, 32 * kMiB);
    std::set<PageHeader*> pages;
    for (std::uint32_t soc = 0; soc < socs; ++soc) {
      for (const VolatilePageId id : test.take(soc, PagePool::kBatchPages)) {
        EXPECT_EQ(id.soc(), soc);
        EXPECT_FALSE(id.is_null());
        EXPECT_NE(id.number(), 0u);
        PageHeader* const page = test.pool->resolve(id);
        EXPECT_EQ(PageHeader::of(page), page);
        EXPECT_EQ(test.pool->id_of(page), id);
        EXPECT_EQ(test.pool->soc_of(reinterpret_cast<const char*>(page) + kPageBytes - 1), soc);
        std::memset(static_cast<void*>(page), 0xff, kPageBytes);
        EXPECT_EQ(test.pool->id_of(page), id);  // reads nothing from the page
        EXPECT_TRUE(pages.insert(page).second);
      }
    }
    EXPECT_EQ(pages.size(), test.pool->pages_in_use());
    EXPECT_GE(test.pool->soc_of(&pages), socs);
  }
}

TEST(PagePoolTest, commits_an_extent_at_a_time_and_charges_it) {
  TestPool test(1, 16 * kMiB);
  ASSERT_FALSE(test.take(0, 1).empty());
  EXPECT_EQ(test.budget.taken(), PagePool::kExtentBytes);
  EXPECT_EQ(test.pool->bytes_taken(), PagePool::kExtentBytes);
  EXPECT_EQ(test.pool->pages_free(), kUsable - 1);
  for (std::uint64_t i = 1; i < kUsable; ++i) ASSERT_EQ(test.take(0, 1).size(), 1u);
  EXPECT_EQ(test.budget.taken(), PagePool::kExtentBytes);
  ASSERT_FALSE(test.take(0, 1).empty());
  EXPECT_EQ(test.budget.taken(), 2 * PagePool::kExtentBytes);
}

TEST(PagePoolTest, hands_out_every_page_of_the_budget_once_and_then_none) {
  TestPool test(1, 16 * kMiB);
  const std::vector<VolatilePageId> all = test.take_all(0);
  EXPECT_EQ(all.size(), 8 * kUsable);
  EXPECT_EQ(words(all).size(), all.size());
  EXPECT_EQ(test.budget.remaining(), 0u);
  EXPECT_EQ(test.pool->pages_free(), 0u);
  test.give(all);
  EXPECT_EQ(test.pool->pages_in_use(), 0u);
  EXPECT_EQ(test.pool->pages_free(), all.size());
  EXPECT_EQ(words(test.take_all(0)), words(all));
}

// The bound falls by memory that was not taken yet, and no further; existing pages stay.
TEST(PagePoolTest, gives_up_what_it_has_not_grown_into) {
  TestPool test(1, 16 * kMiB);
  ASSERT_FALSE(test.take(0, 1).empty());
  EXPECT_FALSE(test.pool->try_give_up(13 * kMiB, 4 * kMiB)) << "less would be left";
  EXPECT_FALSE(test.pool->try_give_up(17 * kMiB, 0));
  EXPECT_FALSE(test.pool->try_give_up(15 * kMiB, 0)) << "the first extent is in use";
  EXPECT_EQ(test.pool->bytes_max(), 16 * kMiB);
  ASSERT_TRUE(test.pool->try_give_up(8 * kMiB, 4 * kMiB));
  EXPECT_EQ(test.pool->bytes_max(), 8 * kMiB);
  EXPECT_EQ(test.pool->bytes_taken(), PagePool::kExtentBytes);
  ASSERT_TRUE(test.budget.try_take(8 * kMiB)) << "it is the caller's";
  EXPECT_EQ(1 + test.take_all(0).size(), 4 * kUsable);
  EXPECT_EQ(test.pool->bytes_taken(), 8 * kMiB);
  EXPECT_FALSE(test.pool->try_give_up(1, 0));
  test.pool.reset();
  EXPECT_EQ(test.budget.taken(), 8 * kMiB);
}

// The rest of the budget is smaller than an extent, an odd size, or one page only, which would just
// suffice for links.
TEST(PagePoolTest, uses_a_rest_of_the_budget_that_is_smaller_than_an_extent) {
  TestPool test(1, 2 * kMiB + 5 * kPageBytes + 100);
  EXPECT_EQ(test.take_all(0).size(), kUsable + 4);
  EXPECT_EQ(test.budget.remaining(), 100u);
  TestPool lonely(1, 2 * kMiB + kPageBytes);
  EXPECT_EQ(lonely.take_all(0).size(), kUsable);
  EXPECT_EQ(lonely.budget.remaining(), kPageBytes);
  TestPool nothing(1, 100);
  EXPECT_TRUE(nothing.take_all(0).empty());
}

TEST(PagePoolTest, goes_on_when_the_budget_gets_room_again) {
  TestPool test(1, 16 * kMiB);
  ASSERT_TRUE(test.budget.try_take(14 * kMiB + 3 * kPageBytes));
  EXPECT_EQ(test.take_all(0).size(), kUsable - 3);
  test.budget.give_back(2 * kPageBytes);
  EXPECT_EQ(test.take_all(0).size(), 2u);
  test.budget.give_back(14 * kMiB + kPageBytes);
  EXPECT_EQ(test.take_all(0).size(), 7 * kUsable + 1);
}

TEST(PagePoolTest, stays_within_its_own_limit_if_the_budget_is_larger) {
  TestPool test(2, 64 * kMiB, 4 * kMiB);
  EXPECT_EQ(test.take_all(0).size() + test.take_all(1).size(), 2 * kUsable);
  EXPECT_EQ(test.budget.taken(), 4 * kMiB);
}

// One SOC may use the whole budget, and SOCs without memory use free pages of others.
TEST(PagePoolTest, any_soc_may_use_all_memory) {
  for (std::uint32_t socs = 1; socs <= 8; ++socs) {
    TestPool test(socs, 16 * kMiB);
    std::vector<VolatilePageId> all = test.take_all(socs - 1);
    EXPECT_EQ(all.size(), 8 * kUsable);
    for (const VolatilePageId id : all) ASSERT_EQ(id.soc(), socs - 1);
    EXPECT_TRUE(test.take_all(0).empty());
    test.give({all.begin(), all.begin() + 200});
    EXPECT_EQ(test.take_all(0).size(), 200u);
  }
}

TEST(PagePoolTest, falls_back_to_pages_that_another_soc_has_never_used) {
  TestPool test(2, 2 * kMiB);
  ASSERT_EQ(test.take(0, 1).size(), 1u);
  const std::vector<VolatilePageId> others = test.take_all(1);
  EXPECT_EQ(others.size(), kUsable - 1);
  for (const VolatilePageId id : others) ASSERT_EQ(id.soc(), 0u);
}

TEST(PagePoolTest, given_pages_go_home_in_whatever_mixture_they_come) {
  TestPool test(3, 16 * kMiB);
  std::vector<VolatilePageId> mixed;
  for (std::uint32_t i = 0; i < 300; ++i) mixed.push_back(test.take(i % 3, 1).at(0));
  test.give(mixed);
  for (std::uint32_t soc = 0; soc < 3; ++soc) {
    std::uint32_t count = 0;
    while (count < 100) {
      for (const VolatilePageId id : test.take(soc, PagePool::kBatchPages)) {
        ASSERT_EQ(id.soc(), soc);
        ASSERT_TRUE(words(mixed).contains(id.word()));
        ++count;
      }
    }
    EXPECT_EQ(count, 100u);
  }
}

TEST(PagePoolTest, a_batch_that_is_taken_in_part_keeps_the_rest) {
  TestPool test(1, 2 * kMiB);
  const std::vector<VolatilePageId> all = test.take_all(0);
  test.give({all.begin(), all.begin() + 64});
  std::set<std::uint64_t> seen;
  for (const std::uint32_t count : {1u, 10u, 60u}) {
    for (const VolatilePageId id : test.take(0, count)) EXPECT_TRUE(seen.insert(id.word()).second);
  }
  EXPECT_EQ(seen.size(), 64u);
  EXPECT_TRUE(test.take(0, 1).empty());
}

TEST(PagePoolTest, gives_the_budget_back_when_it_goes) {
  TestPool test(2, 16 * kMiB);
  test.take_all(1);
  EXPECT_GT(test.budget.taken(), 0u);
  test.pool.reset();
  EXPECT_EQ(test.budget.taken(), 0u);
}

TEST(PagePoolTest, required_binding_fails_by_name_on_emulated_socs) {
  const numa::Topology topology = *numa::Topology::make(kMaxSocs);
  base::MemoryBudget budget(16 * kMiB);
  const auto made =
      PagePool::make(&topology, &budget, 16 * kMiB, Facility::kTry, Facility::kRequire);
  ASSERT_FALSE(made.is_ok());
  EXPECT_EQ(made.code(), ErrorCode::kNotSupported);
}

// P12, by hand: between the load of the head {A} and the exchange, another takes A and B and gives
// A back, so that the same page is on top with another below. The exchange must fail, or B would
// be handed out twice.
TestPool* aba_pool = nullptr;
std::vector<VolatilePageId> aba_kept;

void exchange_under_the_popper(const char* place) {
  if (std::strcmp(place, "pool:before_pop") != 0) return;
  base::set_sync_point_hook(nullptr);
  const std::vector<VolatilePageId> a = aba_pool->take(0, PagePool::kBatchPages);
  aba_kept = aba_pool->take(0, PagePool::kBatchPages);
  aba_pool->give(a);
}

TEST(PagePoolTest, a_pop_that_slept_while_the_same_page_came_back_fails) {
  TestPool test(1, 2 * kMiB);
  const std::vector<VolatilePageId> all = test.take_all(0);
  test.give({all.begin(), all.begin() + 64});
  test.give({all.begin() + 64, all.begin() + 128});
  test.give({all.begin() + 128, all.begin() + 192});
  aba_pool = &test;
  base::set_sync_point_hook(exchange_under_the_popper);
  const std::vector<VolatilePageId> first = test.take(0, PagePool::kBatchPages);
  const std::vector<VolatilePageId> second = test.take(0, PagePool::kBatchPages);
  std::set<std::uint64_t> seen = words(aba_kept);
  for (const auto& ids : {first, second}) {
    for (const VolatilePageId id : ids) EXPECT_TRUE(seen.insert(id.word()).second);
  }
  EXPECT_EQ(seen.size(), 192u);
  EXPECT_TRUE(test.take(0, 1).empty());
}

}  // namespace
}  // namespace foedus::page::page_pool_test
