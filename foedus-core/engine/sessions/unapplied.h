#pragma once
// Unapplied: the rows of a log's tail, while the database is open and no snapshot has them yet
// (on-demand recovery). Recovery is over once the tail is sorted. A row of the tail waits until its
// first touch, when an operation needs it and applies it, or until the tail's snapshot has it.
//
//   waiting ──claim──► claimed ──its transaction commits──► applied
//      ▲                  │
//      └──────fails───────┘       and all at once: over, after the tail's snapshot is installed
//
//   word      written by             read by             meaning
//   states[]  thread that claims     sessions            see above
//   is_over   end()                  threads that claim  1: no row is claimed any more (E42)
//
//   E38 Before an operation looks at a waiting row, or at a range of keys that has one, it applies
//       the row. Only transactions on a snapshot need not, since their snapshot either precedes the
//       tail or has its rows in pages. So no transaction changes or locks the row until it is
//       applied, and the row then becomes what it was when the log ended. StorageControl says which
//       storages have rows that wait.
//   E39 One transaction applies a row with all its records. Its session serves nothing else and
//       logs nothing: the tail stays in the log until a snapshot covers it. The row's page may need
//       a split, which waits for record locks of a user's transaction. That user's thread may be
//       the one that waits for the row. So the attempt to apply the row is short. If the attempt
//       fails, the user's transaction conflicts, and its retry applies the row before it locks
//       anything (EngineSession::touch_later()). A thread that waits for the row holds no cache pin
//       (O15).
//   E40 No other snapshot is made before that of the tail: a snapshot that covers a later epoch
//       would lack the tail's rows.
//   E41 A row ends when every search finds it without Unapplied. All rows end once the tail's
//       snapshot is installed and no volatile page leads to pages of earlier snapshots (O16). From
//       then on a search that comes to a snapshot page finds the tail's rows there. But a search
//       may end on a volatile page that was made before and lacks a waiting row: end() applies such
//       rows. Pages that become volatile later are copies of snapshot pages that have the rows.
//   E42 A thread claims a row only while it holds the mutex of one of the sessions and is_over is
//       not set. If is_over is set, the thread marks a waiting row applied without any change, and
//       waits for a claimed row. end() sets is_over, and then takes each mutex once. It never
//       blocks on a mutex, but goes on in the next call. After the last mutex, no row is claimed,
//       and none will be applied any more. Only then does end() clear the flags in StorageControl
//       by which operations ask for waiting rows. A row that was applied later would undo what
//       users wrote since.
//   E43 A record that changes part of a row is applied to the row of the snapshot that was found at
//       open. That snapshot is kept until all rows have ended. The current row may lie in the
//       tail's own snapshot, and have the change already: an increment would count twice. Applied
//       to the row found at open, the records give the same row as in the tail's snapshot.

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
  // Number of sessions that apply rows. As many rows can be applied at the same time.
  static constexpr std::uint32_t kSessions = 4;

  // The tail's rows of one storage.
  struct Rows {
    page::StorageId id{};
    occ::StorageControl* control = nullptr;
    std::size_t place = 0;        // index of the storage in the tail
    std::size_t count = 0;        // number of records
    page::SnapshotPageId root{};  // the storage's root in the snapshot found at open
    // One state for each record. Only that of a row's first record is used, as the row's state.
    // Null: the storage is sequential, and operations wait for the snapshot.
    std::unique_ptr<base::AtomicWord<std::uint8_t>[]> states;
  };

  // A scan's range of keys in the tail. The scan applies its rows bit by bit, ahead of its cursor.
  class Range {
   public:
    Range() = default;
    bool is_applied() const { return next_ == end_; }
    // Returns the key of the first row, in the scan's direction, that apply_some() has not come to.
    // REQUIRES: !is_applied().
    std::string_view waiting_key() const;
    // Applies some rows from waiting_key() on. kConflict: a user's transaction, perhaps the
    // caller's, has locked records that a row's page move needs.
    Status apply_some();

   private:
    friend class Unapplied;
    Unapplied* all_ = nullptr;
    Rows* rows_ = nullptr;
    bool reverse_ = false;
    // Records that apply_some() has not come to: [next_, end_), or [end_, next_) if reverse_.
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
  // Makes the object, which takes over `tail` and keeps as much of `borrowed` as the tail needs
  // beyond half of the gleaner's memory. `covered`: the epoch that the tail's snapshot covers.
  // REQUIRES: the tail is in memory. kOutOfMemory: the caller keeps `tail` and `borrowed`.
  static Result<std::unique_ptr<Unapplied>> make(const Parts& parts,
                                                 std::unique_ptr<SortedTail>* tail,
                                                 BorrowedMemory* borrowed, Epoch covered);
  // Marks the storages that have waiting rows, and enters the newest snapshot so that it is kept
  // (E43). Called before recovery is over. REQUIRES: the storages of the tail are in the catalog.
  void attach();
  ~Unapplied();
  Unapplied(const Unapplied&) = delete;
  Unapplied& operator=(const Unapplied&) = delete;

  // ---- users, within a transaction that saw StorageControl::has_unapplied() ---------------------

  // Applies the row of `key` if it waits. After an error the row goes on waiting. kConflict: a
  // user's transaction, perhaps the caller's, has locked records that a move of the row's page
  // needs. Other errors: those of the storage, or kCorruption of the log. REQUIRES: the caller
  // looks at no page, and holds no cache pin.
  Status touch(occ::StorageControl* control, std::string_view key);
  // Returns the tail's rows with keys in [low, high). `high` empty: no upper bound.
  Range range(occ::StorageControl* control, std::string_view low, std::string_view high,
              bool reverse);
  // Returns all of the tail's rows of the storage.
  Range all_of(occ::StorageControl* control);
  // Waits until no record of the sequential storage waits. kConflict: that took too long, or the
  // transaction was revoked. Other errors: Snapshots::trouble(), because of which the gleaner
  // cannot end the rows.
  Status wait_over(occ::TxnContext* txn, occ::StorageControl* control);

  // ---- the gleaner's task ----------------------------------------------------------------------

  // Returns the epoch that the tail's snapshot covers.
  Epoch covered() const { return covered_; }
  SortedTail& tail() { return *tail_; }
  std::uint64_t bytes_held() const { return bytes_held(*tail_); }
  // Returns how many of bytes_held() are borrowed from volatile pages (BorrowedMemory).
  std::uint64_t bytes_borrowed() const { return borrowed_.bytes(); }
  // Lets operations use the sequential storages of the tail. Called once the tail's snapshot is
  // installed (E41).
  void end_sequential();
  // Ends all rows (E41), as far as it can without a wait. The caller repeats the call until
  // has_ended(). kConflict: the next row is claimed, or a user's transaction has locked records
  // that a move of the row's page needs. kClosed: the database closes. `slot`: the task's slot in
  // the epoch clock.
  Status end(std::uint32_t slot);
  bool has_ended() const { return over_since_.is_valid(); }
  // Returns whether no transaction can use this object any more. REQUIRES: has_ended().
  bool is_unused() const;

 private:
  enum State : std::uint8_t { kWaiting, kClaimed, kApplied };
  struct Applier {
    std::mutex mutex;
    std::unique_ptr<EngineSession> session;  // guarded by mutex
  };
  class Claim;

  Unapplied(const Parts& parts, Epoch covered);
  // Returns the memory that the tail holds: its records, and a quarter more that its sort leaves
  // unused.
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
  BorrowedMemory borrowed_;  // for the records of tail_
  std::unique_ptr<SortedTail> tail_;
  const Epoch covered_;
  std::vector<Rows> rows_;  // ascending by the storage's id; none is added or removed after make()
  std::unique_ptr<EngineSession> looker_;    // searches rows for end(); enters found_
  const ReadableSnapshot* found_ = nullptr;  // newest snapshot at open; null: none, or left
  Applier appliers_[kSessions];
  base::AtomicWord<std::uint32_t> is_over_;

  // Used by the gleaner's task.
  std::size_t end_storage_ = 0;  // index in rows_ up to which end() has come
  std::size_t end_record_ = 0;   // index of the next record in the rows of that storage
  std::uint32_t passed_ = 0;     // mutexes that end() has taken since it set is_over (E42)
  Epoch over_since_;
};

// Owns the Unapplied of a database, from recovery until all rows have ended and no transaction uses
// it.
class UnappliedTail {
 public:
  UnappliedTail() = default;
  UnappliedTail(const UnappliedTail&) = delete;
  UnappliedTail& operator=(const UnappliedTail&) = delete;

  // Returns null if no row waits. Does not return null to a transaction that saw
  // StorageControl::has_unapplied(): reset() comes after the end of that transaction.
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
