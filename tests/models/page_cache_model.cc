// The page cache's words: snapshot/cache/index.{h,cc} and epoch/epoch_clock.{h,cc} themselves.
// The index has one stripe. Its lock and the only frame are the model's; the lines of page_cache.cc
// are quoted. A plain variable stands for the contents of the frame.
#include <vector>

#include "tests/models/harness/threads.h"

#include "foedus-core/epoch/epoch_clock.cc"
#include "foedus-core/snapshot/cache/index.cc"
#include "tests/models/harness/runtime.h"

namespace {

using namespace foedus;
using page::SnapshotPageId;
using snapshot::CacheIndex;
using snapshot::CacheMark;

constexpr snapshot::CacheFrame kFrame = 1;
constexpr std::uint64_t kBuckets = 2;
const SnapshotPageId kOld(page::SnapshotNumber{1}, 0, 1);
const SnapshotPageId kNew(page::SnapshotNumber{1}, 0, 2);

// The ways to search a page.
enum class By : bool { kId, kLink };

template <typename Scenario, rl::thread_id_t kThreads>
struct Cache : model::Suite<Scenario, kThreads> {
  alignas(128) static inline char memory[kBuckets * 64];
  alignas(64) static inline char link[8];
  alignas(64) static inline char frames[2 * page::kPageBytes];  // the first is no frame

  model::Runtime<> runtime;
  epoch::EpochClock clock{&runtime, Epoch(10), kThreads, 0};
  CacheIndex index{memory, 1,
                   {frames + page::kPageBytes, 1, frames + page::kPageBytes, 1,
                    reinterpret_cast<CacheIndex::Link*>(link)}};
  model::Mutex lock;
  model::Plain<std::uint64_t> contents;

  void before() {
    std::memset(memory, 0, sizeof(memory));
    for (char* bucket = memory; bucket < memory + sizeof(memory); bucket += 64) {
      model::adopt(bucket, CacheIndex::kBucketEntries * 8);
      for (int i = 0; i < 8; ++i) model::Words::all().create(bucket + 56 + i, 0);
    }
    std::memset(link, 0, sizeof(link));
    model::adopt(link, sizeof(link));
  }
  // Fills the frame as PageReader does.
  void fill(SnapshotPageId id) {
    index.page_at(kFrame)->page_id = id.word();
    contents.set(id.word());
  }
  void put(SnapshotPageId id, CacheMark mark = CacheMark::kReadAhead) {
    const std::lock_guard guard(lock);
    index.put(id, kFrame, mark);
  }
  // Searches without the lock, by a pointer whose hint names the frame or by the id alone.
  // REQUIRES: a cache pin.
  bool is_found(SnapshotPageId id, By by) {
    return by == By::kLink ? index.find_linked(id, kFrame, {}) != 0 : index.find(id) != 0;
  }
  void hit(SnapshotPageId id, By by) {
    if (!is_found(id, by)) return;
    model::require(contents.get() == id.word(), "the page that was found is there");
  }
  // Evicts as PageCache::evict_locked() does, finally or to the leaving list, without a switch
  // inside the sweep: a reader notices only its store to this page's entry. Returns the stamp.
  Epoch evict(snapshot::CacheSweep which) {
    const std::lock_guard guard(lock);
    {
      const model::Indivisible indivisible;
      snapshot::CacheFrame left[CacheIndex::kBucketEntries];
      index.sweep(0, left, CacheIndex::kBucketEntries, which);
    }
    // from foedus-core/snapshot/cache/page_cache.cc:
    //     base::fence_seq_cst();
    //     const std::uint64_t stamp = clock_->current().number();
    base::fence_seq_cst();
    return clock.current();
  }
  // Takes the frame as PageCache::take_locked() does.
  bool take(Epoch stamp) {
    const std::lock_guard guard(lock);
    const Epoch reclaimable = clock.cache_reclaimable();
    if (reclaimable < stamp) return false;
    const model::Indivisible indivisible;
    index.remove_leaving(kFrame);
    return true;
  }
};

// A reader follows an entry while the page leaves and its frame gets another page.
template <rl::thread_id_t kThreads, bool kForNow, By kBy = By::kId>
struct Reuse : Cache<Reuse<kThreads, kForNow, kBy>, kThreads> {
  void before() {
    Cache<Reuse, kThreads>::before();
    this->fill(kOld);
    this->put(kOld);
  }
  void thread(unsigned number) {
    if (number == 0) {
      this->clock.pin_cache(0);
      this->hit(kOld, kBy);
      this->hit(kNew, kBy);
      this->clock.unpin_cache(0);
    } else if (number == kThreads - 1) {
      using enum snapshot::CacheSweep;
      const Epoch stamp = this->evict(kForNow ? kColdForNow : kCold);
      if (kThreads == 2) tick();
      if (!this->take(stamp)) return;
      this->fill(kNew);
      this->put(kNew);
    } else {
      tick();
    }
  }
  void tick() {
    static_cast<void>(this->clock.step());
    static_cast<void>(this->clock.step());
  }
};

// A reader searches once, without switches within the clock's steps, the put, and the search, of
// whose loads only that of one entry matters. So all interleavings can be searched. The clock
// advances in the thread in which that gives more interleavings.
template <bool kLooksForNew, By kBy = By::kId>
struct OneLook : Cache<OneLook<kLooksForNew, kBy>, 2> {
  void before() {
    Cache<OneLook, 2>::before();
    this->fill(kOld);
    this->put(kOld);
  }
  void thread(unsigned number) {
    if (number == 0) {
      if (!kLooksForNew) tick();
      this->clock.pin_cache(0);
      look(kLooksForNew ? kNew : kOld);
      this->clock.unpin_cache(0);
      return;
    }
    const Epoch stamp = this->evict(snapshot::CacheSweep::kCold);
    if (kLooksForNew) tick();
    if (!this->take(stamp)) return;
    this->fill(kNew);
    const model::Indivisible indivisible;
    this->put(kNew);
  }
  void look(SnapshotPageId id) {
    bool is_there = false;
    {
      const model::Indivisible indivisible;
      is_there = this->is_found(id, kBy);
    }
    if (!is_there) return;
    model::require(this->contents.get() == id.word(), "the page that was found is there");
  }
  void tick() {
    for (int i = 0; i < 2; ++i) {
      const model::Indivisible indivisible;
      static_cast<void>(this->clock.step());
    }
  }
};

// A leaving page returns, and is found again without the lock.
template <By kBy>
struct Return : Cache<Return<kBy>, 3> {
  void thread(unsigned number) {
    if (number == 0) {
      this->clock.pin_cache(0);
      this->hit(kOld, kBy);
      this->clock.unpin_cache(0);
    } else if (number == 1) {
      this->fill(kOld);
      this->put(kOld);
      static_cast<void>(this->evict(snapshot::CacheSweep::kColdForNow));
    } else {
      const std::lock_guard guard(this->lock);
      const model::Indivisible indivisible;
      static_cast<void>(this->index.restore(kOld, CacheMark::kUsedAgain));
    }
  }
};

// The hand reaches a used page and clears its mark: the page stays, and is found by a thread that
// sees only the link that the hand stored.
struct Stay : Cache<Stay, 3> {
  void thread(unsigned number) {
    if (number == 0) {
      fill(kOld);
      put(kOld, CacheMark::kUsedAgain);
      static_cast<void>(evict(snapshot::CacheSweep::kCold));
      return;
    }
    clock.pin_cache(number);
    hit(kOld, By::kLink);
    clock.unpin_cache(number);
  }
};

// A borrowed frame is given back to the pool, whose session writes the page without the stripe's
// lock (K13). The pool is the word by which a batch of free pages is handed over.
template <By kBy>
struct GiveBack : Cache<GiveBack<kBy>, 3> {
  base::AtomicWord<std::uint64_t> free_head;

  void before() {
    Cache<GiveBack, 3>::before();
    this->fill(kOld);
    this->put(kOld);
  }
  void thread(unsigned number) {
    if (number == 0) {
      this->clock.pin_cache(0);
      this->hit(kOld, kBy);
      this->clock.unpin_cache(0);
      // The step is here, so that no fence of the clock replaces the release below.
      static_cast<void>(this->clock.step());
      static_cast<void>(this->clock.step());
    } else if (number == 1) {
      const Epoch stamp = this->evict(snapshot::CacheSweep::kCold);
      if (!this->take(stamp)) return;
      std::uint64_t head = 0;
      // from foedus-core/page/page_pool.cc:
      //     } while (!soc->free_head.compare_exchange_acq_rel(head, next_head(head, number)));
      static_cast<void>(free_head.compare_exchange_acq_rel(head, kFrame));
    } else {
      // from foedus-core/page/page_pool.cc:
      //     std::uint64_t head = soc->free_head.load_acquire();
      if (free_head.load_acquire() != kFrame) return;
      this->index.page_at(kFrame)->page_id = 0;
      this->contents.set(0);
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  model::Protocol protocol{
      "page cache",
      {model::scenario<OneLook<false>, model::kExhaustive>("a look for the page that leaves"),
       model::scenario<OneLook<true>, model::kExhaustive>("a look for the page that comes"),
       model::scenario<OneLook<false, By::kLink>, model::kExhaustive>(
           "a link of the page that leaves"),
       model::scenario<OneLook<true, By::kLink>, model::kExhaustive>(
           "a link of the page that comes"),
       model::scenario<Return<By::kId>, 2>("return"),
       model::scenario<Return<By::kLink>, 2>("return by a link"),
       model::scenario<Stay, 2>("a linked page that stays"),
       model::scenario<Reuse<2, false>, 2>("reuse"),
       model::scenario<Reuse<2, false, By::kLink>, 2>("reuse of a linked frame"),
       model::scenario<Reuse<2, true>, 2>("reuse of a leaving page"),
       model::scenario<Reuse<3, false>, 1>("reuse, clock apart"),
       model::scenario<GiveBack<By::kId>, 2>("give back"),
       model::scenario<GiveBack<By::kLink>, 2>("give back of a linked frame")},
      {{"index.h find_linked compare_exchange_acq_rel", rl::mo_relaxed,
        "it counts a use, from which nothing follows about other memory"}},
      {"epoch_clock.h", "epoch_clock.cc"}};
  return protocol.check(argc, argv);
}
