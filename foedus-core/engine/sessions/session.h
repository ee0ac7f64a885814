#pragma once
// EngineSession: context, ring, stock of pages and scans with which one thread at a time runs
// transactions. Made once, and used by one thread after the other (E31). Its ring stays attached to
// its SOC's logger.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "foedus-core/base/system/clock.h"
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

// The state of a scan. Its session keeps it for the next one, on cache lines of its own.
class alignas(64) ScanCursor {
 public:
  explicit ScanCursor(EngineSession* session) : session_(session) {}
  // Opens sequential_ at its first record.
  Status open_sequential();
  // Opens masstree_ on the keys from `low` on to `high`.
  Status open_tree(std::string_view low, std::string_view high, bool reverse);
  // Moves masstree_ to the next row.
  Status next_of_tree(std::uint64_t rows_left);
  Status open_applied();

  EngineSession* session_;
  StorageKind kind_ = StorageKind::kMasstree;
  std::uint64_t rows_left_ = 0;
  bool is_positioned_ = false;  // sequential_: open() came first
  bool is_of_snapshot_ = false;
  bool may_have_rows_ = false;  // masstree_ is in use
  page::SnapshotPageId root_;   // is_of_snapshot_: root of the storage
  occ::StorageControl* control_ = nullptr;
  // The tree's range, if rows of it waited when the scan began (E38).
  std::optional<Unapplied::Range> unapplied_;
  std::string low_;  // with unapplied_: what is left of the range
  std::string high_;
  bool reverse_ = false;
  storage::masstree::MergedCursor masstree_;
  storage::sequential::Cursor sequential_;
};

// Number, place and size of a session.
struct SessionShape {
  bool is_logged = true;  // as far as the database is
  std::uint32_t number = 0;
  std::uint32_t soc = 0;
  std::uint32_t logger = 0;            // of that SOC
  std::uint64_t log_buffer_bytes = 0;  // of the first ring
  std::uint64_t log_buffer_bytes_max = 0;
  SessionMemory* memory = nullptr;  // null: the ring does not grow, and sets are not counted
};

class EngineSession final : private log::RingSource {
 public:
  // Objects that all sessions of a database share; they outlive it.
  struct Parts {
    Engine* engine = nullptr;  // for the public interface: the session itself does not look at it
    const Options* options = nullptr;
    base::Runtime* runtime = nullptr;
    const OpenState* state = nullptr;
    const numa::Topology* topology = nullptr;
    page::PagePool* pool = nullptr;
    epoch::EpochClock* clock = nullptr;
    const log::Log* log = nullptr;  // null: Logging::kNone
    internal::DurabilityWaits* durability = nullptr;
    Snapshots* snapshots = nullptr;
    WriteThrottle* throttle = nullptr;  // null: writers are not slowed
    const UnappliedTail* unapplied = nullptr;
    TxnWatch* watch = nullptr;  // null: transactions are not revoked
    std::uint64_t database = 0;
    // Of this session alone.
    log::LogRoom* room = nullptr;  // null: nothing is logged
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
  // Adds the counts of where the pages of its transactions are. Any thread.
  void add_stats(SocStats* stats) const;
  // Returns the size of the log buffer as it is now. Any thread.
  std::uint64_t ring_bytes() const { return ring_bytes_.load_relaxed(); }  // order: a statistic

  // ---- transactions --------------------------------------------------------------------------
  // Begins a transaction. On errors of snapshots, which foedus::Session::begin() reports, nothing
  // has begun. REQUIRES: the calling thread has claimed the session; Engine::wait_to_begin() has
  // succeeded, and returned `covered`.
  Status begin(const TxnOptions& options, Epoch covered);
  // Returns the snapshot that a transaction of Isolation::kSnapshot reads; null: the empty
  // database.
  const ReadableSnapshot* snapshot() const { return snapshot_; }
  // Ends the transaction. Waits for durability if it was begun with Durability::kSync.
  Result<Ticket> commit();
  // Returns whether the last commit() took effect, also if it reported that this is not durable.
  bool has_committed() const { return has_committed_; }
  void clear_has_committed() { has_committed_ = false; }
  void rollback();
  // Rolls back a revoked transaction (E36). Called by the watch or the owner's thread, under the
  // mutex of the watch.
  void roll_back_revoked();
  // Makes the open transaction conflict over a row of the log's tail that could not be applied. Its
  // retry locks nothing before it has applied the row (E39).
  Status touch_later(occ::StorageControl* control, std::string_view key);
  // Forgets what a retry of the last transaction would need.
  void forget_retry();
  // Returns the bytes for which the session's user has to wait at the throttle, once the session is
  // free (E18); 0: too few to wait for.
  std::uint64_t take_owed_bytes() {
    if (owed_bytes_ < WriteThrottle::kClaimBytesMin) [[likely]]
      return 0;
    return std::exchange(owed_bytes_, 0);
  }
  // Returns ok if what was read still holds; otherwise the transaction is doomed.
  Status verify();

  // Returns whether Database::transact() is at work in this session: it alone ends the transaction.
  bool is_in_transact() const { return in_transact_; }
  void set_in_transact(bool in_transact) { in_transact_ = in_transact; }
  // Returns whether the function that transact() runs has called Txn::rollback() in this try.
  bool wants_rollback() const { return wants_rollback_; }
  void set_wants_rollback() { wants_rollback_ = true; }
  // Waits a little, longer with each try.
  void back_off(std::uint32_t try_number);

  ScanCursor* take_cursor();
  void give_cursor(ScanCursor* cursor);

 private:
  Result<char*> grow_ring(std::uint64_t bytes, bool is_needed) override;
  void ring_has_moved(const log::RingMove& move) override;
  bool is_revoked() const;
  Status begin_with_touch(const TxnOptions& options);
  Result<Ticket> commit_open();
  Status enter_snapshot(const TxnOptions& options, Epoch covered);
  // REQUIRES: no transaction is open.
  void leave_snapshot();

  // The lease of the slot, for as long as the session is there.
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
  numa::SocMemory next_ring_;               // between grow_ring() and ring_has_moved()
  std::vector<numa::SocMemory> old_rings_;  // of the open transaction: rows may lie there
  base::AtomicWord<std::uint64_t> ring_bytes_;
  page::SessionPages pages_;
  log::LogBuffer log_;
  occ::TxnContext context_;
  TouchCount touches_;
  base::Random random_;
  const ReadableSnapshot* snapshot_ = nullptr;  // of the open transaction
  Durability durability_ = Durability::kAsync;
  std::uint64_t owed_bytes_ = 0;             // of log that was written while there was a limit
  occ::StorageControl* to_touch_ = nullptr;  // null: there is no such row
  std::string key_to_touch_;
  bool has_committed_ = false;
  bool in_transact_ = false;
  bool wants_rollback_ = false;
  std::vector<std::unique_ptr<ScanCursor>> free_cursors_;
};

}  // namespace foedus::engine
