#pragma once
// TxnContext: one session's transaction as storages see it: the resources that it may use (pages,
// log ring, clock), and the parts of its state. Storages fill these in; the commit protocol
// (txn/commit.cc) reads them.
//
//   sets()             what it has read, followed and written     access_sets.h    O4
//   settled_writes()   own writes that were seen in their place   settled_writes.h O17
//   locks()            record locks held before commit            txn_locks.h
//   cold_pages()       pages of snapshots                         cold_pages.h     O14, O15
//   hints()            where the next search may begin            search_hints.h
//   uses()             which pages are wanted                     use_sampler.h
//
//   O5  It changes no record before commit. Physical inserts, splits and the like are system
//       transactions: they change where records are, never what a user sees, and write no log.
//   O6  A conflict dooms it: every later call returns the same.

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
#include "foedus-core/occ/search_hints.h"
#include "foedus-core/occ/settled_writes.h"
#include "foedus-core/occ/txn_locks.h"
#include "foedus-core/occ/txn_turn.h"
#include "foedus-core/occ/use_sampler.h"
#include "foedus-core/page/page_pool.h"
#include "foedus-core/page/session_pages.h"
#include "foedus/status.h"
#include "foedus/txn.h"

namespace foedus::occ {

// The way of a transaction's reads: look and remember, lock first, or look at snapshot pages alone.
// The last is Isolation::kSnapshot, which asks no storage for a volatile record.
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
    snapshot::LineCache* lines = nullptr;         // null: none
    LineReads line_reads = LineReads::kCached;
    base::AtomicWord<std::uint64_t>* turn = nullptr;  // null: a word of its own
    base::MemorySource* memory = nullptr;             // of the sets; null: uncounted
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
  SettledWrites& settled_writes() { return settled_writes_; }
  TxnLocks& locks() { return locks_; }
  ColdPages& cold_pages() { return cold_pages_; }
  SearchHints& hints() { return hints_; }
  UseSampler& uses() { return uses_; }
  // Room for the whole payload of a record that is read (read_record.h).
  base::LineVector<char>& payload_room() { return payload_room_; }

  // ---- life (txn/, engine/) ------------------------------------------------------------------
  void begin(const TxnOptions& options);
  // Forgets everything; the transaction is over. Locks must have been released.
  void end();
  // Does end(), but keeps a list of the records held (or read, if reads lock), and lends the
  // reclamation pin (E26). begin() of a retry locks them first, by address, if the pin is still
  // there. Any other begin() forgets them.
  void end_for_retry();
  // Gives up what end_for_retry() kept.
  void forget_retry();
  bool is_open() const { return TxnTurn::is_open(turn()); }
  // Counts the beginnings and ends of the session's transactions: odd while one is open. It tells
  // what another transaction left behind. Flags: of the open transaction.
  std::uint64_t turn() const {
    return turn_->load_relaxed();  // order: relaxed, written by the session's thread
  }
  bool is_doomed() const { return doomed_ != ConflictReason::kNone || is_out_of_memory_; }
  Isolation isolation() const { return isolation_; }
  bool is_read_only() const { return read_only_; }
  // Returns the epoch in which the transaction began. A page born in an earlier one took over none
  // of its records.
  Epoch begin_epoch() const { return begin_epoch_; }

  ReadMode read_mode() const { return read_mode_; }
  // Returns whether reads take locks: the second half of transact()'s tries, and get_for_update.
  bool locks_reads() const { return read_mode_ == ReadMode::kLocks; }
  // REQUIRES: is_open().
  void set_locks_reads(bool locks) {
    if (read_mode_ != ReadMode::kSnapshot) {
      read_mode_ = locks ? ReadMode::kLocks : ReadMode::kOptimistic;
    }
  }

  // ---- what storages call --------------------------------------------------------------------

  // Dooms the transaction and returns the status to hand out. Counts it.
  [[gnu::cold]] Status conflict(ConflictReason reason, StorageControl* storage,
                                std::string_view key = {});
  // Dooms the transaction after the heap was spent in the midst of an operation, which may have
  // remembered half of what it did. Every status from now on is kOutOfMemory.
  [[gnu::cold]] void set_out_of_memory() { is_out_of_memory_ = true; }
  // Makes room for what the transaction remembers of up to `records` moves. A system transaction
  // calls it before it locks anything.
  void reserve_moves(std::size_t records);
  // Returns the error that there is no page, or none now.
  [[gnu::cold]] Status out_of_pages(StorageControl* storage);

  // Returns why there was no page: cold_pages() could not read it, or no memory is left for
  // another.
  [[gnu::cold]] Status no_page(StorageControl* storage);

  // Adds a write: makes its log record and its write-set entry. On failure nothing is added.
  //
  // The records of earlier writes may move within the log: their entries follow.
  //
  // In line: what a call with ten parameters costs is a quarter of what it does.
  [[gnu::always_inline]] Status write(log::LogRecordType type, StorageControl* storage,
                                      page::RecordHeader* record, std::uint32_t place,
                                      std::string_view key, std::uint32_t payload_offset,
                                      std::string_view payload, Premise premise,
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
                                 .premise = premise});
    return {};
  }

  // Updates the entries after the session's ring has grown (log::RingSource).
  void follow(const log::RingMove& move) {
    for (WriteEntry& entry : sets_.writes().entries()) entry.log = move.moved(entry.log);
  }

  // Takes the record's lock until the transaction ends (get_for_update). kConflict: it could only
  // be waited for in a circle, or was waited for in vain.
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
  // Keeps the transaction's TID above `tid`, which may have flags. It is that of a row found
  // missing, of which the record has gone.
  void raise_tid_floor(page::Tid tid) {
    const page::Tid version = tid.without(page::Tid::kFlags);
    if (version.word() > tid_floor_.word()) tid_floor_ = version;
  }
  page::Tid tid_floor() const { return tid_floor_; }
  // order: release, pairs with follow_session(). Others are the session itself, or have seen the
  // commit otherwise.
  void set_last_tid(page::Tid tid) { last_tid_.store_release(tid.word()); }
  // Raises last_tid() to that of `other`, a session of the same database. REQUIRES: the calling
  // thread has claimed the session, and no transaction is open in it.
  void follow_session(const TxnContext& other) {
    // order: acquire, pairs with set_last_tid(): the clock shows this thread that TID's epoch, too,
    // or a later one. So the next commit finds a TID above it.
    const page::Tid last(other.last_tid_.load_acquire());
    if (last.word() > last_tid().word()) set_last_tid(last);
  }

 private:
  [[gnu::noinline]] Status reserve_slowly(StorageControl* storage, std::size_t bytes,
                                          log::LogRecord** record);
  void forget_sets();

  const Resources resources_;
  base::AtomicWord<std::uint64_t> own_turn_;
  base::AtomicWord<std::uint64_t>* const turn_;

  ColdPages cold_pages_;
  AccessSets sets_;
  SettledWrites settled_writes_;
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
