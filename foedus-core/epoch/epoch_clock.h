#pragma once
// EpochClock: the current epoch, which commits belong to it, and which pages may be reused.
//
// Two protections, two words of each session (they must not be one: a commit takes microseconds, a
// transaction as long as its user likes):
//
//   word        written by   read by   meaning
//   in_commit   session      clock     0, or an epoch that is not above the epoch of the commit at work
//   pin         session      clock     0, or the epoch in which the open transaction began
//   current     clock        all       epoch of commits that reach their serialization point now
//   published   clock        loggers   all commits of this epoch and before are published in their rings
//   reclaimable clock        sessions  no open transaction began in or before this epoch (E3)
//
//   E1  The epoch of a commit is read between its seq_cst fence and its publish, and in_commit is set
//       before that fence.
//   E2  published becomes e only after current is e + 1 and no session is in a commit of an epoch <= e.
//       Argument (store-then-look): the session stores in_commit, fences, loads current. The clock
//       stores current = e + 1, fences, loads in_commit. If the session loaded e, its load came
//       before the clock's store in the order of fences, so the clock's load comes after the session's
//       store and sees in_commit <= e: it waits. If it loaded e + 1, its commit is of e + 1.
//   E3  A page that was unlinked and then stamped with current epoch e is reused when reclaimable >= e.
//       Same argument with pin in place of in_commit: a session whose pin the clock did not see
//       fences after storing it and loads pointers after that, and the page was unlinked before.

#include <cstdint>
#include <memory>
#include <vector>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/task.h"
#include "foedus/epoch.h"

namespace foedus::epoch {

// The words of one session, on a line of their own.
struct alignas(64) SessionEpochs {
  base::AtomicWord<std::uint64_t> in_commit;
  base::AtomicWord<std::uint64_t> pin;
};

class EpochClock : public base::Task {
 public:
  // `first`: above every epoch that the database has ever used. `sessions_max`: fixed number of slots.
  EpochClock(base::Runtime* runtime, Epoch first, std::uint32_t sessions_max,
             std::uint64_t interval_us);

  Epoch current() const {
    // order: acquire: what was true when the epoch began is seen by who reads it.
    return Epoch(current_.load_acquire());
  }
  Epoch published() const {
    // order: acquire, pairs with the release in step(): committed offsets of those commits are seen.
    return Epoch(published_.load_acquire());
  }
  Epoch reclaimable() const {
    // order: acquire, pairs with the release in step(): the sessions' last accesses came before.
    return Epoch(reclaimable_.load_acquire());
  }

  SessionEpochs& slot(std::uint32_t session) { return slots_[session]; }

  // ---- sessions ------------------------------------------------------------------------------

  // E3. The session's transaction begins; returns the epoch of the pin.
  void pin(std::uint32_t session) {
    // order: relaxed store, then the fence: the store is seen by a clock whose fence comes later.
    slots_[session].pin.store_relaxed(current_.load_relaxed());
    base::fence_seq_cst();
  }
  void unpin(std::uint32_t session) {
    // order: release: this transaction's page accesses come before the clock sees it gone.
    slots_[session].pin.store_release(0);
  }
  // E1. Is the fence of the serialization point; returns the epoch of the commit.
  Epoch enter_commit(std::uint32_t session) {
    slots_[session].in_commit.store_relaxed(current_.load_relaxed());
    base::fence_seq_cst();  // order: E2, and the fence of algorithm 1: flags before it, looks after it
    return Epoch(current_.load_relaxed());
  }
  void leave_commit(std::uint32_t session) {
    // order: release, pairs with the clock's acquire: the published offset is seen with it.
    slots_[session].in_commit.store_release(0);
  }

  // Asks for the next epoch soon: somebody waits for the durability of one that is not over. Any thread.
  void hurry(Epoch waited_for);

  // ---- engine --------------------------------------------------------------------------------

  // `task` is notified whenever published moves. Before the clock starts.
  void notify_on_publish(base::Task* task) { listeners_.push_back(task); }

  const char* name() const override { return "foedus-clock"; }
  std::uint64_t step() override;

  // The session that has held the clock back for the longest, or -1; for the engine's log.
  std::int64_t stuck_session() const {
    return stuck_session_.load_relaxed();  // order: relaxed, a hint for a person
  }

 private:
  bool try_publish(std::uint64_t epoch);
  void update_reclaimable();

  // Constant after construction.
  base::Runtime* const runtime_;
  const std::uint32_t sessions_max_;
  const std::uint64_t interval_us_;
  std::unique_ptr<SessionEpochs[]> slots_;
  std::vector<base::Task*> listeners_;

  // Used by step() alone.
  std::uint64_t last_advance_us_ = 0;

  // Written by step(), read by all; the line changes once per epoch.
  alignas(64) base::AtomicWord<std::uint64_t> current_;
  base::AtomicWord<std::uint64_t> published_;
  base::AtomicWord<std::uint64_t> reclaimable_;
  base::AtomicWord<std::int64_t> stuck_session_{-1};

  // Written by waiters.
  alignas(64) base::AtomicWord<std::uint64_t> hurry_epoch_;
};

}  // namespace foedus::epoch
