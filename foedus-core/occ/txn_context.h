#pragma once
// TxnContext: one session's transaction as storages see it: the resources that it may use (pages,
// log ring, clock) and the sets that it keeps. Storages fill it in; the commit protocol
// (txn/commit.cc) reads it.
//
//   O4  A serializable transaction remembers every record it looked at, present or deleted. It also
//       remembers every page in which it missed a key or scanned, and every pointer that it
//       followed to a snapshot page.
//   O5  It changes no record before commit. Physical inserts, splits and the like are system
//       transactions: they change where records are, never what a user sees, and write no log.
//   O6  A conflict dooms it: every later call returns the same.

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "foedus-core/base/copy_bytes.h"
#include "foedus-core/base/sync_point.h"
#include "foedus-core/epoch/epoch_clock.h"
#include "foedus-core/log/log_buffer.h"
#include "foedus-core/occ/access_set.h"
#include "foedus-core/occ/begun_search.h"
#include "foedus-core/occ/cold_pages.h"
#include "foedus-core/occ/optimistic_read.h"
#include "foedus-core/occ/read_range.h"
#include "foedus-core/occ/txn_turn.h"
#include "foedus-core/page/page_pool.h"
#include "foedus-core/page/session_pages.h"
#include "foedus/status.h"
#include "foedus/txn.h"

namespace foedus::occ {

// The result of a look at a record. kMoved: it is now in another page or a layer; look again from
// above.
enum class Found : std::uint8_t { kPresent, kAbsent, kMoved, kConflict };

// The way of a transaction's reads: look and remember, lock first, or look at snapshot pages alone.
// The last is Isolation::kSnapshot, which asks no storage for a volatile record.
enum class ReadMode : std::uint8_t { kOptimistic, kLocks, kSnapshot };

// Microseconds for which a transaction waits for a record's lock before it conflicts: a user may
// have forgotten what get_for_update() locked.
inline constexpr std::uint64_t kLockWaitUs = 10'000'000;

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
  // Locks `record`. Returns false if that took longer than a transaction waits; the next conflict()
  // says so. REQUIRES: O1, it may be waited for.
  [[nodiscard]] bool lock_record(page::RecordHeader* record, LockWaiter* waiter) {
    if (lock_for(&record->lock, waiter, lock_wait_us_)) [[likely]]
      return true;
    set_lock_timeout(*waiter);
    return false;
  }
  // Returns whether lock_record() has failed: a retry of the transaction would wait as long.
  bool has_lock_timed_out() const { return lock_timeout_.waited_us != 0; }
  // Sets the time that lock_record() waits, kLockWaitUs until then.
  void set_lock_wait_us(std::uint64_t wait_us) { lock_wait_us_ = wait_us; }
  // Makes room for what the transaction remembers of up to `records` moves. A system transaction
  // calls it before it locks anything.
  void reserve_moves(std::size_t records);
  // Returns the error that there is no page, or none now.
  [[gnu::cold]] Status out_of_pages(StorageControl* storage);

  // Does ColdPages::page(). Null: no_page() says why.
  const page::PageHeader* cold_page(page::SnapshotPageId id, page::PagePart wanted = {});
  // Does ColdPages::child().
  const page::PageHeader* cold_child(page::DualPagePointer* pointer, page::PagePart wanted = {});
  // Does ColdPages::load() of `page`, any address in it. False: no_page() says why.
  bool load(const void* page, page::PagePart wanted) {
    return cold_pages_.load(page::PageHeader::of(page), wanted, &page_failure_);
  }
  // Returns null: the page was read and is not the one that the pointer is for. no_page() says so.
  [[gnu::cold]] std::nullptr_t not_that_page(page::SnapshotPageId id);
  ColdPages& cold_pages() { return cold_pages_; }
  // Returns true from a failed cold_page() on, until its caller takes or forgets the failure.
  bool has_page_failure() const { return !page_failure_.is_ok(); }
  [[gnu::cold]] void forget_page_failure() { page_failure_ = {}; }
  // Returns why there was no page: cold_page() could not read it, or no memory is left for another.
  [[gnu::cold]] Status no_page(StorageControl* storage);

  void remember_read(page::RecordHeader* record, page::Tid observed, StorageControl* storage) {
    if (isolation_ == Isolation::kSerializable) reads_.add({record, observed, storage});
  }
  // Remembers the read if that takes no memory. False: it was not remembered.
  [[gnu::always_inline]] bool try_remember_read(page::RecordHeader* record, page::Tid observed,
                                                StorageControl* storage) {
    if (isolation_ != Isolation::kSerializable) [[unlikely]] return true;
    if (!reads_.has_room()) [[unlikely]] return false;
    reads_.add_reserved({record, observed, storage});
    return true;
  }
  void remember_page(page::PageHeader* page, page::PageVersion observed, StorageControl* storage) {
    if (isolation_ == Isolation::kSerializable) page_set_.add(page, observed, storage);
  }
  void remember_pointer(page::DualPagePointer* pointer, page::PageHeader* holder,
                        const page::DualPageIds& observed, StorageControl* storage,
                        std::uint64_t place = 0) {
    if (isolation_ != Isolation::kSerializable) return;
    if (!pointers_.empty()) {
      const PointerEntry& last = pointers_.back();
      if (last.pointer == pointer && last.observed == observed && last.place == place) return;
    }
    pointers_.push_back({pointer, holder, observed, storage, place});
  }
  // Returns whether the transaction has followed `pointer` while it was `ids`.
  bool has_followed(const page::DualPagePointer* pointer, const page::DualPageIds& ids) const;
  // Follows an install by the transaction itself, which made the volatile page behind `pointer`.
  // Returns true if the transaction had followed the pointer while it was `before`; its entry is
  // now `after`. The caller then has to remember all of the new page, where its reads are now.
  bool own_install(const page::DualPagePointer* pointer, const page::DualPageIds& before,
                   const page::DualPageIds& after);
  // Drops entries of a followed pointer, by what they observed, where the new page's own pointers
  // and versions say all that they did. The transaction has materialized that snapshot page.
  bool forget_pointer(const StorageControl* storage, const page::DualPageIds& observed);
  // Counts calls of forget_pointer(): snapshot-resident rows that were read may have own writes.
  std::uint64_t installs() const { return installs_; }

  // Reads `record` with own writes over it, and remembers it. copy_base(range) copies that range's
  // part of the record's own payload to range->out with base::racy_read, and sets
  // range->payload_bytes. It may run several times, but not for deleted, moved or next-layer
  // records.
  template <typename CopyBase>
  Found read_record(StorageControl* storage, page::RecordHeader* record, ReadRange* range,
                    CopyBase&& copy_base);

  // Answers of look_at() that are remembered as reads. The others become the premise of a write.
  enum class Remember : std::uint8_t { kAbsence, kPresence };

  // Returns whether `record` is there for this transaction.
  Found look_at(StorageControl* storage, page::RecordHeader* record, Remember remember) {
    return look_at(storage, record, write_set_.find(record), remember);
  }
  // Returns whether `record` is there; `own` is what write_set().find() says of it.
  Found look_at(StorageControl* storage, page::RecordHeader* record, const WriteSet::Own& own,
                Remember remember);

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
        write_set_.has_room() ? resources_.log->try_reserve(bytes) : nullptr;
    if (log_record == nullptr) [[unlikely]] {
      FOEDUS_CHECK(reserve_slowly(storage, bytes, &log_record));
    }
    note_use(record);
    log_record->prepare(type, storage->id(), key.size(), payload.size(), payload_offset);
    base::copy_bytes(log_record->key_data(), key.data(), key.size());
    base::copy_bytes(log_record->payload_data(), payload.data(), payload.size());
    write_set_.add_reserved({.record = record,
                             .log = log_record,
                             .storage = storage,
                             .overflow = overflow,
                             .place = place,
                             .premise = premise});
    return {};
  }

  // Updates the entries after the session's ring has grown (log::RingSource).
  void follow(const log::RingMove& move) {
    for (WriteEntry& entry : write_set_.entries()) entry.log = move.moved(entry.log);
  }

  // Takes the record's lock until the transaction ends (get_for_update). kConflict: it could only
  // be waited for in a circle, or was waited for in vain.
  Status hold(StorageControl* storage, page::RecordHeader* record, std::string_view key);
  bool holds(const page::RecordHeader* record) const { return held_.contains(record); }
  // Releases what hold() took: the last step of a transaction.
  void release_held();

  // Marks the page of about one in kUsesPerMark records that it is called for; the page is
  // volatile. So pages with many wanted records are found marked, and others hardly ever (P8).
  void note_use(const page::RecordHeader* record) {
    if (--uses_to_mark_ == 0) [[unlikely]]
      mark_use(record);
  }

  // A page of `storage` that transaction `txn` has reached, neither moved nor dropped then, and the
  // page above: where the storage's next search may begin.
  struct LastPage {
    std::uint64_t txn;
    const StorageControl* storage;
    page::PageHeader* page;
    void* parent;  // the storage's own
  };
  LastPage& last_page(const StorageControl* storage) {
    return last_pages_[static_cast<std::size_t>(storage->id()) % kLastPages];
  }

  // O17. The first `count` own writes, those to one storage among them, were seen where they are,
  // after a fence that came after `since` had begun. A page that takes one over later is born no
  // earlier: its maker marks the records, fences, and reads the clock for its birth. So once the
  // pages' epoch is over, the transaction looks at each own write once, not for each page.
  struct SettledWrites {
    std::uint64_t txn = 0;
    page::StorageId storage{};
    Epoch since;
    std::uint32_t count = 0;
  };
  // Begins a look at own writes of `storage` that a page born in `birth` calls for, from `count`
  // on. If none had moved, end_settling() ends it; else it is begun again.
  SettledWrites begin_settling(page::StorageId storage, Epoch birth) const;
  void end_settling(SettledWrites settled);
  // Returns whether there is nothing to look at.
  bool has_settled(page::StorageId storage, Epoch birth) const {
    const SettledWrites& settled = settled_[static_cast<std::size_t>(storage) % kLastPages];
    return settled.txn == turn() && settled.storage == storage && birth < settled.since &&
           settled.count == write_set_.size();
  }

  // Returns a slot for the search of a key, begun or to begin. A forgotten one costs a search.
  BegunSearch& begun(const StorageControl* storage, std::uint64_t number) {
    const std::uint64_t mixed = (number + static_cast<std::uint64_t>(storage->id())) * kSpread;
    return begun_[mixed >> (64 - kBegunBits)];
  }
  // Puts `begun` in the place of the search begun kBegunAhead calls ago, which it returns.
  BegunSearch* exchange_turn(BegunSearch* begun) {
    return std::exchange(turns_[begun_count_++ % kBegunAhead], begun);
  }

  WriteSet& write_set() { return write_set_; }
  PageSet& page_set() { return page_set_; }
  ReadSet& reads() { return reads_; }
  base::LineVector<PointerEntry>& pointers() { return pointers_; }
  // Forgets what was remembered of a page that no other session will ever see.
  void forget_since(std::size_t reads, std::size_t pointers) {
    reads_.truncate(reads);
    pointers_.erase(pointers_.begin() + static_cast<std::ptrdiff_t>(pointers), pointers_.end());
  }
  HeldLocks& held() { return held_; }
  WaiterPool& waiters() { return waiters_; }

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
  // Copies what own writes beginning at `own` say of range over the bytes there. Returns whether
  // the record is there.
  bool overlay(const WriteSet::Own& own, bool base_present, ReadRange* range);
  bool begins_with_whole(const WriteSet::Own& own);
  [[gnu::noinline]] Status reserve_slowly(StorageControl* storage, std::size_t bytes,
                                          log::LogRecord** record);
  [[gnu::noinline]] void mark_use(const page::RecordHeader* record);
  void forget_sets();
  void relock_held();
  [[gnu::cold]] void set_lock_timeout(const LockWaiter& waiter);
  // Returns `status` with a text that says for how long and for which session's lock it waited.
  [[gnu::cold]] Status with_lock_timeout(Status status) const;
  // Attempts to add the record to those that the retry locks first: memory may be lacking.
  void hold_in_retry(page::RecordHeader* record) {
    base::trying([&] { to_hold_.push_back(record); });
  }
  // Returns true if an own increment is of a number that lies only in part in `range`.
  bool cuts_increment(const WriteSet::Own& own, const ReadRange& range);
  template <typename CopyBase>
  Found read_below(StorageControl* storage, page::RecordHeader* record, ReadRange* range,
                   CopyBase&& copy_base);
  template <typename CopyBase>
  Found read_own(StorageControl* storage, page::RecordHeader* record, const WriteSet::Own& own,
                 ReadRange* range, CopyBase&& copy_base);

  template <typename CopyBase>
  Found read_own_whole(StorageControl* storage, page::RecordHeader* record,
                       const WriteSet::Own& own, ReadRange* range, CopyBase&& copy_base);
  template <typename CopyBase>
  Found read_own_range(StorageControl* storage, page::RecordHeader* record,
                       const WriteSet::Own& own, ReadRange* range, CopyBase&& copy_base);

  struct LockTimeout {
    std::uint64_t waited_us = 0;  // 0: there was none
    std::int64_t session = -1;    // the holder; -1: a system transaction
  };

  static constexpr std::uint32_t kUsesPerMark = 16;  // a power of two
  static constexpr std::size_t kLastPages = 8;
  static constexpr unsigned kBegunBits = 6;
  static constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15u;
  // This many pages are on the way at once, four lines of each.
  static constexpr std::size_t kBegunAhead = 4;

  const Resources resources_;
  ColdPages cold_pages_;
  ReadSet reads_;
  base::LineVector<PointerEntry> pointers_;
  WriteSet write_set_;
  PageSet page_set_;
  HeldLocks held_;
  // For the retry to lock. Not empty between transactions: the pin is lent, or they may be gone.
  base::LineVector<page::RecordHeader*> to_hold_;
  WaiterPool waiters_;
  base::LineVector<char> whole_payload_;  // of read_own()
  Status page_failure_;                   // of the last cold_page() that failed
  std::array<LastPage, kLastPages> last_pages_{};
  std::array<SettledWrites, kLastPages> settled_{};
  std::array<BegunSearch, std::size_t{1} << kBegunBits> begun_{};
  std::array<BegunSearch*, kBegunAhead> turns_{};
  std::size_t begun_count_ = 0;
  std::uint64_t installs_ = 0;
  base::AtomicWord<std::uint64_t> own_turn_;
  base::AtomicWord<std::uint64_t>* const turn_;
  std::uint32_t uses_to_mark_ = kUsesPerMark;
  std::uint32_t use_steps_ = 0;  // decides the next distance
  page::PageHeader* page_to_mark_ = nullptr;  // P8; null between transactions
  base::AtomicWord<std::uint64_t> last_tid_;
  page::Tid tid_floor_;
  Epoch begin_epoch_;
  Isolation isolation_ = Isolation::kSerializable;
  ConflictReason doomed_ = ConflictReason::kNone;
  LockTimeout lock_timeout_;
  std::uint64_t lock_wait_us_ = kLockWaitUs;
  bool is_out_of_memory_ = false;
  bool read_only_ = false;
  ReadMode read_mode_ = ReadMode::kOptimistic;
  alignas(64) Counters counters_;
};

template <typename CopyBase>
Found TxnContext::read_record(StorageControl* storage, page::RecordHeader* record, ReadRange* range,
                              CopyBase&& copy_base) {
  note_use(record);
  const WriteSet::Own own = write_set_.find(record);
  if (own.newest != WriteEntry::kNone) [[unlikely]] {
    return read_own(storage, record, own, range, copy_base);
  }
  return read_below(storage, record, range, copy_base);
}

// Reads the record without own writes.
template <typename CopyBase>
Found TxnContext::read_below(StorageControl* storage, page::RecordHeader* record, ReadRange* range,
                             CopyBase&& copy_base) {
  constexpr std::uint64_t kElsewhere = page::Tid::kMoved | page::Tid::kNextLayer;
  page::Tid observed;
  const bool settled = optimistic_read(*record, &observed, [&](page::Tid tid) {
    if ((tid.word() & (kElsewhere | page::Tid::kDeleted)) == 0) copy_base(range);
  });
  if (!settled) return Found::kConflict;
  if ((observed.word() & kElsewhere) != 0) return Found::kMoved;
  remember_read(record, observed, storage);
  return observed.is_deleted() ? Found::kAbsent : Found::kPresent;
}

template <typename CopyBase>
Found TxnContext::read_own(StorageControl* storage, page::RecordHeader* record,
                           const WriteSet::Own& own, ReadRange* range, CopyBase&& copy_base) {
  FOEDUS_SYNC_POINT("occ:read_own");
  return cuts_increment(own, *range) ? read_own_whole(storage, record, own, range, copy_base)
                                     : read_own_range(storage, record, own, range, copy_base);
}

// Takes the whole payload: the carry into the wanted part needs the rest of the number.
template <typename CopyBase>
Found TxnContext::read_own_whole(StorageControl* storage, page::RecordHeader* record,
                                 const WriteSet::Own& own, ReadRange* range, CopyBase&& copy_base) {
  ReadRange whole;
  Found found = read_own_range(storage, record, own, &whole, copy_base);
  if (found != Found::kPresent) return found;
  whole_payload_.resize(whole.payload_bytes);
  whole.out = whole_payload_.data();
  whole.out_bytes = whole.payload_bytes;
  found = read_own_range(storage, record, own, &whole, copy_base);
  if (found != Found::kPresent) return found;
  // The size has changed, or it cuts an own increment, which was made when the record was longer.
  // Other sessions have written it since, so this transaction cannot commit.
  if (whole.payload_bytes != whole.out_bytes || cuts_increment(own, whole)) return Found::kConflict;
  range->payload_bytes = whole.payload_bytes;
  const std::uint32_t wanted = range->wanted_of(whole.payload_bytes);
  if (wanted != 0) std::memcpy(range->out, whole.out + range->offset, wanted);
  return found;
}

// Reads with own writes, except increments that `range` cuts.
template <typename CopyBase>
Found TxnContext::read_own_range(StorageControl* storage, page::RecordHeader* record,
                                 const WriteSet::Own& own, ReadRange* range, CopyBase&& copy_base) {
  bool present = false;
  if (!begins_with_whole(own)) {
    const Found below = read_below(storage, record, range, copy_base);
    if (below != Found::kPresent && below != Found::kAbsent) return below;
    present = below == Found::kPresent;
  }
  return overlay(own, present, range) ? Found::kPresent : Found::kAbsent;
}

}  // namespace foedus::occ
