// ctest-labels: concurrency
// Threads allocate, release, retire and reclaim pages of one pool. A word outside the pool has the
// owner of every page, so that a page with two owners is noticed at once. Plain writes to the pages
// show the sanitizer that owners follow one another.
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/page/pool_warmer.h"
#include "foedus-core/page/session_pages.h"
#include "tests/base/test_seed.h"

namespace foedus::page::page_stress_test {
namespace {

constexpr std::uint32_t kThreads = 4;
constexpr std::uint64_t kBudgetBytes = 8u << 20;

struct StressPool {
  explicit StressPool(std::uint32_t socs)
      : topology(*numa::Topology::make(socs)),
        pool(*PagePool::make(&topology, &budget, kBudgetBytes, Facility::kTry, Facility::kTry)),
        warmer(runtime.get(), pool.get()),
        clock(runtime.get(), Epoch(1), kThreads, 200),
        owners(socs * kBudgetBytes / kPageBytes) {
    runtime->start(&warmer);
    runtime->start(&clock);
  }
  ~StressPool() {
    runtime->stop(&clock);
    runtime->stop(&warmer);
  }

  // Makes the page belong to `owner`, and checks that it has no other owner.
  void own(PageHeader* page, std::uint64_t owner) {
    ASSERT_EQ(owners[pool->id_of(page).number()].exchange_acq_rel(owner), 0u);
    std::memset(static_cast<void*>(page), static_cast<int>(owner), 256);
  }
  void disown(PageHeader* page, std::uint64_t owner) {
    const unsigned char* const bytes = reinterpret_cast<const unsigned char*>(page);
    ASSERT_EQ(bytes[0], owner);
    ASSERT_EQ(bytes[255], owner);
    ASSERT_EQ(owners[pool->id_of(page).number()].exchange_acq_rel(0), owner);
  }

  base::MemoryBudget budget{kBudgetBytes};
  std::unique_ptr<base::Runtime> runtime = base::make_thread_runtime();
  numa::Topology topology;
  std::unique_ptr<PagePool> pool;
  PoolWarmer warmer;
  epoch::EpochClock clock;
  std::vector<base::AtomicWord<std::uint64_t>> owners;
};

void allocate_and_free(StressPool* test, std::uint32_t thread, std::uint64_t seed) {
  base::Random random(seed + thread);
  std::optional<SessionPages> session;
  session.emplace(&*test->pool, &test->clock, thread % test->pool->socs());
  std::vector<PageHeader*> held;
  for (int i = 0; i < 30'000; ++i) {
    const std::uint64_t action = random.below(100);
    // There are phases of growing and of shrinking, so that the budget runs out and comes back.
    if (action < (i / 3000 % 2 == 0 ? 60u : 30u)) {
      if (PageHeader* const page = session->allocate()) {
        test->own(page, thread + 1);
        held.push_back(page);
      }
    } else if (action < 98) {
      if (held.empty()) continue;
      std::swap(held[random.below(held.size())], held.back());
      test->disown(held.back(), thread + 1);
      if (action % 2 == 0) {
        session->release(held.back());
      } else {
        session->retire(held.back());
      }
      held.pop_back();
    } else {
      session->reclaim();
      if (action == 99 && random.below(20) == 0) {  // the session ends, another begins
        session.emplace(&*test->pool, &test->clock, thread % test->pool->socs());
      }
    }
    if (::testing::Test::HasFatalFailure()) return;
  }
  for (PageHeader* const page : held) {
    test->disown(page, thread + 1);
    session->release(page);
  }
}

TEST(PageStressTest, no_page_ever_has_two_owners_and_none_is_lost) {
  const std::uint64_t seed = testing::test_seed(6);
  for (const std::uint32_t socs : {1u, 2u, 3u, 8u}) {
    StressPool test(socs);
    std::vector<std::thread> threads;
    for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back(allocate_and_free, &test, thread, seed);
    }
    for (std::thread& thread : threads) thread.join();
    if (HasFatalFailure()) return;

    // Another session finds pages that sessions left retired, once their epochs are over.
    const Epoch last = test.clock.current();
    while (test.clock.reclaimable() < last) test.runtime->pause(100);
    std::uint64_t count = 0;
    {
      SessionPages session(&*test.pool, &test.clock, 0);
      std::vector<PageHeader*> all;
      while (PageHeader* const page = session.allocate()) all.push_back(page);
      count = all.size();
      EXPECT_EQ(test.pool->pages_in_use(), count);
      EXPECT_EQ(test.pool->pages_free(), 0u);
      for (PageHeader* const page : all) session.release(page);
    }
    EXPECT_GE(count, (kBudgetBytes / PagePool::kExtentBytes) * PagePool::kExtentPages - 8 * socs);
    EXPECT_EQ(test.pool->pages_in_use(), 0u);
  }
}

// Readers pin, follow shared pointers and check that each page stays the same version; writers
// replace pages and retire the old ones. A page that is reused too early changes while a reader has
// it.
TEST(PageStressTest, a_pinned_reader_never_sees_a_page_reused) {
  constexpr int kSlots = 16;
  constexpr std::uint64_t kWords = 32;
  StressPool test(2);
  base::AtomicWord<std::uint64_t> slots[kSlots];
  base::AtomicWord<std::uint32_t> done;

  const auto fill = [&](PageHeader* page, std::uint64_t version) {
    std::uint64_t* const words = reinterpret_cast<std::uint64_t*>(page);
    for (std::uint64_t i = 0; i < kWords; ++i) words[i] = version;
  };
  SessionPages writer_pages(&*test.pool, &test.clock, 0);
  for (auto& slot : slots) {
    PageHeader* const page = writer_pages.allocate();
    fill(page, 1);
    slot.store_release(test.pool->id_of(page).word());
  }

  const auto read = [&](std::uint32_t session) {
    base::Random random(session);
    while (done.load_acquire() == 0) {
      test.clock.pin(session);
      for (int i = 0; i < 20; ++i) {
        const VolatilePageId id(slots[random.below(kSlots)].load_acquire());
        const std::uint64_t* const words =
            reinterpret_cast<const std::uint64_t*>(test.pool->resolve(id));
        const std::uint64_t version = words[0];
        for (std::uint64_t w = 1; w < kWords; ++w) ASSERT_EQ(words[w], version);
        if (i == 10) test.runtime->pause(random.below(300));
        for (std::uint64_t w = 0; w < kWords; ++w) ASSERT_EQ(words[w], version);
      }
      test.clock.unpin(session);
    }
  };
  std::thread first(read, 0);
  std::thread second(read, 1);
  base::Random random(99);
  for (std::uint64_t version = 2; version < 30'000; ++version) {
    if (version % 10 == 0) writer_pages.reclaim();
    PageHeader* const page = writer_pages.allocate();
    if (page == nullptr) {
      test.runtime->pause(100);
      writer_pages.reclaim();
      continue;
    }
    fill(page, version);
    const std::uint64_t old =
        slots[random.below(kSlots)].exchange_acq_rel(test.pool->id_of(page).word());
    writer_pages.retire(test.pool->resolve(VolatilePageId(old)));
  }
  done.store_release(1);
  first.join();
  second.join();
}

}  // namespace
}  // namespace foedus::page::page_stress_test
