#pragma once
// Database: an open database directory. A program needs only open() and transact() to begin.
//
// Threads: any thread may call any function here at any time. While transactions are open, close()
// returns kBusy. A transaction that would begin after close() gets kClosed. All other calls must
// have returned before close() and the destructor.
//
// Lifetime: a Txn, Scan or Session that outlives the database returns kClosed. If a transaction is
// still open when the destructor runs, the program is ended with a message that names the
// transaction. Otherwise the transaction's thread might use memory that the destructor frees.
//
// fork(): a child cannot use a database that its parent has opened, nor a Session, Txn, Scan or
// Ticket of it. Its calls return kForked and do nothing. storages(), snapshots() and stats() are
// empty; durable_epoch() and is_durable() return their values at the fork. Close and destructors
// neither wait nor touch memory or files of the parent. The child may open other databases, and
// this directory once the parent has closed it. A child of vfork(), _Fork() or clone() is not
// recognized: it must call exec() or _exit(), and no function of this library.
//
// Errors: every call that returns a Status or Result may return, beside the codes at the call,
//   kClosed            the database was closed, or this object was moved from
//   kForked            see above
//   kOutOfMemory       the system gave the process no memory, thread or descriptor
// A call that waits for recovery or writes to the log may also return
//   kIoError, kOutOfSpace, kCorruption, kWrongVersion   recovery failed (wait_recovered()), or the
//                      log failed: commits stop at an I/O error, and go on once a full device has
//                      space
//   kNotSupported      all epochs are used up, see Epoch::kBits

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "foedus/epoch.h"
#include "foedus/options.h"
#include "foedus/stats.h"
#include "foedus/status.h"
#include "foedus/storage.h"
#include "foedus/ticket.h"
#include "foedus/txn.h"

namespace foedus {

namespace engine {
class Engine;
class EngineSession;
struct SessionSlot;
}  // namespace engine

namespace internal {

// Returned: the type that Function returns for a Txn&, if it is a Status or a Result<T>. Else it is
// Status, and check() says in one line what is wrong.
template <typename Function>
struct TransactFunction {
  static constexpr bool kTakesTxn = std::is_invocable_v<Function&, Txn&>;
  // Used only if Function does not take a Txn&.
  static constexpr bool kTakesCopy = std::is_invocable_v<Function&, Txn>;

  static auto returned() {
    if constexpr (kTakesTxn) {
      using Type = std::invoke_result_t<Function&, Txn&>;
      if constexpr (std::is_same_v<Type, Status> || kIsResult<Type>) {
        return std::type_identity<Type>();
      } else {
        return std::type_identity<void>();
      }
    } else {
      return std::type_identity<void>();
    }
  }
  static constexpr bool kIsValid = !std::is_void_v<typename decltype(returned())::type>;
  using Returned = std::conditional_t<kIsValid, typename decltype(returned())::type, Status>;

  static constexpr void check() {
    static_assert(kTakesTxn || !kTakesCopy,
                  "foedus: the function of transact() and snapshot() takes its Txn by reference: "
                  "[&](foedus::Txn& txn) -> foedus::Status { ... }");
    static_assert(kTakesTxn || kTakesCopy,
                  "foedus: transact() and snapshot() take a function of a Txn&: "
                  "[&](foedus::Txn& txn) -> foedus::Status { ... }");
    static_assert(!kTakesTxn || kIsValid,
                  "foedus: the function of transact() and snapshot() returns foedus::Status or "
                  "foedus::Result<T>: [&](foedus::Txn& txn) -> foedus::Status { ... return {}; }");
  }
};

template <typename Function>
using Transacted = typename TransactFunction<Function>::Returned;

}  // namespace internal

struct StorageInfo {
  std::uint32_t id = 0;
  StorageKind kind = StorageKind::kMasstree;
  std::string name;
  std::uint64_t records = 0;        // arrays: number of records
  std::uint32_t payload_bytes = 0;  // arrays: size of a payload
};

// A stratified snapshot that can be read.
struct SnapshotInfo {
  std::uint32_t number = 0;
  Epoch covered;                 // all commits up to this epoch are in it, and no later one
  std::uint64_t pages = 0;       // in its files, some of which were made for older snapshots
  std::uint64_t live_pages = 0;  // those of `pages` to which its roots lead
};

// SnapshotOptions: which snapshot snapshot() reads; the members are those of TxnOptions. If none of
// the first three is set, the snapshot has all commits up to the call of snapshot().
struct SnapshotOptions {
  Epoch as_of = {};
  Epoch at_least = {};
  bool newest_existing = false;
  std::uint64_t timeout_us = TxnOptions().timeout_us;
  Ticket* ticket = nullptr;  // its epoch is the one that the snapshot covers
};

struct HashOptions {
  std::uint64_t records_expected = 1024;  // sizes the trie's first level; grows without limit
};

// Session: runs explicit transactions, one at a time. One thread may use several sessions, but two
// threads must not use one session at the same time. The destructor rolls back an open transaction.
// After the database was closed, begin() returns kClosed.
class Session {
 public:
  Session(Session&& other) noexcept;
  Session& operator=(Session&&) = delete;
  ~Session();

  // Begins a transaction, the only one of the session until it ends.
  // kInvalidArgument: the previous transaction has not ended; isolation or durability is not an
  // enumerator; as_of, at_least or newest_existing is set with another isolation than kSnapshot, or
  // two of them are set; or at_least is above the current epoch. kOutOfMemory.
  // With Isolation::kSnapshot also: kNotFound: no snapshot that is kept is as old as as_of, or
  // there is none (newest_existing). kTimeout: no snapshot covers the requested epoch yet.
  // kNotSupported: Logging::kNone. A begin that waits for a snapshot also returns the errors of
  // glean() and wait_durable().
  Result<Txn> begin(const TxnOptions& options = {});
  // Does begin() for another try of the session's last transaction, which conflicted. Takes the
  // locks first that the last try held for update, in an order that cannot deadlock, unless that
  // try ended over 0.1 s ago. So tries that lock the same records get through. transact() does so
  // by itself. Errors: those of begin(). kOutOfMemory: also, there was no memory for these locks.
  Result<Txn> retry(const TxnOptions& options = {});

 private:
  friend class Database;
  Result<Txn> begin(const TxnOptions& options, bool is_retry);
  explicit Session(engine::EngineSession* session);
  engine::SessionSlot* slot_;  // outlives the session
  std::uint64_t database_;     // its number; 0: moved from
};

class Database {
 public:
  // Opens or makes the database in options.dir, and recovers it if it was not closed. On failure
  // the directory is as it was before.
  // kInvalidArgument: an option is out of range, options do not go together, or Logging::kNone in a
  // directory that has a log. kBusy: the directory is in use. kNotSupported: a required facility
  // does not work here. kWrongVersion: the files have another format. kCorruption: a file is
  // damaged or missing. kIoError: also, the directory cannot be made or opened. kOutOfSpace.
  // kOutOfMemory: also, memory_bytes cannot be reserved. kTooLarge: all snapshot numbers are used
  // up. With OpenUntil::kSnapshotReadable, wait_recovered() returns the errors of recovery.
  static Result<Database> open(Options options);

  // Later calls of `other` return kClosed, or an empty result.
  Database(Database&& other) noexcept;
  Database& operator=(Database&&) = delete;
  ~Database();  // close(), its errors ignored except kBusy: see "Lifetime"

  // Waits with OpenUntil::kSnapshotReadable until all earlier commits are recovered; otherwise
  // returns at once. Any thread. On failure returns the error that open() would have returned, now
  // and later. Transactions of snapshot isolation still work; all other calls return that error.
  // kTimeout: recovery goes on.
  //
  // Before recovery has ended, snapshot() with newest_existing reads the newest snapshot of the
  // directory, which lacks later commits; kNotFound if there is none. A storage in this snapshot is
  // opened at once. If it was dropped later, its handle becomes one of a dropped storage when
  // recovery ends. All other transactions, the creation and drop of storages, glean() and other
  // snapshots wait.
  Status wait_recovered(std::uint64_t timeout_us = Ticket::kForever);

  // Makes all commits durable and releases the directory; memory is freed with the object. Makes a
  // last snapshot if that is quick (GleanOptions::close_us); otherwise the next open() makes it.
  // Later calls return kClosed. If recovery has not ended, the next open() recovers.
  // kBusy: transactions are open, which the text names with session, thread and age. It is also
  // returned if this or another thread is in a call of transact(), and in a callback of the
  // database. Then nothing has changed. On any other failure, commits that no ticket reported
  // durable may be lost.
  Status close();

  // ---- storages ------------------------------------------------------------------------------
  // open_… returns the storage of that name, and creates it (durably) if it is missing. Names are
  // byte strings. kInvalidArgument: the name is empty or too long, the shape is not valid, or the
  // storage is of another kind or shape. kOutOfMemory: also, there is no page for its root.
  Result<Masstree> open_masstree(std::string_view name);
  Result<Hash> open_hash(std::string_view name, const HashOptions& options = {});
  Result<Array> open_array(std::string_view name, std::uint64_t records,
                           std::uint32_t payload_bytes);
  Result<Sequential> open_sequential(std::string_view name);
  // Removes the storage and all its records. The removal is durable when the call returns.
  // Transactions that use the storage meanwhile get kNotFound or commit before the removal.
  // kNotFound: there is no storage of that name. kInvalidArgument: called within transact(). After
  // another failure the storage may already be dropped; the same call again makes that durable.
  Status drop_storage(std::string_view name);
  // Returns the storages. Empty if there is no memory for the result, like snapshots() and stats().
  std::vector<StorageInfo> storages() const;

  // ---- transactions --------------------------------------------------------------------------

  // Runs `function`, a Result<T>(Txn&) or Status(Txn&), as a transaction, and returns its result.
  // On success the transaction commits. After a conflict `function` runs again, after a back-off,
  // up to options.tries_max times. So it must have no effect outside the transaction that may not
  // be repeated. After any other error the transaction rolls back and transact() returns the error,
  // but only if all reads still hold; otherwise it is a conflict, too. After Txn::rollback()
  // transact() returns kRolledBack, and never commits. An exception of `function` rolls back and
  // reaches the caller. By default a success survives a crash only some milliseconds later, see
  // Durability::kAsync. For a commit that is durable when transact() returns, choose kSync, or wait
  // on the ticket.
  //
  // Returns the errors of `function`, begin() and commit() (Session, Txn), and these. kConflict:
  // options.tries_max tries have conflicted. kInvalidArgument: also, tries_max is out of its range,
  // the call is within another transact() of this thread and database, or `function` moved its Txn
  // away. kTimeout: also, all sessions were in use for options.timeout_us, and there was no memory
  // for another one. kOutOfMemory: memory_bytes is used up. Before that, transact() runs `function`
  // again up to three times, each time after memory was freed, as a rule by a glean.
  // With kSync, an error of the wait for the device comes from a committed transaction. Others see
  // its writes and it is not undone, but a crash may undo it.
  template <typename Function>
  auto transact(Function&& function, const TxnOptions& options = {})
      -> internal::Transacted<Function>;

  // Runs `function` once on a snapshot, with Isolation::kSnapshot. It reads the state at the end of
  // one epoch while others write, and never conflicts. By default that state has all commits up to
  // the call of snapshot(). The call waits until the gleaner has made such a snapshot. After many
  // writes that takes about a second for each few hundred megabytes of changes. If an older state
  // will do, SnapshotOptions::newest_existing takes the newest snapshot at once. Ends as transact()
  // does; if begin() fails, `function` is not called.
  template <typename Function>
  auto snapshot(Function&& function, const SnapshotOptions& options = {})
      -> internal::Transacted<Function>;
  // Returns the snapshots that as_of can choose, oldest first: the newest Options::snapshots_kept,
  // and perhaps an older one that is not removed yet.
  std::vector<SnapshotInfo> snapshots() const;

  // Makes an explicit session, which the caller owns. For its lifetime it belongs to the SOC on
  // whose processor this call runs, whatever thread uses it. If that SOC can have no more sessions,
  // it belongs to another SOC. kTooLarge: options.sessions_max are in use. kOutOfMemory: there is
  // no memory for its log buffer.
  Result<Session> new_session();

  // ---- epochs and facts ----------------------------------------------------------------------

  // Returns the newest epoch whose commits all survive a crash. One atomic read.
  Epoch durable_epoch() const;
  // Makes all commits so far durable. kTimeout: they are not durable yet. kIoError, kOutOfSpace,
  // kOutOfMemory: the log could not be written; a crash may undo commits that no ticket reported
  // durable. With a full device, or without memory, a later call may succeed.
  Status wait_durable(std::uint64_t timeout_us = Ticket::kForever);
  // Makes a snapshot that covers all commits so far, and frees the memory of all volatile pages
  // that did not change since. Later reads of these use the snapshot. Transactions go on meanwhile.
  // The thread that makes the snapshot calls `progress` from time to time. That may call
  // effective_options(), stats() and the like, but must neither run a transaction, wait for a
  // glean, nor throw. The engine gleans by itself, too, see GleanOptions. kNotSupported:
  // Logging::kNone. kIoError, kOutOfSpace, kCorruption, kOutOfMemory, kTooLarge (all snapshot
  // numbers, or all page numbers of a file, are used up): the database is unchanged, and its newest
  // snapshot is the previous one.
  Result<GleanReport> glean(const GleanProgressSink& progress = {});
  // Backs volatile pages that were never in use with memory, until `bytes` of them are backed. So
  // no later transaction or background thread has to wait until the system has cleared that memory,
  // which takes 0.5 ms a MiB on some machines. Without this call, memory is backed a few MiB ahead
  // of use. The call stops early once three quarters of memory_bytes, or of its part for volatile
  // pages, are taken. Any thread. Returns how many bytes of such pages are backed now, at most
  // `bytes`. Those that were backed before the call count.
  std::uint64_t reserve_memory(std::uint64_t bytes);
  EffectiveOptions effective_options() const;
  Stats stats() const;

 private:
  using TxnFunction = Status (*)(void* argument, Txn& txn);
  struct TransactFrame;
  explicit Database(std::unique_ptr<engine::Engine> engine);
  Status run(TxnFunction function, void* argument, const TxnOptions& options);
  static Status try_once(engine::EngineSession* session, TxnFunction function, void* argument,
                         const TxnOptions& options, std::uint32_t tries, Epoch covered);

  std::unique_ptr<engine::Engine> engine_;
};

template <typename Function>
auto Database::transact(Function&& function, const TxnOptions& options)
    -> internal::Transacted<Function> {
  using Returned = internal::Transacted<Function>;
  internal::TransactFunction<Function>::check();
  if constexpr (!internal::TransactFunction<Function>::kIsValid) {
    return ErrorCode::kInvalidArgument;  // check() does not compile
  } else if constexpr (std::is_same_v<Returned, Status>) {
    std::remove_reference_t<Function>* call = &function;  // also for a plain function
    return run(
        [](void* argument, Txn& txn) -> Status {
          return (**static_cast<std::remove_reference_t<Function>**>(argument))(txn);
        },
        &call, options);
  } else {
    struct Call {
      std::remove_reference_t<Function>* function;
      Returned returned;
    } call{&function, Returned(ErrorCode::kClosed)};
    Status status = run(
        [](void* argument, Txn& txn) -> Status {
          Call* const inner = static_cast<Call*>(argument);
          inner->returned = (*inner->function)(txn);
          return inner->returned.status();
        },
        &call, options);
    if (!status.is_ok()) return Returned(std::move(status));
    return std::move(call.returned);
  }
}

template <typename Function>
auto Database::snapshot(Function&& function, const SnapshotOptions& options)
    -> internal::Transacted<Function> {
  TxnOptions txn_options;
  txn_options.isolation = Isolation::kSnapshot;
  txn_options.tries_max = 1;
  txn_options.as_of = options.as_of;
  txn_options.at_least = options.at_least;
  txn_options.newest_existing = options.newest_existing;
  txn_options.timeout_us = options.timeout_us;
  txn_options.ticket = options.ticket;
  return transact(std::forward<Function>(function), txn_options);
}

}  // namespace foedus
