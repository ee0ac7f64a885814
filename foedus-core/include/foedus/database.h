#pragma once
// Database: an open database directory. A program needs only open() and transact() to begin.
//
// Threads: any thread may call any function here at any time. While transactions are open, close()
// returns kBusy. A call that begins a transaction may overlap close(): either the transaction
// begins first, or the call returns kClosed. All other calls must have returned before close()
// begins, and all calls before the destructor begins.
//
// Lifetime: a Txn, Scan or Session that outlives the database returns kClosed. If a transaction is
// still open when the destructor runs, the program is ended with a message that names the
// transaction. Otherwise the transaction's thread might use memory that the destructor frees.
//
// fork(): a child cannot use a database that its parent has opened, nor a Session, Txn, Scan or
// Ticket of that database. Calls of the child on these objects return kForked and do nothing.
// storages(), snapshots() and stats() return empty results; durable_epoch() and is_durable() return
// their values at the fork. close() and destructors neither wait nor touch memory or files of the
// parent. The child may open other databases, and this directory once the parent has closed it. The
// library does not recognize a child of vfork(), _Fork() or clone(): such a child must call no
// function of this library before exec() or _exit().
//
// Errors: every call that returns a Status or Result may return, beside the codes at the call,
//   kClosed            the database was closed, or this object was moved from
//   kForked            the call came from a child of fork(), see above
//   kOutOfMemory       the system gave the process no memory, thread or descriptor
// A call that waits for recovery or writes to the log may also return
//   kIoError, kOutOfSpace, kCorruption, kWrongVersion   recovery failed (wait_recovered()), or the
//                      log failed. After an I/O error of the log, no write commits any more. After
//                      a full device, commits go on once there is space
//   kNotSupported      all epochs are used up, see Epoch::kBits

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "foedus/bulk_load.h"
#include "foedus/changes.h"
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

// Returned: the type that Function returns for a Txn&, if that type is a Status or a Result<T>. For
// any other Function, Returned is Status, and check() does not compile: its message names the
// mistake in one line.
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

// A stratified snapshot that can be read.
struct SnapshotInfo {
  std::uint32_t number = 0;
  Epoch covered;                 // the snapshot has all commits up to this epoch and no later ones
  std::uint64_t pages = 0;       // pages of all its files, those made for older snapshots included
  std::uint64_t live_pages = 0;  // pages to which the snapshot's roots lead
};

// SnapshotOptions: which snapshot snapshot() reads; the members are those of TxnOptions. If none of
// the first three is set, the snapshot has all commits up to the call of snapshot().
struct SnapshotOptions {
  Epoch as_of = {};
  Epoch at_least = {};
  bool newest_existing = false;
  std::uint64_t timeout_us = TxnOptions().timeout_us;
  Ticket* ticket = nullptr;  // receives a ticket with the epoch that the snapshot covers
};

// How the files of a snapshot come into a backup.
enum class BackupFiles : std::uint8_t {
  kAuto,  // as hard links, else as copies
  kLink,  // as hard links: the backup takes no space until the database's snapshots change
  kCopy,  // as copies
};

// BackupOptions: what backup() does. If newest_existing is false, the backup has all commits up to
// the call of backup().
struct BackupOptions {
  BackupFiles files = BackupFiles::kAuto;
  bool newest_existing = false;  // takes the newest snapshot at once, and makes no new one
  // If the directory has an older backup, files of that stay. By default a sample of 64 pages of
  // each is compared with the database's file; true: all pages.
  bool compare_all = false;
  std::uint64_t timeout_us = TxnOptions().timeout_us;  // for the snapshot, not for the files
};

struct BackupReport {
  Epoch covered;               // the backup has all commits up to this epoch and no later ones
  std::uint32_t snapshot = 0;  // number of the snapshot that the backup holds
  std::uint64_t files = 0;     // files of that snapshot, and their bytes
  std::uint64_t bytes = 0;
  std::uint64_t files_copied = 0;
  std::uint64_t bytes_copied = 0;
  std::uint64_t files_linked = 0;
  std::uint64_t files_kept = 0;   // of an older backup
  std::uint64_t snapshot_us = 0;  // waiting for the snapshot
  std::uint64_t total_us = 0;
};

struct HashOptions {
  std::uint64_t records_expected = 1024;  // sizes the first level of a new trie; not a limit
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
  // With Isolation::kSnapshot also: kNotFound: all kept snapshots are newer than as_of, or
  // newest_existing is set and there is no snapshot. kTimeout: no snapshot has covered the
  // requested epoch within timeout_us. kNotSupported: Logging::kNone. A begin that waits for a
  // snapshot also returns the errors of glean() and wait_durable().
  Result<Txn> begin(const TxnOptions& options = {});
  // Begins another try of the session's last transaction, which conflicted. Does what begin() does,
  // but first takes the locks that calls of get_for_update() took or tried in the last try, in an
  // order that cannot deadlock. So transactions that lock the same records do not conflict again
  // and again. If the last try ended over 0.1 s ago, takes no locks. transact() retries in the same
  // way. Errors: those of begin(). kOutOfMemory: also, there was no memory for these locks.
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
  // Opens or makes the database in options.dir, and recovers it if it was not closed. A failure
  // loses no commit that is in the directory.
  // kInvalidArgument: an option is out of range, options do not go together, or Logging::kNone in a
  // directory that has a log. kBusy: the directory is in use. kNotSupported: a required facility
  // does not work here. kWrongVersion: the files have another format. kCorruption: a file is
  // damaged or missing. kIoError: also, the directory cannot be made or opened. kOutOfSpace.
  // kOutOfMemory: also, memory_bytes cannot be reserved. kTooLarge: all snapshot numbers are used
  // up. With OpenUntil::kSnapshotReadable, wait_recovered() returns the errors of recovery.
  static Result<Database> open(Options options);

  // Later calls on `other` return kClosed, or an empty result.
  Database(Database&& other) noexcept;
  Database& operator=(Database&&) = delete;
  ~Database();  // calls close(); kBusy ends the program (see "Lifetime"), other errors are ignored

  // With OpenUntil::kSnapshotReadable, waits until all earlier commits are recovered; otherwise
  // returns at once. Any thread. On failure, this and every later call return the error that open()
  // would have returned. All other calls that wait for recovery return that error, too.
  // Transactions of snapshot isolation still work with as_of or newest_existing. kTimeout: recovery
  // has not ended within timeout_us, and goes on.
  //
  // Before recovery has ended, snapshot() with as_of or newest_existing reads a snapshot of the
  // directory, which lacks later commits; kNotFound if there is none. A storage in the newest
  // snapshot is opened at once. If the log drops the storage after that snapshot, operations
  // through its handle return kNotFound once recovery has ended. All other transactions, the
  // creation and drop of storages, and glean() wait for the end of recovery.
  Status wait_recovered(std::uint64_t timeout_us = Ticket::kForever);

  // Makes all commits durable and releases the directory; the destructor frees the memory. Makes a
  // last snapshot if that is quick (GleanOptions::close_us); otherwise the next open() makes it.
  // Later calls return kClosed. If recovery has not ended, the next open() recovers.
  // kBusy: transactions are open; a running call of transact() counts as one. The message names up
  // to four of them with session, thread and age. kBusy is also returned to a callback of the
  // database that calls close(). Then nothing has changed. After any other failure, commits that no
  // ticket reported durable may be lost.
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
  // Begins to fill a new Master-Tree with rows in the order of their keys. kAlreadyExists: there is
  // a storage of that name. kBusy: another load runs. kNotSupported: Logging::kNone, there is an
  // SSD tier (TierOptions::ssd_dirs), or the log keeps changes (LogOptions::change_bytes): a load
  // is in no log. kOutOfSpace.
  Result<BulkLoad> load_masstree(std::string_view name);
  // Removes the storage and all its records. The removal is durable when the call returns. A
  // transaction that uses the storage meanwhile commits before the removal, or gets kConflict or
  // kNotFound. kNotFound: there is no storage of that name. kInvalidArgument: called within
  // transact(). After any other error the storage may be gone for transactions, but return after a
  // crash: call drop_storage() again to make the removal durable.
  Status drop_storage(std::string_view name);
  // Returns the storages. Like snapshots() and stats(), returns an empty result if there is no
  // memory for it.
  std::vector<StorageInfo> storages() const;

  // ---- transactions --------------------------------------------------------------------------

  // Runs `function`, a Result<T>(Txn&) or Status(Txn&), as a transaction, and returns its result.
  // If `function` succeeds, the transaction commits. After a conflict `function` runs again, after
  // a back-off, up to options.tries_max times in all. So `function` must have no effect outside the
  // transaction that may not be repeated. If `function` returns any other error, the transaction
  // rolls back. transact() returns that error if all reads still hold; otherwise the error counts
  // as a conflict. If `function` calls Txn::rollback() and then succeeds, transact() returns
  // kRolledBack and does not commit. An exception of `function` rolls back and reaches the caller.
  // By default a success survives a crash only some milliseconds later, see Durability::kAsync. For
  // a commit that is durable when transact() returns, choose kSync, or wait on options.ticket.
  //
  // Returns the errors of `function`, begin() and commit() (Session, Txn), and these. kConflict:
  // options.tries_max tries have conflicted. kInvalidArgument: also, tries_max is out of its range,
  // the call is within another transact() of this thread and database, or `function` moved its Txn
  // away. kTimeout: also, all sessions were in use for options.timeout_us, and no other one could
  // be made, because there are sessions_max of them or for lack of memory. kOutOfMemory:
  // memory_bytes is used up. Before transact() returns kOutOfMemory, it runs `function` again up to
  // three times, each time after memory was freed, as a rule by a glean.
  // With kSync, transact() may also return an error of the wait for the device. The transaction has
  // then committed: others see its writes and it is not undone, but a crash may undo it.
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

  // Makes an explicit session, which the caller owns. The session belongs to the SOC on whose
  // processor this call runs, whatever thread uses the session later. If that SOC can have no more
  // sessions, the session belongs to another SOC. kTooLarge: options.sessions_max are in use.
  // kOutOfMemory: there is no memory for its log buffer.
  Result<Session> new_session();

  // ---- epochs and facts ----------------------------------------------------------------------

  // Returns the newest epoch whose commits all survive a crash. One atomic read.
  Epoch durable_epoch() const;
  // Makes all commits so far durable. kTimeout: they are not durable yet. kIoError, kOutOfSpace,
  // kOutOfMemory: the log could not be written; a crash may undo commits that no ticket reported
  // durable. With a full device, or without memory, a later call may succeed.
  Status wait_durable(std::uint64_t timeout_us = Ticket::kForever);
  // Makes a snapshot that covers all commits so far, and frees the memory of all volatile pages
  // that have not changed since. Later reads of these pages use the snapshot. Transactions go on
  // meanwhile. The thread that makes the snapshot calls `progress` from time to time. `progress`
  // may call effective_options(), stats() and the like, but must neither run a transaction, wait
  // for a glean, nor throw. The engine gleans by itself, too, see GleanOptions. kNotSupported:
  // Logging::kNone. kIoError, kOutOfSpace, kCorruption, kOutOfMemory, kTooLarge (all snapshot
  // numbers, or all page numbers of a file, are used up): the database is unchanged, and its newest
  // snapshot is the previous one.
  Result<GleanReport> glean(const GleanProgressSink& progress = {});
  // Makes in directory `dir` a backup of the database: the files of one snapshot, which open()
  // opens as a database that has exactly the commits up to BackupReport::covered. Transactions and
  // gleans go on meanwhile; files that the backup needs are not removed. All files come into the
  // one directory `dir`, however many directories the database has.
  //
  // `dir` is missing (its parent must exist), empty, or has an older backup of this database. An
  // older backup is replaced, and only files that it lacks are written. A crash or failure at any
  // moment leaves the older backup or the new one. If there was none, a crash leaves a directory
  // that open() refuses and the next backup() completes; a failure leaves an empty one. Either may
  // have a lock file. If the call succeeds, the new backup survives a power failure.
  //
  // To restore, open() the backup, or better a copy of it: a backup that was opened is a database
  // like any other, and takes no further backups. All options but `dir` may differ from those of
  // the source. The pages of copied files are checked against their checksums. Linked files share
  // their bytes with the database: they protect against its removal and against wrong changes of
  // rows, but not against a failure of the device. While such links exist, neither side can move
  // these files to an SSD tier.
  //
  // kInvalidArgument: `dir` is the database's own or in use, has another file or a database, or its
  // backup is newer or of another database. Then nothing in it was changed. kNotSupported:
  // Logging::kNone, or BackupFiles::kLink where no hard links between the directories can be made:
  // they lie on several file systems, or the database has several directories, tiers or emulated
  // devices. kNotFound: with newest_existing, there is no snapshot. kTimeout: no snapshot has
  // covered the commits within timeout_us. kCorruption: a file of the database or of the older
  // backup is damaged. kIoError, kOutOfSpace. A call that waits for a snapshot also returns the
  // errors of glean() and wait_durable().
  Result<BackupReport> backup(const std::string& dir, const BackupOptions& options = {});
  // Begins a stream of the changes of epochs after `after`, a position that an earlier stream of
  // this directory returned, or the epoch that a snapshot or backup of it covers. Epoch(): from the
  // first change on. Without `after`: the changes of epochs that are not durable yet. Waits for
  // recovery. kNotSupported: Logging::kNone, or the log keeps no changes
  // (LogOptions::change_bytes). kNotFound: the log has removed some of these changes; the message
  // names the oldest position that is left. kInvalidArgument: `after` is not durable in this
  // database, so that it belongs to another one.
  Result<ChangeStream> changes(std::optional<Epoch> after = {});
  // Lets the system back volatile pages that were never used, until `bytes` of them are backed by
  // memory. So no later transaction or background thread has to wait until the system has cleared
  // that memory, which takes 0.5 ms a MiB on some machines. Without this call, memory is backed a
  // few MiB ahead of use. The call stops early once three quarters of memory_bytes, or of its part
  // for volatile pages, are taken. Any thread. Returns how many bytes of never used pages are
  // backed now, at most `bytes`. Pages that were backed before the call count, too.
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
    return ErrorCode::kInvalidArgument;  // never runs: check() does not compile
  } else if constexpr (std::is_same_v<Returned, Status>) {
    // The argument is the address of `call`: a plain function's own address is no void*.
    std::remove_reference_t<Function>* call = &function;
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
