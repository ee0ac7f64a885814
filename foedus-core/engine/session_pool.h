#pragma once
// SessionPool: the sessions of an open database, and which thread uses which.
//
//   thread ── claim() ──► its session of last time, if that is free and the thread has not moved
//                    └──► a free one of its SOC ──► a new one there
//                         └──► limit reached: any free one ──► the next one that becomes free
//
// Sessions cost memory (a log buffer, a stock of pages), threads cost nothing: one that is not
// inside transact() leaves its session to others. A thread remembers which session it used last, so
// that it finds that session's memory in its caches; the memory of a thread is a hint, and needs no
// end.
//
//   E9  A hint is followed only while the database of its number is open: sessions live as long.
//   E33 Where threads wait, release() hands the session to the one that has waited longest. One
//       that came between a look at waiting_ and the release finds the session by its own look,
//       kLookAgainUs later at the latest. So each waits no longer than those before it work.
//   E34 A session that was made stays until the database is closed, and so do its memory and its
//       SOC: that of the processor which the thread that asked for it ran on. Where a processor has
//       several SOCs (N8) it is the one of these with the fewest sessions.
//   E45 A thread gets a session of another SOC only where none of its own is free and none can be
//       made, and keeps it until it moves to a processor of another SOC or finds it in use. The
//       system may move the thread at any time, so where it runs is a hint: a wrong one costs
//       remote memory, and nothing else. With one SOC nothing is asked.
//   E48 What a thread commits by transact() is in the order of its commits, also in sequential
//       storages, whose records are in that of TIDs: a thread that comes to another session takes
//       the last TID of the one before along, as long as it remembers that (kHints databases).

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/task.h"
#include "foedus-core/engine/session.h"
#include "foedus-core/engine/session_slot.h"
#include "foedus-core/numa/processor_map.h"
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
  // Makes the session of that number, which belongs to `soc`, where `turn` others were made before.
  // Throws std::bad_alloc.
  using Maker = Result<std::unique_ptr<EngineSession>> (*)(Engine* engine, std::uint32_t number,
                                                           std::uint32_t soc, std::uint32_t turn);

  // `sessions_max`: all of them. `on_demand`: so many are made for transact() at most. The engine
  // has its runtime and its topology by now.
  SessionPool(Engine* engine, Maker maker, std::uint32_t sessions_max, std::uint32_t on_demand,
              std::uint64_t database);
  SessionPool(const SessionPool&) = delete;
  SessionPool& operator=(const SessionPool&) = delete;

  // ---- transact() ----------------------------------------------------------------------------

  // The caller uses the session until release(). Waits while all are in use and there is no room
  // for another one. kTimeout: for longer than `timeout_us`; the text says why. kClosed.
  // Throws std::bad_alloc.
  Result<EngineSession*> claim(std::uint64_t timeout_us) {
    EngineSession* const last = last_of_thread();
    if (last != nullptr && has_stayed() &&
        last->slot().try_change(SessionState::kFree, SessionState::kBusy)) [[likely]] {
      return last;
    }
    return claim_another(timeout_us);
  }
  // REQUIRES: claim() returned it to this thread, and no transaction is open in it.
  void release(EngineSession* session) {
    // order: relaxed: E33.
    if (waiting_.load_relaxed() != 0) [[unlikely]]
      return hand_over(session);
    session->slot().release(SessionState::kFree);
  }

  // ---- explicit sessions ---------------------------------------------------------------------

  // It is kHeld from now on. kTooLarge: sessions_max are in use. kOutOfMemory: there is no room for
  // another one. kClosed. Throws std::bad_alloc.
  Result<EngineSession*> take();
  // Rolls back what is open there.
  void give(EngineSession* session);

  // ---- the database --------------------------------------------------------------------------

  // No session begins a transaction any more. kBusy: some are at work, which the text names;
  // nothing has changed.
  Status close();
  // Those at work, the oldest first. An age may be too high by the length of an epoch.
  std::vector<OpenTransaction> open_transactions() const;
  // "session 3, thread 4711, for 12 s"
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
  // What a thread remembers of the databases that it uses, by number.
  struct Hint {
    std::uint64_t database = 0;
    EngineSession* session = nullptr;
    std::uint32_t first_soc = 0;  // of the SOCs of its processor when it got the session
  };
  static constexpr std::size_t kHints = 16;
  // How long a waiter that was overlooked sleeps (E33).
  static constexpr std::uint64_t kLookAgainUs = 20'000;

  static Hint* hints_of_thread();
  EngineSession* last_of_thread() const {
    const Hint& hint = hints_of_thread()[database_ % kHints];
    return hint.database == database_ ? hint.session : nullptr;  // E9
  }
  void remember(EngineSession* session, numa::SocRange here) const;
  // E45: whether the calling thread runs on its SOC of last time. REQUIRES: last_of_thread().
  bool has_stayed() const {
    if (socs_ == 1) [[likely]] return true;
    return hints_of_thread()[database_ % kHints].first_soc == socs_here().begin;
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
  Engine* const engine_;
  const Maker maker_;
  const std::uint32_t sessions_max_;
  const std::uint32_t on_demand_;
  const std::uint64_t database_;
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
