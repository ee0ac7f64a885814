#include "foedus-core/occ/txn_locks.h"

#include <string>
#include <utility>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/system/sync_point.h"

namespace foedus::occ {

namespace {

// The number of tries for a lock for which a wait could be a deadlock (O1), because its holder may
// wait for a lock of this transaction. They take as long as a few commits, and do not yield the
// processor (SpinWait::kPauses).
constexpr unsigned kHoldSpins = 100;

}  // namespace

void HeldLocks::add(page::RecordHeader* record, LockWaiter* waiter) {
  reserve(1);
  index_.set(record, static_cast<std::uint32_t>(entries_.size()));
  entries_.push_back({record, waiter});
  highest_ = std::max(highest_, address_of(record));
}

LockWaiter* HeldLocks::move(const page::RecordHeader* from, page::RecordHeader* to,
                            LockWaiter* waiter) {
  const std::uint32_t i = find(from);
  FOEDUS_INVARIANT(i != AddressIndex::kNone, from, to);
  index_.set(to, i);
  highest_ = std::max(highest_, address_of(to));
  entries_[i].record = to;
  return std::exchange(entries_[i].waiter, waiter);
}

void WaiterPool::add_block() {
  base::reserve_more(&blocks_, 1);
  if (source_ != nullptr && !source_->try_take(kBlockBytes)) throw base::BudgetSpent();
  try {
    blocks_.push_back(std::make_unique<LockWaiter[]>(kBlockWaiters));
  } catch (const std::bad_alloc&) {
    if (source_ != nullptr) source_->give_back(kBlockBytes);
    throw;
  }
  for (std::size_t i = 0; session_ >= 0 && i < kBlockWaiters; ++i) {
    blocks_.back()[i].set_session(static_cast<std::uint32_t>(session_));
  }
}

void WaiterPool::drop_blocks(std::size_t kept) {
  while (blocks_.size() > kept) {
    blocks_.pop_back();
    if (source_ != nullptr) source_->give_back(kBlockBytes);
  }
}

bool TxnLocks::hold(page::RecordHeader* record) {
  LockWaiter* const waiter = waiters_.take();
  held_.reserve(1);
  if (held_.are_below(record)) {
    if (!lock(record, waiter)) return false;
  } else if (!try_lock_for(&record->lock, waiter, kHoldSpins)) {
    add_to_reacquire(record);  // the retry takes it in its turn
    return false;
  }
  held_.add(record, waiter);
  return true;
}

void TxnLocks::release() {
  for (const HeldLock& held : held_.entries()) {
    add_to_reacquire(held.record);
    unlock(&held.record->lock, held.waiter);
  }
  held_.clear();
}

void TxnLocks::sort_for_retry() {
  std::sort(to_reacquire_.begin(), to_reacquire_.end());
  to_reacquire_.erase(std::unique(to_reacquire_.begin(), to_reacquire_.end()), to_reacquire_.end());
}

void TxnLocks::reacquire() {
  held_.reserve(to_reacquire_.size());
  for (page::RecordHeader* const record : to_reacquire_) {
    LockWaiter* const waiter = waiters_.take();
    FOEDUS_SYNC_POINT("occ:reacquire");
    if (!lock_for(&record->lock, waiter, wait_us_)) break;
    held_.add(record, waiter);
  }
  to_reacquire_.clear();
}

Status TxnLocks::with_timeout(Status status) const {
  base::trying([&] {
    const std::string holder = timeout_.session < 0 ? "a change of its page"
                                                    : "session " + std::to_string(timeout_.session);
    status.with_detail("waited " + std::to_string(timeout_.waited_us / 1'000) +
                       " ms for the record's lock, which " + holder +
                       " has; a transaction that called get_for_update() must end");
  });
  return status;
}

}  // namespace foedus::occ
