#pragma once
// Unapplied: the rows of a log's tail, while the database is open and no snapshot has them yet
// ("apply on first touch"). Recovery is over once the tail is sorted; pages come later.
//
//   waiting ──claim──► claimed ──its transaction commits──► applied
//      ▲                  │
//      └──────fails───────┘       and all at once: over, after the tail's snapshot is installed
//
//   word      written by             read by             meaning
//   states[]  thread that claims     sessions            see above
//   is_over   end()                  threads that claim  nothing is applied any more (E42)
//
//   E38 No operation looks at a waiting row, or at a range of keys that has one: the row is applied
//       before. Until then no transaction can have changed it, or locked it, so that the row
//       becomes what it was when the log ended. The tail belongs to the state in which the database
//       was opened. StorageControl says which storages have rows that wait.
//   E39 A row is applied, with all its records, by one transaction of a session that serves nothing
//       else. It is not logged: the tail stays in the log until a snapshot covers it. Its page may
//       be one that cannot be split because a user has locked records of it. That user may be the
//       one that waits for the row. So applying it does not wait for long: the user's transaction
//       conflicts. Its retry applies the row before it locks anything
//       (EngineSession::touch_later()). A thread that waits for the row holds no cache pin (O15).
//   E40 No other snapshot is made before that of the tail: one that covers a later epoch would
//       lack it.
//   E41 The rows end once the snapshot is installed, and nothing volatile leads to pages of earlier
//       ones (O16). A search that comes to a snapshot page then finds rows of the tail there. A
//       waiting row whose page is volatile is in neither: end() applies those. Pages that become
//       volatile later are copies of pages that have the row.
//   E42 A thread claims a row while it holds the mutex of one of the sessions, and not once is_over
//       is set. If it finds that set, it ends the row instead, or waits for the thread that has
//       claimed it. end() sets it, and then takes each mutex once, not waiting for any. So all
//       claimed rows are applied, and no other will be, when StorageControl tells operations not to
//       ask any more. Otherwise a late touch would undo what was written since.
//   E43 A record that changes part of a row is applied to the row in the snapshot that was found.
//       That snapshot is kept until the end. The row as it is now may be of the tail's own
//       snapshot, and have the change. So a row that is applied again would become what it is.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/system/task.h"
#include "foedus-core/engine/setup/borrowed_memory.h"
#include "foedus-core/engine/snapshot_driver.h"
#include "foedus-core/epoch/epoch_clock.h"
#include "foedus-core/storage_meta/storage_control.h"
#include "foedus/epoch.h"
#include "foedus/status.h"

namespace foedus::occ {
class TxnContext;
}

namespace foedus::engine {

class Catalog;
class EngineSession;
class OpenState;
class ReadableSnapshot;
class SessionFactory;
class Snapshots;

class Unapplied {
 public:
  // Number of sessions that apply rows, and so of rows at a time.
  static constexpr std::uint32_t kSessions = 4;

  // Rows of a storage, of which some wait.
  struct Rows {
    page::StorageId id{};
    occ::StorageControl* control = nullptr;
    std::size_t place = 0;        // of the storage in the tail
    std::size_t count = 0;        // of records
    page::SnapshotPageId root{};  // in the snapshot that was found
    // The state of a row is that of its first record.
    std::unique_ptr<base::AtomicWord<std::uint8_t>[]> states;
  };

  // A range of keys that a scan passes, from one end to the other.
  class Range {
   public:
    Range() = default;
    bool is_applied() const { return next_ == end_; }
    // Returns the key of the next row that waits. REQUIRES: !is_applied().
    std::string_view waiting_key() const;
    // Applies some rows from there on. kConflict: a user, perhaps the caller, has locked what it
    // needs.
    Status apply_some();

   private:
    friend class Unapplied;
    Unapplied* all_ = nullptr;
    Rows* rows_ = nullptr;
    bool reverse_ = false;
    // Records [next_, end_), or [end_, next_) from its end, were not looked at.
    std::size_t next_ = 0;
    std::size_t end_ = 0;
  };

  struct Parts {
    const Options* options = nullptr;
    base::Runtime* runtime = nullptr;
    const OpenState* state = nullptr;
    epoch::EpochClock* clock = nullptr;
    Snapshots* snapshots = nullptr;
    const Catalog* catalog = nullptr;
    SessionFactory* sessions = nullptr;
  };
  // Takes `tail`, which is in memory, and `borrowed`, the part of its memory that is not the
  // gleaner's. kOutOfMemory: both stay where they are.
  static Result<std::unique_ptr<Unapplied>> make(const Parts& parts,
                                                 std::unique_ptr<SortedTail>* tail,
                                                 BorrowedMemory* borrowed, Epoch covered);
  // Marks the storages with waiting rows, before a session uses any. REQUIRES: the storages of the
  // tail are in the catalog.
  void attach();
  ~Unapplied();
  Unapplied(const Unapplied&) = delete;
  Unapplied& operator=(const Unapplied&) = delete;

  // ---- users, within a transaction that saw StorageControl::has_unapplied() ---------------------

  // Applies the row of that key if it waits. On an error, which is the storage's, it goes on
  // waiting. kConflict: a user has locked what it needs, perhaps the caller. REQUIRES: the caller
  // looks at no page, and holds no cache pin.
  Status touch(occ::StorageControl* control, std::string_view key);
  // Returns the rows that wait in a range. `high` empty: no upper bound.
  Range range(occ::StorageControl* control, std::string_view low, std::string_view high,
              bool reverse);
  // Returns once no record of that sequential storage waits. kConflict: it took too long. Other
  // errors: those that keep the gleaner from ending the rows.
  Status wait_over(occ::TxnContext* txn, occ::StorageControl* control);

  // ---- the gleaner's task ----------------------------------------------------------------------

  // Returns the epoch that the tail's snapshot covers.
  Epoch covered() const { return covered_; }
  SortedTail& tail() { return *tail_; }
  std::uint64_t bytes_held() const { return bytes_held(*tail_); }
  // Returns the part of bytes_held() that is borrowed.
  std::uint64_t bytes_borrowed() const { return borrowed_.bytes(); }
  // Ends the waiting of sequential storages. Called once the snapshot is installed (E41).
  void end_sequential();
  // Ends all rows; to be called again until has_ended(). kConflict: a user has locked what it
  // needs. kClosed: it was given up. `slot`: the slot of the task in the clock.
  Status end(std::uint32_t slot);
  bool has_ended() const { return over_since_.is_valid(); }
  // Returns whether no transaction can ask any more.
  bool is_unused() const;

 private:
  enum State : std::uint8_t { kWaiting, kClaimed, kApplied };
  struct Applier {
    std::mutex mutex;
    std::unique_ptr<EngineSession> session;  // guarded by mutex
  };
  class Claim;

  Unapplied(const Parts& parts, Epoch covered);
  // Returns the memory that the tail holds, with what its sort has left unused.
  static std::uint64_t bytes_held(const SortedTail& tail) { return tail.bytes() / 4 * 5; }
  Status make_parts(const SortedTail& tail);
  void leave_found();
  Rows* find(const occ::StorageControl& control);
  const log::LogRecord& record(const Rows& rows, std::size_t index) const {
    return tail_->record(rows.place, index);
  }
  std::size_t end_of_row(const Rows& rows, std::size_t begin) const;
  std::size_t begin_of_row(const Rows& rows, std::size_t last) const;
  Status apply_row(Rows* rows, std::size_t begin);
  Status apply_claimed(EngineSession* session, const Rows& rows, std::size_t begin);
  Status try_apply(EngineSession* session, const Rows& rows, std::size_t begin, std::size_t end);
  bool is_in_memory(const Rows& rows, std::size_t begin);
  Status end_row(Rows* rows, std::uint32_t slot);
  Status end_rows(std::uint32_t slot);

  const Parts parts_;
  BorrowedMemory borrowed_;  // of tail_
  std::unique_ptr<SortedTail> tail_;
  const Epoch covered_;
  std::vector<Rows> rows_;  // ascending by the storage's id; none is added or removed after make()
  std::unique_ptr<EngineSession> looker_;    // searches for end()
  const ReadableSnapshot* found_ = nullptr;  // the newest one, entered by looker_; null: none
  Applier appliers_[kSessions];
  base::AtomicWord<std::uint32_t> is_over_;

  // Used by the gleaner's task.
  std::size_t end_storage_ = 0;  // up to where end() has come: in rows_, and of its records
  std::size_t end_record_ = 0;
  std::uint32_t passed_ = 0;  // E42: mutexes that were taken since is_over was set
  Epoch over_since_;
};

// The unapplied tail of a database, while one is there.
class UnappliedTail {
 public:
  UnappliedTail() = default;
  UnappliedTail(const UnappliedTail&) = delete;
  UnappliedTail& operator=(const UnappliedTail&) = delete;

  // Returns null if no row waits. A transaction that saw StorageControl::has_unapplied() finds the
  // rows.
  Unapplied* get() const { return rows_.get(); }

  // ---- the gleaner's task ----------------------------------------------------------------------

  // Called before recovery is over.
  void set(std::unique_ptr<Unapplied> rows) { rows_ = std::move(rows); }
  // Frees the rows. REQUIRES: Unapplied::is_unused().
  void reset() { rows_.reset(); }

 private:
  std::unique_ptr<Unapplied> rows_;
};

}  // namespace foedus::engine
