#pragma once
// The queue lock (MCS) of records and pages: one word, 0 when free, else the address of the last
// waiter's LockWaiter. A waiter spins on its own line only (paper appendix D.1).
//
//   O1  Order of acquisition, so that nobody waits in a circle. Pages: a child's lock before its
//       parent's, and no third that is waited for: a join (M16) only tries its others. Records: by
//       ascending address. Who holds a page lock only tries record locks, for a bounded time, so
//       that who holds record locks may wait for a page lock.
//   O2  A LockWaiter stays where it is from lock() to the end of unlock().
//
// Argument: the exchange in lock() puts all waiters into one order; each but the first has exactly
// one predecessor, which learns of it through `next` before it may leave (unlock() leaves without a
// successor only if the word still names it). So `granted` is raised once per waiter.

#include <cstdint>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/clock.h"

namespace foedus::occ {

using LockWord = base::AtomicWord<std::uint64_t>;

struct alignas(64) LockWaiter {
  base::AtomicWord<std::uint64_t> next;     // address of the waiter behind this one
  base::AtomicWord<std::uint32_t> granted;  // raised by the one before it
};

inline bool try_lock(LockWord* word, LockWaiter* waiter) {
  // order: relaxed, the waiter is not visible to anyone before the exchange.
  waiter->next.store_relaxed(0);
  std::uint64_t expected = 0;
  // order: acquire on success, pairs with the release of unlock().
  return word->load_relaxed() == 0 &&
         word->compare_exchange_acq_rel(expected, reinterpret_cast<std::uint64_t>(waiter));
}

inline void lock(LockWord* word, LockWaiter* waiter) {
  // order: relaxed, made visible by the exchange and by the store to the predecessor.
  waiter->next.store_relaxed(0);
  waiter->granted.store_relaxed(0);
  // order: acquire and release: what the last holder did is seen if there is no one before us, and
  // our waiter's fields are seen by the one behind us.
  const std::uint64_t before = word->exchange_acq_rel(reinterpret_cast<std::uint64_t>(waiter));
  if (before == 0) return;
  // order: release, pairs with the acquire of next in unlock().
  reinterpret_cast<LockWaiter*>(before)->next.store_release(
      reinterpret_cast<std::uint64_t>(waiter));
  base::SpinWait spin;
  // order: acquire, pairs with the release of granted in unlock().
  while (waiter->granted.load_acquire() == 0) spin.once();
}

// Tries for a bounded time: where waiting could close a circle (O1).
inline bool try_lock_for(LockWord* word, LockWaiter* waiter, unsigned spins) {
  base::SpinWait spin;
  for (unsigned i = 0; i < spins; ++i) {
    if (try_lock(word, waiter)) return true;
    spin.once();
  }
  return false;
}

// REQUIRES: `waiter` holds `word`.
inline void unlock(LockWord* word, LockWaiter* waiter) {
  // order: acquire, pairs with the successor's store.
  std::uint64_t next = waiter->next.load_acquire();
  if (next == 0) {
    std::uint64_t expected = reinterpret_cast<std::uint64_t>(waiter);
    // order: release: what was done under the lock is seen by the next holder.
    if (word->compare_exchange_acq_rel(expected, 0)) return;
    base::SpinWait spin;
    while ((next = waiter->next.load_acquire()) == 0) spin.once();
  }
  // order: release, pairs with the acquire of the spin in lock().
  reinterpret_cast<LockWaiter*>(next)->granted.store_release(1);
}

// A lock for the length of a block.
class LockGuard {
 public:
  explicit LockGuard(LockWord* word) : word_(word) { lock(word_, &waiter_); }
  ~LockGuard() { unlock(word_, &waiter_); }
  LockGuard(const LockGuard&) = delete;
  LockGuard& operator=(const LockGuard&) = delete;

 private:
  LockWord* const word_;
  LockWaiter waiter_;
};

}  // namespace foedus::occ
