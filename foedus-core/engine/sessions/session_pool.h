#pragma once
// SessionPool: owns the sessions of an open database, and assigns them to threads.
//
//   thread ── claim() ──► its session of last time, if that is free and the thread has not moved
//                    └──► a free one of its SOC ──► a new one there
//                         └──► limit reached: any free one ──► the next one that becomes free
//
// A session costs memory (a log buffer, a stock of pages), a thread costs none. So a thread that is
// not inside transact() leaves its session to others. It remembers the session that it used last,
// whose memory may still be in the processor's caches. This is a hint, and is never removed.
//
//   E9  A hint has the number of its database, and is followed only in the open database with that
//       number. The session still exists then: sessions live until their database is closed.
//   E33 If threads wait for a session, release() hands its session to the thread that has waited
//       longest. release() may read waiting_ just before a thread begins to wait. That thread then
//       finds the free session by a look of its own, after kLookAgainUs at the latest. So a thread
//       waits only while threads that came before it wait for sessions or use them.
//   E34 A session stays until the database is closed, with its memory and its SOC. The SOC is that
//       of the processor that ran the asking thread when the session was made. If that processor
//       has several SOCs (N8), the session gets the SOC with the fewest sessions.
//   E45 A thread gets a session of another SOC only if no session of its own SOC is free and none
//       can be made. The thread uses that session again until it has moved to a processor of other
//       SOCs or finds the session in use. The system may move the thread at any time, so its SOC is
//       a hint: a wrong one costs accesses to remote memory, and nothing else. With one SOC the
//       pool does not ask for the processor.
//   E48 The TIDs of a thread's commits by transact() are in the order of these commits. That
//       matters in sequential storages, whose records are in the order of TIDs. When a thread
//       changes to another session, that session's last TID is raised to the last TID of the one
//       before. The pool knows the session before from the thread's hint. A thread has kHints
//       hints, so one that uses more databases may lose the order.

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/system/task.h"
#include "foedus-core/engine/sessions/session.h"
#include "foedus-core/engine/sessions/session_factory.h"
#include "foedus-core/engine/sessions/session_slot.h"
#include "foedus-core/numa/processor_map.h"
#include "foedus-core/numa/topology.h"
#include "foedus/status.h"

namespace foedus::engine {

// A session in use: by an open transaction, or by a call of transact() between two tries.
struct OpenTransaction {
  std::uint32_t session = 0;
  std::uint32_t thread = 0;  // the system's number of the thread that began it
  std::uint64_t age_us = 0;
};

class SessionPool {
 public:
  struct Parts {
    base::Runtime* runtime = nullptr;
    const numa::Topology* topology = nullptr;
    SessionFactory* factory = nullptr;
    std::uint32_t sessions_max = 0;  // most sessions in all
    std::uint32_t on_demand = 0;     // most sessions that transact() makes
    std::uint64_t database = 0;
  };
  explicit SessionPool(const Parts& parts);
  SessionPool(const SessionPool&) = delete;
  SessionPool& operator=(const SessionPool&) = delete;

  // ---- transact() ----------------------------------------------------------------------------

  // Claims a session, which the caller uses until release(). Waits while all sessions are in use
  // and no other one can be made. kTimeout: no session became free within `timeout_us`; the text
  // says why none could be made. kOutOfMemory: there is no session yet, and no memory for one.
  // kClosed: the database was closed. Throws std::bad_alloc.
  Result<EngineSession*> claim(std::uint64_t timeout_us) {
    EngineSession* const last = last_of_thread();
    if (last != nullptr && has_stayed() &&
        last->slot().try_change(SessionState::kFree, SessionState::kBusy)) [[likely]] {
      return last;
    }
    return claim_another(timeout_us);
  }
  // Ends the claim. REQUIRES: claim() returned it to this thread, and no transaction is open in it.
  void release(EngineSession* session) {
    // order: relaxed, a waiter that is overlooked here finds the session itself (E33).
    if (waiting_.load_relaxed() != 0) [[unlikely]]
      return hand_over(session);
    session->slot().release(SessionState::kFree);
  }

  // ---- explicit sessions ---------------------------------------------------------------------

  // Takes a session out of the pool for a foedus::Session: its state is kHeld until give().
  // kTooLarge: all of sessions_max are in use. kOutOfMemory: none is free, and there is no memory
  // for another. kClosed: the database was closed. Throws std::bad_alloc.
  Result<EngineSession*> take();
  // Rolls back the session's transaction if one is open, and returns the session to the pool.
  void give(EngineSession* session);

  // ---- the database --------------------------------------------------------------------------

  // Closes all sessions: no transaction begins in them any more. kBusy: at least one session is in
  // use, and nothing has changed.
  Status close();
  // Returns the sessions in use, that of the oldest transaction first. An age may be too high by
  // the length of an epoch.
  std::vector<OpenTransaction> open_transactions() const;
  // Returns text for people: "session 3, thread 4711, for 12 s".
  static std::string describe(const OpenTransaction& transaction);

  // Calls `function` for each session, in use or not.
  template <typename Function>
  void for_each(Function&& function) const {
    const std::lock_guard lock(mutex_);
    for (const auto& session : sessions_) function(*session);
  }

 private:
  struct Waiter {
    base::WaitPoint point;
    base::AtomicWord<EngineSession*> given;  // session handed over to the thread; null: none yet
  };
  // The session that a thread used last in the database with number `database`.
  struct Hint {
    std::uint64_t database = 0;
    EngineSession* session = nullptr;
    std::uint32_t first_soc = 0;  // first SOC of the thread's processor when it got the session
  };
  static constexpr std::size_t kHints = 16;
  // Longest sleep of a waiter that release() has overlooked (E33).
  static constexpr std::uint64_t kLookAgainUs = 20'000;

  static Hint* hints_of_thread();
  EngineSession* last_of_thread() const {
    const Hint& hint = hints_of_thread()[parts_.database % kHints];
    return hint.database == parts_.database ? hint.session : nullptr;  // E9
  }
  void remember(EngineSession* session, numa::SocRange here) const;
  // Returns whether the calling thread's processor has the same SOCs (N8) as the one on which the
  // thread got its last session (E45). REQUIRES: last_of_thread() is not null.
  bool has_stayed() const {
    if (socs_ == 1) [[likely]]
      return true;
    return hints_of_thread()[parts_.database % kHints].first_soc == socs_here().begin;
  }
  numa::SocRange socs_here() const;
  numa::SocRange all_socs() const { return {0, socs_}; }
  Result<EngineSession*> claim_another(std::uint64_t timeout_us);
  Result<EngineSession*> claim_locked(numa::SocRange here);
  EngineSession* claim_free_locked(SessionState to, numa::SocRange socs);
  Result<EngineSession*> make_locked(numa::SocRange here);
  Result<EngineSession*> wait_for_one(std::uint64_t timeout_us, const Status& why);
  Status no_session(std::uint64_t timeout_us, const Status& why) const;
  void hand_over(EngineSession* session);

  // Constant after construction.
  const Parts parts_;
  const std::uint32_t socs_;

  // Stored with mutex_ held; loaded by each release() without it.
  alignas(64) base::AtomicWord<std::uint32_t> waiting_;  // size of waiters_

  alignas(64) mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::vector<std::unique_ptr<EngineSession>> sessions_;
  std::vector<std::vector<EngineSession*>> sessions_of_soc_;  // in the order they were made
  std::uint32_t made_on_demand_ = 0;
  std::deque<Waiter*> waiters_;  // the one that has waited longest comes first
  bool is_closed_ = false;
};

}  // namespace foedus::engine
