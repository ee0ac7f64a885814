#pragma once
// Snapshots: the stratified snapshots that can be read, the sessions that read them, and the calls
// that wait for one.
//
//   publish()            expire()                   expire(), after its last reader
//   ---------> kept  -------------> passed over  -----------------------------> its number returned
//
//   word        written by                  read by    meaning
//   list_       publish(), expire()         sessions   the kept ones, oldest first; immutable
//   reading[i]  session i                   expire()   0; kChoosing; or the number of a snapshot
//   covered_    publish()                   waiters    newest epoch that a snapshot covers
//   requested_  request()                   gleaner    newest epoch that a call waits for
//   troubles_   set_trouble()               waiters    how often a glean has failed
//
//   E52 What a session reads stays: its snapshot object here, and its manifest, until expire() says
//       that it may be removed. A session stores kChoosing in its word, fences, loads the list, and
//       replaces kChoosing by the number that it picked. expire() stores a list without what it
//       passes over, fences, then reads the words: a snapshot goes if no word is kChoosing or its
//       number. All fences have one order. If the session's is first, expire() sees kChoosing, the
//       number, or a later value, when the reads are over. If expire()'s is first, the session
//       loads the new list, in which the snapshot is not. The same holds for the list before: it is
//       freed when no word is kChoosing.
//   E53 Each number is returned by expire() once, and no session reads that snapshot then or later.
//       Files that other snapshots share with it are left to their manifests.
//   E22 A snapshot is published after its manifest is durable. Numbers grow. Epochs do not fall: a
//       snapshot of the same epoch as the one before it has the same records in other files, and
//       replaces it.

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/system/task.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "foedus/database.h"
#include "foedus/epoch.h"
#include "foedus/status.h"

namespace foedus::engine {

// A snapshot that can be read. Never changes.
class ReadableSnapshot {
 public:
  explicit ReadableSnapshot(snapshot::Manifest manifest);

  const snapshot::Manifest& manifest() const { return manifest_; }
  page::SnapshotNumber number() const { return manifest_.number; }
  Epoch covered() const { return manifest_.covered; }
  // Returns null if the storage has no pages in it, or was made later.
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

  // Enters the newest snapshot, which stays readable until leave(). Returns null if there is none
  // yet, and the database is empty. REQUIRES: the session has left the one before.
  const ReadableSnapshot* enter(std::uint32_t session);
  // Enters the snapshot that covers the newest epoch not above `as_of`. kNotFound: none that is
  // kept is so old; nothing was entered.
  Result<const ReadableSnapshot*> enter_as_of(std::uint32_t session, Epoch as_of);
  // Ends the session's reads of what it has entered, if anything.
  void leave(std::uint32_t session) {
    // order: release: the reads come before expire() sees the session gone (E52).
    slots_[session].reading.store_release(kNothing);
  }

  // Asks the gleaner for a snapshot that covers `epoch`, and returns once there is one. kTimeout.
  // kClosed. The error of set_trouble(), if that is called meanwhile; after an earlier failure the
  // request makes the gleaner try again. Any thread. REQUIRES: `epoch` is durable, or the clock was
  // asked for it.
  Status wait_covered(Epoch epoch, std::uint64_t timeout_us);
  Epoch covered() const {
    // order: acquire, pairs with publish(): a thread that sees it finds the snapshot in the list.
    return Epoch(covered_.load_acquire());
  }
  // Returns the kept ones, oldest first.
  std::vector<SnapshotInfo> list() const;

  // ---- gleaner -------------------------------------------------------------------------------

  // Makes a snapshot readable (E22), wakes its waiters, and clears the trouble.
  void publish(snapshot::Manifest manifest);
  // Passes over what is not kept any more. Returns, ascending, the numbers by which no session
  // reads or will read: their manifests may be removed (snapshot/README.md, rule 4). To be called
  // after publish(), and now and then.
  std::vector<page::SnapshotNumber> expire();
  // Does as expire() does, but passes over all but the newest one: disk is short.
  std::vector<page::SnapshotNumber> expire_all_but_newest();
  // Returns all that expire() has not returned, ascending.
  std::vector<page::SnapshotNumber> in_use() const;
  // Returns the number of the newest one; 0: there is none.
  page::SnapshotNumber newest() const;

  // Sets the task that is notified when a call waits for a snapshot of requested(), which is above
  // covered() then. To be set before the first wait; null before the task goes.
  void set_gleaner(base::Task* gleaner);
  Epoch requested() const {
    // order: acquire, pairs with the exchange in request().
    return Epoch(requested_.load_acquire());
  }
  // Returns whether a call waited for a snapshot that there is not yet.
  bool is_awaited() const { return requested() > covered(); }
  // Tells all waiters why there will be no next snapshot for now; ok: there may be.
  void set_trouble(const Status& trouble);
  // Returns the trouble that was set last.
  Status trouble() const;
  // Ends all waits: no snapshot will be published any more.
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
  std::vector<std::unique_ptr<const List>> old_lists_;  // that sessions may be looking at
  bool has_more_ = false;                               // than expire() has seen
  base::Task* gleaner_ = nullptr;
  Status trouble_;
};

}  // namespace foedus::engine
