// Waiting for the lock of a record or a page, and releasing it while other threads wait.
//
// No wake is lost. A waiter behind another one parks at its own `turn`. Before that it sets `turn`
// to kParked by an exchange, and the waiter in front sets it to kIsFirst by an exchange. Hence the
// one in front finds a waiter to wake, or the waiter behind finds that it is the first. The first
// waiter parks at the word of the lock, after it has set `reserved` while the lock was held. So
// unlock(), which exchanges the word, finds the bit. The system compares the word and puts the
// thread to sleep in one step, so that no wake falls between the two.
//
// No LockWaiter is touched after its end. The last access of the waiter in front to the one behind
// sets `turn`; the wake that may follow uses the address only. The last access of the waiter behind
// to the one in front links it to `next`; settle() waits for this link.
#include "foedus-core/occ/record_lock.h"

#include <algorithm>

#include "foedus-core/base/system/park.h"
#include "foedus-core/base/system/sync_point.h"

namespace foedus::occ {

namespace {

using namespace lock_bits;

// LockWaiter::turn
constexpr std::uint32_t kNotYet = 0;
constexpr std::uint32_t kParked = 1;  // not yet the first, and the waiter sleeps
constexpr std::uint32_t kIsFirst = 2;
// LockWaiter::next, instead of an address: the waiter behind is the first.
constexpr std::uint64_t kPassedOn = 1;

// Turns of SpinWait that a waiter behind another one takes before it parks.
constexpr unsigned kTurnsBehind = base::SpinWait::kTurnsBeforeSleep;
// How long the first waiter tries before it reserves the lock and parks. After kTurnsFirst turns of
// SpinWait it does so even earlier. For the first kPausesFirst turns it does not look at the time.
constexpr std::uint64_t kUnreservedUs = 1'000;
constexpr unsigned kPausesFirst = base::SpinWait::kPauses;
constexpr unsigned kTurnsFirst = base::SpinWait::kTurnsBeforeSleep + 5;
// The interval at which a waiter whose time is over looks whether it is the first. Only the first
// waiter can leave the queue.
constexpr std::uint64_t kLateLookUs = 100'000;

std::uint64_t address_of(const LockWaiter* waiter) {
  return reinterpret_cast<std::uint64_t>(waiter);
}
LockWaiter* waiter_at(std::uint64_t address) { return reinterpret_cast<LockWaiter*>(address); }

// The deadline of one waiter. The time begins with the first call of left_us(), some microseconds
// after the waiter came: a short wait costs no look at the clock.
class Deadline {
 public:
  explicit Deadline(std::uint64_t timeout_us) : timeout_us_(timeout_us) {}
  // Returns 0 if the time is over.
  std::uint64_t left_us(std::uint64_t now_us) {
    if (timeout_us_ == kWaitForever) return base::kParkForever;
    if (end_us_ == 0) end_us_ = now_us + timeout_us_;
    return end_us_ > now_us ? end_us_ - now_us : 0;
  }

 private:
  const std::uint64_t timeout_us_;
  std::uint64_t end_us_ = 0;
};

// Puts `waiter` at the end of the queue. Returns the waiter in front of it, or null if `waiter` is
// the first.
LockWaiter* enqueue(LockWord* word, LockWaiter* waiter) {
  // order: relaxed, no other thread knows the waiter before the exchange.
  waiter->next.store_relaxed(0);
  waiter->turn.store_relaxed(kNotYet);
  std::uint64_t seen = word->load_relaxed();
  // order: release, for threads that find the waiter in the word; acquire, pairs with this exchange
  // by the waiter in front.
  while (!word->compare_exchange_acq_rel(seen, (seen & ~kLast) | address_of(waiter))) continue;
  return waiter_at(seen & kLast);
}

// Waits until `waiter` is the first.
void await_turn(LockWaiter* waiter, LockWaiter* front, Deadline* deadline) {
  // order: release, pairs with pass_on() and settle(): the waiter in front may end once it sees
  // this exchange.
  if (front->next.exchange_acq_rel(address_of(waiter)) == kPassedOn) return;
  base::SpinWait spin;
  for (;;) {
    // order: acquire, pairs with pass_on(): the waiter in front does not touch this one again.
    std::uint32_t turn = waiter->turn.load_acquire();
    if (turn == kIsFirst) return;
    if (!spin.has_taken(kTurnsBehind)) {
      spin.once();
      continue;
    }
    // order: none is needed; if the exchange fails, the load above looks again.
    if (turn == kNotYet && !waiter->turn.compare_exchange_acq_rel(turn, kParked)) continue;
    const std::uint64_t left_us = deadline->left_us(base::system_now_us());
    base::park(&waiter->turn, kParked, left_us == 0 ? kLateLookUs : left_us);
  }
}

// Makes the next waiter the first.
void pass_on(LockWaiter* waiter) {
  // order: acquire, pairs with await_turn(): the waiter behind is linked, and this one may end.
  LockWaiter* const behind = waiter_at(waiter->next.exchange_acq_rel(kPassedOn));
  if (behind == nullptr) {
    waiter->is_link_due = true;
  } else if (behind->turn.exchange_acq_rel(kIsFirst) == kParked) {
    // order: release, pairs with await_turn(): the exchange was the last access to the waiter
    // behind.
    waiter->to_wake = behind;
  }
}

// Ends what pass_on() began. REQUIRES: `waiter` does not hold the lock.
void settle(LockWaiter* waiter) {
  if (waiter->to_wake != nullptr) {
    base::unpark(&waiter->to_wake->turn);
    waiter->to_wake = nullptr;
  }
  if (!waiter->is_link_due) return;
  waiter->is_link_due = false;
  base::SpinWait spin;
  // order: acquire, pairs with await_turn(): its exchange was the last access of the waiter behind.
  while (waiter->next.load_acquire() == kPassedOn) spin.once();
}

// Takes the first waiter out of the queue. `mark`: the bits with which the waiter also takes the
// lock; 0: it does not take the lock. Returns false, and does nothing, if the word is not `seen`
// any more.
bool leave_queue(LockWord* word, LockWaiter* waiter, std::uint64_t seen, std::uint64_t mark) {
  const bool is_last = (seen & kLast) == address_of(waiter);
  std::uint64_t left = (seen & ~kReserved) | mark;
  if (is_last) {
    left &= ~kLast;
  } else if (mark != 0) {
    left |= kOwes;
  }
  // order: acquire, pairs with unlock().
  if (!word->compare_exchange_acq_rel(seen, left)) return false;
  if (!is_last) pass_on(waiter);
  return true;
}

// Waits for the lock and takes it. If the time is over first, takes the waiter out of the queue and
// returns false. REQUIRES: `waiter` is the first.
bool await_lock(LockWord* word, LockWaiter* waiter, Deadline* deadline) {
  base::SpinWait spin;
  std::uint64_t begin_us = 0;
  for (;;) {
    // order: relaxed, the exchanges decide.
    std::uint64_t seen = word->load_relaxed();
    if ((seen & kHeld) == 0) {
      if (leave_queue(word, waiter, seen, waiter->mark)) return true;
      continue;
    }
    if (!spin.has_taken(kPausesFirst)) {
      spin.once();
      continue;
    }
    const std::uint64_t now_us = base::system_now_us();
    if (begin_us == 0) begin_us = now_us;
    if (!spin.has_taken(kTurnsFirst) && now_us < begin_us + kUnreservedUs) {
      spin.once();
      continue;
    }
    const std::uint64_t left_us = deadline->left_us(now_us);
    if (left_us == 0) {
      if (!leave_queue(word, waiter, seen, 0)) continue;
      waiter->met = seen;
      settle(waiter);
      return false;
    }
    const std::uint64_t reserved = seen | kReserved;
    // order: none is needed: of two exchanges of one word the later one sees the result of the
    // other.
    if (seen != reserved && !word->compare_exchange_acq_rel(seen, reserved)) continue;
    base::park(word, reserved, left_us);
  }
}

}  // namespace

bool lock_slowly(LockWord* word, LockWaiter* waiter, std::uint64_t timeout_us) {
  if (try_lock(word, waiter)) return true;
  Deadline deadline(timeout_us);
  LockWaiter* const front = enqueue(word, waiter);
  if (front != nullptr) await_turn(waiter, front, &deadline);
  return await_lock(word, waiter, &deadline);
}

void unlock_slowly(LockWord* word, LockWaiter* waiter) {
  // order: release, as in unlock().
  const std::uint64_t left = word->fetch_and_release(~(kHeld | kHolder | kOwes));
  if ((left & kReserved) != 0) base::unpark(word);
  if ((left & kOwes) != 0) settle(waiter);
}

}  // namespace foedus::occ
