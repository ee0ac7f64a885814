#include "foedus-core/page/page_pool.h"

#include <algorithm>
#include <bit>
#include <new>
#include <string>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/system/sync_point.h"

namespace foedus::page {

namespace {

// P12: the word of a stack's head.
constexpr unsigned kNumberBits = PagePool::kNumberBits;
constexpr std::uint64_t kNumberMask = (std::uint64_t{1} << kNumberBits) - 1;

constexpr std::uint64_t next_head(std::uint64_t head, std::uint64_t number) {
  return (((head >> kNumberBits) + 1) << kNumberBits) | number;
}

// lend() leaves one in this many pages of the bound free (P19).
constexpr std::uint64_t kReservePart = 8;
// lend() commits none of the last one in this many pages of the bound (P19).
constexpr std::uint64_t kUncommittedPart = 4;

constexpr std::uint64_t extent_begin(std::uint64_t number) {
  return number / PagePool::kExtentPages * PagePool::kExtentPages;
}
constexpr std::uint64_t extent_end(std::uint64_t number) {
  return extent_begin(number) + PagePool::kExtentPages;
}

}  // namespace

Status no_free_page() {
  return Status::error(
      ErrorCode::kOutOfMemory,
      "no free page within memory_bytes; raise Options::memory_bytes or erase data");
}

// The content of the first page of a free batch (P11).
struct PagePool::Batch {
  std::uint32_t count;
  VolatilePageId ids[kBatchPages];
};

Result<std::unique_ptr<PagePool>> PagePool::make(const numa::Topology* topology,
                                                 base::MemoryBudget* budget,
                                                 std::uint64_t bytes_max, Facility huge_pages,
                                                 Facility numa_binding) {
  const std::uint32_t soc_count = topology->socs();
  FOEDUS_INVARIANT(bytes_max <= kBytesMax, bytes_max);
  FOEDUS_CHECK(topology->check_binding(numa_binding));
  const std::uint64_t slice_bytes = std::bit_ceil(std::max(bytes_max, kExtentBytes));
  FOEDUS_TRY(numa::SocMemory memory,
             numa::SocMemory::reserve(slice_bytes * soc_count, huge_pages));
  for (std::uint32_t soc = 0; soc < soc_count; ++soc) {
    FOEDUS_CHECK(memory.place(*topology, soc, soc * slice_bytes, slice_bytes, numa_binding));
  }
  const unsigned slice_shift =
      static_cast<unsigned>(std::countr_zero(slice_bytes)) - PagePool::kPageShift;
  return std::unique_ptr<PagePool>(
      new PagePool(soc_count, slice_shift, budget, bytes_max, std::move(memory)));
}

PagePool::PagePool(std::uint32_t soc_count, unsigned slice_shift, base::MemoryBudget* budget,
                   std::uint64_t bytes_max, numa::SocMemory memory)
    : base_(memory.begin()),
      slice_shift_(slice_shift),
      soc_count_(soc_count),
      budget_(budget),
      own_budget_(bytes_max),
      memory_(std::move(memory)),
      socs_(std::make_unique<Soc[]>(soc_count)) {
  for (std::uint64_t soc = 0; soc < soc_count; ++soc) {
    Soc& at = socs_[soc];
    at.begin = soc << slice_shift;
    at.end = (soc + 1) << slice_shift;
    at.warmed = at.begin;
    // order: relaxed, no other thread has the pool yet.
    at.bump.store_relaxed(at.begin);
    at.committed.store_relaxed(at.begin);
  }
}

PagePool::~PagePool() { budget_->give_back(bytes_taken()); }

base::AtomicWord<std::uint64_t>& PagePool::link_of(std::uint64_t number) const {
  static_assert(kExtentPages * sizeof(base::AtomicWord<std::uint64_t>) == kPageBytes);
  char* const links = base_ + (extent_begin(number) << kPageShift);
  return reinterpret_cast<base::AtomicWord<std::uint64_t>*>(links)[number % kExtentPages];
}

PagePool::Batch* PagePool::batch_at(std::uint64_t number) const {
  static_assert(sizeof(Batch) <= kPageBytes);
  return reinterpret_cast<Batch*>(base_ + (number << kPageShift));
}

// ---- the stack of free batches ---------------------------------------------------------------

// Returns the number of the first page of a batch that is the caller's now; 0 if there is none.
std::uint64_t PagePool::pop_batch(Soc* soc) {
  // order: acquire, pairs with the release of the push's exchange, also through the exchanges in
  // between: link and ids of every batch in the stack are seen.
  std::uint64_t head = soc->free_head.load_acquire();
  while ((head & kNumberMask) != 0) {
    const std::uint64_t number = head & kNumberMask;
    // order: relaxed, complete by the acquire above. The link may be of a later push of the same
    // page; then the tag has moved on and the exchange fails.
    const std::uint64_t next = link_of(number).load_relaxed();
    FOEDUS_SYNC_POINT("pool:before_pop");
    // order: acquire as above; release hands on what earlier pushes released.
    if (soc->free_head.compare_exchange_acq_rel(head, next_head(head, next))) return number;
  }
  return 0;
}

void PagePool::push_batch(Soc* soc, const VolatilePageId* ids, std::uint32_t count) {
  FOEDUS_INVARIANT(count - 1 < kBatchPages, count);
  const std::uint64_t number = ids[0].number();
  Batch* const batch = new (batch_at(number)) Batch;
  batch->count = count;
  std::copy(ids, ids + count, batch->ids);
  // order: relaxed, a guess that the exchange checks.
  std::uint64_t head = soc->free_head.load_relaxed();
  do {
    // order: relaxed, the exchange releases it.
    link_of(number).store_relaxed(head & kNumberMask);
    // order: release, pairs with the acquire in pop_batch().
  } while (!soc->free_head.compare_exchange_acq_rel(head, next_head(head, number)));
}

std::uint32_t PagePool::take_free(Soc* soc, VolatilePageId* ids, std::uint32_t count) {
  const std::uint64_t number = pop_batch(soc);
  if (number == 0) return 0;
  const Batch batch = *batch_at(number);
  FOEDUS_INVARIANT(batch.count - 1 < kBatchPages, batch.count);
  FOEDUS_INVARIANT(batch.ids[0].number() == number, batch.ids[0].word(), number);
  const std::uint32_t taken = std::min(batch.count, count);
  std::copy(batch.ids, batch.ids + taken, ids);
  if (taken < batch.count) push_batch(soc, batch.ids + taken, batch.count - taken);
  soc->pages_out.fetch_add_relaxed(taken);  // order: relaxed, statistics
  return taken;
}

// ---- pages that were never used --------------------------------------------------------------

std::uint32_t PagePool::take_new(Soc* soc, VolatilePageId* ids, std::uint32_t count) {
  for (;;) {
    // order: relaxed, a guess that the exchange checks; numbers are not reused here, so that one
    // that it finds unchanged was unchanged all the time.
    std::uint64_t begin = soc->bump.load_relaxed();
    // order: acquire, pairs with the release in grow(): the pages may be written.
    const std::uint64_t committed = soc->committed.load_acquire();
    if (begin >= committed) return 0;
    const std::uint64_t end = std::min(begin + count, committed);
    // order: the exchange decides which thread gets the numbers; nothing is published by it.
    if (!soc->bump.compare_exchange_acq_rel(begin, end)) continue;
    std::uint32_t taken = 0;
    for (std::uint64_t number = begin; number < end; ++number) {
      if (number % kExtentPages == 0) continue;  // P9
      ids[taken++] = VolatilePageId(static_cast<std::uint32_t>(number >> slice_shift_), number);
    }
    soc->pages_out.fetch_add_relaxed(taken);  // order: relaxed, statistics
    if (begin / kExtentPages != end / kExtentPages && growth_listener_ != nullptr) {
      runtime_->notify(growth_listener_);
    }
    if (taken != 0) return taken;
  }
}

// Commits more of the slice, unless another thread has since `committed_seen` was read. Returns
// false if the slice is committed up to its end, or if budget or memory is lacking.
bool PagePool::grow(Soc* soc, std::uint64_t committed_seen) {
  const std::lock_guard lock(soc->growth);
  // order: relaxed, written under this lock only.
  const std::uint64_t committed = soc->committed.load_relaxed();
  if (committed != committed_seen) return true;
  if (committed == soc->end) return false;
  const std::uint64_t bytes = charge((extent_end(committed) - committed) << kPageShift);
  const bool is_useful = committed % kExtentPages != 0 || bytes > kPageBytes;  // links need a page
  if (bytes == 0) return false;
  if (!is_useful || !memory_.commit(committed << kPageShift, bytes).is_ok()) {
    discharge(bytes);
    return false;
  }
  // order: release, pairs with the acquire in take_new().
  soc->committed.store_release(committed + (bytes >> kPageShift));
  return true;
}

// Takes up to `bytes_wanted` from both budgets. Returns how many it took, in whole pages.
std::uint64_t PagePool::charge(std::uint64_t bytes_wanted) {
  for (;;) {
    const std::uint64_t bytes_left = std::min(own_budget_.remaining(), budget_->remaining());
    const std::uint64_t bytes = std::min(bytes_wanted, bytes_left) / kPageBytes * kPageBytes;
    if (bytes == 0) return 0;
    if (!own_budget_.try_take(bytes)) continue;  // others were faster: look again
    if (budget_->try_take(bytes)) return bytes;
    own_budget_.give_back(bytes);
  }
}

void PagePool::discharge(std::uint64_t bytes) {
  budget_->give_back(bytes);
  own_budget_.give_back(bytes);
}

bool PagePool::try_give_up(std::uint64_t bytes, std::uint64_t bytes_left) {
  const std::uint64_t bound = bytes_max();
  if (bytes > bound || bound - bytes < bytes_left) return false;
  if (!own_budget_.try_take(bytes)) return false;
  // order: relaxed, read for estimates only.
  given_up_.fetch_add_relaxed(bytes);
  return true;
}

void PagePool::take_back(std::uint64_t bytes) {
  given_up_.fetch_add_relaxed(std::uint64_t{0} - bytes);  // order: relaxed, as above
  own_budget_.give_back(bytes);
}

// ---- sessions --------------------------------------------------------------------------------

std::uint32_t PagePool::take(std::uint32_t soc, VolatilePageId* ids, std::uint32_t count) {
  FOEDUS_INVARIANT(soc < soc_count_, soc, soc_count_);
  FOEDUS_INVARIANT(count != 0);
  Soc& home = socs_[soc];
  if (borrower_ != nullptr && pages_lent() != 0 &&
      pages_spare() < bytes_max() / kPageBytes / kReservePart / 2) {
    call_in(soc, kBatchPages);  // P19
  }
  if (const std::uint32_t taken = take_free(&home, ids, count); taken != 0) return taken;
  for (;;) {
    // order: relaxed, grow() compares it under the lock.
    const std::uint64_t committed_seen = home.committed.load_relaxed();
    if (const std::uint32_t taken = take_new(&home, ids, count); taken != 0) return taken;
    if (call_in_from(soc, count) != 0) {
      if (const std::uint32_t taken = take_free(&home, ids, count); taken != 0) return taken;
    }
    if (!grow(&home, committed_seen)) break;
  }
  for (std::uint32_t step = 1; step < soc_count_; ++step) {
    Soc& other = socs_[(soc + step) % soc_count_];
    if (const std::uint32_t taken = take_free(&other, ids, count); taken != 0) return taken;
    if (const std::uint32_t taken = take_new(&other, ids, count); taken != 0) return taken;
  }
  // Sessions may have given pages back to the home SOC while the others were searched.
  if (const std::uint32_t taken = take_free(&home, ids, count); taken != 0) return taken;
  while (call_in(soc, count) != 0) {
    for (std::uint32_t step = 0; step < soc_count_; ++step) {
      Soc& other = socs_[(soc + step) % soc_count_];
      if (const std::uint32_t taken = take_free(&other, ids, count); taken != 0) return taken;
    }
  }
  return 0;
}

void PagePool::give(VolatilePageId* ids, std::uint32_t count) {
  VolatilePageId* const end = ids + count;
  while (ids != end) {
    const std::uint32_t soc = ids->soc();
    FOEDUS_INVARIANT(soc < soc_count_, soc, soc_count_);
    VolatilePageId* const others =
        std::partition(ids, end, [soc](VolatilePageId id) { return id.soc() == soc; });
    while (ids != others) {
      const std::uint32_t given = static_cast<std::uint32_t>(
          std::min<std::ptrdiff_t>(others - ids, kBatchPages));
      // order: relaxed, statistics.
      socs_[soc].pages_out.fetch_add_relaxed(std::uint64_t{0} - given);
      push_batch(&socs_[soc], ids, given);
      ids += given;
    }
  }
}

// ---- lent pages ------------------------------------------------------------------------------

// Returns how many more pages the bound allows sessions to take before lent ones are called in.
std::uint64_t PagePool::pages_spare() const {
  const std::uint64_t pages_max = bytes_max() / kPageBytes;
  const std::uint64_t used = pages_in_use() + pages_lent();
  return pages_max - std::min(pages_max, used);
}

std::uint32_t PagePool::lend(std::uint32_t soc, std::uint64_t offset_end, VolatilePageId* ids,
                             std::uint32_t count) {
  FOEDUS_INVARIANT(soc < soc_count_, soc, soc_count_);
  FOEDUS_INVARIANT(count - 1 < kBatchPages, count);
  if (lends_.load_relaxed() == 0) return 0;  // order: relaxed, a switch
  if (pages_spare() < bytes_max() / kPageBytes / kReservePart + count) return 0;
  Soc& home = socs_[soc];
  std::uint32_t taken = take_free(&home, ids, count);
  while (taken == 0) {
    // order: relaxed, grow() compares it under the lock.
    const std::uint64_t committed_seen = home.committed.load_relaxed();
    taken = take_new(&home, ids, count);
    if (taken != 0) break;
    if (own_budget_.remaining() < bytes_max() / kUncommittedPart + kExtentBytes) return 0;
    if (!grow(&home, committed_seen)) return 0;
  }
  const std::uint64_t end = slice_begin(soc) + offset_end;
  VolatilePageId* const beyond =
      std::partition(ids, ids + taken, [end](VolatilePageId id) { return id.number() < end; });
  const auto lent = static_cast<std::uint32_t>(beyond - ids);
  if (lent != taken) give(beyond, taken - lent);
  // order: relaxed twice, statistics and estimates.
  home.lent.fetch_add_relaxed(lent);
  home.pages_out.fetch_add_relaxed(std::uint64_t{0} - lent);
  return lent;
}

void PagePool::take_back_lent(VolatilePageId* ids, std::uint32_t count) {
  FOEDUS_INVARIANT(count != 0);
  Soc& home = socs_[ids[0].soc()];
  // order: relaxed twice, as in lend(); give() takes them off pages_out again.
  home.pages_out.fetch_add_relaxed(count);
  const std::uint64_t lent = home.lent.fetch_add_relaxed(std::uint64_t{0} - count);
  FOEDUS_INVARIANT(lent >= count, lent, count);
  give(ids, count);
}

std::uint32_t PagePool::call_in(std::uint32_t soc, std::uint32_t count) {
  for (std::uint32_t step = 0; step < soc_count_; ++step) {
    const std::uint32_t came = call_in_from((soc + step) % soc_count_, count);
    if (came != 0) return came;
  }
  return 0;
}

std::uint32_t PagePool::call_in_from(std::uint32_t soc, std::uint32_t count) {
  // order: relaxed, a hint.
  if (borrower_ == nullptr || socs_[soc].lent.load_relaxed() == 0) return 0;
  return borrower_->give_back(soc, count);
}

std::uint64_t PagePool::pages_lent() const {
  std::uint64_t sum = 0;
  // order: relaxed, an estimate.
  for (std::uint32_t i = 0; i < soc_count_; ++i) sum += socs_[i].lent.load_relaxed();
  return sum;
}

void PagePool::leave_orphans(std::uint32_t soc, RetiredPages* pages) {
  FOEDUS_INVARIANT(soc < soc_count_, soc, soc_count_);
  Soc& at = socs_[soc];
  const std::lock_guard lock(at.orphan_lock);
  at.orphans.append(pages);
  at.orphan_stamp.store_relaxed(at.orphans.oldest_stamp());  // order: relaxed, a hint
}

std::uint32_t PagePool::take_orphans(std::uint32_t soc, std::uint64_t reclaimable,
                                     VolatilePageId* ids, std::uint32_t count) {
  FOEDUS_INVARIANT(count > 1, count);
  Soc& at = socs_[soc];
  const std::lock_guard lock(at.orphan_lock);
  std::uint32_t taken = 0;
  while (taken + 1 < count && at.orphans.oldest_stamp() <= reclaimable) {
    PageHeader* emptied;
    ids[taken++] = at.orphans.pop(&emptied);
    if (emptied != nullptr) ids[taken++] = id_of(emptied);
  }
  at.orphan_stamp.store_relaxed(at.orphans.oldest_stamp());  // order: relaxed, a hint
  return taken;
}

// ---- warming and statistics ------------------------------------------------------------------

void PagePool::notify_on_growth(base::Runtime* runtime, base::Task* task) {
  runtime_ = runtime;
  growth_listener_ = task;
}

bool PagePool::warm(std::uint32_t soc, std::uint64_t pages) {
  FOEDUS_INVARIANT(soc < soc_count_, soc, soc_count_);
  Soc& at = socs_[soc];
  const std::lock_guard lock(at.warming);
  // order: relaxed twice, estimates of what to do.
  const std::uint64_t bump = at.bump.load_relaxed();
  const std::uint64_t committed = at.committed.load_relaxed();
  const std::uint64_t from = std::max(at.warmed, bump);
  const std::uint64_t ahead = bump == at.begin ? 1 : 2 + (bump % kExtentPages != 0);
  const std::uint64_t enough = std::max(extent_begin(bump) + ahead * kExtentPages,
                                        bump + std::min(pages, at.end - bump));
  const std::uint64_t target = std::min(enough, at.end);
  if (from >= target) return false;
  if (from >= committed) {
    // Memory committed ahead is missing elsewhere, so it is not taken from the last quarter of
    // either budget.
    if (own_budget_.remaining() < bytes_max() / 4) return false;
    if (budget_->remaining() < budget_->limit() / 4) return false;
    return grow(&at, committed);
  }
  const std::uint64_t to = std::min(extent_end(from), committed);
  memory_.prefault(from << kPageShift, (to - from) << kPageShift);
  at.warmed = to;
  return true;
}

std::uint64_t PagePool::reserve(std::uint64_t bytes) {
  const std::uint64_t share = bytes / soc_count_;
  const std::uint64_t pages = share / kPageBytes + (share % kPageBytes != 0);
  std::uint64_t backed = 0;
  for (std::uint32_t soc = 0; soc < soc_count_; ++soc) {
    while (warm(soc, pages)) {
    }
    Soc& at = socs_[soc];
    const std::lock_guard lock(at.warming);
    const std::uint64_t bump = at.bump.load_relaxed();  // order: relaxed, an estimate
    backed += std::min(at.warmed - std::min(at.warmed, bump), pages);
  }
  return std::min(backed << kPageShift, bytes);
}

std::uint64_t PagePool::pages_in_use() const {
  std::uint64_t sum = 0;
  // order: relaxed, statistics.
  for (std::uint32_t i = 0; i < soc_count_; ++i) sum += socs_[i].pages_out.load_relaxed();
  return sum;
}

std::uint64_t PagePool::pages_free() const {
  std::uint64_t committed = 0;
  for (std::uint32_t i = 0; i < soc_count_; ++i) {
    // order: relaxed, statistics.
    const std::uint64_t pages = socs_[i].committed.load_relaxed() - socs_[i].begin;
    committed += pages - (pages + kExtentPages - 1) / kExtentPages;
  }
  const std::uint64_t used = pages_in_use() + pages_lent();
  return committed > used ? committed - used : 0;
}

}  // namespace foedus::page
