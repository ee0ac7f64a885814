#pragma once
// EpochClock: the current epoch, which commits belong to it, and which pages may be reused.
//
// Each session has three words for three protections. They must not be one: a commit takes
// microseconds, a transaction as long as its user likes, and a cache pin as long as one search.
//
//   word        written by  read by   meaning
//   in_commit   session     clock     0, or an epoch not above that of the commit at work
//   pin         session     clock     0, or an epoch not above that in which the open transaction
//                                     began to follow pointers; with kLent: lent to the clock,
//                                     which may clear it (E26)
//   cache_pin   session     clock     0, or an epoch not above that in which the session began to
//                                     look for the cached snapshot page that it is using
//   current     clock       all       epoch of commits that reach their serialization point now
//   published   clock       loggers   all commits up to this epoch are published in their rings
//   reclaimable clock       sessions  pages stamped up to this epoch may be used again (E3)
//   cache_reclaimable  clock  page cache  frames stamped up to this epoch may be used again (E3)
//   cache_wanted  waiters   clock     a session waits until cache_reclaimable gets there (E21)
//
//   E1  The epoch of a commit is read between its seq_cst fence and its publish, and in_commit is
//       set before that fence.
//   E2  published becomes e only after current is e + 1 and no session is in a commit of an epoch
//       <= e. Argument (store-then-look; all fences have one order): a session stores in_commit,
//       fences, loads current. The clock stores current = e + 1, fences, loads in_commit. If the
//       clock's fence is first, the session loads at least e + 1: its commit is not of e. If the
//       session's fence is first, the clock sees that in_commit or a later value. That in_commit is
//       at most the epoch of the commit, and the clock waits if it is <= e. A later value means
//       that the commit is published.
//   E3  A page that was unlinked and, after a fence, stamped with the current epoch e is used again
//       when reclaimable >= e. A session stores its pin, fences, follows pointers. The clock stores
//       current = e + 1, fences, loads pins, and sets reclaimable to e if none is <= e. Case 1, the
//       clock's fence is before the session's. The fence of the session that retired the page is
//       before the clock's, or the page's stamp would be above e. So the page was unlinked before
//       the session's fence, and the session never finds it. Case 2, the session's fence is before
//       the clock's. If the session finds the page, the session's fence came before the page was
//       retired. So its pin is <= e, because current only grows. The clock sees that pin and waits,
//       or it sees a later value, and then the transaction is over.
//   E4  A session's words are stored with release order also when they are set, not only when they
//       become 0. The clock may see the new value and never the 0 before it. In this case, too, the
//       accesses and the publish of the session's last transaction come before the clock's load.
//   E20  cache_pin and cache_reclaimable are E3 for frames of the page cache, with words of their
//        own. Renewing a set pin ends the use of the page that was looked at under it. A renewal is
//        an unpin() whose 0 no thread sees (E4), and then a pin(). A pin of the current epoch need
//        not be renewed: its fence stands for every later look-up. If the session's fence is before
//        the clock's, the clock sees the pin, which no later look-up has changed. If the clock's
//        fence is first, no later look-up finds what was unlinked before that fence.
//   E21  A session that waits for cache_reclaimable has no cache pin, so waiters do not wait for
//        each other. A session with a cache pin is in the midst of one search. It waits at most for
//        a device, or for the holder of a page lock, which waits for no frame (O15). While there is
//        a waiter, the clock looks for the end of these searches every 20 microseconds.
//   E26 A transaction that conflicted may be tried again, and then use addresses that it has found.
//       Until then the session lends its pin to the clock: the word keeps its epoch, and gets
//       kLent. Exactly one exchange ends the loan. The session's exchange restores the pin. Its
//       addresses are still valid: the word was never 0 since the first pin, whose fence stands for
//       the retry, too (E3). The clock's exchange, once kLentUsMax have passed, clears the pin. So
//       a session that never returns holds nothing back. A session that returns later finds its
//       pin gone, and must forget the addresses.
//   E28 Epoch numbers are used up and never reused. Once half of them are used, the clock shortens
//       epochs less and less for waiters, and once 7/8 are used, not at all. No commit of a
//       transaction has an epoch beyond kCommitEpochMax. The epochs beyond it are enough for days
//       of reads; at the last one the clock stands still.

#include <cstdint>
#include <memory>
#include <vector>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/system/task.h"
#include "foedus/epoch.h"
#include "foedus/options.h"
#include "foedus/status.h"

namespace foedus::epoch {

// E28. At 10 ms each, the epochs after this one last two days.
inline constexpr Epoch kCommitEpochMax{Epoch::kMax - (std::uint64_t{1} << 24)};
// Returns the error of a commit whose epoch would be above kCommitEpochMax.
Status epochs_used_up();

// The words of one session, on a cache line of their own.
struct alignas(64) SessionEpochs {
  base::AtomicWord<std::uint64_t> in_commit;
  base::AtomicWord<std::uint64_t> pin;  // the clock writes it, too: E26
  base::AtomicWord<std::uint64_t> cache_pin;
  base::AtomicWord<std::uint64_t> lent_us;  // when the pin was lent
};

class EpochClock : public base::Task {
 public:
  // `first` is above every epoch that the database has ever used. `sessions_max` is the fixed
  // number of slots.
  EpochClock(base::Runtime* runtime, Epoch first, std::uint32_t sessions_max,
             std::uint64_t interval_us);

  Epoch current() const {
    // order: acquire, pairs with the store in step(): a thread that reads the epoch sees all that
    // the clock had seen when the epoch began.
    return Epoch(current_.load_acquire());
  }
  Epoch published() const {
    // order: acquire, pairs with the release in try_publish(): the committed offsets of the commits
    // up to this epoch are seen.
    return Epoch(published_.load_acquire());
  }
  Epoch reclaimable() const {
    // order: acquire, pairs with the release in update_reclaimable(): the sessions' last accesses
    // to the pages came before.
    return Epoch(reclaimable_.load_acquire());
  }
  // Returns the stamp up to which frames of the page cache may be used again (E20).
  Epoch cache_reclaimable() const {
    // order: acquire, as reclaimable().
    return Epoch(cache_reclaimable_.load_acquire());
  }

  // Returns when the clock last began an epoch, in microseconds of its runtime: about an interval
  // ago, or longer while a commit holds the clock back. It serves for the ages of transactions,
  // which must not cost a read of the system's clock.
  std::uint64_t stepped_us() const {
    return stepped_us_.load_relaxed();  // order: relaxed, a time
  }

  SessionEpochs& slot(std::uint32_t session) { return slots_[session]; }

  // ---- sessions ------------------------------------------------------------------------------

  // E3. Pins the current epoch: the session's transaction begins.
  void pin(std::uint32_t session) {
    // order: release, as in unpin(): the clock may see this pin and never the 0 before it (E4). The
    // load is relaxed, an old epoch only keeps pages for longer.
    slots_[session].pin.store_release(current_.load_relaxed());
    base::fence_seq_cst();  // order: the pin is stored before pointers are followed (E3)
  }
  void unpin(std::uint32_t session) {
    // order: release: this transaction's page accesses come before the clock sees the pin gone.
    slots_[session].pin.store_release(0);
  }
  // E26. Lends the pin to the clock: the session's transaction is over, and may be tried again.
  // REQUIRES: the session is pinned.
  void lend_pin(std::uint32_t session) {
    SessionEpochs& words = slots_[session];
    words.lent_us.store_relaxed(runtime_->now_us());  // order: relaxed, the next store releases it
    // order: relaxed, own word; release, as in unpin(): the clock may make it 0.
    words.pin.store_release(words.pin.load_relaxed() | kLent);
  }
  // E26. Ends the loan of lend_pin(). Returns true if the session is pinned as it was, false if it
  // has no pin any more.
  bool take_pin_back(std::uint32_t session) {
    base::AtomicWord<std::uint64_t>& pin = slots_[session].pin;
    std::uint64_t lent = pin.load_relaxed();  // order: relaxed, the exchange decides
    return lent != 0 && pin.compare_exchange_acq_rel(lent, epoch_of_pin(lent));
  }
  // Returns the epoch of a pin word, lent or not; 0 if it is no pin.
  static std::uint64_t epoch_of_pin(std::uint64_t pin) { return pin & ~kLent; }

  // E20. Pins the current epoch for a look-up in the page cache. Ends the use of cached pages that
  // the session found before.
  void pin_cache(std::uint32_t session) {
    base::AtomicWord<std::uint64_t>& pin = slots_[session].cache_pin;
    const std::uint64_t current = current_.load_relaxed();  // order: relaxed, as in pin()
    if (pin.load_relaxed() == current) return;              // order: relaxed, own word
    pin.store_release(current);                             // order: release, as in unpin() (E4)
    base::fence_seq_cst();  // order: the pin is stored before the look-up (E3, E20)
  }
  void unpin_cache(std::uint32_t session) {
    // order: release: the last look at a cached page comes before the clock sees the pin gone.
    slots_[session].cache_pin.store_release(0);
  }
  // Waits until cache_reclaimable() is at least `wanted`, for which the clock ends epochs early.
  // Subtracts the time that it waited from *left_us. Returns false if *left_us ran out first.
  // REQUIRES: the caller has no cache pin and holds no page lock (E21).
  bool wait_cache_reclaimable(Epoch wanted, std::uint64_t* left_us);

  // E1. Fences at the serialization point. Returns the epoch of the commit.
  Epoch enter_commit(std::uint32_t session) {
    // order: release, because of E4. The load is relaxed: an old epoch only makes the clock wait.
    slots_[session].in_commit.store_release(current_.load_relaxed());
    // order: E2, and the fence of algorithm 2: flags are set before it, records verified after it.
    base::fence_seq_cst();
    return Epoch(current_.load_relaxed());  // order: relaxed, after the fence
  }
  void leave_commit(std::uint32_t session) {
    // order: release, pairs with the clock's acquire: a clock that sees the 0 also sees the
    // committed offset of the session's log ring, up to which a logger may write.
    slots_[session].in_commit.store_release(0);
  }

  // Asks for an early end of the current epoch, so that `waited_for` becomes durable soon. Any
  // thread.
  void request_advance(Epoch waited_for) {
    if (raise_requested_epoch(waited_for)) runtime_->notify(this);
  }
  // Stores the request of request_advance(), and leaves it to the caller to step or notify the
  // clock. Returns false if a thread has already asked for the end of `waited_for` or of a later
  // epoch.
  bool raise_requested_epoch(Epoch waited_for);

  // ---- engine --------------------------------------------------------------------------------

  // Adds `task` to those that are notified whenever published() grows. Called before the clock
  // starts.
  void notify_on_publish(base::Task* task) { listeners_.push_back(task); }

  const char* name() const override { return "foedus-clock"; }
  std::uint64_t step() override;

  // Sets where a session that holds the clock back is reported. Called before the clock starts.
  void set_sink(LogSink sink) { sink_ = std::move(sink); }

  // Returns a session whose commit has held the clock back for over a second, or -1 if there is
  // none. The result is a hint for a person.
  std::int64_t stuck_session() const {
    return stuck_session_.load_relaxed();  // order: relaxed, a hint for a person
  }

  // Time in microseconds after which the clock clears a lent pin (E26).
  static constexpr std::uint64_t kLentUsMax = 100'000;

 private:
  static constexpr std::uint64_t kLent = std::uint64_t{1} << 63;  // far above all epochs

  bool try_publish(std::uint64_t epoch);
  void report_stuck(std::uint32_t session, std::uint64_t epoch);
  std::uint64_t look_at_pin(SessionEpochs* words) const;
  void update_reclaimable();
  std::uint64_t rest_us(std::uint64_t us) const;
  std::uint64_t epoch_us_min(std::uint64_t current) const;

  // Constant after construction.
  base::Runtime* const runtime_;
  const std::uint32_t sessions_max_;
  const std::uint64_t interval_us_;
  std::unique_ptr<SessionEpochs[]> slots_;
  std::vector<base::Task*> listeners_;
  LogSink sink_;

  // Used by step() alone.
  std::uint64_t last_advance_us_ = 0;

  // Written by step(), read by all threads. As a rule this cache line is written only a few times
  // per epoch, so that it stays in the caches of the readers.
  alignas(64) base::AtomicWord<std::uint64_t> current_;
  base::AtomicWord<std::uint64_t> published_;
  base::AtomicWord<std::uint64_t> reclaimable_;
  base::AtomicWord<std::uint64_t> cache_reclaimable_;
  base::AtomicWord<std::uint64_t> stepped_us_;
  base::AtomicWord<std::int64_t> stuck_session_{-1};

  // Written by the threads that wait.
  alignas(64) base::AtomicWord<std::uint64_t> requested_epoch_;
  base::AtomicWord<std::uint64_t> cache_wanted_;
  base::WaitPoint cache_moved_;  // own synchronization
};

// Pins the epoch for the length of a block.
class Pinned {
 public:
  Pinned(EpochClock* clock, std::uint32_t session) : clock_(clock), session_(session) {
    clock_->pin(session_);
  }
  ~Pinned() { clock_->unpin(session_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

 private:
  EpochClock* const clock_;
  const std::uint32_t session_;
};

}  // namespace foedus::epoch
