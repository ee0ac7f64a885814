#pragma once
// TxnContext: one session's transaction as storages see it: the resources that it may use (pages,
// log ring, clock), and the parts of its state. Storages fill these in; the commit protocol
// (txn/commit.cc) reads them.
//
//   sets()             what it has read, followed and written     access_sets.h    O4
//   located_writes()   own writes whose records had not moved     located_writes.h O17
//   locks()            record locks held before commit            txn_locks.h
//   cold_pages()       pages of snapshots                         cold_pages.h     O14, O15
//   hints()            where the next search may begin            search_hints.h
//   uses()             which pages are wanted                     use_sampler.h
//
//   O5  The transaction changes no record before commit. Physical inserts, page splits and the like
//       are system transactions: they change where records are, never what a user sees, and write
//       no log.
//   O6  A conflict dooms the transaction: every later call returns the same conflict.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/copy_bytes.h"
#include "foedus-core/base/invariant.h"
#include "foedus-core/base/line_allocator.h"
#include "foedus-core/epoch/epoch_clock.h"
#include "foedus-core/log/ring/buffer.h"
#include "foedus-core/occ/access_sets.h"
#include "foedus-core/occ/cold_pages.h"
#include "foedus-core/occ/located_writes.h"
#include "foedus-core/occ/search_hints.h"
#include "foedus-core/occ/txn_locks.h"
#include "foedus-core/occ/txn_turn.h"
#include "foedus-core/occ/use_sampler.h"
#include "foedus-core/page/page_pool.h"
#include "foedus-core/page/session_pages.h"
#include "foedus/status.h"
#include "foedus/txn.h"

namespace foedus::occ {

// How a transaction reads. kOptimistic: it reads and remembers the read. kLocks: it locks the
// record first. kSnapshot: it looks at snapshot pages only (Isolation::kSnapshot).
enum class ReadMode : std::uint8_t { kOptimistic, kLocks, kSnapshot };

class TxnContext {
 public:
  struct Resources {
    page::PagePool* pool = nullptr;
    page::SessionPages* pages = nullptr;
    epoch::EpochClock* clock = nullptr;
    log::LogBuffer* log = nullptr;
    std::uint32_t session = 0;
    std::uint32_t soc = 0;
    snapshot::PageCache* cache = nullptr;  // null: there are no snapshots
    snapshot::PageReader* page_reader = nullptr;  // null: pages are read through the cache
    snapshot::LineCache* lines = nullptr;         // null: lines are not cached
    LineReads line_reads = LineReads::kCached;
    base::AtomicWord<std::uint64_t>* turn = nullptr;  // null: own_turn_
    base::MemorySource* memory = nullptr;             // for the sets; null: not counted
  };

  explicit TxnContext(const Resources& resources);
  TxnContext(const TxnContext&) = delete;
  TxnContext& operator=(const TxnContext&) = delete;

  // ---- resources -----------------------------------------------------------------------------
  page::PagePool& pool() { return *resources_.pool; }
  page::SessionPages& pages() { return *resources_.pages; }
  epoch::EpochClock& clock() { return *resources_.clock; }
  log::LogBuffer& log() { return *resources_.log; }
  std::uint32_t session() const { return resources_.session; }
  std::uint32_t soc() const { return resources_.soc; }

  // ---- parts ---------------------------------------------------------------------------------
  AccessSets& sets() { return sets_; }
  LocatedWrites& located_writes() { return located_writes_; }
  TxnLocks& locks() { return locks_; }
  ColdPages& cold_pages() { return cold_pages_; }
  SearchHints& hints() { return hints_; }
  UseSampler& uses() { return uses_; }
  // Returns the buffer into which read_own_whole() reads a record's whole payload (read_record.h).
  // That is needed if the caller wants some, but not all, bytes of a number that the transaction
  // has incremented.
  base::LineVector<char>& payload_room() { return payload_room_; }

  // ---- life (txn/, engine/) ------------------------------------------------------------------
  // Begins a transaction. Returns true if it is a retry that has records to lock: the caller then
  // calls reacquire().
  bool begin(const TxnOptions& options, bool is_retry = false);
  // Locks the records that end_for_retry() kept, in the order of their addresses.
  void reacquire() { locks_.reacquire(); }
  // Ends the transaction and forgets all of it. REQUIRES: its locks are released.
  void end();
  // Does end(), but keeps a list of records for a retry: those that the transaction locked before
  // its commit, those that hold() tried in vain to lock, and, if reads lock, all that it read.
  // Lends the reclamation pin (E26) if the list is not empty. begin() of a retry keeps the list for
  // reacquire() if the pin is still there. Any other begin() forgets it.
  void end_for_retry();
  // Forgets the list that end_for_retry() kept, and ends the lent pin.
  void forget_retry();
  bool is_open() const { return TxnTurn::is_open(turn()); }
  // Returns the number of beginnings and ends of the session's transactions, odd while one is open,
  // with the flags of TxnTurn. Hints and handles of an earlier transaction have another number.
  std::uint64_t turn() const {
    return turn_->load_relaxed();  // order: relaxed, written by the session's thread
  }
  bool is_doomed() const { return doomed_ != ConflictReason::kNone || is_out_of_memory_; }
  Isolation isolation() const { return isolation_; }
  bool is_read_only() const { return read_only_; }
  // Returns an epoch not after the transaction's begin. A page that was born in an earlier epoch
  // has taken over no record of which this transaction has the address.
  Epoch begin_epoch() const { return begin_epoch_; }

  ReadMode read_mode() const { return read_mode_; }
  // Returns whether reads lock their records: in the second half of transact()'s tries, and during
  // get_for_update().
  bool locks_reads() const { return read_mode_ == ReadMode::kLocks; }
  // REQUIRES: is_open().
  void set_locks_reads(bool locks) {
    if (read_mode_ != ReadMode::kSnapshot) {
      read_mode_ = locks ? ReadMode::kLocks : ReadMode::kOptimistic;
    }
  }

  // ---- what storages call --------------------------------------------------------------------

  // Dooms the transaction, counts the conflict, and returns the status for the caller.
  [[gnu::cold]] Status conflict(ConflictReason reason, StorageControl* storage,
                                std::string_view key = {});
  // Dooms the transaction after an allocation has failed within an operation. The operation may
  // have done more than the sets say, so the transaction must not commit. Every later status is
  // kOutOfMemory.
  [[gnu::cold]] void set_out_of_memory() { is_out_of_memory_ = true; }
  // Makes room in locks and sets: up to `records` records can move without allocation. A system
  // transaction calls this before it locks anything, because it cannot fail after that.
  void reserve_moves(std::size_t records);
  // Returns kOutOfMemory: the page pool has no free page.
  [[gnu::cold]] Status out_of_pages(StorageControl* storage);

  // Returns why a search found no page: the failure of cold_pages(), or else out_of_pages().
  [[gnu::cold]] Status no_page(StorageControl* storage);

  // Adds a write: makes its log record and its write-set entry. On failure nothing is added.
  //
  // If the log ring grows, the log records of earlier writes move. follow() updates their entries.
  //
  // In line, because a call with ten parameters would add a quarter to the time of the function.
  [[gnu::always_inline]] Status write(log::LogRecordType type, StorageControl* storage,
                                      page::RecordHeader* record, std::uint32_t place,
                                      std::string_view key, std::uint32_t payload_offset,
                                      std::string_view payload, Precondition precondition,
                                      std::uint64_t overflow = 0) {
    FOEDUS_INVARIANT(!cold_pages_.is_open());  // O15: it may wait for room in the log
    const std::size_t bytes = log::LogRecord::size_of(key.size(), payload.size());
    log::LogRecord* log_record =
        sets_.writes().has_room() ? resources_.log->try_reserve(bytes) : nullptr;
    if (log_record == nullptr) [[unlikely]] {
      FOEDUS_CHECK(reserve_slowly(storage, bytes, &log_record));
    }
    uses_.note(record);
    log_record->prepare(type, storage->id(), key.size(), payload.size(), payload_offset);
    base::copy_bytes(log_record->key_data(), key.data(), key.size());
    base::copy_bytes(log_record->payload_data(), payload.data(), payload.size());
    sets_.writes().add_reserved({.record = record,
                                 .log = log_record,
                                 .storage = storage,
                                 .overflow = overflow,
                                 .place = place,
                                 .precondition = precondition});
    return {};
  }

  // Updates the addresses of log records in the write set, after the session's ring has grown and
  // moved the records (log::RingSource).
  void follow(const log::RingMove& move) {
    for (WriteEntry& entry : sets_.writes().entries()) entry.log = move.moved(entry.log);
  }

  // Locks the record until the transaction ends (get_for_update). Does nothing if the transaction
  // is not serializable, or holds the lock already. kConflict: TxnLocks::hold() failed.
  Status hold(StorageControl* storage, page::RecordHeader* record, std::string_view key);

  // ---- counters, for statistics; read by others while the session runs -----------------------
  struct Counters {
    base::AtomicWord<std::uint64_t> commits;
    base::AtomicWord<std::uint64_t> rollbacks;
    base::AtomicWord<std::uint64_t> conflicts[kConflictReasonCount];

    // order: relaxed, one writer, and statistics only.
    static void count(base::AtomicWord<std::uint64_t>* counter) {
      counter->store_relaxed(counter->load_relaxed() + 1);
    }
  };
  Counters& counters() { return counters_; }

  // Returns the TID of the session's last commit: the next one is above it.
  page::Tid last_tid() const {
    return page::Tid(last_tid_.load_relaxed());  // order: relaxed, see set_last_tid()
  }
  // Makes commit choose a TID above `tid`, whose flags do not count. `tid` is purged_tid of a page
  // in which the transaction missed a key: the highest TID of the records that were removed from
  // that page. So replay takes a write of the transaction to the key in the other tree for the
  // newest (M48).
  void raise_tid_floor(page::Tid tid) {
    const page::Tid version = tid.without(page::Tid::kFlags);
    if (version.word() > tid_floor_.word()) tid_floor_ = version;
  }
  page::Tid tid_floor() const { return tid_floor_; }
  // order: release, pairs with follow_session(). Any other reader is the session's own thread, or
  // Engine::newest_commit(), which has to find only commits that its thread has seen by other means
  // (C7).
  void set_last_tid(page::Tid tid) { last_tid_.store_release(tid.word()); }
  // Raises last_tid() to that of `other`, a session of the same database. REQUIRES: the calling
  // thread has claimed the session, and no transaction is open in it.
  void follow_session(const TxnContext& other) {
    // order: acquire, pairs with set_last_tid(): the clock then shows this thread the epoch of that
    // TID or a later one. So the next commit here can have a TID above it.
    const page::Tid last(other.last_tid_.load_acquire());
    if (last.word() > last_tid().word()) set_last_tid(last);
  }

 private:
  [[gnu::noinline]] Status reserve_slowly(StorageControl* storage, std::size_t bytes,
                                          log::LogRecord** record);
  // Pins the reclamation of pages, and notes the epoch of the begin.
  void pin(bool is_of_snapshot);
  void forget_sets();

  const Resources resources_;
  base::AtomicWord<std::uint64_t> own_turn_;
  base::AtomicWord<std::uint64_t>* const turn_;

  ColdPages cold_pages_;
  AccessSets sets_;
  LocatedWrites located_writes_;
  TxnLocks locks_;
  SearchHints hints_;
  UseSampler uses_;
  base::LineVector<char> payload_room_;

  base::AtomicWord<std::uint64_t> last_tid_;
  page::Tid tid_floor_;
  Epoch begin_epoch_;
  Isolation isolation_ = Isolation::kSerializable;
  ConflictReason doomed_ = ConflictReason::kNone;
  bool is_out_of_memory_ = false;
  bool read_only_ = false;
  ReadMode read_mode_ = ReadMode::kOptimistic;
  alignas(64) Counters counters_;
};

}  // namespace foedus::occ
