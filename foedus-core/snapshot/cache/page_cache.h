#pragma once
// PageCache: snapshot pages in DRAM (paper §7.6). A database has one, with a part for each SOC: a
// page that sessions of two SOCs use is cached twice. Pages never change, so nothing is written
// back, and a page that is in one part twice for a moment would be no error either.
//
//                                           +--------- put(), on trial (K15) -----+
//                                           |                                     v
//   never used, or free --take()--> being read --put()--> cached --sweep()--> leaving
//          ^                            |   ^                 ^                 | |
//          +---- error, duplicate ------+   |                 +---- asked for --+ |
//                                           +------- due (K4) --------------------+
//   borrowed, and free or due --give_back()--> a page of the pool (K13, K14)
//
//   word            written by                read by         meaning
//   entry           holder of its stripe's    all             page's tag, frame, leaving flag
//                   lock
//   link            holder of that lock;      all             page's id, uses (K30)
//                   hits count uses
//   mark            every hit, relaxed        the sweep       CacheMark; a hint
//   page in frame   its one reader, before    all             the bytes that PageReader gave
//                   the entry is put
//
//   K1  Publish: a frame is written by one thread, which took it, before its entry and its link are
//       stored with release order. Readers load both with acquire order. After that the frame is
//       not written until it is taken again, hints (P18, page/dual_page_pointer.h) and line pages
//       (K18) aside.
//   K2  Read: a thread that follows an entry or a link without the lock has a cache pin
//       (EpochClock::pin_cache()). It has the pin from before the look-up until its last look at
//       the page. The pin covers one search, not the transaction: what is needed for longer is
//       copied, or remembered as an id.
//   K3  Evict: a page is leaving when its entry has the leaving flag or is gone, and its frame's
//       link is zero. No look-up without the lock finds an entry with that flag. A fence follows,
//       then the frame is stamped with the current epoch and put last into the list of leaving
//       frames.
//   K4  Reuse: a leaving frame is due, and may be taken, when its stamp is not above
//       cache_reclaimable() of the clock. That is E3 and E20 of epoch/epoch_clock.h word for word,
//       with entry and link in place of the link there. A reader that found either before they were
//       changed is pinned in an epoch not above the stamp, and cache_reclaimable stays below the
//       stamp until that pin ends or is renewed. When it reaches the stamp, acquire order puts that
//       reader's last look before what is written to the frame. A reader whose pin came later finds
//       neither entry nor link. The frame's next page is published anew by K1.
//   K30 Swizzled pointers: the pointers to a cached page name its frame (P18). The frame's link
//       says which page look-ups find there; it is zero while they find none. So a page can be
//       evicted without a change of its pointers or its children. If a pointer still names the
//       frame afterwards, a search finds another id in the link, or zero, and asks the index. The
//       link is not in the frame, because a device may be writing the frame, or the pool, if the
//       frame was borrowed.
//   K5  Return: until its frame is taken, a leaving page is complete. A thread that asks for it
//       clears the flag and removes the frame from the list, under the lock. If the page leaves
//       again, its frame gets a new stamp, which is not below the first: it covers readers from
//       before the return, too.
//   K6  Only the holder of a stripe's lock changes its entries, frames and list. Hits never take
//       the lock, and no thread reads a page from a device while holding it. So two threads may
//       read the same page at once: the second to come back finds the entry of the first, and gives
//       its own frame back.
//   K16 A part is divided into stripes, by the pages' ids: one for every 2,048 own frames, rounded
//       down to a power of two, at least 1 and at most 32. All that a miss, an eviction or a page
//       in flight changes belongs to one stripe: a range of the index, the hands over it, its
//       frames, free and leaving, its counts. So misses of different stripes write no common word,
//       unless they get memory or ask the clock for an early epoch. Lock order: one stripe's lock
//       at a time; with it, that of the part's memory (CacheMemory::commit_more()) or those of the
//       pool.
//
//   K7  A stripe keeps a quarter of its frames leaving or fresh, so that one is due when a page is
//       missed. Where all pages are hot, returns could use up this reserve. So while less than half
//       of it is left, each return makes other pages leave, and these cannot return.
//   K15 Once all frames of a stripe are in use, a new page is on trial (probationary): it is
//       leaving at once. It is stamped as K3 says: a thread that read it for itself has been pinned
//       since before, and a page that was read ahead has no reader yet. It stays by K5 if it is
//       asked for again before its frame is taken. A page that was read ahead stays if it is then
//       used twice; the first use gives it a new stamp. A page that has a ghost, because it was
//       cached not long ago, is not put on trial again. So pages that are wanted once, scans above
//       all, replace one another, and the hand moves only for pages that have been wanted again.
//   K8  Where no frame is due, the cache does not wait: it returns kOutOfMemory, and due() tells
//       which epoch to wait for. Its callers wait for that without a pin (occ/cold_pages.h). Pins
//       last for microseconds. So after one more epoch a quarter of the frames is due, however many
//       pages a transaction reads.
//   K14 The cache gives borrowed frames (K13) back as fast as volatile pages take them. Some of a
//       stripe's borrowed frames are leaving at any time, and mostly due, because of K7. Each call
//       of give_back() takes frames that are fresh or due, from one stripe after the other, and
//       makes other pages leave: a quarter of a stripe's borrowed frames is kept fresh or leaving.
//       Pages that leave for this cannot return, however hot they are, so that an epoch later their
//       frames are due. Calls begin with different stripes, so that all stripes give frames.

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/invariant.h"
#include "foedus-core/base/memory_budget.h"
#include "foedus-core/epoch/epoch_clock.h"
#include "foedus-core/numa/topology.h"
#include "foedus-core/page/dual_page_pointer.h"
#include "foedus-core/page/page_header.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/page/page_pool.h"
#include "foedus-core/snapshot/cache/frames.h"
#include "foedus-core/snapshot/cache/index.h"
#include "foedus-core/snapshot/cache/memory.h"
#include "foedus-core/snapshot/cache/page_io.h"
#include "foedus-core/snapshot/cache/pages_in_flight.h"
#include "foedus/status.h"

namespace foedus::snapshot {

struct PageCacheStatistics {
  std::uint64_t hits = 0;        // estimated: one of kHitsPerSample is counted
  std::uint64_t misses = 0;      // pages that took a frame to be read, or found none
  std::uint64_t returns = 0;     // pages that were leaving and were asked for
  std::uint64_t duplicates = 0;  // pages that two threads read at once
  std::uint64_t evictions = 0;   // pages that left; those that returned, too
  std::uint64_t pages = 0;       // cached now
  std::uint64_t bytes = 0;       // taken from the budget now, and borrowed

  void add(const PageCacheStatistics& other);
};

class PageCache final : public page::PageBorrower {
 public:
  // The least that make() takes for each SOC: 64 frames.
  static constexpr std::uint64_t kBytesMin = CacheMemory::kBytesMin;
  static constexpr std::uint32_t kHitsPerSample = 256;

  // Uses at most `bytes_max` of `budget`, each SOC its share: index (1 %) and 64 frames of each
  // stripe at once, the rest as pages come. All pointers must outlive the cache. With a `lender`
  // the cache is its borrower and borrows more of that (K13). No other thread uses the lender while
  // make() or the destructor runs. kInvalidArgument: a SOC's share is less than kBytesMin, or 2^40
  // bytes or more. kOutOfMemory. kNotSupported: a required facility does not work.
  static Result<std::unique_ptr<PageCache>> make(const numa::Topology* topology,
                                                 base::MemoryBudget* budget,
                                                 std::uint64_t bytes_max, Facility huge_pages,
                                                 Facility numa_binding, PageReader* reader,
                                                 epoch::EpochClock* clock,
                                                 page::PagePool* lender = nullptr);
  ~PageCache() {
    if (lender_ != nullptr) lender_->set_borrower(nullptr);
  }
  PageCache(const PageCache&) = delete;
  PageCache& operator=(const PageCache&) = delete;

  // Returns the page, read if it is not cached. It may be looked at until the caller's cache pin
  // ends or is renewed. Null: *status says why, and nothing was cached. kIoError, kCorruption: the
  // reader's error, or it gave another page. kOutOfMemory: no frame is due; see due(). REQUIRES:
  // the caller has a cache pin.
  const page::PageHeader* find(std::uint32_t soc, page::SnapshotPageId id, Status* status,
                               page::PagePart wanted = {}) {
    Part* const part = part_of(soc);
    const CacheFrame frame = part->index.find(id, wanted);
    if (frame == 0) [[unlikely]]
      return read(part, id, CacheMark::kUsedOnce, status);
    count_hit(part);
    return part->index.page_at(frame);
  }

  // Returns the page if it is cached; else null. REQUIRES: as find().
  const page::PageHeader* find_cached(std::uint32_t soc, page::SnapshotPageId id,
                                      page::PagePart wanted = {}) {
    Part* const part = part_of(soc);
    const CacheFrame frame = part->index.find(id, wanted);
    if (frame == 0) [[unlikely]]
      return nullptr;
    count_hit(part);
    return part->index.page_at(frame);
  }
  // Returns the page that `pointer` leads to, if it is cached; else null. The pointer lies in a
  // page of that SOC's part that the caller may look at. If its hint is wrong, the index is asked,
  // and the hint is corrected (P18). REQUIRES: as find().
  const page::PageHeader* find_cached_child(std::uint32_t soc, page::DualPagePointer* pointer,
                                            page::PagePart wanted) {
    Part* const part = part_of(soc);
    const CacheFrame hinted = pointer->hint();
    const page::SnapshotPageId id = pointer->load().snapshot_page;
    CacheFrame frame = part->index.find_linked(id, hinted, wanted);
    if (frame == 0) [[unlikely]] {
      frame = part->index.find(id, wanted);
      if (frame == 0) return nullptr;
      if (frame != hinted) pointer->set_hint(frame);
    }
    count_hit(part);
    return part->index.page_at(frame);
  }

  // Gives borrowed frames back (K14), at most PagePool::kBatchPages.
  std::uint32_t give_back(std::uint32_t soc, std::uint32_t count) override;

  // Returns the epoch that EpochClock::cache_reclaimable() must reach before find() has a frame for
  // this page again.
  Epoch due(std::uint32_t soc, page::SnapshotPageId id) const;

  // Hints for a later find(); they need no pin. prefetch() prefetches the line of the bucket. When
  // that has arrived, prefetch_page() prefetches the wanted part of the page; false: the page is
  // not cached.
  void prefetch(std::uint32_t soc, page::SnapshotPageId id) const { index(soc).prefetch(id); }
  bool prefetch_page(std::uint32_t soc, page::SnapshotPageId id, page::PagePart wanted) const {
    return index(soc).prefetch_page(id, wanted);
  }

  // ---- for PagesInFlight ---------------------------------------------------------------------
  // The calls below need no pin, and wait for nothing but the locks of stripes.

  // A page that was read ahead, good or not, to the frame that find_or_take() gave.
  struct Read {
    page::SnapshotPageId id;
    CacheFrame frame;
    bool is_good;
  };
  // Returns true if the page is cached. Otherwise takes a frame for it, which is the caller's until
  // put_ahead(); 0: no frame is due, or K11 allows no more.
  bool find_or_take(std::uint32_t soc, page::SnapshotPageId id, CacheFrame* frame);
  page::PageHeader* page_at(std::uint32_t soc, CacheFrame frame) const {
    return index(soc).page_at(frame);
  }
  // Takes back the frames of all these reads, and caches the good pages.
  void put_ahead(std::uint32_t soc, const Read* reads, std::uint32_t count);
  // Returns null if pages are not read ahead by the reader.
  std::unique_ptr<PagesInFlight> make_pages_in_flight(std::uint32_t soc);

  // Stops serving pages of this snapshot; their frames are used again as others are. REQUIRES: no
  // thread looks for one of them any more (no pointer leads to them, and transactions that could
  // have seen one are over).
  void forget(page::SnapshotNumber snapshot);

  // Returns the reader that pages come from.
  PageReader* reader() const { return reader_; }
  std::uint32_t socs() const { return static_cast<std::uint32_t>(parts_.size()); }
  // Returns how many frames a part may have, with as many borrowed ones as PagePool::lend() gives.
  std::uint64_t frames_reachable(std::uint32_t soc) const {
    return parts_[soc]->memory->own_max() + parts_[soc]->memory->borrowed_max() / 8 * 7;
  }
  // Returns true if the last page that was read took the frame of another one, for lack of memory.
  bool is_full(std::uint32_t soc) const {
    return parts_[soc]->is_full.load_relaxed() != 0;  // order: relaxed, a hint
  }
  // Returns how many frames a part may have without borrowing.
  std::uint64_t frames_max(std::uint32_t soc) const { return parts_[soc]->memory->own_max(); }
  PageCacheStatistics statistics(std::uint32_t soc) const;
  PageCacheStatistics statistics() const;  // of all SOCs

 private:
  struct Part;
  // A stripe (K16), on cache lines of its own.
  struct alignas(64) Stripe {
    Stripe(Part* its_part, std::uint32_t its_number);

    Part* const part;            // constant
    const std::uint32_t number;  // constant; how the index names it
    mutable std::mutex lock;
    // Guarded by lock.
    CacheFrames frames;
    PageCacheStatistics counts;          // misses to evictions only
    std::uint64_t frames_in_flight = 0;  // of find_or_take()
  };
  struct Part {
    explicit Part(std::unique_ptr<CacheMemory> part_memory);

    CacheIndex index;                           // own synchronization, see there
    const std::unique_ptr<CacheMemory> memory;  // own synchronization, see there
    std::vector<std::unique_ptr<Stripe>> stripes;  // constant after construction
    alignas(64) base::AtomicWord<std::uint64_t> hits;
    alignas(64) base::AtomicWord<std::uint32_t> next_giver;  // where give_back() begins
    alignas(64) base::AtomicWord<std::uint32_t> is_full;     // the answer of is_full()
  };
  // A frame, and whether the next taker would have to wait.
  struct Taken {
    CacheFrame frame;
    bool is_last;
  };

  PageCache(PageReader* reader, epoch::EpochClock* clock, page::PagePool* lender)
      : reader_(reader), clock_(clock), lender_(lender) {}

  Part* part_of(std::uint32_t soc) const {
    FOEDUS_INVARIANT(soc < parts_.size(), soc, parts_.size());
    return parts_[soc].get();
  }
  const CacheIndex& index(std::uint32_t soc) const {
    FOEDUS_INVARIANT(soc < parts_.size(), soc, parts_.size());
    return parts_[soc]->index;
  }
  static Stripe* stripe_of(const Part& part, page::SnapshotPageId id) {
    return part.stripes[part.index.stripe_of(id)].get();
  }
  static void count_hit(Part* part) {
    if (++hit_ticks % kHitsPerSample == 0) [[unlikely]] {
      part->hits.fetch_add_relaxed(kHitsPerSample);  // order: relaxed, statistics
    }
  }
  const page::PageHeader* read(Part* part, page::SnapshotPageId id, CacheMark mark, Status* status);
  const page::PageHeader* find_locked(Stripe* stripe, page::SnapshotPageId id, CacheMark mark);
  const page::PageHeader* publish_locked(Stripe* stripe, page::SnapshotPageId id, CacheFrame frame,
                                         CacheMark mark);
  void put_ahead_locked(Stripe* stripe, const Read& read);
  Taken take_locked(Stripe* stripe);
  std::uint32_t take_borrowed_locked(Stripe* stripe, CacheFrame* frames, std::uint32_t count_max);
  bool may_fly_locked(Stripe* stripe);
  void evict_locked(Stripe* stripe, CacheSweep which);
  void free_borrowed_locked(Stripe* stripe, unsigned* sweeps_left);
  void leave_locked(Stripe* stripe, const CacheFrame* frames, std::uint32_t count);
  void stamp_locked(Stripe* stripe, const CacheFrame* frames, std::uint32_t count);
  void forget_some(Stripe* stripe, page::SnapshotNumber snapshot, CacheIndex::BucketRange buckets);
  Status read_into(CacheFrame frame, const Part& part, page::SnapshotPageId id);

  // A counter of the thread, for all caches: an estimate needs no more.
  static inline constinit thread_local std::uint32_t hit_ticks = 0;

  // Constant after construction.
  PageReader* const reader_;
  epoch::EpochClock* const clock_;
  page::PagePool* const lender_;  // null: nothing is borrowed
  std::vector<std::unique_ptr<Part>> parts_;
};

}  // namespace foedus::snapshot
