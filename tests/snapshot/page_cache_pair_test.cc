// A cache whose pages all have the same few buckets, while most of its frames are empty: pages
// replace one another long before the hand comes.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "foedus-core/snapshot/cache/page_cache.h"
#include "tests/snapshot/page_cache_pages.h"
#include "tests/testing/manual_runtime.h"

namespace foedus::snapshot::page_cache_pair_test {
namespace {

constexpr std::uint32_t kPairEntries = 2 * CacheIndex::kBucketEntries;

// Returns pages of one pair of buckets, or of two, in an index of this many frames. Method: pages
// are put until one replaces another, so that hardly any pair except that one is full. A page that
// replaces one from then on is of such a pair; others are removed again.
std::vector<page::SnapshotPageId> pages_of_few_pairs(std::uint64_t frames, std::size_t count) {
  constexpr std::uint32_t kPages = 4096;
  const std::uint64_t index_bytes = CacheIndex::bytes_for(frames);
  const std::uint64_t offset = (index_bytes / page::kPageBytes + 1) * page::kPageBytes;
  numa::SocMemory memory =
      *numa::SocMemory::reserve(offset + kPages * page::kPageBytes, Facility::kOff);
  EXPECT_TRUE(memory.commit(0, memory.bytes()).is_ok());
  char* const begin = memory.begin() + offset;
  const auto links = std::make_unique<CacheIndex::Link[]>(kPages);
  CacheIndex index(memory.begin(), frames,
                   CacheIndex::Places{begin, kPages, begin, kPages, links.get()});
  CacheFrame frame = 0;
  const auto pushes_out = [&](page::SnapshotPageId id) {
    index.page_at(++frame)->page_id = id.word();
    return index.put(id, frame, CacheMark::kUsedOnce) != 0;
  };
  std::vector<page::SnapshotPageId> pages;
  std::uint32_t next = 1;
  while (!pushes_out(page_of(next))) ++next;
  while (pages.size() < count && frame < kPages) {
    const std::uint32_t snapshot = ++next;
    const page::SnapshotPageId id = page_of(7, snapshot);
    if (pushes_out(id)) {
      pages.push_back(id);
      continue;
    }
    for (std::uint64_t i = 0; i < index.bucket_count(); ++i) {
      CacheFrame forgotten[CacheIndex::kBucketEntries];
      index.forget(page::SnapshotNumber{snapshot}, i, forgotten);
    }
  }
  return pages;
}

// Goal: the frame of a replaced page is used again. Method: many pages are replaced; then the cache
// forgets all pages, and a search that stays pinned finds as many as there are frames.
TEST(PageCachePairTest, frames_of_pages_that_are_pushed_out_are_not_lost) {
  constexpr std::uint64_t kIntervalUs = 1000;
  MadePages pages;
  testing::ManualRuntime runtime;
  epoch::EpochClock clock{&runtime, Epoch(10), 8, kIntervalUs};
  const numa::Topology topology = *numa::Topology::make(1);
  base::MemoryBudget budget{PageCache::kBytesMin};
  const auto cache = *PageCache::make(&topology, &budget, PageCache::kBytesMin, Facility::kTry,
                                      Facility::kTry, &pages, &clock);
  const auto wanted = pages_of_few_pairs(cache->frames_max(0), 3 * kPairEntries);
  ASSERT_EQ(wanted.size(), 3 * kPairEntries);
  runtime.start(&clock);
  Status status;
  for (int round = 0; round < 10; ++round) {
    for (const page::SnapshotPageId id : wanted) {
      clock.pin_cache(0);
      const page::PageHeader* const page = cache->find(0, id, &status);
      ASSERT_TRUE(page != nullptr && is_page(page, id)) << round << ": " << status.message();
      clock.unpin_cache(0);
      runtime.run_for(4 * kIntervalUs);
    }
    EXPECT_LT(cache->statistics().pages, wanted.size());
  }
  for (const page::SnapshotPageId id : wanted) cache->forget(id.snapshot());
  runtime.run_for(4 * kIntervalUs);
  clock.pin_cache(0);
  std::uint32_t found = 0;
  while (found < 1000 && cache->find(0, page_of(found + 1), &status) != nullptr) ++found;
  EXPECT_EQ(found, cache->frames_max(0));
  clock.unpin_cache(0);
  runtime.stop(&clock);
}

}  // namespace
}  // namespace foedus::snapshot::page_cache_pair_test
