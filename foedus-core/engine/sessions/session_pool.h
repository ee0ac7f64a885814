#pragma once
// SessionPool: the sessions of an open database, and which thread uses which.
//
//   thread ── claim() ──► its session of last time, if that is free and the thread has not moved
//                    └──► a free one of its SOC ──► a new one there
//                         └──► limit reached: any free one ──► the next one that becomes free
//
// Sessions cost memory (a log buffer, a stock of pages), threads cost nothing: a thread that is not
// inside transact() leaves its session to others. A thread remembers which session it used last, so
// that it finds that session's memory in its caches. This is a hint, and is never cleaned up.
//
//   E9  A hint is followed only while the database of its number is open: sessions live as long.
//   E33 Where threads wait, release() hands the session to the one that has waited longest. A
//       thread that begins to wait after the look at waiting_ finds the session by its own look,
//       kLookAgainUs later at the latest. So each waits no longer than those before it work.
//   E34 A session that was made stays until the database is closed, with its memory and its SOC.
//       The SOC is that of the processor on which the asking thread ran. Where a processor has
//       several SOCs (N8), it is the one with the fewest sessions.
//   E45 A thread gets a session of another SOC only where none of its own is free and none can be
//       made. It keeps that until it moves to a processor of another SOC or finds it in use. The
//       system may move the thread at any time, so where it runs is a hint: a wrong one costs
//       remote memory, and nothing else. With one SOC nothing is asked.
//   E48 The TIDs of a thread's commits by transact() are in the order of these commits. That
//       matters in sequential storages, whose records are in the order of TIDs. A thread that comes
//       to another session takes the last TID of the one before along, as long as it remembers that
//       one (kHints databases).

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

// One transaction that is open, or a call of transact() between two tries.
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
    std::uint32_t sessions_max = 0;  // bound of all sessions
    std::uint32_t on_demand = 0;     // bound of those that transact() makes
    std::uint64_t database = 0;
  };
  explicit SessionPool(const Parts& parts);
  SessionPool(const SessionPool&) = delete;
  SessionPool& operator=(const SessionPool&) = delete;

  // ---- transact() ----------------------------------------------------------------------------

  // Claims a session, which the caller uses until release(). Waits while all are in use and there
  // is no room for another one. kTimeout: that took longer than `timeout_us`; the text says why.
  // kClosed. Throws std::bad_alloc.
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
    // order: relaxed: E33.
    if (waiting_.load_relaxed() != 0) [[unlikely]]
      return hand_over(session);
    session->slot().release(SessionState::kFree);
  }

  // ---- explicit sessions ---------------------------------------------------------------------

  // Takes a session, which is kHeld from now on. kTooLarge: sessions_max are in use. kOutOfMemory:
  // there is no room for another one. kClosed. Throws std::bad_alloc.
  Result<EngineSession*> take();
  // Gives a session back. Rolls back its open transaction.
  void give(EngineSession* session);

  // ---- the database --------------------------------------------------------------------------

  // Ends all use: no session begins a transaction any more. kBusy: some are at work, and nothing
  // has changed.
  Status close();
  // Returns the transactions at work, the oldest first. An age may be too high by the length of an
  // epoch.
  std::vector<OpenTransaction> open_transactions() const;
  // Returns text for people: "session 3, thread 4711, for 12 s".
  static std::string describe(const OpenTransaction& transaction);

  // Calls `function` for each session, which may be at work.
  template <typename Function>
  void for_each(Function&& function) const {
    const std::lock_guard lock(mutex_);
    for (const auto& session : sessions_) function(*session);
  }

 private:
  struct Waiter {
    base::WaitPoint point;
    base::AtomicWord<EngineSession*> given;  // null: not yet
  };
  // The session that a thread used last in a database of that number.
  struct Hint {
    std::uint64_t database = 0;
    EngineSession* session = nullptr;
    std::uint32_t first_soc = 0;  // of the SOCs of its processor when it got the session
  };
  static constexpr std::size_t kHints = 16;
  // Longest sleep of a waiter that was overlooked (E33).
  static constexpr std::uint64_t kLookAgainUs = 20'000;

  static Hint* hints_of_thread();
  EngineSession* last_of_thread() const {
    const Hint& hint = hints_of_thread()[parts_.database % kHints];
    return hint.database == parts_.database ? hint.session : nullptr;  // E9
  }
  void remember(EngineSession* session, numa::SocRange here) const;
  // Returns whether the calling thread runs on its SOC of last time (E45). REQUIRES:
  // last_of_thread().
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

  // Own synchronization. Written where threads wait; read at the end of each transact().
  alignas(64) base::AtomicWord<std::uint32_t> waiting_;  // size of waiters_

  alignas(64) mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::vector<std::unique_ptr<EngineSession>> sessions_;
  std::vector<std::vector<EngineSession*>> sessions_of_soc_;  // in the order in which they came
  std::uint32_t made_on_demand_ = 0;
  std::deque<Waiter*> waiters_;  // the longest first
  bool is_closed_ = false;
};

}  // namespace foedus::engine
