#include "foedus-core/page/pool_warmer.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <vector>

#include "tests/testing/manual_runtime.h"

namespace foedus::page::pool_warmer_test {
namespace {

constexpr std::uint64_t kExtent = PagePool::kExtentBytes;

struct WarmedPool {
  WarmedPool(std::uint32_t socs, std::uint64_t bytes_budget)
      : topology(*numa::Topology::make(socs)),
        budget(bytes_budget),
        pool(*PagePool::make(&topology, &budget, bytes_budget, Facility::kTry, Facility::kTry)),
        warmer(&runtime, pool.get()) {
    runtime.start(&warmer);
    runtime.run_due();
  }
  ~WarmedPool() { runtime.stop(&warmer); }
  // Takes `count` pages one by one; calls `each` with every id.
  template <typename Each>
  void take(std::uint32_t soc, std::uint64_t count, const Each& each) {
    for (std::uint64_t i = 0; i < count; ++i) {
      VolatilePageId id;
      ASSERT_EQ(pool->take(soc, &id, 1), 1u);
      each(id);
    }
  }

  testing::ManualRuntime runtime;
  numa::Topology topology;
  base::MemoryBudget budget;
  std::unique_ptr<PagePool> pool;
  PoolWarmer warmer;
};

bool is_resident(const void* page) {
  unsigned char vector = 0;
  return mincore(const_cast<void*>(page), kPageBytes, &vector) == 0 && (vector & 1) != 0;
}

TEST(PoolWarmerTest, backs_one_extent_per_soc_at_the_start_and_then_sleeps) {
  WarmedPool test(4, 64 * kExtent);
  EXPECT_EQ(test.budget.taken(), 4 * kExtent);
  const std::uint64_t steps = test.runtime.step_count();
  test.runtime.run_for(10'000'000);
  EXPECT_EQ(test.runtime.step_count(), steps);
  for (std::uint32_t soc = 0; soc < 4; ++soc) {
    test.take(soc, 1, [&](VolatilePageId id) { EXPECT_TRUE(is_resident(test.pool->resolve(id))); });
  }
}

// Ten extents are used up; the warmer runs whenever it was notified. Each page was backed before it
// is taken, and no more than two extents are backed ahead.
TEST(PoolWarmerTest, stays_ahead_of_a_user_of_new_pages) {
  WarmedPool test(2, 64 * kExtent);
  std::uint64_t taken = 0;
  test.take(1, 10 * PagePool::kExtentPages, [&](VolatilePageId id) {
    ASSERT_TRUE(is_resident(test.pool->resolve(id))) << id.number();
    test.runtime.run_due();
    ++taken;
    const std::uint64_t used = taken / PagePool::kExtentPages + 1;
    ASSERT_LE(test.budget.taken(), (used + 1 + 2 + 1) * kExtent);
  });
}

TEST(PoolWarmerTest, does_nothing_while_pages_are_reused) {
  WarmedPool test(1, 64 * kExtent);
  std::vector<VolatilePageId> ids(PagePool::kBatchPages);
  ids.resize(test.pool->take(0, ids.data(), PagePool::kBatchPages));
  test.runtime.run_due();
  const std::uint64_t steps = test.runtime.step_count();
  for (int i = 0; i < 1000; ++i) {
    test.pool->give(ids.data(), static_cast<std::uint32_t>(ids.size()));
    ids.resize(test.pool->take(0, ids.data(), PagePool::kBatchPages));
    test.runtime.run_due();
  }
  EXPECT_EQ(test.runtime.step_count(), steps);
}

TEST(PoolWarmerTest, backs_what_is_reserved_at_once) {
  WarmedPool test(2, 64 * kExtent);
  EXPECT_EQ(test.pool->reserve(20 * kExtent), 20 * kExtent);
  const std::uint64_t taken = test.budget.taken();
  for (std::uint32_t soc = 0; soc < 2; ++soc) {
    test.take(soc, 9 * PagePool::kExtentPages, [&](VolatilePageId id) {
      ASSERT_TRUE(is_resident(test.pool->resolve(id))) << id.number();
    });
  }
  EXPECT_EQ(test.budget.taken(), taken);
}

TEST(PoolWarmerTest, reserves_nothing_of_the_last_quarter_of_the_budget) {
  WarmedPool test(2, 16 * kExtent);
  const std::uint64_t reserved = test.pool->reserve(100 * kExtent);
  EXPECT_LE(reserved, 13 * kExtent);
  EXPECT_GE(reserved, 11 * kExtent);
  EXPECT_EQ(test.pool->reserve(100 * kExtent), reserved);
}

TEST(PoolWarmerTest, leaves_the_last_quarter_of_the_budget_to_those_who_need_it) {
  WarmedPool test(8, 8 * kExtent);
  EXPECT_LE(test.budget.taken(), 7 * kExtent);
  EXPECT_GE(test.budget.remaining(), kExtent);
  WarmedPool tiny(8, kExtent);
  EXPECT_LE(tiny.budget.taken(), kExtent);
}

TEST(PoolWarmerTest, takes_nothing_from_those_who_come_first) {
  WarmedPool test(3, 8 * kExtent);
  test.take(2, 8 * (PagePool::kExtentPages - 1), [&](VolatilePageId) { test.runtime.run_due(); });
  VolatilePageId id;
  EXPECT_EQ(test.pool->take(0, &id, 1), 0u);
  test.runtime.run_due();
  EXPECT_EQ(test.budget.remaining(), 0u);
}

}  // namespace
}  // namespace foedus::page::pool_warmer_test
