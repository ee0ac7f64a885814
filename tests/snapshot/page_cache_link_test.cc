// ctest-labels: concurrency
// Pointers of cached pages to cached pages (K30): a child is found by the frame in its pointer as
// long as it is found by its id, whatever happens to the frame, the child, and the page of the
// pointer.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/snapshot/cache/page_cache.h"
#include "tests/base/test_seed.h"
#include "tests/snapshot/page_cache_pages.h"
#include "tests/testing/at_sync_point.h"
#include "tests/testing/manual_runtime.h"

namespace foedus::snapshot::page_cache_link_test {
namespace {

// ---- links of an index -----------------------------------------------------------------------

constexpr std::uint32_t kPairEntries = 2 * CacheIndex::kBucketEntries;

class CacheLinkTest : public ::testing::Test {
 protected:
  // Makes an index of 100 frames. For 1 it has one pair of buckets; for 190 a sweep goes once
  // around.
  explicit CacheLinkTest(std::uint32_t frames_of_index = 190) {
    const std::uint64_t offset = 2 * page::kPageBytes;
    EXPECT_LE(CacheIndex::bytes_for(frames_of_index), offset);
    memory_ = *numa::SocMemory::reserve(offset + kFrames * page::kPageBytes, Facility::kOff);
    EXPECT_TRUE(memory_.commit(0, memory_.bytes()).is_ok());
    char* const begin = memory_.begin() + offset;
    index_ = std::make_unique<CacheIndex>(
        memory_.begin(), frames_of_index,
        CacheIndex::Places{begin, kFrames, begin, kFrames, links_});
  }
  CacheFrame put(page::SnapshotPageId id, CacheFrame frame, CacheMark mark,
                 bool is_leaving = false) {
    index_->page_at(frame)->page_id = id.word();
    return index_->put(id, frame, mark, is_leaving);
  }
  bool is_linked(page::SnapshotPageId id, CacheFrame frame) {
    const CacheFrame found = index_->find_linked(id, frame, {});
    EXPECT_TRUE(found == 0 || found == frame) << found;
    return found != 0;
  }
  bool is_swept(page::SnapshotPageId id, CacheSweep which = CacheSweep::kCold) {
    CacheFrame frames[16];
    index_->sweep(0, frames, 16, which);
    return index_->peek(id) == 0;
  }

  static constexpr std::uint32_t kFrames = 100;
  numa::SocMemory memory_;
  CacheIndex::Link links_[kFrames];
  std::unique_ptr<CacheIndex> index_;
};

class CachePairLinkTest : public CacheLinkTest {
 protected:
  CachePairLinkTest() : CacheLinkTest(1) {}
};

TEST_F(CacheLinkTest, a_frame_is_linked_to_the_page_that_is_found_in_it) {
  EXPECT_FALSE(is_linked(page_of(1), 1));
  put(page_of(1), 1, CacheMark::kUsedOnce);
  EXPECT_TRUE(is_linked(page_of(1), 1));
  EXPECT_FALSE(is_linked(page_of(2), 1));
  EXPECT_FALSE(is_linked(page_of(1), 2));
  EXPECT_FALSE(is_linked(page_of(1), 0));
  EXPECT_FALSE(is_linked(page_of(1), kFrames + 1)) << "no frame";
  EXPECT_FALSE(is_linked(page_of(1), ~CacheFrame{0}));
}

// A link has 62 bits of an id; the page's header has the others.
TEST_F(CacheLinkTest, ids_that_differ_in_their_highest_bits_are_told_apart) {
  for (const std::uint32_t bit : {26u, 27u}) {
    const page::SnapshotPageId high = page_of(1, 1 + (1u << bit));
    put(page_of(1), 1, CacheMark::kUsedOnce);
    put(high, 2, CacheMark::kUsedOnce);
    EXPECT_FALSE(is_linked(high, 1));
    EXPECT_FALSE(is_linked(page_of(1), 2));
    EXPECT_TRUE(is_linked(high, 2));
    EXPECT_TRUE(is_swept(high, CacheSweep::kAny));
  }
}

TEST_F(CacheLinkTest, a_page_that_leaves_is_not_linked_until_it_returns) {
  put(page_of(1), 1, CacheMark::kUsedOnce);
  ASSERT_TRUE(is_swept(page_of(1), CacheSweep::kColdForNow));
  EXPECT_FALSE(is_linked(page_of(1), 1));
  EXPECT_EQ(index_->restore(page_of(1), CacheMark::kUsedOnce), 1u);
  EXPECT_TRUE(is_linked(page_of(1), 1));
  ASSERT_TRUE(is_swept(page_of(1), CacheSweep::kAny));
  EXPECT_FALSE(is_linked(page_of(1), 1));
}

TEST_F(CacheLinkTest, a_page_on_trial_is_not_linked_until_it_returns) {
  put(page_of(1), 1, CacheMark::kReadAhead, true);
  EXPECT_FALSE(is_linked(page_of(1), 1));
  EXPECT_EQ(index_->use_leaving(page_of(1)), 1u);
  EXPECT_FALSE(is_linked(page_of(1), 1));
  EXPECT_EQ(index_->restore(page_of(1), CacheMark::kUsedAgain), 1u);
  EXPECT_TRUE(is_linked(page_of(1), 1));
}

TEST_F(CacheLinkTest, a_page_of_a_forgotten_snapshot_is_not_linked) {
  put(page_of(1, 1), 1, CacheMark::kUsedOnce);
  put(page_of(1, 2), 2, CacheMark::kUsedOnce);
  for (std::uint64_t i = 0; i < index_->bucket_count(); ++i) {
    CacheFrame frames[CacheIndex::kBucketEntries];
    index_->forget(page::SnapshotNumber{1}, i, frames);
  }
  EXPECT_FALSE(is_linked(page_of(1, 1), 1));
  EXPECT_TRUE(is_linked(page_of(1, 2), 2));
}

TEST_F(CachePairLinkTest, a_page_that_is_pushed_out_is_not_linked) {
  for (std::uint32_t i = 0; i < kPairEntries; ++i) {
    put(page_of(i), i + 1, CacheMark::kUsedAgain);
  }
  const CacheFrame evicted = put(page_of(1000), 90, CacheMark::kUsedOnce);
  ASSERT_NE(evicted, 0u);
  EXPECT_FALSE(is_linked(page_of(evicted - 1), evicted));
  EXPECT_TRUE(is_linked(page_of(1000), 90));
}

TEST_F(CachePairLinkTest, a_page_that_pointers_are_followed_to_is_not_pushed_out_before_others) {
  for (std::uint32_t i = 0; i < kPairEntries; ++i) {
    put(page_of(i), i + 1, CacheMark::kUsedOnce);
    if (i == 4) continue;
    EXPECT_TRUE(is_linked(page_of(i), i + 1));
  }
  EXPECT_EQ(put(page_of(1000), 90, CacheMark::kUsedOnce), 5u);
}

// A look-up by a pointer sets the mark for the hand as one by the id does.
TEST_F(CacheLinkTest, a_use_by_a_pointer_is_taken_by_the_hand_once) {
  put(page_of(1), 1, CacheMark::kUsedOnce);
  EXPECT_TRUE(is_linked(page_of(1), 1));
  EXPECT_FALSE(is_swept(page_of(1)));
  EXPECT_TRUE(is_swept(page_of(1)));
  put(page_of(2), 2, CacheMark::kReadAhead);
  EXPECT_TRUE(is_linked(page_of(2), 2));
  EXPECT_TRUE(is_swept(page_of(2))) << "once is not again";
  put(page_of(3), 3, CacheMark::kReadAhead);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(is_linked(page_of(3), 3));
  EXPECT_FALSE(is_swept(page_of(3)));
  EXPECT_TRUE(is_linked(page_of(3), 3));
  EXPECT_FALSE(is_swept(page_of(3)));
  EXPECT_TRUE(is_swept(page_of(3)));
}

// ---- interleavings ---------------------------------------------------------------------------

constexpr std::uint64_t kIntervalUs = 1000;
constexpr std::uint32_t kChildren = 100;
constexpr std::uint32_t kSmallFrames = 64;

// A cache of fewer frames than there are children, each with a pointer that leads to it.
class PageCacheLinkTest : public ::testing::Test {
 protected:
  PageCacheLinkTest() {
    for (std::uint32_t i = 0; i < kChildren; ++i) {
      pointers_[i].store({page::VolatilePageId(), page_of(i)});
    }
    runtime_.start(&clock_);
  }
  ~PageCacheLinkTest() override { runtime_.stop(&clock_); }

  bool read_and_advance(page::SnapshotPageId id) {
    clock_.pin_cache(0);
    Status status;
    const page::PageHeader* const page = cache_->find(0, id, &status);
    EXPECT_TRUE(page == nullptr || is_page(page, id)) << id.page();
    clock_.unpin_cache(0);
    runtime_.run_for(4 * kIntervalUs);
    return page != nullptr;
  }
  // Reads a page twice, so that others leave for it.
  bool read_twice(page::SnapshotPageId id) { return read_and_advance(id) && read_and_advance(id); }
  const page::PageHeader* child(page::DualPagePointer* pointer) {
    return cache_->find_cached_child(0, pointer, {});
  }
  // Checks that pointers find the pages that ids find, however old their hints are.
  void expect_links_agree() {
    for (std::uint32_t i = 0; i < kChildren; ++i) {
      const std::uint32_t hint = pointers_[i].hint();
      const page::PageHeader* const page = child(&pointers_[i]);
      ASSERT_EQ(page, cache_->find_cached(0, page_of(i))) << i;
      ASSERT_TRUE(page == nullptr || is_page(page, page_of(i))) << i;
      if (page != nullptr) continue;
      ASSERT_EQ(pointers_[i].hint(), hint) << i;
    }
  }
  // Reads all children in turn, until each frame has had many pages.
  void read_in_turn() {
    for (std::uint32_t i = 0; i < 5 * kChildren; ++i) {
      read_and_advance(page_of(i % kChildren));
      expect_links_agree();
      if (HasFatalFailure()) return;
    }
    EXPECT_GT(cache_->statistics().misses, kChildren);
  }

  MadePages pages_;
  testing::ManualRuntime runtime_;
  epoch::EpochClock clock_{&runtime_, Epoch(10), 8, kIntervalUs};
  numa::Topology topology_ = *numa::Topology::make(1);
  base::MemoryBudget budget_{PageCache::kBytesMin};
  std::unique_ptr<PageCache> cache_ = *PageCache::make(
      &topology_, &budget_, PageCache::kBytesMin, Facility::kOff, Facility::kOff, &pages_, &clock_);
  page::DualPagePointer pointers_[kChildren];
};

TEST_F(PageCacheLinkTest, a_child_whose_frame_is_being_filled_is_not_found) {
  std::uint32_t looks = 0;
  pages_.before_read = [&](page::SnapshotPageId) -> Status {
    ++looks;
    expect_links_agree();
    return {};
  };
  read_in_turn();
  EXPECT_GT(looks, kChildren);
}

TEST_F(PageCacheLinkTest, a_child_is_not_found_between_its_unlinking_and_its_stamp) {
  testing::AtSyncPoint hook("cache:unlinked", [&] { expect_links_agree(); }, true);
  read_in_turn();
  EXPECT_GT(hook.runs(), kChildren / 4);
}

// The page is complete and has its id, but is not in the index.
TEST_F(PageCacheLinkTest, a_child_is_not_found_before_it_is_put) {
  page::SnapshotPageId id;
  pages_.before_read = [&](page::SnapshotPageId read) -> Status {
    id = read;
    return {};
  };
  testing::AtSyncPoint hook(
      "cache:before_publish",
      [&] {
        for (std::uint32_t frame = 1; frame <= kSmallFrames; ++frame) {
          page::DualPagePointer pointer;
          pointer.store({page::VolatilePageId(), id});
          pointer.set_hint(frame);
          ASSERT_EQ(child(&pointer), nullptr) << frame;
        }
      },
      true);
  read_in_turn();
  EXPECT_GT(hook.runs(), kChildren);
}

// K4: a reader that followed a pointer may read the child until its pin ends.
TEST_F(PageCacheLinkTest, a_child_stays_for_as_long_as_its_reader_is_pinned) {
  ASSERT_TRUE(read_and_advance(page_of(1)));
  clock_.pin_cache(7);
  ASSERT_NE(child(&pointers_[1]), nullptr);
  const page::PageHeader* const page = child(&pointers_[1]);
  ASSERT_NE(page, nullptr);
  for (std::uint32_t i = 0; i < 20 * kSmallFrames; ++i) {
    read_twice(page_of(1000 + i));
    ASSERT_TRUE(is_page(page, page_of(1))) << i;
  }
  clock_.unpin_cache(7);
  runtime_.run_for(4 * kIntervalUs);
  for (std::uint32_t i = 0; i < 20 * kSmallFrames; ++i) read_twice(page_of(5000 + i));
  EXPECT_FALSE(is_page(page, page_of(1)));
}

// Goal: a reader may store a hint in a parent that is leaving. Method: the parent is leaving and
// its frame is needed, but the reader was pinned before. After the pin the frame gets another page,
// which is as it was read.
TEST_F(PageCacheLinkTest, a_parent_that_leaves_keeps_what_its_reader_writes_until_the_pin_ends) {
  ASSERT_TRUE(read_and_advance(page_of(500)));
  clock_.pin_cache(7);
  const page::PageHeader* const parent = cache_->find_cached(0, page_of(500));
  ASSERT_NE(parent, nullptr);
  auto* const pointer = reinterpret_cast<page::DualPagePointer*>(
      const_cast<char*>(reinterpret_cast<const char*>(parent)) + 1024);
  pointer->store({page::VolatilePageId(), page_of(1)});
  for (std::uint32_t i = 0; cache_->prefetch_page(0, page_of(500), {}); ++i) {
    ASSERT_LT(i, 100 * kSmallFrames);
    read_twice(page_of(1000 + i));
  }
  std::uint32_t named = 0;
  for (std::uint32_t i = 0; i < 20 * kSmallFrames; ++i) {
    read_twice(page_of(i % 8 == 0 ? 1 : 20'000 + i));
    const page::PageHeader* const page = child(pointer);
    if (page == nullptr) continue;
    ASSERT_TRUE(is_page(page, page_of(1)));
    ASSERT_EQ(pointer->load().snapshot_page, page_of(1));
    ASSERT_NE(pointer->hint(), 0u);
    ++named;
  }
  EXPECT_GT(named, 0u);
  clock_.unpin_cache(7);
  runtime_.run_for(4 * kIntervalUs);
  for (std::uint32_t i = 0; i < 20 * kSmallFrames; ++i) read_twice(page_of(50'000 + i));
  EXPECT_NE(parent->page_id, page_of(500).word());
  EXPECT_TRUE(is_page(parent, page::SnapshotPageId(parent->page_id)));
}

// ---- threads ---------------------------------------------------------------------------------

constexpr std::uint32_t kThreads = 4;
constexpr std::uint32_t kParents = 20;
constexpr std::uint32_t kSlots = 16;
constexpr std::uint32_t kFirstChild = 1'000;

page::SnapshotPageId child_of(std::uint32_t parent, std::uint32_t slot) {
  return page_of(kFirstChild + parent * kSlots + slot);
}
page::DualPagePointer* slot_of(const page::PageHeader* parent, std::uint32_t slot) {
  char* const bytes = const_cast<char*>(reinterpret_cast<const char*>(parent));
  return reinterpret_cast<page::DualPagePointer*>(bytes + 1024) + slot;
}

// Pages below kParents have pointers.
class FamilyPages final : public MadePages {
 public:
  Status read(page::SnapshotPageId id, page::PageHeader* to) override {
    Status status = MadePages::read(id, to);
    if (id.page() >= kParents) return status;
    for (std::uint32_t slot = 0; slot < kSlots; ++slot) {
      slot_of(to, slot)->store({page::VolatilePageId(), child_of(id.page(), slot)});
    }
    return status;
  }
};

struct Family {
  explicit Family(std::uint32_t socs)
      : topology(*numa::Topology::make(socs)),
        budget(socs * PageCache::kBytesMin),
        cache(*PageCache::make(&topology, &budget, socs * PageCache::kBytesMin, Facility::kTry,
                               Facility::kTry, &pages, &clock)) {
    pages.keeps_sent = false;
    runtime->start(&clock);
  }
  ~Family() { runtime->stop(&clock); }

  std::unique_ptr<base::Runtime> runtime = base::make_thread_runtime();
  numa::Topology topology;
  base::MemoryBudget budget;
  FamilyPages pages;
  epoch::EpochClock clock{runtime.get(), Epoch(1), kThreads, 200};
  std::unique_ptr<PageCache> cache;
  base::AtomicWord<std::uint64_t> followed;
};

// Follows pointers from a parent to some of its children. Returns false if there was no frame.
bool descend(Family* family, std::uint32_t soc, std::uint32_t parent, base::Random* random) {
  Status status;
  const page::PageHeader* const above = family->cache->find(soc, page_of(parent), &status);
  if (above == nullptr) return false;
  for (std::uint64_t left = 1 + random->below(4); left != 0; --left) {
    const auto slot = static_cast<std::uint32_t>(random->below(kSlots));
    const page::SnapshotPageId id = child_of(parent, slot);
    page::DualPagePointer* const pointer = slot_of(above, slot);
    EXPECT_EQ(pointer->load().snapshot_page, id);
    EXPECT_TRUE(pointer->load().volatile_page.is_null());
    const page::PageHeader* page = family->cache->find_cached_child(soc, pointer, {});
    const bool is_followed = page != nullptr;
    if (!is_followed) page = family->cache->find(soc, id, &status);
    if (page == nullptr) return false;
    EXPECT_TRUE(is_page(page, id));
    if (random->below(8) == 0) std::this_thread::yield();
    EXPECT_TRUE(is_page(page, id));
    if (is_followed) family->followed.fetch_add_relaxed(1);
  }
  EXPECT_EQ(above->page_id, page_of(parent).word());
  return true;
}

// Lets threads follow the same pointers, and store hints in them at the same time, while parents
// and children share a few frames.
void descend_together(std::uint32_t socs, std::uint64_t seed) {
#if defined(FOEDUS_TSAN)
  constexpr std::uint64_t kDescents = 3'000;
#else
  constexpr std::uint64_t kDescents = 30'000;
#endif
  Family family(socs);
  std::vector<std::thread> threads;
  for (std::uint32_t session = 0; session < kThreads; ++session) {
    threads.emplace_back([&, session] {
      base::Random random(seed + session);
      for (std::uint64_t i = 0; i < kDescents && !::testing::Test::HasFailure(); ++i) {
        const bool is_hot = random.below(4) != 0;
        const auto parent = static_cast<std::uint32_t>(random.below(is_hot ? 2 : kParents));
        family.clock.pin_cache(session);
        const bool has_frames = descend(&family, session % socs, parent, &random);
        family.clock.unpin_cache(session);
        if (!has_frames) family.runtime->pause(100);
        if (random.below(2'000) == 0) family.cache->forget(page::SnapshotNumber{1});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(family.followed.load_relaxed(), 100u);
  EXPECT_GT(family.cache->statistics().misses, 1'000u);
}

TEST(PageCacheLinkStressTest, every_child_is_the_one_that_its_pointer_leads_to) {
  descend_together(1, testing::test_seed(1));
}

TEST(PageCacheLinkStressTest, every_soc_has_its_own_children) {
  descend_together(2, testing::test_seed(2));
}

}  // namespace
}  // namespace foedus::snapshot::page_cache_link_test
