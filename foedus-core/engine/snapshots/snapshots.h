#pragma once
// Snapshots: the stratified snapshots that transactions can read, the sessions that read them, and
// the calls that wait for the next snapshot.
//
//   publish()            expire()                   expire(), after its last reader
//   ---------> kept  -------------> passed over  -----------------------------> its number returned
//
//   word        written by                  read by    meaning
//   list_       publish(), expire()         sessions   kept snapshots, oldest first; immutable
//   reading[i]  session i                   expire()   0; kChoosing; or the number of a snapshot
//   covered_    publish()                   waiters    newest epoch that a snapshot covers
//   requested_  request()                   gleaner    newest epoch that a call waits for
//   troubles_   set_trouble()               waiters    how often a glean has failed
//
//   E52 The snapshot that a session reads stays, as an object here and as a manifest on the device,
//       until expire() returns its number. A session stores kChoosing in its word, fences, loads
//       the list, and replaces kChoosing by the number of the snapshot that it picked. expire()
//       stores a list without the snapshots that it passes over, fences, and then reads the words.
//       It returns a snapshot's number if no word is kChoosing or that number. All fences have one
//       order. If the session's fence is first, expire() sees kChoosing, the number, or a value
//       stored after the session's reads were over. If expire()'s fence is first, the session loads
//       the new list, which does not have the snapshot. The old list is freed when no word is
//       kChoosing, by the same argument.
//   E53 expire() returns each number once. No session reads that snapshot then or later, and it is
//       not pinned. The caller removes the manifest, and those files that no other manifest lists.
//   E22 A snapshot is published after its manifest is durable. Numbers of snapshots grow, and their
//       covered epochs never decrease. A snapshot of the same epoch as the one before has the same
//       records in other files, and replaces it.

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
  // Returns the storage's root page in the snapshot, or null if the storage has no pages there or
  // was created later.
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
  // `kept`: how many of the newest snapshots stay readable, at least 1. `sessions_max`: bound of
  // the session numbers.
  Snapshots(base::Runtime* runtime, std::uint32_t sessions_max, std::uint32_t kept);
  ~Snapshots();
  Snapshots(const Snapshots&) = delete;
  Snapshots& operator=(const Snapshots&) = delete;

  // ---- sessions ------------------------------------------------------------------------------

  // Enters the newest snapshot, which stays readable until leave(). Returns null if there is no
  // snapshot yet; the caller then reads an empty database. REQUIRES: the session has left the
  // snapshot that it entered before.
  const ReadableSnapshot* enter(std::uint32_t session);
  // Enters the newest snapshot that covers no epoch above `as_of`. kNotFound: all kept snapshots
  // cover later epochs, or there is no snapshot yet; none was entered.
  Result<const ReadableSnapshot*> enter_as_of(std::uint32_t session, Epoch as_of);
  // Leaves the snapshot that the session has entered. Does nothing if it has entered none.
  void leave(std::uint32_t session) {
    // order: release, pairs with look_at_readers(): the session's reads are over (E52).
    slots_[session].reading.store_release(kNothing);
  }

  // ---- any thread ----------------------------------------------------------------------------

  // Pins the newest snapshot: like one that a session reads, it stays until unpin(). A snapshot may
  // be pinned several times. Returns null, and pins nothing, if there is no snapshot yet.
  const ReadableSnapshot* pin_newest();
  void unpin(const ReadableSnapshot* snapshot);

  // Asks the gleaner for a snapshot that covers `epoch`, and waits until there is one. kTimeout.
  // kClosed: the database was closed. Returns the error of set_trouble() if that is called during
  // the wait. An earlier error is not returned: the request makes the gleaner try again. REQUIRES:
  // `epoch` is durable, or the clock was asked to advance past it.
  Status wait_covered(Epoch epoch, std::uint64_t timeout_us);
  Epoch covered() const {
    // order: acquire, pairs with publish(): a thread that sees the epoch finds the snapshot in the
    // list.
    return Epoch(covered_.load_acquire());
  }
  // Returns the kept snapshots, oldest first.
  std::vector<SnapshotInfo> list() const;

  // ---- gleaner -------------------------------------------------------------------------------

  // Makes the snapshot of a durable manifest readable (E22), wakes all waiters, and clears
  // trouble().
  void publish(snapshot::Manifest manifest);
  // Passes over snapshots that are not kept any more. Returns, ascending, the numbers of those
  // passed over that no session reads or will read: their manifests may be removed
  // (snapshot/README.md, rule 4). Called after publish(), and again from time to time, since
  // readers end later.
  std::vector<page::SnapshotNumber> expire();
  // Does as expire() does, but passes over all snapshots except the newest. Called when disk space
  // is short.
  std::vector<page::SnapshotNumber> expire_all_but_newest();
  // Returns, ascending, the numbers of all snapshots that expire() has not returned.
  std::vector<page::SnapshotNumber> in_use() const;
  // Returns the number of the newest snapshot, or 0 if there is none.
  page::SnapshotNumber newest() const;

  // Sets the task that a call notifies before it waits for a snapshot; by then the call has raised
  // requested() above covered(). Called before the first wait, and with null before the task is
  // destroyed.
  void set_gleaner(base::Task* gleaner);
  Epoch requested() const {
    // order: acquire, pairs with the exchange in request().
    return Epoch(requested_.load_acquire());
  }
  // Returns whether a call has asked for a snapshot that does not exist yet.
  bool is_awaited() const { return requested() > covered(); }
  // Ends the waits of all callers with the error because of which no snapshot is made for now. An
  // ok status only clears the last error.
  void set_trouble(const Status& trouble);
  // Returns the status of the last set_trouble(), or ok if publish() was called since.
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
  std::vector<const ReadableSnapshot*> pins_;                         // one entry for each pin
  std::unique_ptr<const List> newest_list_;
  std::vector<std::unique_ptr<const List>> old_lists_;  // sessions may still read them
  bool has_more_ = false;  // kept_ has a snapshot that expire() has not seen
  base::Task* gleaner_ = nullptr;
  Status trouble_;
};

// Pins the newest snapshot for as long as the object lives.
class PinnedSnapshot {
 public:
  explicit PinnedSnapshot(Snapshots* snapshots)
      : snapshots_(snapshots), snapshot_(snapshots->pin_newest()) {}
  ~PinnedSnapshot() {
    if (snapshot_ != nullptr) snapshots_->unpin(snapshot_);
  }
  PinnedSnapshot(const PinnedSnapshot&) = delete;
  PinnedSnapshot& operator=(const PinnedSnapshot&) = delete;
  // Returns null if there was no snapshot.
  const ReadableSnapshot* get() const { return snapshot_; }

 private:
  Snapshots* const snapshots_;
  const ReadableSnapshot* const snapshot_;
};

}  // namespace foedus::engine
