#include "foedus-core/page/session_pages.h"

#include <algorithm>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/system/sync_point.h"

namespace foedus::page {

namespace {

constexpr std::uint64_t kReclaimMost = 4'096;

}  // namespace

SessionPages::~SessionPages() {
  if (stock_count_ != 0) pool_->give(stock_, stock_count_);
  if (remote_count_ != 0) pool_->give(remote_, remote_count_);
  if (retired_.count() != 0) pool_->leave_orphans(soc_, &retired_);
}

// Adds up to `count_max` pages of the pool to the stock. REQUIRES: there is room for as many.
void SessionPages::take_from_pool(std::uint32_t count_max) {
  VolatilePageId* const ids = stock_ + stock_count_;
  const std::uint32_t count = pool_->take(soc_, ids, count_max);
  const auto local = static_cast<std::uint64_t>(
      std::count_if(ids, ids + count, [this](VolatilePageId id) { return id.soc() == soc_; }));
  // order: relaxed, one writer, and statistics only.
  taken_local_.store_relaxed(taken_local_.load_relaxed() + local);
  taken_remote_.store_relaxed(taken_remote_.load_relaxed() + count - local);
  stock_count_ += count;
}

PageHeader* SessionPages::allocate_from_pool() {
  FOEDUS_INVARIANT(stock_count_ == 0, stock_count_);
  take_from_pool(PagePool::kBatchPages);
  if (stock_count_ == 0) {
    // Memory is spent. Look for every page that is due.
    const std::uint64_t reclaimable = clock_->reclaimable().number();
    reclaim_retired(reclaimable, retired_.count());
    for (std::uint32_t soc = 0; soc < pool_->socs(); ++soc) {
      if (pool_->orphan_stamp(soc) <= reclaimable) reclaim_orphans(soc, reclaimable);
    }
    if (remote_count_ != 0) {
      pool_->give(remote_, remote_count_);
      remote_count_ = 0;
    }
    if (stock_count_ == 0) take_from_pool(PagePool::kBatchPages);
    if (stock_count_ == 0) return nullptr;
  }
  return pool_->resolve(stock_[--stock_count_]);
}

void SessionPages::fill_stock() {
  while (stock_count_ < kStockPages) {
    const std::uint32_t before = stock_count_;
    take_from_pool(std::min(kStockPages - stock_count_, PagePool::kBatchPages));
    if (stock_count_ == before) return;
  }
}

void SessionPages::collect_remote(VolatilePageId id) {
  FOEDUS_INVARIANT(id.soc() < pool_->socs(), id.word());
  if (remote_count_ == PagePool::kBatchPages) {
    pool_->give(remote_, remote_count_);
    remote_count_ = 0;
  }
  remote_[remote_count_++] = id;
}

// Gives the half of the stock that was used least recently back to the pool.
void SessionPages::spill() {
  FOEDUS_INVARIANT(stock_count_ == kStockPages, stock_count_);
  pool_->give(stock_, PagePool::kBatchPages);
  std::copy(stock_ + PagePool::kBatchPages, stock_ + kStockPages, stock_);
  stock_count_ -= PagePool::kBatchPages;
}

void SessionPages::push_retired(VolatilePageId id, std::uint64_t stamp) {
  if (!retired_.has_room()) {
    PageHeader* const chunk = allocate();  // null: from the heap
    // Without a chunk the page is lost until the pool is destroyed: the caller cannot fail halfway.
    if (!retired_.try_add_chunk(chunk)) return;
  }
  retired_.push(id, stamp);
  oldest_stamp_ = retired_.oldest_stamp();
  ++retired_now_;
  FOEDUS_SYNC_POINT("pages:retired");
}

void SessionPages::reclaim_due(std::uint64_t reclaimable) {
  const std::uint64_t piled_up = retired_.count() / 16;
  const std::uint64_t lately = std::min(2 * retired_last_, kReclaimMost);
  reclaim_retired(reclaimable, PagePool::kBatchPages + piled_up + lately);  // P15
  if (reclaimable >= pool_->orphan_stamp(soc_)) reclaim_orphans(soc_, reclaimable);
}

void SessionPages::reclaim_retired(std::uint64_t reclaimable, std::uint64_t count_max) {
  for (; count_max != 0 && retired_.oldest_stamp() <= reclaimable; --count_max) {
    PageHeader* emptied;
    put(retired_.pop(&emptied));
    if (emptied != nullptr) put(pool_->id_of(emptied));
  }
  oldest_stamp_ = retired_.oldest_stamp();
}

void SessionPages::reclaim_orphans(std::uint32_t soc, std::uint64_t reclaimable) {
  VolatilePageId ids[PagePool::kBatchPages];
  const std::uint32_t count = pool_->take_orphans(soc, reclaimable, ids, PagePool::kBatchPages);
  for (std::uint32_t i = 0; i < count; ++i) put(ids[i]);
}

}  // namespace foedus::page
