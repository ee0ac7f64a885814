#pragma once
// The lock of records and pages: one word, 0 when it is free and no thread waits. A free lock is
// taken by one exchange and given back by another. Waiters form a queue (MCS, paper appendix D.1),
// so that each spins on a line of its own. The queue orders the waiters only; it does not hand the
// lock over. unlock() leaves the lock free, and a passing thread may take it before the first of
// the queue does. So a waiter without a processor does not stop the others. (Linux' queued spin
// lock for virtual machines is built like this.) A waiter spins, yields, sleeps, and finally parks.
//
//   bits    of the word
//   0       held
//   1       reserved: the first of the queue has waited for long and parks. No other thread may
//           take the lock, and unlock() wakes the first
//   2       owes: the holder came out of the queue and has to settle() with the waiter behind it,
//           after it has released the lock
//   6..47   address of the last of the queue; 0: the queue is empty
//   48..63  session of the holder + 1; 0: the holder has none, or there is no holder
//
//   no waiters  0 ──try_lock(), lock()──► held ──unlock()──► 0
//   a queue     the first ──leave_queue()──► holds the lock, or has given up; the next is first
//
//   O1  Order of acquisition, so that no threads wait in a circle. Pages: a child's lock comes
//       before its parent's. No third page lock is waited for: a join (M16) only tries the other
//       page locks that it needs. Records are waited for by ascending address; in any other order
//       they are only tried. The holder of a page lock only tries record locks, for a bounded time.
//       So a holder of record locks may wait for a page lock.
//   O2  A LockWaiter stays where it is from lock() to the end of unlock(), or to the end of a
//       lock_for() that fails.
//
// Argument. There is one holder: `held` is raised by an exchange of a word that does not have it,
// and lowered by the holder only. There is one first. The exchanges of the word put all waiters
// into one order, and a waiter becomes the first when the one in front of it leaves. Both of these
// waiters exchange `next` of the one in front. By the second of the two exchanges the waiter behind
// learns that it is the first.
//
// Waits are bounded. The first reserves the lock after about a millisecond. From then on it is the
// next holder, and unlock() wakes it. The reservation and unlock() are exchanges of one word, so
// unlock() sees the reservation, or the first sees the lock free. Hence a waiter waits only for the
// waiters in front of it: for each of them at most a millisecond and one other holder. The holder
// waits for no waiter: what it owes, it settles after it has released the lock. Argument of the
// parts: record_lock.cc.

#include <cstdint>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/system/clock.h"

namespace foedus::occ {

using LockWord = base::AtomicWord<std::uint64_t>;

namespace lock_bits {
inline constexpr std::uint64_t kHeld = 1;
inline constexpr std::uint64_t kReserved = 2;
inline constexpr std::uint64_t kOwes = 4;
inline constexpr unsigned kHolderShift = 48;
inline constexpr std::uint64_t kHolder = ~std::uint64_t{0} << kHolderShift;
inline constexpr std::uint64_t kLast = ~kHolder & ~std::uint64_t{63};
}  // namespace lock_bits

inline bool is_held(std::uint64_t word) { return (word & lock_bits::kHeld) != 0; }
// Returns whether a transaction of that session holds the lock. In the session's own thread the
// answer stays valid: no other thread takes or releases a lock for the session.
inline bool is_held_by(std::uint64_t word, std::uint32_t session) {
  return word >> lock_bits::kHolderShift == std::uint64_t{session} + 1;
}

struct alignas(64) LockWaiter {
  // The bits that the word has while this waiter holds the lock.
  std::uint64_t mark = lock_bits::kHeld;
  // The word of the lock when lock_for() gave up. It names the holder.
  std::uint64_t met = 0;
  // What pass_on() left for settle(), which runs when this waiter does not hold the lock: to wake
  // the waiter behind, or to wait until that waiter has linked itself.
  LockWaiter* to_wake = nullptr;
  bool is_link_due = false;

  base::AtomicWord<std::uint32_t> turn;  // exchanged by this waiter and the one in front
  base::AtomicWord<std::uint64_t> next;  // exchanged by this waiter and the one behind

  void set_session(std::uint32_t session) {
    mark = lock_bits::kHeld | (std::uint64_t{session} + 1) << lock_bits::kHolderShift;
  }
  // Returns the session that held the lock when lock_for() gave up; -1: a system transaction did.
  std::int64_t met_session() const {
    return static_cast<std::int64_t>(met >> lock_bits::kHolderShift) - 1;
  }
};
static_assert(sizeof(LockWaiter) == 64);

inline constexpr std::uint64_t kWaitForever = ~std::uint64_t{0};

// The slow paths of lock_for() and unlock(), for a lock that other threads want, too.
[[gnu::noinline]] bool lock_slowly(LockWord* word, LockWaiter* waiter, std::uint64_t timeout_us);
[[gnu::noinline]] void unlock_slowly(LockWord* word, LockWaiter* waiter);

inline bool try_lock(LockWord* word, LockWaiter* waiter) {
  // order: relaxed, the exchange decides.
  std::uint64_t seen = word->load_relaxed();
  // order: acquire on success, pairs with the release of unlock().
  return (seen & (lock_bits::kHeld | lock_bits::kReserved)) == 0 &&
         word->compare_exchange_acq_rel(seen, seen | waiter->mark);
}

// Waits for the lock and takes it. Returns false if that takes longer than about timeout_us; then
// waiter->met_session() is the session that holds the lock.
[[nodiscard]] inline bool lock_for(LockWord* word, LockWaiter* waiter, std::uint64_t timeout_us) {
  std::uint64_t expected = 0;
  // order: acquire on success, as in try_lock().
  if (word->compare_exchange_acq_rel(expected, waiter->mark)) [[likely]]
    return true;
  return lock_slowly(word, waiter, timeout_us);
}

// Waits for the lock without a limit, and takes it. REQUIRES: no user decides when the lock is
// released.
inline void lock(LockWord* word, LockWaiter* waiter) {
  std::uint64_t expected = 0;
  // order: acquire on success, as in try_lock().
  if (word->compare_exchange_acq_rel(expected, waiter->mark)) [[likely]]
    return;
  lock_slowly(word, waiter, kWaitForever);
}

// A number of tries for try_lock_for(). They take a few milliseconds, longer than the system leaves
// a holder without a processor. For a holder that has a processor, fewer tries than
// SpinWait::kPauses are enough.
inline constexpr unsigned kTriesLong = base::SpinWait::kTurnsBeforeSleep + 8;

// Tries to lock, `tries` times. For a lock for which a wait could be a deadlock (O1).
inline bool try_lock_for(LockWord* word, LockWaiter* waiter, unsigned tries) {
  base::SpinWait spin;
  for (unsigned i = 0; i < tries; ++i) {
    if (try_lock(word, waiter)) return true;
    spin.once();
  }
  return false;
}

// Releases the lock. REQUIRES: `waiter` holds `word`.
inline void unlock(LockWord* word, LockWaiter* waiter) {
  std::uint64_t expected = waiter->mark;
  // order: release: the next holder sees all that was done under the lock.
  if (word->compare_exchange_acq_rel(expected, 0)) [[likely]]
    return;
  unlock_slowly(word, waiter);
}

// Holds a lock for the length of a block.
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
