#pragma once
// SessionSlot: the part of a session that stays for as long as the process lives. Objects of users
// (Txn, Scan, Session, Ticket) have a pointer to the slot and a number. They compare that number
// with the slot's before they follow the slot to its session. So a use of the object after the end
// of its transaction or database is refused, whatever was destroyed meanwhile. Slots are never
// freed: when a session is destroyed, its slot serves another one.
//
//   word        written by                 read by           meaning
//   turn        thread that has claimed    owners of a Txn   odd: a transaction is open. Grows by
//               the session                                  one at each begin and end, for ever
//   database    engine, at lease, return   all               number of the database; 0: none
//   generation  engine, at lease           all               process that opened the database
//   session     engine, at lease, return   all               the session; null: none
//   state       see below                  all               use of the session
//   thread      thread that has claimed    all, for people   system's number of that thread
//   since_us    thread that has claimed    PageRoom, stats   when the transaction began, by the
//                                                            clock's last step
//   is_tracked  engine, at lease           operations        1: operations announce themselves
//   inside      thread in an operation     watch, the same   system's number of the thread, while
//                                                            it is in an operation and is_tracked
//
//     kFree  --claim--> kBusy --release--> kFree    session of the pool, for transact()
//     kBusy, handed over --> kBusy                  from one thread to a waiting one (E33)
//     kFree  --take --> kHeld                       it belongs to a Session
//     kHeld  --claim--> kBusy --release--> kHeld    transaction of that Session
//     kHeld  --give --> kFree
//     kFree, kHeld --close()--> kClosed             for good, or back if close() is refused
//
//   E30 A Txn is valid while `turn` is the number that it was made with. All transactions of a slot
//       have different numbers, even of two databases that used the slot one after the other, since
//       the number never decreases. The thread that owns the Txn compares `turn`. If the numbers
//       are equal, that thread began the transaction or was handed it. Then the session is claimed,
//       and neither close() nor a destructor has taken it.
//   E31 A session is claimed by a compare-and-swap on `state`, or handed over while it is kBusy
//       (E33). So one thread at a time uses it. The store of kFree or kHeld releases what the
//       thread wrote in the session, and the next claim acquires it. close() takes all sessions
//       from kFree and kHeld, and is refused if one is busy. So a session that close() has taken
//       runs no transaction, and none begins there.
//   E36 A transaction that is open for too long is revoked (engine/sessions/txn_watch.h). TxnWatch
//       adds kRevoked to `turn`, fences, and looks at `inside`. An operation stores `inside`,
//       fences, and compares `turn`. All fences have one order. If the operation's fence is first,
//       TxnWatch sees the operation, and looks again later. Otherwise the operation finds another
//       `turn`, and touches nothing. So once TxnWatch has seen 0 in `inside`, no operation of the
//       transaction is at work, and none will be. TxnWatch rolls the transaction back, which adds
//       kEnded. The owner's commit or rollback is an operation, too. It takes the mutex under which
//       TxnWatch rolls back, and makes `turn` an even number again.

#include <cstdint>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/occ/txn_turn.h"

namespace foedus::engine {

class EngineSession;

enum class SessionState : std::uint32_t { kFree, kBusy, kHeld, kClosed };

struct alignas(64) SessionSlot {
  base::AtomicWord<std::uint64_t> turn;
  base::AtomicWord<std::uint64_t> database;
  base::AtomicWord<std::uint64_t> generation;
  base::AtomicWord<EngineSession*> session;
  base::AtomicWord<SessionState> state;
  base::AtomicWord<std::uint64_t> since_us;
  base::AtomicWord<std::uint32_t> thread;
  base::AtomicWord<std::uint32_t> inside;
  base::AtomicWord<std::uint32_t> is_tracked;

  // Changes the state from `from` to `to`. Returns false, and changes nothing, if it is not `from`.
  bool try_change(SessionState from, SessionState to) {
    // order: acquire and release: a claim sees what the session's last user wrote (E31).
    return state.compare_exchange_acq_rel(from, to);
  }
  // Sets the state to `to`, which ends a claim. REQUIRES: the calling thread has claimed the slot,
  // or no other thread can use it.
  void release(SessionState to) { state.store_release(to); }  // order: release: E31
  // order: relaxed: the owner of the Txn compares a word that its own thread has written, or whose
  // writer handed the Txn over to it (E30).
  bool is_in(std::uint64_t number) const { return turn.load_relaxed() == number; }
  // Returns whether the transaction that began with `number` was revoked, and its owner has not
  // ended it yet (E36).
  bool is_revoked(std::uint64_t number) const {
    const std::uint64_t now = turn.load_relaxed();  // order: relaxed, as is_in()
    return occ::TxnTurn::is_revoked(now) && occ::TxnTurn::number_of(now) == number;
  }
};
static_assert(sizeof(SessionSlot) == 64);

}  // namespace foedus::engine
