// ctest-labels: concurrency
// Threads read many pages through few frames, so that nearly every read evicts. Each page is
// checked when it is found, and again before the pin ends or is renewed. The reader overwrites
// frames before it fills them, so that the check, and the sanitizer, notice a frame that is reused
// too early. Borrowed frames go to writers of volatile pages and come back meanwhile.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/occ/cold_pages.h"
#include "foedus-core/snapshot/cache/page_cache.h"
#include "tests/base/test_seed.h"
#include "tests/snapshot/page_cache_pages.h"

namespace foedus::snapshot::page_cache_stress_test {
namespace {

constexpr std::uint32_t kThreads = 6;
constexpr std::uint32_t kManyThreads = 64;
constexpr std::uint32_t kPagesPerTransaction = 6;
constexpr std::uint32_t kSnapshots = 3;
constexpr std::uint64_t kStripesBytes = 34u << 20;  // of a SOC whose part has four stripes

struct StressCache {
  StressCache(std::uint32_t socs, std::uint64_t bytes_per_soc, std::uint32_t threads_ = kThreads,
              std::uint64_t pool_bytes = 0)
      : threads(threads_),
        topology(*numa::Topology::make(socs)),
        budget(socs * bytes_per_soc + pool_bytes),
        clock(runtime.get(), Epoch(1), threads_, 200),
        pool(*page::PagePool::make(&topology, &budget, pool_bytes, Facility::kTry, Facility::kTry)),
        cache(*PageCache::make(&topology, &budget, socs * bytes_per_soc, Facility::kTry,
                               Facility::kTry, &pages, &clock,
                               pool_bytes == 0 ? nullptr : pool.get())) {
    pool->allow_lending();
    pages.keeps_sent = false;
    runtime->start(&clock);
  }
  ~StressCache() { runtime->stop(&clock); }

  const std::uint32_t threads;
  std::unique_ptr<base::Runtime> runtime = base::make_thread_runtime();
  numa::Topology topology;
  base::MemoryBudget budget;
  MadePages pages;
  epoch::EpochClock clock;
  std::unique_ptr<page::PagePool> pool;
  std::unique_ptr<PageCache> cache;
  base::AtomicWord<std::uint64_t> found;
  base::AtomicWord<std::uint64_t> out_of_memory;
  base::AtomicWord<std::uint64_t> pages_lent;  // as a writer has seen it
};

struct Held {
  page::SnapshotPageId id;
  const page::PageHeader* page;
};

// Runs one transaction; returns false if the cache had no frame for it.
bool read_some(StressCache* test, std::uint32_t session, PagesInFlight* in_flight,
               std::uint32_t page_count, base::Random* random) {
  const std::uint32_t soc = session % test->topology.socs();
  Held held[kPagesPerTransaction];
  std::uint32_t count = 0;
  bool has_frames = true;
  test->clock.pin_cache(session);
  const std::uint64_t wanted = 1 + random->below(kPagesPerTransaction);
  while (count < wanted && has_frames) {
    const std::uint64_t bound = random->below(4) == 0 ? page_count : page_count / 50 + 1;
    const std::uint32_t snapshot = static_cast<std::uint32_t>(1 + random->below(kSnapshots));
    const page::SnapshotPageId id =
        page_of(static_cast<std::uint32_t>(random->below(bound)), snapshot);
    if (random->below(4) == 0) test->cache->prefetch_page(soc, id, {.offset = 0, .bytes = 128});
    if (random->below(64) == 0) {
      for (std::uint32_t i = 0; i < 3; ++i) in_flight->begin(id.plus(i));
    }
    if (random->below(64) == 0) in_flight->send();
    if (random->below(4) == 0) in_flight->finish(id);
    Status status;
    const page::PageHeader* const page = test->cache->find(soc, id, &status);
    if (page != nullptr) {
      EXPECT_TRUE(is_page(page, id));
      held[count++] = Held{id, page};
    } else {
      has_frames = status.code() != ErrorCode::kOutOfMemory;
      EXPECT_TRUE(!has_frames || status.code() == ErrorCode::kIoError) << status.message();
    }
  }
  if (random->below(8) == 0) std::this_thread::yield();
  for (std::uint32_t i = 0; i < count; ++i) EXPECT_TRUE(is_page(held[i].page, held[i].id));
  test->clock.unpin_cache(session);
  test->found.fetch_add_relaxed(count);
  return has_frames;
}

void run(StressCache* test, std::uint32_t page_count, std::uint64_t transactions,
         std::uint64_t seed) {
  test->pages.before_read = [](page::SnapshotPageId id) {
    return id.page() % 97 == 13 ? Status(ErrorCode::kIoError) : Status();
  };
  std::vector<std::thread> threads;
  for (std::uint32_t session = 0; session < test->threads; ++session) {
    threads.emplace_back([=] {
      base::Random random(seed + session);
      const std::unique_ptr<PagesInFlight> in_flight =
          test->cache->make_pages_in_flight(session % test->topology.socs());
      for (std::uint64_t i = 0; i < transactions; ++i) {
        if (!read_some(test, session, in_flight.get(), page_count, &random)) {
          test->out_of_memory.fetch_add_relaxed(1);
          test->runtime->pause(100);
        }
        // Pages of the snapshot are still being read: the cache has to be safe even then.
        if (random.below(500) == 0) test->cache->forget(page::SnapshotNumber{kSnapshots});
        if (::testing::Test::HasFailure()) return;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const PageCacheStatistics statistics = test->cache->statistics();
  std::printf("found %llu, out of memory %llu, misses %llu, returns %llu, duplicates %llu\n",
              static_cast<unsigned long long>(test->found.load_relaxed()),
              static_cast<unsigned long long>(test->out_of_memory.load_relaxed()),
              static_cast<unsigned long long>(statistics.misses),
              static_cast<unsigned long long>(statistics.returns),
              static_cast<unsigned long long>(statistics.duplicates));
  EXPECT_GT(test->found.load_relaxed(), test->threads * transactions);
  EXPECT_LE(statistics.bytes, test->budget.limit());
}

// Searches pages one after another, as storages do, and reads some ahead.
void search(StressCache* test, std::uint32_t session, occ::ColdPages* cold,
            std::uint32_t page_count, base::Random* random) {
  const occ::ColdReads reads(cold);
  for (std::uint64_t left = 1 + random->below(4); left != 0; --left) {
    const page::SnapshotPageId id = page_of(static_cast<std::uint32_t>(random->below(page_count)));
    if (random->below(32) == 0) {
      for (std::uint32_t i = 0; i < 4; ++i) cold->will_read(id.plus(i));
      if (random->below(2) == 0) cold->send();
    }
    const page::PageHeader* const page = cold->page(id);
    ASSERT_NE(page, nullptr) << session << ": " << cold->take_failure().message();
    ASSERT_TRUE(is_page(page, id));
    if (random->below(8) == 0) std::this_thread::yield();
    ASSERT_TRUE(is_page(page, id));
    test->found.fetch_add_relaxed(1);
  }
}

// Runs searches, whose pins are renewed for each page, released for waits, and ended with the
// search. Transactions are open all the time, and no search runs out of frames with this many
// sessions.
void run_searches(StressCache* test, std::uint32_t page_count, std::uint64_t searches,
                  std::uint64_t seed) {
  std::vector<std::thread> threads;
  for (std::uint32_t session = 0; session < test->threads; ++session) {
    threads.emplace_back([=] {
      base::Random random(seed + session);
      occ::ColdPages cold({.cache = test->cache.get(),
                           .clock = &test->clock,
                           .session = session,
                           .soc = session % test->topology.socs()});
      test->clock.pin(session);
      for (std::uint64_t i = 0; i < searches; ++i) {
        search(test, session, &cold, page_count, &random);
        if (::testing::Test::HasFailure()) return;
        EXPECT_EQ(test->clock.slot(session).cache_pin.load_relaxed(), 0u);
      }
      test->clock.unpin(session);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(test->found.load_relaxed(), test->threads * searches);
  EXPECT_GT(test->cache->statistics().misses, test->threads * searches / 2);
}

#if defined(FOEDUS_TSAN)
constexpr std::uint64_t kTransactions = 3'000;
constexpr std::uint64_t kRounds = 50;
#else
constexpr std::uint64_t kTransactions = 20'000;
constexpr std::uint64_t kRounds = 300;
#endif

TEST(PageCacheStressTest, every_page_stays_right_until_the_pin_ends_with_few_frames) {
  StressCache test(1, PageCache::kBytesMin);
  run(&test, 2000, kTransactions, testing::test_seed(1));
}

TEST(PageCacheStressTest, every_page_stays_right_until_the_pin_ends_on_two_socs) {
  StressCache test(2, 2u << 20);
  run(&test, 10'000, kTransactions, testing::test_seed(2));
}

TEST(PageCacheStressTest,
     every_page_stays_right_until_the_pin_ends_for_many_threads_of_eight_socs) {
  StressCache test(8, 2u << 20, kManyThreads);
  run(&test, 10'000, kTransactions / 20, testing::test_seed(5));
}

TEST(PageCacheStressTest, every_page_stays_right_until_the_pin_ends_in_several_stripes) {
  StressCache test(1, kStripesBytes);
  ASSERT_EQ(CacheIndex::stripes_for(test.cache->frames_max(0)), 4u);
  run(&test, 30'000, kTransactions, testing::test_seed(8));
  EXPECT_GT(test.cache->statistics().evictions, test.cache->frames_max(0));
}

// Takes volatile pages, up to all of them, writes them, checks that they are unchanged, and gives
// them back.
void write_pages(StressCache* test, std::uint32_t soc, std::uint64_t rounds, std::uint64_t seed) {
  constexpr std::uint32_t kBatch = page::PagePool::kBatchPages;
  base::Random random(seed);
  const std::string written(page::kPageBytes, static_cast<char>(seed));
  std::vector<page::VolatilePageId> taken;
  const auto bytes_of = [&](page::VolatilePageId id) {
    return reinterpret_cast<char*>(test->pool->resolve(id));
  };
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const std::uint64_t wanted = random.below(test->pool->bytes_max() / page::kPageBytes);
    while (taken.size() < wanted) {
      page::VolatilePageId ids[kBatch];
      const std::uint32_t count = test->pool->take(soc, ids, kBatch);
      if (count == 0) break;
      for (std::uint32_t i = 0; i < count; ++i) {
        std::memcpy(bytes_of(ids[i]), written.data(), page::kPageBytes);
      }
      taken.insert(taken.end(), ids, ids + count);
      EXPECT_LE(test->budget.taken(), test->budget.limit());
    }
    test->pages_lent.fetch_add_relaxed(test->pool->pages_lent());
    std::this_thread::yield();
    while (!taken.empty()) {
      EXPECT_EQ(std::memcmp(bytes_of(taken.back()), written.data(), page::kPageBytes), 0);
      test->pool->give(&taken.back(), 1);
      taken.pop_back();
    }
  }
}

void run_with_writers(StressCache* test, std::uint64_t seed, std::uint32_t page_count = 10'000) {
  std::vector<std::thread> writers;
  for (std::uint32_t i = 0; i < 2; ++i) {
    writers.emplace_back([=] { write_pages(test, i % test->topology.socs(), kRounds, 17 + i); });
  }
  run(test, page_count, kTransactions, seed);
  for (std::thread& writer : writers) writer.join();
  EXPECT_LE(test->budget.taken(), test->budget.limit());
  EXPECT_NE(test->pages_lent.load_relaxed() + test->pool->pages_lent(), 0u);
}

TEST(PageCacheStressTest, borrowed_frames_are_read_or_written_but_never_both) {
  StressCache test(1, PageCache::kBytesMin + (64u << 10), kThreads, 8u << 20);
  run_with_writers(&test, testing::test_seed(6));
}

TEST(PageCacheStressTest, borrowed_frames_are_read_or_written_but_never_both_on_two_socs) {
  StressCache test(2, 1u << 20, kThreads, 16u << 20);
  run_with_writers(&test, testing::test_seed(7));
}

TEST(PageCacheStressTest, borrowed_frames_are_read_or_written_but_never_both_in_several_stripes) {
  StressCache test(1, kStripesBytes, kThreads, 16u << 20);
  ASSERT_EQ(CacheIndex::stripes_for(test.cache->frames_max(0)), 4u);
  run_with_writers(&test, testing::test_seed(9), 30'000);
}

TEST(PageCacheStressTest, searches_of_open_transactions_never_run_out_of_few_frames) {
  StressCache test(1, PageCache::kBytesMin);
  run_searches(&test, 2000, kTransactions, testing::test_seed(3));
}

TEST(PageCacheStressTest,
     searches_of_open_transactions_never_run_out_of_frames_in_several_stripes) {
  StressCache test(1, kStripesBytes);
  run_searches(&test, 60'000, 2 * kTransactions, testing::test_seed(10));
}

TEST(PageCacheStressTest, searches_of_open_transactions_never_run_out_of_frames_on_two_socs) {
  StressCache test(2, 1u << 20);
  run_searches(&test, 10'000, kTransactions, testing::test_seed(4));
}

}  // namespace
}  // namespace foedus::snapshot::page_cache_stress_test
