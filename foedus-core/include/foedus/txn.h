#pragma once
// Txn: one transaction. Database::transact() and Session::begin() make it; it belongs to one thread
// at a time. Reads see the transaction's own writes. Nothing is visible to others before commit.
//
// Common to all operations:
//   kConflict          another transaction got in the way. This one is doomed: every later
//                      operation and commit() return the same. transact() runs it again. Never in
//                      a transaction of Isolation::kSnapshot
//   kInvalidArgument   a handle of no storage, or of another database; an index out of range; a
//                      write in a read-only transaction; get_for_update() in a snapshot. The
//                      transaction goes on
//   kNotFound          also: the storage was dropped
//   kTooLarge          a key or payload over its limit, or a transaction over half of the log
//                      buffer
//   kOutOfMemory       Options::memory_bytes is spent; nothing was changed by this operation. Or
//                      the system gave the process no memory: the transaction can only end, and
//                      all of its calls return this
//   kIoError, kCorruption   a page of a snapshot cannot be read, or is damaged
//   kIoError, kOutOfSpace   also, of writes: the log buffer is full, and the log has failed or its
//                      device no room
//   kForked            the transaction is of the process's parent
// A transaction of Isolation::kSnapshot reads what was committed up to the end of one epoch: a
// storage that was made later is empty (an array: zeroes), one that was dropped since is kNotFound.
//   kClosed            the transaction has ended, or the handle's database was closed
//
// Doomed transactions. Reads are not protected while a transaction runs: they are verified at its
// end. Until then a transaction that will conflict may see two records of different times, a sum
// that never was, or miss a key that was always there. So act on nothing outside the transaction
// before its commit; let transact() hand out errors, which verifies first; and where a loop depends
// on what was read, or an invariant of yours seems to be broken, ask Txn::verify(). A transaction
// of Isolation::kSnapshot never sees such a state.
//
// Keys and payloads passed in are copied; what is handed out by reference is valid as stated.

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "foedus/epoch.h"
#include "foedus/key.h"
#include "foedus/options.h"
#include "foedus/status.h"
#include "foedus/storage.h"
#include "foedus/ticket.h"

namespace foedus {

class Txn;
struct TxnOptions;

namespace internal {

// Says in one line what is wrong with a type that is no PlainRow.
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
Result<Txn> begin_txn(EngineSession* session, const TxnOptions& options);
}  // namespace engine

enum class Isolation : std::uint8_t {
  kSerializable,  // as if transactions ran one after the other
  kSnapshot,      // read-only, of one stratified snapshot: the state at the end of its epoch.
                  // Nothing is remembered, nothing conflicts
  kDirtyRead,     // read-only, each record as it is now, nothing verified; for statistics
};

struct TxnOptions {
  Isolation isolation = Isolation::kSerializable;
  // Empty: Options::durability, kAsync by default, of which a crash of the process may undo the
  // commits of the last moments.
  std::optional<Durability> durability = {};
  // Refuse writes with kInvalidArgument.
  bool read_only = false;
  // transact(): how often a conflict is retried before it is handed out. The second half of the
  // tries locks what it reads. 1 .. 1,000,000.
  std::uint32_t tries_max = 1000;
  // Session::begin(): this is a retry of the session's last transaction, which conflicted. The
  // locks that it held for update are taken first, in an order that cannot deadlock, unless it
  // ended over 0.1 s ago. transact() does so by itself.
  bool is_retry = false;
  // transact(): receives the ticket of the commit. May be null.
  Ticket* ticket = nullptr;

  // Which snapshot a transaction of Isolation::kSnapshot reads; one of these at most. With none it
  // is one that holds all that was committed when the transaction began: where the newest snapshot
  // does not, the call asks for another one and waits for it.
  //
  // The snapshot that covers the newest epoch not above this one. "No epoch": not asked for.
  Epoch as_of = {};
  // Waits for a snapshot that covers this epoch, and asks for it to be made: at_least =
  // ticket.epoch() reads what that commit wrote. Not above the current epoch. "No epoch": not asked
  // for.
  Epoch at_least = {};
  // The newest snapshot that there is, without waiting: it lacks the commits since, of minutes if
  // little is written. kNotFound: there is none yet.
  bool newest_existing = false;

  // How long the transaction may wait before it begins, in microseconds: for a snapshot, or for a
  // session where there are more threads than sessions.
  std::uint64_t timeout_us = 60'000'000;
};

// Key and payload of a record in a scan; valid until the scan is advanced or destroyed.
struct Row {
  std::string_view key;  // of a sequential storage: empty
  std::string_view payload;
};

struct ScanOptions {
  std::uint64_t limit = ~std::uint64_t{0};  // rows, at most
  bool reverse = false;                     // from high to low
};

// SequentialScanOptions: for a sequential storage, which is read in one direction only.
struct SequentialScanOptions {
  std::uint64_t limit = ~std::uint64_t{0};  // records, at most
};

// The rows of a range, an input range for range-for. Ends early if the transaction meets a
// conflict: look at failure() after the loop; it is kClosed once the transaction has ended. While
// the scan is open the transaction may do anything else, also to the records of the range: a scan
// sees its transaction's writes ahead of its position.
class Scan {
 public:
  class iterator {
   public:
    using iterator_concept = std::input_iterator_tag;
    using value_type = Row;
    using difference_type = std::ptrdiff_t;
    iterator() = default;
    const Row& operator*() const { return scan_->row_; }
    const Row* operator->() const { return &scan_->row_; }
    iterator& operator++() {
      scan_->next();
      return *this;
    }
    void operator++(int) { scan_->next(); }
    bool operator==(std::default_sentinel_t) const { return scan_->at_end_; }

   private:
    friend class Scan;
    explicit iterator(Scan* scan) : scan_(scan) {}
    Scan* scan_ = nullptr;
  };

  Scan(Scan&& other) noexcept;
  Scan& operator=(Scan&&) = delete;
  ~Scan();

  // The first call positions the scan; there is one pass.
  iterator begin();
  std::default_sentinel_t end() const { return {}; }

  // Why the rows ended before the range did; empty if they did not.
  std::optional<Status> failure() const {
    return failure_.is_ok() ? std::nullopt : std::optional<Status>(failure_);
  }

 private:
  friend class Txn;
  Scan(const Txn& txn, engine::ScanCursor* cursor, Status failure);
  void next();
  bool try_next();
  void next_slowly();
  void move();

  engine::SessionSlot* slot_;             // as the transaction's
  std::uint64_t turn_;                    // of the transaction
  engine::ScanCursor* cursor_ = nullptr;  // lent by the session
  bool started_ = false;
  bool at_end_ = false;
  Row row_;
  Status failure_;
};

// One of the reads of Txn::get_many().
struct ReadRequest {
  std::string_view key;           // in
  std::span<std::byte> out;       // in: where the payload goes, cut to its size
  std::size_t payload_bytes = 0;  // out: the whole payload's size
  bool found = false;             // out
};

// One read of get_many() of an array, all of whose records exist.
struct ArrayReadRequest {
  std::uint64_t index = 0;   // in
  std::uint32_t offset = 0;  // in: first byte of the payload that is wanted
  std::span<std::byte> out;  // in: where so many bytes of it go
};

class Txn {
 public:
  Txn(Txn&& other) noexcept;
  Txn& operator=(Txn&&) = delete;
  ~Txn();  // rollback()

  // ---- keyed storages: Master-Tree and hash --------------------------------------------------

  // Copies the payload to `out`, cut to its size, and returns the payload's whole size. kNotFound.
  Result<std::size_t> get(const KeyedStorage& storage, std::string_view key,
                          std::span<std::byte> out);
  // The payload as a string. Allocates if it is long. kNotFound.
  Result<std::string> get(const KeyedStorage& storage, std::string_view key);
  // The payload as a T. kNotFound; kInvalidArgument if its size is not sizeof(T).
  template <typename T>
  Result<T> get_as(const KeyedStorage& storage, std::string_view key) {
    return read_as<T>(storage, [&](std::span<std::byte> out) { return get(storage, key, out); });
  }
  // Copies bytes [offset, offset + out.size()) of the payload. kNotFound; kInvalidArgument if the
  // payload ends before that.
  Status read_at(const KeyedStorage& storage, std::string_view key, std::uint32_t offset,
                 std::span<std::byte> out);
  // Like get(), and holds the record's lock until the transaction ends: others wait or conflict,
  // and this one's read cannot be invalidated. Use where contention is known. To lock several
  // records without a deadlock the engine may have to conflict once. A transaction that has waited
  // for a record's lock for 10 s gets kConflict (kRecordLocked); the message says which session has
  // the lock. transact() does not run it again.
  Result<std::size_t> get_for_update(const KeyedStorage& storage, std::string_view key,
                                     std::span<std::byte> out);
  template <typename T>
  Result<T> get_for_update_as(const KeyedStorage& storage, std::string_view key) {
    return read_as<T>(storage,
                      [&](std::span<std::byte> out) { return get_for_update(storage, key, out); });
  }
  // True if the key is there, false if not. kNotFound only if the storage was dropped. Success is
  // asked for by is_ok(), the answer by value(): a Result<bool> is no condition.
  Result<bool> contains(const KeyedStorage& storage, std::string_view key);

  // Reads many known keys; their cache misses overlap, and so do the reads of the device for pages
  // that are not in memory, up to 32. A missing key is not an error here.
  Status get_many(const KeyedStorage& storage, std::span<ReadRequest> requests);
  // Starts to load what an operation on `key` will need, from memory or from the device, and
  // returns without waiting. Changes nothing that others or a commit can see. In memory, of a long
  // key the first eight bytes are looked for; a second call a little later goes a step further, to
  // its layer. On the device, each call goes to the first page that is not in memory: the last one
  // as a rule, as pages above the rows stay there.
  void prefetch(const KeyedStorage& storage, std::string_view key);

  // Inserts the record or overwrites its payload as a whole.
  Status put(const KeyedStorage& storage, std::string_view key, std::string_view payload);
  // kAlreadyExists if the key is there.
  Status insert(const KeyedStorage& storage, std::string_view key, std::string_view payload);
  // Overwrites the payload as a whole. kNotFound.
  Status update(const KeyedStorage& storage, std::string_view key, std::string_view payload);
  // Overwrites part of the payload; its size stays. kNotFound; kInvalidArgument beyond its end.
  Status write_at(const KeyedStorage& storage, std::string_view key, std::uint32_t offset,
                  std::string_view part);
  // Adds `delta` to the 64-bit integer at `offset` (two's complement, wraps) without reading it:
  // does not conflict with others' increments; but it may where memory is short and the row has
  // not been written for so long that its page has left it. kNotFound; kInvalidArgument beyond its
  // end.
  Status increment(const KeyedStorage& storage, std::string_view key, std::uint32_t offset,
                   std::int64_t delta);
  // kNotFound.
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

  // Rows with low <= key < high. An empty `high` is above every key.
  Scan scan(const Masstree& storage, std::string_view low, std::string_view high,
            ScanOptions options = {});
  // Rows whose keys begin with `prefix`; all rows if it is empty. For keys of key(): the bytes of
  // key(parts…), for rows whose first columns are these, or of key_prefix(parts…), for rows whose
  // last of these columns begins with a string. Other codes as scan(): a prefix over kMaxKeyBytes
  // is kTooLarge, in failure().
  Scan scan_prefix(const Masstree& storage, std::string_view prefix, ScanOptions options = {});

  // ---- array ---------------------------------------------------------------------------------
  // All records exist from the start, with payloads of zero bytes.

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
      return ErrorCode::kInvalidArgument;  // it does not compile
    }
  }
  Status read_at(const Array& storage, std::uint64_t index, std::uint32_t offset,
                 std::span<std::byte> out);
  Status get_for_update(const Array& storage, std::uint64_t index, std::span<std::byte> out);
  // Reads many records; as get_many() of keyed storages.
  Status get_many(const Array& storage, std::span<ArrayReadRequest> requests);
  void prefetch(const Array& storage, std::uint64_t index);
  // The payload as a whole; its size must be the storage's.
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

  // Two appends never conflict with each other. commit() can still return kConflict: where the
  // storage is being dropped, or what else the transaction read has changed.
  Status append(const Sequential& storage, std::string_view payload);
  // All records by epoch and ordinal, ties broken by session: a serial order for records of which
  // one transaction saw the other. Registers every session's end: a later append by another
  // transaction is a conflict, this transaction's own are seen. A conflict is also a snapshot that
  // is installed and has records of the storage. Under steady appends scan in a snapshot.
  Scan scan(const Sequential& storage, SequentialScanOptions options = {});

  // ---- end -----------------------------------------------------------------------------------

  // Ends the transaction, whatever it returns but kInvalidArgument: transact() made it, and commits
  // by itself. kConflict: nothing was done. Nor was it with kOutOfMemory, kNotSupported (all epochs
  // are used up), kClosed and kForked, nor with kIoError and kCorruption of a page or of a log that
  // has failed before. With Durability::kSync kIoError, kOutOfSpace and kOutOfMemory may come from
  // the wait for the device: the transaction is committed, and others see it, but a crash may undo
  // it; Ticket::wait_durable() of a later one tells.
  Result<Ticket> commit();
  // Undoes everything. Does nothing if the transaction has ended. In the function that transact()
  // runs: transact() undoes everything when the function returns, whatever that returns, and
  // reports kRolledBack instead of a success.
  void rollback();
  // True if all that was read so far is still as it was read: for loops that depend on read values.
  // kConflict if not.
  Status verify();

 private:
  friend class Database;
  friend class Scan;
  friend Result<Txn> engine::begin_txn(engine::EngineSession* session, const TxnOptions& options);
  static constexpr std::uint64_t kNoTurn = ~std::uint64_t{0};
  // Refers to the transaction that is open in the session.
  explicit Txn(engine::EngineSession* session);

  template <PlainRow T>
  static std::span<std::byte> bytes_of(T& value) {
    return std::as_writable_bytes(std::span<T, 1>(&value, 1));
  }
  // The row that `read` copies, which returns its whole size.
  template <typename T, typename Read>
  Result<T> read_as(const Storage& storage, const Read& read) const {
    internal::check_row<T>();
    if constexpr (PlainRow<T>) {
      T value;
      const Result<std::size_t> size = read(bytes_of(value));
      if (!size.is_ok()) return size.status();
      if (*size != sizeof(T)) return wrong_size(storage, *size, sizeof(T));
      return value;
    } else {
      return ErrorCode::kInvalidArgument;  // it does not compile
    }
  }
  Status wrong_size(const Storage& storage, std::size_t found, std::size_t expected) const;

  engine::SessionSlot* slot_;  // of the session; outlives it
  std::uint64_t turn_;         // of the session, in which the transaction is open; kNoTurn: it has
                               // ended, or this object was moved from
};

}  // namespace foedus
