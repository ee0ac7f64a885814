#pragma once
// EngineSession: all that a thread needs to run transactions: context, log buffer (a ring), stock
// of pages, and cursors of scans. Several threads may use a session one after the other, but never
// two at a time (E31). The log buffer stays attached to one logger of the session's SOC.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/engine/pace/txn_times.h"
#include "foedus-core/engine/pace/write_throttle.h"
#include "foedus-core/engine/sessions/session_slot.h"
#include "foedus-core/engine/sessions/touch_count.h"
#include "foedus-core/engine/sessions/unapplied.h"
#include "foedus-core/engine/setup/open_state.h"
#include "foedus-core/engine/snapshots/snapshot_caches.h"
#include "foedus-core/log/durability.h"
#include "foedus-core/log/log.h"
#include "foedus-core/log/ring/buffer.h"
#include "foedus-core/numa/soc_memory.h"
#include "foedus-core/numa/topology.h"
#include "foedus-core/occ/txn_context.h"
#include "foedus-core/page/session_pages.h"
#include "foedus-core/storage/hash/scan/cursor.h"
#include "foedus-core/storage/masstree/scan/merged_cursor.h"
#include "foedus-core/storage/sequential/sequential_cursor.h"
#include "foedus/database.h"
#include "foedus/txn.h"

namespace foedus::engine {

class Engine;
class EngineSession;
class ReadableSnapshot;
class SessionMemory;
class Snapshots;
class TxnWatch;

// Returns the error of a transaction that was open for too long (E36).
[[gnu::cold]] Status revoked();

// The state of a scan, on cache lines of its own. After the scan the session keeps the object for
// its next scan.
class alignas(64) ScanCursor {
 public:
  explicit ScanCursor(EngineSession* session) : session_(session) {}
  // Opens sequential_ at its first record.
  Status open_sequential();
  // Opens masstree_ on the keys in [low, high), or from `low` on if `high` is empty.
  Status open_tree(std::string_view low, std::string_view high, bool reverse);
  // Moves masstree_ to the next row.
  Status next_of_tree(std::uint64_t rows_left);
  Status open_applied();
  // Opens hash_.
  Status open_hash();
  Status apply_all();
  void close();

  EngineSession* session_;
  StorageKind kind_ = StorageKind::kMasstree;
  std::uint64_t rows_left_ = 0;
  bool is_positioned_ = false;  // sequential_ is at a record: next() moves it; or hash_ is open
  bool is_of_snapshot_ = false;
  bool may_have_rows_ = false;  // masstree_ may have read rows ahead: no row waited in open_tree()
  page::SnapshotPageId root_;   // if is_of_snapshot_: the storage's root in that snapshot
  occ::StorageControl* control_ = nullptr;
  // The scan's range in the log's tail, if rows of the storage waited when the scan began (E38).
  std::optional<Unapplied::Range> unapplied_;
  std::string low_;  // with unapplied_: bounds of the keys that masstree_ has not passed
  std::string high_;
  bool reverse_ = false;
  storage::masstree::MergedCursor masstree_;
  storage::sequential::Cursor sequential_;
  storage::hash::Cursor hash_;
};

// The properties in which sessions of a database differ.
struct SessionShape {
  bool is_logged = true;  // its records go to the log, if the database has one
  std::uint32_t number = 0;
  std::uint32_t soc = 0;
  std::uint32_t logger = 0;            // number among the loggers of all SOCs
  std::uint64_t log_buffer_bytes = 0;  // size at first
  std::uint64_t log_buffer_bytes_max = 0;
  SessionMemory* memory = nullptr;  // null: the log buffer cannot grow, the sets have no bound
};

class EngineSession final : private log::RingSource {
 public:
  // Objects that all sessions of a database share; they outlive the sessions.
  struct Parts {
    Engine* engine = nullptr;  // for the public interface; the session itself does not use it
    const Options* options = nullptr;
    base::Runtime* runtime = nullptr;
    const OpenState* state = nullptr;
    const numa::Topology* topology = nullptr;
    page::PagePool* pool = nullptr;
    epoch::EpochClock* clock = nullptr;
    const log::Log* log = nullptr;  // null: Logging::kNone
    internal::DurabilityWaits* durability = nullptr;
    Snapshots* snapshots = nullptr;
    WriteThrottle* throttle = nullptr;  // null: writers are not throttled
    const UnappliedTail* unapplied = nullptr;
    TxnWatch* watch = nullptr;  // null: transactions are not revoked
    std::uint64_t database = 0;
    // Parts that this session alone has.
    log::LogSpace* room = nullptr;  // null: nothing is logged
    PageReads reads = {};
    SessionShape shape = {};
  };
  EngineSession(const Parts& parts, numa::SocMemory ring);
  ~EngineSession();
  EngineSession(const EngineSession&) = delete;
  EngineSession& operator=(const EngineSession&) = delete;

  Engine& engine() { return *parts_.engine; }
  SessionSlot& slot() { return *slot_; }
  occ::TxnContext& context() { return context_; }
  log::LogBuffer& log() { return log_; }
  page::SessionPages& pages() { return pages_; }
  std::uint32_t soc() const { return context_.soc(); }
  // Adds the session to the counts of its SOC: pages taken and touched, local and remote. Any
  // thread.
  void add_stats(SocStats* stats) const;
  // Adds the times of the session's transactions. Any thread.
  void add_times(Stats* stats) const { times_.add_stats(stats); }
  // Returns the current size of the log buffer. Any thread.
  std::uint64_t ring_bytes() const { return ring_bytes_.load_relaxed(); }  // order: a statistic

  // ---- transactions --------------------------------------------------------------------------
  // Begins a transaction. If there is no snapshot that the options allow, returns the error of
  // foedus::Session::begin(), and nothing has begun. After any other error the transaction may have
  // begun: the caller calls rollback(). REQUIRES: the calling thread has claimed the session, and
  // Engine::wait_to_begin() has succeeded and returned `covered`.
  Status begin(const TxnOptions& options, Epoch covered, bool is_retry = false);
  // Returns the snapshot that a transaction of Isolation::kSnapshot reads; null: the empty
  // database.
  const ReadableSnapshot* snapshot() const { return snapshot_; }
  // Commits the open transaction, or ends it with an error. With Durability::kSync, waits until the
  // commit is durable.
  Result<Ticket> commit();
  // Returns whether the last commit() took effect. A commit() that took effect may have returned an
  // error: that of the wait for durability.
  bool has_committed() const { return has_committed_; }
  void clear_has_committed() { has_committed_ = false; }
  void rollback();
  // Rolls back a revoked transaction (E36). Called by TxnWatch's task or the owner's thread, which
  // holds TxnWatch's mutex.
  void roll_back_revoked();
  // Dooms the open transaction, because a row of the log's tail could not be applied, and returns
  // kConflict. The retry applies that row before it locks anything (E39).
  Status touch_later(occ::StorageControl* control, std::string_view key);
  // Discards what is kept for a retry of the last transaction: the next transaction is no retry.
  void forget_retry();
  // Takes the log bytes for which the session's user has to wait at the throttle, after the session
  // is released (E18). Returns 0, and keeps counting, while they are too few to wait for.
  std::uint64_t take_owed_bytes() {
    if (owed_bytes_ < WriteThrottle::kClaimBytesMin) [[likely]]
      return 0;
    return std::exchange(owed_bytes_, 0);
  }
  // Validates the reads of the open transaction. If one does not hold any more, the transaction is
  // doomed.
  Status verify();

  // Returns whether Database::transact() runs in this session. Then transact() alone ends the
  // transaction, and Txn::commit() is refused.
  bool is_in_transact() const { return in_transact_; }
  void set_in_transact(bool in_transact) { in_transact_ = in_transact; }
  // Called at the end of transact(), with the number of its tries.
  void note_tries(std::uint32_t tries) { times_.note_tries(tries); }
  // Returns whether the function that transact() runs has called Txn::rollback() in this try.
  bool wants_rollback() const { return wants_rollback_; }
  void set_wants_rollback() { wants_rollback_ = true; }
  // Waits a random time before the next try. The bound of this time grows with `try_number`.
  void back_off(std::uint32_t try_number);

  ScanCursor* take_cursor();
  void give_cursor(ScanCursor* cursor);

 private:
  Result<char*> grow_ring(std::uint64_t bytes, bool is_needed) override;
  void ring_has_moved(const log::RingMove& move) override;
  bool is_revoked() const;
  Status begin_with_touch(const TxnOptions& options);
  Status reacquire();
  Result<Ticket> commit_open();
  Status wait_durable(const Ticket& ticket);
  Status enter_snapshot(const TxnOptions& options, Epoch covered);
  // REQUIRES: no transaction is open.
  void leave_snapshot();

  // Holds the slot from the session's construction to the end of its destruction.
  struct SlotLease {
    SlotLease(std::uint64_t database, EngineSession* session);
    ~SlotLease();
    SlotLease(const SlotLease&) = delete;
    SlotLease& operator=(const SlotLease&) = delete;
    SessionSlot* const slot;
  };

  const Parts parts_;
  const SlotLease slot_lease_;
  SessionSlot* const slot_;
  SessionMemory* const memory_;
  numa::SocMemory ring_;
  numa::SocMemory next_ring_;  // between grow_ring() and ring_has_moved()
  // Rings that the transaction has outgrown. The transaction's user may still read rows in them,
  // until the next begin().
  std::vector<numa::SocMemory> old_rings_;
  base::AtomicWord<std::uint64_t> ring_bytes_;
  page::SessionPages pages_;
  log::LogBuffer log_;
  occ::TxnContext context_;
  TouchCount touches_;
  base::Random random_;
  const ReadableSnapshot* snapshot_ = nullptr;  // read by the open transaction; null: none
  Durability durability_ = Durability::kAsync;
  std::uint64_t owed_bytes_ = 0;  // log bytes of commits made while the throttle was on
  // Storage of the row key_to_touch_, which the next begin() applies (E39); null: no such row.
  occ::StorageControl* to_touch_ = nullptr;
  std::string key_to_touch_;
  bool has_committed_ = false;
  bool in_transact_ = false;
  bool wants_rollback_ = false;
  std::vector<std::unique_ptr<ScanCursor>> free_cursors_;
  TxnTimes times_;  // last: its histograms are large, and mostly cold
};

}  // namespace foedus::engine
