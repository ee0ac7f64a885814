#pragma once
// SessionPages: one session's small stock of free pages, and its pages that wait until no
// transaction can hold their address.
//
//   free in stock --allocate()--> the session's --(linked)--> everybody's --(unlinked)-->
//        ^                             |                                                |
//        |<---------release()----------+                                                |
//        |<---------reclaim()------------ retired, with a stamp <----------retire()-----+
//
//   P14  A retired page is used again only when EpochClock::reclaimable() has reached its stamp.
//        The stamp is the current epoch, read after a fence that follows the unlinking (argument:
//        E3 of epoch/epoch_clock.h).
//   P15  One reclaim() frees at most the sum of 64 retired pages, a sixteenth of those that wait,
//        and a third part. This is twice what the session retired between two calls, the last time
//        that it retired any, but at most 4,096. Up to 64 orphans come on top. So no transaction
//        pays for all pages that piled up during a long one. If each transaction retires fewer
//        pages than that allows, only pages wait whose epochs are not over.
//   P16  Pages of other SOCs never enter the stock by release() or reclaim(): they are collected
//        and given back to the pool, where they return to their SOC (P13).

#include <cstdint>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/epoch/epoch_clock.h"
#include "foedus-core/page/page_header.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/page/page_pool.h"
#include "foedus-core/page/retired_pages.h"

namespace foedus::page {

// One thread at a time.
class SessionPages {
 public:
  static constexpr std::uint32_t kStockPages = 2 * PagePool::kBatchPages;

  // `pool` and `clock` must outlive it.
  SessionPages(PagePool* pool, epoch::EpochClock* clock, std::uint32_t soc)
      : pool_(pool), clock_(clock), soc_(soc) {}
  // Gives pages in stock back to the pool, and leaves retired ones there as orphans.
  ~SessionPages();
  SessionPages(const SessionPages&) = delete;
  SessionPages& operator=(const SessionPages&) = delete;

  // Returns a page that no other thread can reach, contents undefined. Null: out of memory.
  PageHeader* allocate() {
    if (stock_count_ == 0) [[unlikely]] return allocate_from_pool();
    PageHeader* const page = pool_->resolve(stock_[--stock_count_]);
    if (stock_count_ != 0) [[likely]] prefetch(pool_->resolve(stock_[stock_count_ - 1]));
    return page;
  }

  // Takes back a page that was never reachable by others.
  void release(PageHeader* page) { put(pool_->id_of(page)); }

  // Takes back a page that was unlinked just now and that others may still read (P14).
  void retire(PageHeader* page) {
    // order: the retiring half of E3: the unlinking comes before the fence, the stamp after it.
    base::fence_seq_cst();
    push_retired(pool_->id_of(page), clock_->current().number());
  }

  // Makes retired pages free that are due (P15). Called when a transaction begins.
  void reclaim() {
    if (retired_now_ != 0) [[unlikely]] {
      retired_last_ = retired_now_;
      retired_now_ = 0;
    }
    const std::uint64_t reclaimable = clock_->reclaimable().number();
    if (reclaimable >= oldest_stamp_ || reclaimable >= pool_->orphan_stamp(soc_)) [[unlikely]] {
      reclaim_due(reclaimable);
    }
  }

  // Takes pages from the pool until the stock is full or the pool empty. This reserve is the first
  // to be filled again by reclaimed pages.
  void fill_stock();

  std::uint64_t retired_count() const { return retired_.count(); }
  // Returns the pages that it took from the pool: of its SOC, and of others. Any thread.
  // order: relaxed, statistics.
  std::uint64_t taken_local() const { return taken_local_.load_relaxed(); }
  std::uint64_t taken_remote() const { return taken_remote_.load_relaxed(); }

 private:
  // Starts to load the lines of the next page that are written first: its header, and its end.
  static void prefetch(PageHeader* page) {
    const char* const bytes = reinterpret_cast<const char*>(page);
    base::prefetch_line_to_write(bytes);
    base::prefetch_line_to_write(bytes + 64);
    base::prefetch_line_to_write(bytes + kPageBytes - 64);
  }
  void put(VolatilePageId id) {
    if (id.soc() != soc_) [[unlikely]] return collect_remote(id);
    if (stock_count_ == kStockPages) [[unlikely]] spill();
    stock_[stock_count_++] = id;
  }
  PageHeader* allocate_from_pool();
  void take_from_pool(std::uint32_t count_max);
  void collect_remote(VolatilePageId id);
  void spill();
  void push_retired(VolatilePageId id, std::uint64_t stamp);
  void reclaim_due(std::uint64_t reclaimable);
  void reclaim_retired(std::uint64_t reclaimable, std::uint64_t count_max);
  void reclaim_orphans(std::uint32_t soc, std::uint64_t reclaimable);

  // Constant after construction.
  PagePool* const pool_;
  epoch::EpochClock* const clock_;
  const std::uint32_t soc_;

  // Written by the session, once for a batch.
  base::AtomicWord<std::uint64_t> taken_local_;
  base::AtomicWord<std::uint64_t> taken_remote_;

  // Used by the session only.
  std::uint32_t stock_count_ = 0;
  std::uint32_t remote_count_ = 0;
  std::uint64_t oldest_stamp_ = RetiredPages::kNever;  // the first of retired_
  std::uint64_t retired_now_ = 0;   // since the last reclaim()
  std::uint64_t retired_last_ = 0;  // retired_now_ of the last reclaim() that found any
  RetiredPages retired_;
  VolatilePageId stock_[kStockPages];
  VolatilePageId remote_[PagePool::kBatchPages];  // P16
};

}  // namespace foedus::page
