#pragma once
// PagePool: memory of all volatile pages of a database (paper §4). All SOCs' pools lie in one
// contiguous reservation, so that an id becomes an address by one shift and one addition.
//
//     | SOC 0: 2^k pages            | SOC 1: 2^k pages            | …
//     | extent | extent | reserved  |
//     | L p p p … p (512 pages)     L: the link words of the extent's pages
//
//   never handed out --bump--> in a session --give()--> in a free batch --take()--> in a session
//
//   P9   A page number is handed out to one session at a time. Page 0 of each extent holds link
//        words and is never handed out, so number 0 never is.
//   P10  Memory is committed by extents of 2 MiB (less when the budget runs out), under one lock
//        per SOC, and charged to the budget before. It is given back when the pool is destroyed.
//        Nothing is unmapped before that. The pool's bound falls only by memory that it has not
//        committed (try_give_up()), and rises again only by as much (take_back()).
//   P11  Free pages are stacked in batches. The ids of a batch stand in its first page. The owner
//        writes them before the push, and the winner of the pop reads them after it. The link to
//        the next batch stands in the link word of that page, not in the page. A thread that loses
//        the pop may read the link when the page already has another owner, so link words are never
//        anything else.
//   P12  The head of a stack is {tag, number}; each push and pop counts the tag up. A pop is wrong
//        only if, between a thread's load of the head and its exchange, a multiple of 2^28 pushes
//        and pops is done and the same page is on top again. Each moves a batch of some 64 pages,
//        so that takes minutes in which all sessions only exchange pages.
//   P13  A page returns to the SOC in whose memory it lies, whichever session gives it.
//   P19  Pages that volatile pages do not use are lent to the page cache. A lent page has one owner
//        (P9), the borrower, which gives it back when none of its readers can look at it any more.
//        It stays within what the pool has taken of its budgets. So lending moves no bound, and
//        pages_in_use() does not count it. lend() leaves an eighth of the bound free to volatile
//        pages, and commits none of the bound's last quarter, which sessions may ask for (E29).
//        take() calls lent pages in before it commits more, and before it fails. It does so ahead
//        of need once less than a sixteenth of the bound is left. It holds no lock of the pool when
//        it calls them in, and never waits for an epoch. Frames at which readers may still look
//        come back only when their epochs are over; until then sessions take from that last
//        sixteenth.

#include <cstdint>
#include <memory>
#include <mutex>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/memory_budget.h"
#include "foedus-core/base/system/task.h"
#include "foedus-core/numa/soc_memory.h"
#include "foedus-core/numa/topology.h"
#include "foedus-core/page/page_header.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/page/retired_pages.h"
#include "foedus/status.h"

namespace foedus::page {

// Returns kOutOfMemory: the pool has no page for a storage.
Status no_free_page();

// PageBorrower: the owner of pages on loan from the pool (P19), which is the page cache.
class PageBorrower {
 public:
  // Gives up to `count` pages of `soc` back by PagePool::take_back_lent(): those that no reader can
  // look at. Also evicts others, which later calls can give back. Returns how many came back. Any
  // thread. Waits for nothing but locks of the borrower. These may be the ones under which it calls
  // lend(), so the pool must not call from within lend().
  virtual std::uint32_t give_back(std::uint32_t soc, std::uint32_t count) = 0;

 protected:
  ~PageBorrower() = default;
};

class PagePool {
 public:
  static constexpr std::uint32_t kBatchPages = 64;
  static constexpr std::uint64_t kExtentBytes = numa::SocMemory::kHugePageBytes;
  static constexpr std::uint64_t kExtentPages = kExtentBytes / kPageBytes;

  // Bits that hold a page number of any SOC.
  static constexpr unsigned kNumberBits = 36;
  static constexpr std::uint64_t kBytesMax =
      (std::uint64_t{1} << kNumberBits) / kMaxSocs * kPageBytes;

  // Uses at most `bytes_max` of `budget`. `budget` must outlive the pool. Fails with kOutOfMemory
  // if the address range cannot be reserved, kNotSupported if a required facility does not work.
  // REQUIRES: bytes_max <= kBytesMax.
  static Result<std::unique_ptr<PagePool>> make(const numa::Topology* topology,
                                                base::MemoryBudget* budget,
                                                std::uint64_t bytes_max, Facility huge_pages,
                                                Facility numa_binding);
  ~PagePool();
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  // Returns the page of an id. REQUIRES: this pool handed out the id.
  PageHeader* resolve(VolatilePageId id) const {
    return reinterpret_cast<PageHeader*>(base_ + (id.number() << kPageShift));
  }
  // Returns the id of a page, from its address alone.
  VolatilePageId id_of(const PageHeader* page) const {
    const std::uint64_t number =
        static_cast<std::uint64_t>(reinterpret_cast<const char*>(page) - base_) >> kPageShift;
    return VolatilePageId(static_cast<std::uint32_t>(number >> slice_shift_), number);
  }
  // Returns the SOC in whose memory `address` lies; socs() or more if the pool does not have it.
  std::uint64_t soc_of(const void* address) const {
    const auto offset = static_cast<std::uint64_t>(static_cast<const char*>(address) - base_);
    return offset >> (kPageShift + slice_shift_);
  }

  // ---- for SessionPages ----------------------------------------------------------------------

  // Hands out up to `count` pages, of `soc` while it has or gets any, else of others. Returns how
  // many ids it wrote; 0 only if there is no free page and no budget left. REQUIRES: count > 0.
  std::uint32_t take(std::uint32_t soc, VolatilePageId* ids, std::uint32_t count);
  // Gives pages back to the pool (P13). Reorders `ids`.
  void give(VolatilePageId* ids, std::uint32_t count);

  // Takes the retired pages of a session that ends, for any other session to reclaim. `pages` is
  // empty afterwards.
  void leave_orphans(std::uint32_t soc, RetiredPages* pages);
  // Returns the stamp of the orphan that is due next on `soc`; RetiredPages::kNever if there is
  // none.
  std::uint64_t orphan_stamp(std::uint32_t soc) const {
    // order: relaxed, a hint; take_orphans() looks again under the lock.
    return socs_[soc].orphan_stamp.load_relaxed();
  }
  // Removes up to `count` orphans with stamps up to `reclaimable`. Returns how many ids it wrote.
  // REQUIRES: count > 1.
  std::uint32_t take_orphans(std::uint32_t soc, std::uint64_t reclaimable, VolatilePageId* ids,
                             std::uint32_t count);

  // ---- for PageBorrower, P19 -----------------------------------------------------------------

  // Sets the borrower; null if there is none any more. REQUIRES: no other thread uses the pool.
  void set_borrower(PageBorrower* borrower) { borrower_ = borrower; }
  // Lets lend() give pages from now on. Any thread.
  void allow_lending() { lends_.store_relaxed(1); }  // order: relaxed, a switch
  // Lends up to `count` pages among the first `offset_end` of the slice of `soc`. Returns how many;
  // 0: there is none, or volatile pages may need it soon. Any thread. Concurrent calls do not see
  // one another. Together they may leave fewer pages free than P19 says, by `count` for each call.
  // REQUIRES: 0 < count <= kBatchPages.
  std::uint32_t lend(std::uint32_t soc, std::uint64_t offset_end, VolatilePageId* ids,
                     std::uint32_t count);
  // Takes back lent pages of one SOC. Reorders `ids`.
  void take_back_lent(VolatilePageId* ids, std::uint32_t count);
  // Asks the borrower for `count` lent pages: of `soc`, or of the first other SOC that gives any.
  // Returns how many are back in the pool. REQUIRES: the caller holds no lock of the borrower.
  std::uint32_t call_in(std::uint32_t soc, std::uint32_t count);
  std::uint64_t pages_lent() const;
  // Returns the number of the first page of a SOC's slice.
  std::uint64_t slice_begin(std::uint32_t soc) const { return std::uint64_t{soc} << slice_shift_; }

  // ---- for PoolWarmer ------------------------------------------------------------------------

  // Sets the task to notify when pages that were never handed out are taken from another extent
  // than before. Called before the first take().
  void notify_on_growth(base::Runtime* runtime, base::Task* task);
  // Commits the next extent of `soc` ahead of use, or backs it with memory if it is committed.
  // Returns false if that failed, the budget is short, or enough is backed. Enough are the extent
  // in use and two more (the first one alone before any use), or `pages` pages that were never
  // handed out, whichever is more.
  bool warm(std::uint32_t soc, std::uint64_t pages = 0);

  // Backs memory for `bytes` of pages that were never handed out, spread over the SOCs, as far as
  // warm() goes. Returns how many bytes of such pages are backed now, at most `bytes`. Any thread.
  std::uint64_t reserve(std::uint64_t bytes);

  // ---- for all -------------------------------------------------------------------------------

  std::uint32_t socs() const { return soc_count_; }
  // Returns how many pages were handed out and not given back. Pages in sessions' stocks and
  // retired pages count, lent ones do not. An estimate: the SOCs are read one after the other.
  std::uint64_t pages_in_use() const;
  // Returns how many pages of committed memory take() could hand out.
  std::uint64_t pages_free() const;
  std::uint64_t bytes_taken() const {
    // order: relaxed, an estimate. A call during try_give_up() or take_back() may return too much:
    // the first adds to own_budget_ before given_up_, the second subtracts in the other order.
    const std::uint64_t given_up = given_up_.load_relaxed();
    return own_budget_.taken() - given_up;
  }
  // Returns up to how many bytes bytes_taken() can grow.
  std::uint64_t bytes_max() const {
    return own_budget_.limit() - given_up_.load_relaxed();  // order: relaxed, an estimate
  }
  // Lowers the bound of the pool by `bytes`, which the caller may then take from the budget that
  // all parts share. Returns false and changes nothing if the pool has taken them, or if less than
  // `bytes_left` would be left of the bound. One thread at a time calls this or take_back().
  bool try_give_up(std::uint64_t bytes, std::uint64_t bytes_left);
  // Raises the bound by `bytes` that were given up. REQUIRES: the caller has returned them to the
  // budget that all parts share.
  void take_back(std::uint64_t bytes);
  bool huge_pages() const { return memory_.has_huge_pages(); }
  bool numa_binding() const { return memory_.is_bound(); }

 private:
  static constexpr unsigned kPageShift = 12;
  static_assert(std::uint64_t{1} << kPageShift == kPageBytes);
  struct Batch;

  //   word          written by               read by         meaning
  //   free_head     every pop and push       the same        P12; number 0: empty
  //   bump          takers                   all             first page that was never handed out
  //   committed     holder of growth         all             end of committed pages
  //   pages_out     takers and givers        statistics      pages handed out and not given back
  //   lent          borrower                 takers          lent pages, which pages_out has not
  //   orphan_stamp  holder of orphan_lock    sessions        see orphan_stamp()
  struct Soc {
    alignas(64) base::AtomicWord<std::uint64_t> free_head;
    alignas(64) base::AtomicWord<std::uint64_t> bump;
    base::AtomicWord<std::uint64_t> committed;
    base::AtomicWord<std::uint64_t> pages_out;
    std::mutex growth;
    alignas(64) base::AtomicWord<std::uint64_t> lent;
    alignas(64) base::AtomicWord<std::uint64_t> orphan_stamp{RetiredPages::kNever};
    std::uint64_t begin = 0;   // constant: first page number of the slice
    std::uint64_t end = 0;     // constant: one past its last
    // Begins a cache line of its own: every transaction reads that of orphan_stamp.
    alignas(64) std::mutex warming;
    std::uint64_t warmed = 0;  // guarded by warming: pages below are backed
    std::mutex orphan_lock;
    RetiredPages orphans;  // guarded by orphan_lock
  };

  PagePool(std::uint32_t soc_count, unsigned slice_shift, base::MemoryBudget* budget,
           std::uint64_t bytes_max, numa::SocMemory memory);

  base::AtomicWord<std::uint64_t>& link_of(std::uint64_t number) const;
  Batch* batch_at(std::uint64_t number) const;
  std::uint64_t pop_batch(Soc* soc);
  void push_batch(Soc* soc, const VolatilePageId* ids, std::uint32_t count);
  std::uint32_t take_free(Soc* soc, VolatilePageId* ids, std::uint32_t count);
  std::uint32_t take_new(Soc* soc, VolatilePageId* ids, std::uint32_t count);
  bool grow(Soc* soc, std::uint64_t committed_seen);
  std::uint64_t pages_spare() const;
  std::uint32_t call_in_from(std::uint32_t soc, std::uint32_t count);
  std::uint64_t charge(std::uint64_t bytes_wanted);
  void discharge(std::uint64_t bytes);

  // Constant after construction.
  char* base_;
  unsigned slice_shift_;
  std::uint32_t soc_count_;
  base::MemoryBudget* budget_;
  base::Runtime* runtime_ = nullptr;
  base::Task* growth_listener_ = nullptr;
  PageBorrower* borrower_ = nullptr;

  // Own synchronization.
  base::MemoryBudget own_budget_;  // what was given up counts as taken
  base::AtomicWord<std::uint64_t> given_up_;
  base::AtomicWord<std::uint32_t> lends_;  // 0: not yet
  numa::SocMemory memory_;
  std::unique_ptr<Soc[]> socs_;  // after memory_: orphans lie in it
};

}  // namespace foedus::page
