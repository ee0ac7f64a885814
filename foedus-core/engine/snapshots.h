#pragma once
// Snapshots: which stratified snapshots can be read, who reads which, and who waits for one.
//
//   publish()            expire()                   expire(), once nobody reads it
//   ---------> kept  -------------> passed over  -----------------------------> its number returned
//
//   word        written by                  read by    meaning
//   list_       publish(), expire()         sessions   the kept ones, oldest first; immutable
//   reading[i]  session i                   expire()   0; kChoosing; or the number of a snapshot
//   covered_    publish()                   waiters    newest epoch that a snapshot covers
//   requested_  request()                   gleaner    newest epoch that somebody waits for
//   troubles_   set_trouble()               waiters    how often a glean has failed
//
//   E52 What a session reads stays: its snapshot object here, and its manifest, of which expire()
//       says that it may go. A session stores kChoosing in its word, fences, loads the list, and
//       replaces kChoosing by the number that it picked. expire() stores a list without what it
//       passes over, fences, then looks at the words: a snapshot goes if no word is kChoosing or
//       its number. All fences have one order. If the session's is first, expire() sees kChoosing,
//       or the number, or what came later, when the reads are over. If expire()'s is first, the
//       session loads the new list, in which the snapshot is not. The same holds for the list
//       before: it is freed when no word is kChoosing.
//   E53 Each number that expire() has returned is returned once, and no session reads it or will.
//       What other snapshots share with it is the business of their manifests.
//   E22 A snapshot is published after its manifest is durable. Numbers grow. Epochs do not fall:
//       one that covers the same epoch as the one before it has the same records in other files,
//       and takes its place.

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/task.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/snapshot/manifest.h"
#include "foedus/database.h"
#include "foedus/epoch.h"
#include "foedus/status.h"

namespace foedus::engine {

// One that can be read. Never changes.
class ReadableSnapshot {
 public:
  explicit ReadableSnapshot(snapshot::Manifest manifest);

  const snapshot::Manifest& manifest() const { return manifest_; }
  page::SnapshotNumber number() const { return manifest_.number; }
  Epoch covered() const { return manifest_.covered; }
  // Null: the storage has no pages in it, or was made later.
  page::SnapshotPageId root_of(page::StorageId storage) const;

 private:
  struct Root {
    page::StorageId storage;
    page::SnapshotPageId page;
  };
  const snapshot::Manifest manifest_;
  std::vector<Root> roots_;  // ascending by storage
};

class Snapshots {
 public:
  // `kept`: how many of the newest ones can be read, at least 1. `sessions_max`: number of slots.
  Snapshots(base::Runtime* runtime, std::uint32_t sessions_max, std::uint32_t kept);
  ~Snapshots();
  Snapshots(const Snapshots&) = delete;
  Snapshots& operator=(const Snapshots&) = delete;

  // ---- sessions ------------------------------------------------------------------------------

  // The newest one; null: there is none yet, and the database is empty. Stays readable until
  // leave(). REQUIRES: the session has left the one before.
  const ReadableSnapshot* enter(std::uint32_t session);
  // The one that covers the newest epoch not above `as_of`. kNotFound: none that is kept is so old;
  // nothing was entered.
  Result<const ReadableSnapshot*> enter_as_of(std::uint32_t session, Epoch as_of);
  // What it has entered, if anything, is not read any more.
  void leave(std::uint32_t session) {
    // order: release: the reads come before expire() sees the session gone (E52).
    slots_[session].reading.store_release(kNothing);
  }

  // Returns once a snapshot covers `epoch`, for which it asks the gleaner. kTimeout; the error of
  // set_trouble(), if that is called meanwhile: what failed before the call is tried again on its
  // account. kClosed. Any thread. REQUIRES: `epoch` is durable, or the clock was asked for it.
  Status wait_covered(Epoch epoch, std::uint64_t timeout_us);
  Epoch covered() const {
    // order: acquire, pairs with publish(): who sees it finds the snapshot in the list.
    return Epoch(covered_.load_acquire());
  }
  // Kept ones, oldest first.
  std::vector<SnapshotInfo> list() const;

  // ---- gleaner -------------------------------------------------------------------------------

  // E22. Wakes who waits for it. The trouble is over.
  void publish(snapshot::Manifest manifest);
  // Passes over what is not kept any more. Returns the numbers that nobody reads by any more, and
  // nobody will, ascending: their manifests may be removed (snapshot/README.md, rule 4). To be
  // called after publish(), and now and then.
  std::vector<page::SnapshotNumber> expire();
  // The same, where all but the newest one are passed over: disk is short.
  std::vector<page::SnapshotNumber> expire_all_but_newest();
  // All that expire() has not returned, ascending.
  std::vector<page::SnapshotNumber> in_use() const;
  // Number of the newest one; 0: there is none.
  page::SnapshotNumber newest() const;

  // Notified when somebody waits for a snapshot of requested(), which is above covered() then.
  // Before the first wait; null again before it goes.
  void set_gleaner(base::Task* gleaner);
  Epoch requested() const {
    // order: acquire, pairs with the exchange in request().
    return Epoch(requested_.load_acquire());
  }
  // Whether somebody waited for a snapshot that there is not yet.
  bool is_awaited() const { return requested() > covered(); }
  // Why there will be no next snapshot for now, told to all who wait; or ok.
  void set_trouble(const Status& trouble);
  // The same, as it was set last.
  Status trouble() const;
  // There will be none any more: nobody waits from now on.
  void end();

 private:
  static constexpr std::uint64_t kNothing = 0;
  static constexpr std::uint64_t kChoosing = ~std::uint64_t{0};

  struct List {
    std::vector<const ReadableSnapshot*> kept;  // oldest first
  };
  struct alignas(64) Slot {
    base::AtomicWord<std::uint64_t> reading;
  };
  struct Readers {
    std::vector<std::uint64_t> numbers;
    bool are_choosing = false;
    bool read(page::SnapshotNumber number) const;
  };

  const List* choose(std::uint32_t session);
  void request(Epoch epoch);
  std::unique_ptr<List> new_list_locked(std::size_t count);
  void set_list_locked(std::unique_ptr<List> list);
  void pass_over_locked(std::uint32_t kept_max);
  std::vector<page::SnapshotNumber> expire_locked();
  Readers look_at_readers() const;
  Status not_covered(Epoch epoch) const;

  // Constant after construction.
  base::Runtime* const runtime_;
  const std::uint32_t sessions_max_;
  const std::uint32_t kept_max_;
  std::unique_ptr<Slot[]> slots_;

  // Own synchronization.
  alignas(64) base::AtomicWord<const List*> list_;
  base::AtomicWord<std::uint64_t> covered_;
  alignas(64) base::AtomicWord<std::uint64_t> requested_;
  base::AtomicWord<std::uint64_t> troubles_;
  base::AtomicWord<std::uint32_t> has_ended_;
  base::WaitPoint published_;
  mutable std::mutex mutex_;

  // Guarded by mutex_.
  std::vector<std::unique_ptr<const ReadableSnapshot>> kept_;         // oldest first
  std::vector<std::unique_ptr<const ReadableSnapshot>> passed_over_;  // oldest first
  std::unique_ptr<const List> newest_list_;
  std::vector<std::unique_ptr<const List>> old_lists_;  // that somebody may be looking at
  bool has_more_ = false;                               // than expire() has seen
  base::Task* gleaner_ = nullptr;
  Status trouble_;
};

}  // namespace foedus::engine
