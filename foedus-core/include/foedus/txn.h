#pragma once
// Txn: one transaction, made by Database::transact() or Session::begin(). It belongs to one thread
// at a time. Reads see the transaction's own writes. Others see no write before commit.
//
// Common to all operations:
//   kConflict          the transaction conflicts with another one, and is doomed: every later
//                      operation and commit() return the same. transact() runs it again. Never
//                      in a transaction of Isolation::kSnapshot
//   kInvalidArgument   a handle of no storage, or of another database; an index out of range; a
//                      write in a read-only transaction; get_for_update() in a snapshot. The
//                      transaction goes on
//   kNotFound          also: the storage was dropped
//   kTooLarge          a key or payload over its limit, or a transaction over half of the log
//                      buffer
//   kOutOfMemory       Options::memory_bytes is used up; this operation changed nothing. Or the
//                      system gave the process no memory: the transaction can only end, and all
//                      of its calls return this
//   kIoError, kCorruption   a page of a snapshot cannot be read, or is damaged
//   kIoError, kOutOfSpace   also, for writes: the log buffer is full, and the log has failed or its
//                      device is full
//   kTimeout           the transaction was open for longer than Options::transaction_timeout_us,
//                      and was rolled back
//   kForked            the transaction belongs to the process's parent
//   kClosed            the transaction has ended, or the handle's database was closed
// insert() also returns kAlreadyExists. commit() and transact() return more: see there.
//
// A transaction of Isolation::kSnapshot reads all commits up to the end of one epoch. For this
// transaction, a storage that was made later is empty (an array: zeroes). Operations on a storage
// that was dropped since return kNotFound.
//
// Doomed transactions. Reads are not protected while a transaction runs: they are verified at its
// end. Until then a transaction that will conflict may see two records of different times, or a sum
// that never existed, or miss a key that always existed. So have no effect outside the transaction
// before its commit. Return errors from the function of transact(): it verifies the reads first,
// and only passes on an error that rests on valid reads. If a loop depends on values that were
// read, or an invariant of the program seems broken, call Txn::verify(). A transaction of
// Isolation::kSnapshot never sees such a state.
//
// Keys and payloads that are passed in are copied. References that a call returns are valid as its
// comment says. A read that fails, also with kNotFound, may have changed the memory that was passed
// for its result.

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "foedus/array_scan.h"
#include "foedus/epoch.h"
#include "foedus/key.h"
#include "foedus/options.h"
#include "foedus/scan_iterator.h"
#include "foedus/status.h"
#include "foedus/storage.h"
#include "foedus/ticket.h"

namespace foedus {

class Txn;
struct TxnOptions;

namespace internal {

// Says in one line why a type is not a PlainRow.
template <typename T>
constexpr void check_row() {
  static_assert(std::is_trivially_copyable_v<T>,
                "foedus: a row type must be trivially copyable: serialise it, or pass bytes");
  static_assert(!std::is_trivially_copyable_v<T> || PlainRow<T>,
                "foedus: a row type cannot be a pointer or a view, of which an address would be "
                "stored: pass the bytes that it leads to");
}

template <typename T>
std::string_view row_bytes(const T& value) {
  check_row<T>();
  if constexpr (PlainRow<T>) {
    return as_payload(value);
  } else {
    return {};
  }
}

}  // namespace internal

namespace engine {
class EngineSession;
class ScanCursor;
struct SessionSlot;
Result<Txn> begin_txn(EngineSession* session, const TxnOptions& options, bool is_retry = false);
}  // namespace engine

enum class Isolation : std::uint8_t {
  kSerializable,  // the result is as if transactions ran one after another
  kSnapshot,      // read-only, on one stratified snapshot: the state at the end of its epoch.
                  // There is no read set, and no conflict
  kDirtyRead,     // read-only; each record as it is now, without verification; for statistics
};

struct TxnOptions {
  Isolation isolation = Isolation::kSerializable;
  // Empty: Options::durability. Its default is kAsync, with which a crash of the process may undo
  // the last commits.
  std::optional<Durability> durability = {};
  // Refuses writes with kInvalidArgument.
  bool read_only = false;
  // transact(): how many tries may conflict before it returns kConflict. The second half of the
  // tries locks the records that it reads. 1 .. 1,000,000.
  std::uint32_t tries_max = 1000;
  // transact(): receives the ticket of the commit. May be null.
  Ticket* ticket = nullptr;

  // The next three choose the snapshot of a transaction of Isolation::kSnapshot; at most one may be
  // set. If none is, the snapshot has all commits up to the begin of the transaction. If the newest
  // snapshot lacks some of them, the call requests another one and waits for it.
  //
  // Reads the snapshot that covers the newest epoch not above this one. "No epoch": not set.
  Epoch as_of = {};
  // Requests a snapshot that covers this epoch, and waits for it: at_least = ticket.epoch() reads
  // the writes of that commit. Not above the current epoch. "No epoch": not set.
  Epoch at_least = {};
  // Reads the newest existing snapshot without waiting. The snapshot lacks later commits, perhaps
  // those of minutes if little is written. kNotFound: there is no snapshot yet.
  bool newest_existing = false;

  // How long the transaction may wait before it begins, in microseconds: for a snapshot, or for a
  // session if there are more threads than sessions.
  std::uint64_t timeout_us = 60'000'000;
};

// Key and payload of a record in a scan; valid until the scan is advanced or destroyed.
struct Row {
  std::string_view key;  // empty for a sequential storage
  std::string_view payload;
};

struct ScanOptions {
  std::uint64_t limit = ~std::uint64_t{0};  // maximum number of rows
  bool reverse = false;                     // from high to low
};

// SequentialScanOptions: for a sequential storage, which is read in one direction only.
struct SequentialScanOptions {
  std::uint64_t limit = ~std::uint64_t{0};  // maximum number of records
};

// HashScanOptions: for a hash storage, whose rows have no order.
struct HashScanOptions {
  std::uint64_t limit = ~std::uint64_t{0};  // maximum number of rows
};

// The rows of a range, an input range for range-for. A scan ends early at any error, for example a
// conflict: check failure() after the loop. If the transaction has ended before the scan, the next
// step of the scan fails with kClosed. While the scan is open the transaction may call any
// operation, also on records of the range. A scan sees its transaction's writes ahead of its
// position.
class Scan {
 public:
  using iterator = internal::ScanIterator<Scan, Row>;

  Scan(Scan&& other) noexcept;
  Scan& operator=(Scan&&) = delete;
  ~Scan();

  // Positions the scan at its first call. A scan has a single pass.
  iterator begin();
  std::default_sentinel_t end() const { return {}; }

  // Returns why the rows ended before the range did; empty if they did not.
  std::optional<Status> failure() const {
    return failure_.is_ok() ? std::nullopt : std::optional<Status>(failure_);
  }

 private:
  friend iterator;
  friend class Txn;
  Scan(const Txn& txn, engine::ScanCursor* cursor, Status failure);
  void next();
  bool try_next();
  void next_slowly();
  void move();

  engine::SessionSlot* slot_;             // slot of the transaction's session
  std::uint64_t turn_;                    // Txn::turn_ of the transaction
  engine::ScanCursor* cursor_ = nullptr;  // lent by the session
  bool started_ = false;
  bool at_end_ = false;
  Row row_;
  Status failure_;
};

// One read of Txn::get_many() of a keyed storage.
struct ReadRequest {
  std::string_view key;           // in
  std::span<std::byte> out;       // in: memory for the payload; a longer payload is cut
  std::size_t payload_bytes = 0;  // out: the whole payload's size
  bool found = false;             // out
};

// One read of Txn::get_many() from an array. Every record of an array exists, so there is no
// `found`.
struct ArrayReadRequest {
  std::uint64_t index = 0;   // in
  std::uint32_t offset = 0;  // in: first byte of the payload that is wanted
  std::span<std::byte> out;  // in: memory for the wanted bytes
};

// A point of a transaction to which Txn::rollback_to() can go back. A value: copies name the same
// point. It ends with its transaction.
class Savepoint {
 public:
  Savepoint() = default;  // of no transaction

 private:
  friend class Txn;
  Savepoint(const engine::SessionSlot* slot, std::uint64_t number) : slot_(slot), number_(number) {}

  const engine::SessionSlot* slot_ = nullptr;
  std::uint64_t number_ = 0;  // of the session's savepoints
};

class Txn {
 public:
  Txn(Txn&& other) noexcept;
  Txn& operator=(Txn&&) = delete;
  ~Txn();  // rollback()

  // ---- keyed storages: Master-Tree and hash --------------------------------------------------

  // Copies as much of the payload as fits in `out`. Returns the whole payload's size. kNotFound.
  Result<std::size_t> get(const KeyedStorage& storage, std::string_view key,
                          std::span<std::byte> out);
  // Returns the payload as a string. Allocates if it is long. kNotFound.
  Result<std::string> get(const KeyedStorage& storage, std::string_view key);
  // Returns the payload as a T. kNotFound; kInvalidArgument if its size is not sizeof(T).
  template <typename T>
  Result<T> get_as(const KeyedStorage& storage, std::string_view key) {
    return read_as<T>(storage, key,
                      [&](std::span<std::byte> out) { return get(storage, key, out); });
  }
  // Copies bytes [offset, offset + out.size()) of the payload. kNotFound; kInvalidArgument if the
  // payload has fewer than offset + out.size() bytes.
  Status read_at(const KeyedStorage& storage, std::string_view key, std::uint32_t offset,
                 std::span<std::byte> out);
  // Reads like get(), and locks the record until the transaction ends. Other transactions that use
  // the record wait or conflict, and this transaction's read stays valid. Use it if contention is
  // expected. To lock several records without a deadlock the engine may have to return a conflict
  // once. A transaction that has waited for 10 s for a record's lock gets kConflict
  // (kRecordLocked); the message says which session has the lock. After such a wait transact()
  // returns the conflict without another try.
  Result<std::size_t> get_for_update(const KeyedStorage& storage, std::string_view key,
                                     std::span<std::byte> out);
  template <typename T>
  Result<T> get_for_update_as(const KeyedStorage& storage, std::string_view key) {
    return read_as<T>(storage, key,
                      [&](std::span<std::byte> out) { return get_for_update(storage, key, out); });
  }
  // Returns true if the key exists, false if not. kNotFound only if the storage was dropped. Use
  // is_ok() for success and value() for the answer: a Result<bool> cannot be a condition.
  Result<bool> contains(const KeyedStorage& storage, std::string_view key);

  // Reads many known keys. Their cache misses overlap, and so do up to 32 reads of the device for
  // pages that are not in memory. A missing key is not an error here.
  Status get_many(const KeyedStorage& storage, std::span<ReadRequest> requests);
  // Starts to load the pages that an operation on `key` will need, from memory or from the device,
  // and returns without waiting. Has no effect that others or a commit can see. In memory, the
  // first call searches the first eight bytes of a long key. A second call a little later goes on
  // to the key's layer. On the device, each call loads the first page on the path that is not in
  // memory. As a rule that is the last page, because pages above the rows stay in memory.
  void prefetch(const KeyedStorage& storage, std::string_view key);

  // Inserts the record or overwrites its payload as a whole.
  Status put(const KeyedStorage& storage, std::string_view key, std::string_view payload);
  // Inserts a record. kAlreadyExists if the key exists.
  Status insert(const KeyedStorage& storage, std::string_view key, std::string_view payload);
  // Overwrites the payload of an existing record as a whole. kNotFound.
  Status update(const KeyedStorage& storage, std::string_view key, std::string_view payload);
  // Overwrites part of the payload; its size stays. kNotFound; kInvalidArgument if the part would
  // reach beyond the payload's end.
  Status write_at(const KeyedStorage& storage, std::string_view key, std::uint32_t offset,
                  std::string_view part);
  // Adds `delta` to the 64-bit integer at `offset` (two's complement, wraps) without reading it.
  // Does not conflict with others' increments, unless memory is short and the row was not written
  // for so long that its page has left memory. kNotFound; kInvalidArgument if the integer would
  // reach beyond the payload's end.
  Status increment(const KeyedStorage& storage, std::string_view key, std::uint32_t offset,
                   std::int64_t delta);
  // Erases the record. kNotFound.
  Status erase(const KeyedStorage& storage, std::string_view key);

  template <typename T>
  requires(!std::is_convertible_v<const T&, std::string_view>) Status
      put(const KeyedStorage& storage, std::string_view key, const T& value) {
    return put(storage, key, internal::row_bytes(value));
  }
  template <typename T>
  requires(!std::is_convertible_v<const T&, std::string_view>) Status
      insert(const KeyedStorage& storage, std::string_view key, const T& value) {
    return insert(storage, key, internal::row_bytes(value));
  }
  template <typename T>
  requires(!std::is_convertible_v<const T&, std::string_view>) Status
      update(const KeyedStorage& storage, std::string_view key, const T& value) {
    return update(storage, key, internal::row_bytes(value));
  }

  // Returns the rows with low <= key < high. An empty `high` is above every key.
  Scan scan(const Masstree& storage, std::string_view low, std::string_view high,
            ScanOptions options = {});
  // Returns the rows whose keys begin with `prefix`, or all rows if it is empty. For keys that
  // key() made, key(parts…) as the prefix returns the rows whose first columns equal the parts.
  // With key_prefix(parts…) the last of these columns only has to begin with the last part, if that
  // is a string. failure() is kTooLarge if `prefix` is over kMaxKeyBytes; its other codes are those
  // of scan().
  Scan scan_prefix(const Masstree& storage, std::string_view prefix, ScanOptions options = {});
  // Erases the rows with low <= key < high, the lowest `limit` of them, and returns how many these
  // are. An empty `high` is above every key. A row that another transaction inserts into the range
  // before this one commits is a conflict. kTooLarge: the rows are more than a transaction can
  // write (some 100,000 with the default log buffer); the transaction has erased the lowest of
  // them. To erase more, call transact() with a limit of some thousands until fewer are erased.
  Result<std::uint64_t> erase_range(const Masstree& storage, std::string_view low,
                                    std::string_view high, std::uint64_t limit = ~std::uint64_t{0});

  // ---- hash ----------------------------------------------------------------------------------

  // Returns all rows of the storage, each once, in the order of their hashes, which is no order
  // that a program may rely on. Sees the transaction's own writes ahead of its position in that
  // order. A row that another transaction inserts into the storage before this one commits is a
  // conflict, as is a change of a row that was returned. So is a page that a glean, or a write of
  // another transaction, installs where the scan has read snapshot pages or found that there were
  // none. Under steady writes, scan in a snapshot. If rows of the log's tail wait after a recovery,
  // the first call applies all of the storage. failure() has the codes of scan() above, without
  // kTooLarge.
  Scan scan(const Hash& storage, HashScanOptions options = {});

  // ---- array ---------------------------------------------------------------------------------
  // All records exist from the start, with payloads full of zeros. Each operation works like that
  // of the same name on keyed storages, except that `out` must not be larger than the payload.
  // kInvalidArgument: the array has no record `index`, or the bytes to read or write reach beyond
  // the payload's end.

  Status get(const Array& storage, std::uint64_t index, std::span<std::byte> out);
  template <typename T>
  Result<T> get_as(const Array& storage, std::uint64_t index) {
    internal::check_row<T>();
    if constexpr (PlainRow<T>) {
      const std::size_t size = storage.payload_bytes();
      if (size != sizeof(T)) return wrong_size(storage, size, sizeof(T));
      T value;
      Status status = get(storage, index, bytes_of(value));
      if (!status.is_ok()) return status;
      return value;
    } else {
      return ErrorCode::kInvalidArgument;  // never runs: check_row() does not compile
    }
  }
  Status read_at(const Array& storage, std::uint64_t index, std::uint32_t offset,
                 std::span<std::byte> out);
  Status get_for_update(const Array& storage, std::uint64_t index, std::span<std::byte> out);
  // Returns the records with low <= index < high; a `high` above all stands for their number. Costs
  // an allocation of the payload's size. failure() has the codes of get().
  ArrayScan scan(const Array& storage, std::uint64_t low = 0,
                 std::uint64_t high = ~std::uint64_t{0}, ArrayScanOptions options = {});
  // Reads many records, like get_many() of keyed storages.
  Status get_many(const Array& storage, std::span<ArrayReadRequest> requests);
  void prefetch(const Array& storage, std::uint64_t index);
  // Overwrites the payload as a whole; its size must be the storage's.
  Status put(const Array& storage, std::uint64_t index, std::string_view payload);
  template <typename T>
  requires(!std::is_convertible_v<const T&, std::string_view>) Status
      put(const Array& storage, std::uint64_t index, const T& value) {
    return put(storage, index, internal::row_bytes(value));
  }
  Status write_at(const Array& storage, std::uint64_t index, std::uint32_t offset,
                  std::string_view part);
  Status increment(const Array& storage, std::uint64_t index, std::uint32_t offset,
                   std::int64_t delta);

  // ---- sequential ----------------------------------------------------------------------------

  // Appends a record. Two appends never conflict with each other. commit() can still return
  // kConflict, if the storage is being dropped, or if other reads of the transaction do not hold
  // any more.
  Status append(const Sequential& storage, std::string_view payload);
  // Returns all records by epoch and ordinal of their commits, ties broken by session. If commit A
  // saw commit B, the records of A come after those of B, as in the serial order. The scan
  // registers the end of every session's records: a later append by another transaction is a
  // conflict. The scan sees the transaction's own appends. It is also a conflict if a snapshot with
  // records of the storage is installed before the commit. Under steady appends, scan in a
  // snapshot.
  Scan scan(const Sequential& storage, SequentialScanOptions options = {});

  // ---- savepoints ----------------------------------------------------------------------------

  // Makes a savepoint here. Any number may exist, one after another, at 40 bytes each.
  Result<Savepoint> savepoint();
  // Undoes all writes since the savepoint, and ends the savepoints that were made after it. The
  // transaction goes on, and may go back to this one again. Open scans go on, too, over the rows as
  // they are now. Only writes are undone. What was read since the savepoint is still verified at
  // the commit, and so is what a write has told: that insert() found no row, or erase() found one.
  // Locks of get_for_update() are kept until the transaction ends. kInvalidArgument: the savepoint
  // has ended, or is of another transaction.
  Status rollback_to(const Savepoint& savepoint);
  // Ends the savepoint and those that were made after it. The writes stay. Only a transaction with
  // very many savepoints needs it. kInvalidArgument as for rollback_to().
  Status release(const Savepoint& savepoint);

  // ---- end -----------------------------------------------------------------------------------

  // Commits and ends the transaction. The transaction has ended whatever the result is, with one
  // exception: kInvalidArgument says that transact() made the transaction, and will commit it by
  // itself.
  // The transaction was not committed if the result is kConflict, kOutOfMemory, kTimeout,
  // kNotSupported (all epochs are used up), kClosed or kForked. It was not committed either if the
  // result is a kIoError or kCorruption of a page, or of a log that had failed before the commit.
  // With Durability::kSync, kIoError, kOutOfSpace and kOutOfMemory may also come from the wait for
  // the device. Then the transaction is committed and others see it, but a crash may undo it. If
  // Ticket::wait_durable() of a later commit succeeds, this commit is durable, too.
  Result<Ticket> commit();
  // Undoes all changes and ends the transaction. Does nothing if it has ended. Within transact(),
  // the changes are undone when the function returns, whatever it returns, and transact() reports
  // kRolledBack instead of a success.
  void rollback();
  // Returns success if all values that were read so far still hold; otherwise kConflict. A loop
  // that depends on such values calls it, because a doomed transaction may never leave the loop.
  Status verify();

 private:
  friend class Database;
  friend class Scan;
  friend Result<Txn> engine::begin_txn(engine::EngineSession* session, const TxnOptions& options,
                                       bool is_retry);
  static constexpr std::uint64_t kNoTurn = ~std::uint64_t{0};
  // Returns the savepoint's number; 0, which none has: it is of another session.
  std::uint64_t number_of(const Savepoint& savepoint) const {
    return savepoint.slot_ == slot_ ? savepoint.number_ : 0;
  }
  // Refers to the open transaction of the session.
  explicit Txn(engine::EngineSession* session);

  template <PlainRow T>
  static std::span<std::byte> bytes_of(T& value) {
    return std::as_writable_bytes(std::span<T, 1>(&value, 1));
  }
  // Returns the row that `read` copies. `read` returns the row's whole size.
  template <typename T, typename Read>
  Result<T> read_as(const Storage& storage, std::string_view key, const Read& read) const {
    internal::check_row<T>();
    if constexpr (PlainRow<T>) {
      T value;
      const Result<std::size_t> size = read(bytes_of(value));
      if (!size.is_ok()) return size.status();
      if (*size != sizeof(T)) return wrong_size(storage, *size, sizeof(T), key);
      return value;
    } else {
      return ErrorCode::kInvalidArgument;  // never runs: check_row() does not compile
    }
  }
  // `key`: of the row; empty for a record of an array.
  Status wrong_size(const Storage& storage, std::size_t found, std::size_t expected,
                    std::string_view key = {}) const;

  engine::SessionSlot* slot_;  // slot of the session, which it outlives
  std::uint64_t turn_;         // the session's turn while the transaction is open; kNoTurn: it has
                               // ended, or this object was moved from
};

}  // namespace foedus
