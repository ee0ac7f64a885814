#pragma once
// Database: a directory, opened. Two concepts before the first write: open, transact.
//
// Threads: everything here may be called from any thread at the same time. If other threads are in
// transactions, close() returns kBusy, or their calls return kClosed from then on. All other calls
// must have returned before close() and the destructor.
//
// Lifetime: a Txn, Scan or Session that outlives the database is kClosed. A transaction that is
// still open when the destructor runs ends the program, with a sentence that names it: its thread
// may be about to use what the destructor frees.
//
// fork(): a child cannot use what its parent has opened, nor a Session, Txn, Scan or Ticket of it.
// Its calls return kForked and do nothing; storages(), snapshots() and stats() are empty, and of
// durable_epoch() and is_durable() it gets what was true at the fork. Close and destructors neither
// wait nor touch memory or files of the parent. The child may open other databases, and this
// directory once the parent has closed it. A child of vfork(), _Fork() or clone() is not
// recognized: it must call exec() or _exit() and nothing of this library.
//
// Errors: every call that returns a Status or Result may return, beside what stands at it,
//   kClosed            the database was closed, or this object moved from
//   kForked            see above
//   kOutOfMemory       the system gave the process no memory, thread or descriptor
// and what waits for recovery or writes to the log
//   kIoError, kOutOfSpace, kCorruption, kWrongVersion   recovery failed (wait_recovered()), or the
//                      log: commits stop at an I/O error, and go on once a full device has room
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
#include "foedus/nvm_stats.h"
#include "foedus/options.h"
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

// Returned: the type that Function returns for a Txn&, if it is a Status or a Result<T>; else
// Status, and check() says in one line what is wrong.
template <typename Function>
struct TransactFunction {
  static constexpr bool kTakesTxn = std::is_invocable_v<Function&, Txn&>;
  // Only looked at where it does not take a Txn&.
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
  Epoch covered;                 // all commits of it and before are in, no later one is
  std::uint64_t pages = 0;       // in the files that it needs; some are of older snapshots
  std::uint64_t live_pages = 0;  // of `pages`, those that its roots lead to
};

// SnapshotOptions: which snapshot snapshot() reads, as in TxnOptions. With none of the first three
// it is one that holds all that was committed when snapshot() was called.
struct SnapshotOptions {
  Epoch as_of = {};
  Epoch at_least = {};
  bool newest_existing = false;
  std::uint64_t timeout_us = TxnOptions().timeout_us;
  Ticket* ticket = nullptr;  // its epoch is the one that the snapshot covers
};

struct HashOptions {
  std::uint64_t records_expected = 1024;  // sizes the first level of the trie; grows without limit
};

// Counters since open. Sums over sessions; exact once they are quiet.
struct StorageStats {
  std::string name;
  std::uint64_t volatile_pages = 0;
  std::uint64_t conflicts[kConflictReasonCount] = {};  // by ConflictReason
};

// Where the pages are that the sessions of one SOC use. Local is what lies in memory of that SOC,
// whose processors run the sessions; see Options::socs.
struct SocStats {
  std::uint64_t sessions = 0;  // that belong to it
  // Free volatile pages that its sessions took from the pool: of the SOC's memory, and of that of
  // others where it had none left. A page that is given back and taken again counts again.
  std::uint64_t pages_taken_local = 0;
  std::uint64_t pages_taken_remote = 0;
  // Volatile pages whose records its sessions read or wrote, in one of 64 of the transactions that
  // came to commit. Local is here the memory of the SOC whose processor ran the commit: the SOC of
  // the session, unless its thread was elsewhere. Snapshot pages in memory that volatile pages have
  // lent to the cache count as theirs. 0 where there is one SOC.
  std::uint64_t pages_touched_local = 0;
  std::uint64_t pages_touched_remote = 0;
};

struct Stats {
  std::uint64_t commits = 0;
  std::uint64_t rollbacks = 0;
  std::uint64_t conflicts[kConflictReasonCount] = {};  // by ConflictReason
  std::uint64_t log_bytes = 0;                         // written to segments
  std::uint64_t volatile_page_bytes = 0;               // pages in use by storages
  std::uint64_t free_page_bytes = 0;                   // pages taken from the system, not in use
                                                       // nor in cache_bytes
  std::uint64_t log_buffer_bytes = 0;                  // rings of all sessions
  std::uint64_t open_transactions = 0;                 // calls of transact() at work among them
  std::uint64_t oldest_transaction_us = 0;             // how long the oldest is open; 0: none is
  // A part of free_page_bytes: pages that were given up and wait for the end of transactions that
  // began before, which may look at them.
  std::uint64_t waiting_page_bytes = 0;
  std::uint64_t log_bytes_behind = 0;  // written since open and in no snapshot yet
  std::uint64_t gleans = 0;            // snapshots that were made and installed
  std::uint64_t gleaned_records = 0;   // log records that they were made of
  std::uint64_t glean_cpu_us = 0;      // processor time that they took, of all threads
  std::uint64_t snapshot_pages_written = 0;
  std::uint64_t volatile_pages_dropped = 0;
  // Times that one stayed because it had been used since the glean before.
  std::uint64_t volatile_pages_spared = 0;
  // Memory that the cache of snapshot pages takes, with what it has borrowed of the memory of
  // volatile pages.
  std::uint64_t cache_bytes = 0;
  std::uint64_t cache_hits = 0;   // estimated
  std::uint64_t cache_misses = 0;
  // Used where Options::nvm_cache keeps lines of pages. The first counts lines that transactions
  // loaded. The second counts the times that a page had more lines than a mini page holds, so that
  // it was read whole.
  std::uint64_t cache_lines_loaded = 0;
  std::uint64_t cache_pages_outgrown = 0;
  std::uint64_t writers_waited_us = 0;  // for the gleaner, all together
  // Bytes of log a second that writers are held to at this moment; 0: to none, 1: they are stopped.
  std::uint64_t write_limit_bytes_per_s = 0;
  std::uint32_t snapshot = 0;           // number of the newest; 0: there is none
  NvmStats nvm;                         // DeviceKind::kEmulated
  NvmStats ssd;                         // the same, of Options::ssd_dirs
  TierStats tiers;                      // Options::ssd_dirs
  Epoch covered_epoch;                  // all commits of it and before are in the newest snapshot
  Epoch current_epoch;
  Epoch durable_epoch;
  std::vector<StorageStats> storages;
  std::vector<SocStats> socs;  // by SOC
};

// GleanStage: the stage of a running glean, for a progress display.
enum class GleanStage : std::uint8_t {
  kMap,      // done of about total bytes of log were read
  kCompose,  // done of total records were laid out in pages
  kInstall,  // done of total storages were installed
};
struct GleanProgress {
  GleanStage stage = GleanStage::kMap;
  std::uint64_t done = 0;
  std::uint64_t total = 0;
};
using GleanProgressSink = std::function<void(const GleanProgress&)>;

// GleanReport: the work of one glean. Times are in microseconds.
struct GleanReport {
  std::uint32_t snapshot = 0;  // number of the newest snapshot; 0: there is none
  Epoch covered;               // all commits of it and before are in
  std::uint64_t records_read = 0;
  std::uint64_t records_composed = 0;  // what was left of them when histories were folded
  std::uint64_t runs_spilled = 0;
  std::uint64_t pages_written = 0;
  std::uint64_t pages_moved = 0;    // by reclamation, with the pages above them
  std::uint64_t pages_live = 0;     // that the snapshot consists of
  std::uint64_t pages_total = 0;    // of all its files
  std::uint64_t pages_dropped = 0;  // volatile pages that gave way to the snapshot's
  // Volatile pages that changed since, or were in use; of a storage with pages that were not looked
  // at, because the snapshot changed nothing there, all of them.
  std::uint64_t pages_kept = 0;
  std::uint64_t pages_spared = 0;   // of them, those that stayed because they are hot
  std::uint64_t catalog_us = 0;     // looking for the catalog in a log that was found
  std::uint64_t map_reduce_us = 0;  // until all records were sorted
  std::uint64_t compose_us = 0;     // and until it was durable
  std::uint64_t install_us = 0;
  std::uint64_t reclaim_us = 0;  // moving live pages, and removing what is not needed
  std::uint64_t total_us = 0;
  // Processor time, of all threads.
  std::uint64_t map_cpu_us = 0;      // reading the log, dealing its records out
  std::uint64_t sort_cpu_us = 0;     // of what reducers hold
  std::uint64_t reduce_cpu_us = 0;   // receiving, and spilling
  std::uint64_t compose_cpu_us = 0;  // merging, and making pages of it
  std::uint64_t total_cpu_us = 0;    // those, and all else
};

// Session: runs explicit transactions, one at a time. One thread may use several sessions, but two
// threads must not use one at the same time. The destructor rolls back a transaction that is open.
// A session of a database that was closed begins no transaction any more (kClosed).
class Session {
 public:
  Session(Session&& other) noexcept;
  Session& operator=(Session&&) = delete;
  ~Session();

  // kInvalidArgument: the transaction before has not ended; isolation or durability is none of its
  // enumerators; as_of, at_least or newest_existing in another isolation than kSnapshot, or two of
  // them, or at_least above the current epoch. kOutOfMemory: also, a transaction that is_retry
  // could not lock what it held before. Of snapshots: kNotFound: none that is kept is as old as
  // as_of, or there is none at all (newest_existing). kTimeout: none covers what was asked for yet.
  // kNotSupported: Logging::kNone. What glean() and wait_durable() report: so does a begin that
  // waits for a snapshot.
  Result<Txn> begin(const TxnOptions& options = {});

 private:
  friend class Database;
  explicit Session(engine::EngineSession* session);
  engine::SessionSlot* slot_;  // outlives the session
  std::uint64_t database_;     // number of its database; 0: moved from
};

class Database {
 public:
  // Opens or makes the database in options.dir, and recovers it if it was not closed. On failure
  // the directory holds what it held before.
  // kInvalidArgument: an option out of range, options that do not go together, or Logging::kNone in
  // a directory that has a log. kBusy: the directory is in use. kNotSupported: a required facility
  // does not work here. kWrongVersion: other formats. kCorruption: what is there is damaged, or a
  // file is missing. kIoError: also, the directory cannot be made or opened. kOutOfSpace.
  // kOutOfMemory: also, memory_bytes cannot be reserved. kTooLarge: snapshots have used up their
  // numbers. With OpenUntil::kSnapshotReadable what only recovery meets: see wait_recovered().
  static Result<Database> open(Options options);

  Database(Database&& other) noexcept;  // calls of `other` return kClosed from then on, or nothing
  Database& operator=(Database&&) = delete;
  ~Database();  // close(), its error ignored but for kBusy: see "Lifetime"

  // With OpenUntil::kSnapshotReadable: returns when what was committed before is recovered, else at
  // once. Any thread. On failure what open() would have returned, and for good: the database goes
  // on for transactions of snapshot isolation, all else returns the same. kTimeout: recovery goes
  // on.
  //
  // Before recovery has ended: snapshot() with newest_existing reads the newest snapshot of the
  // directory, which does not hold the commits since; kNotFound if there is none. A storage that
  // this snapshot has is opened at once; if it was dropped afterwards, its handle is found to be
  // one of a dropped storage when recovery ends. All other transactions, the creation and drop of
  // storages, glean() and other snapshots wait.
  Status wait_recovered(std::uint64_t timeout_us = Ticket::kForever);

  // Makes all commits durable and gives up the directory; memory goes with the object. Makes a last
  // snapshot of them if that is quick (GleanOptions::close_us), or leaves that to open(). Later
  // calls return kClosed. Recovery that has not ended is left to the next open(). kBusy:
  // transactions are open, which the text names with session, thread and age, or a call of
  // transact() is at work, of this thread or another one, or this is a callback of the database.
  // Then nothing has changed. On any other failure commits that no ticket said to be durable may
  // be lost.
  Status close();

  // ---- storages ------------------------------------------------------------------------------
  // open_…: the storage of that name, created (durably) if it is missing. Names are byte strings.
  // kInvalidArgument: the name is empty or too long, the shape is none, or the storage is of
  // another kind or shape. kOutOfMemory: also, there is no page for its root.
  Result<Masstree> open_masstree(std::string_view name);
  Result<Hash> open_hash(std::string_view name, const HashOptions& options = {});
  Result<Array> open_array(std::string_view name, std::uint64_t records,
                           std::uint32_t payload_bytes);
  Result<Sequential> open_sequential(std::string_view name);
  // Removes the storage and all its records. Durable when it returns. Transactions that use it
  // meanwhile get kNotFound or commit before it. kNotFound: there is none of that name.
  // kInvalidArgument: called within transact(). On another
  // failure the storage may be found to be dropped; the same call again makes that durable.
  Status drop_storage(std::string_view name);
  // Empty if there is no memory for it, as snapshots() and stats().
  std::vector<StorageInfo> storages() const;

  // ---- transactions --------------------------------------------------------------------------

  // Runs `function`, a Result<T>(Txn&) or Status(Txn&), as a transaction and returns what it
  // returned. A success commits. A conflict runs it again, after a back-off, up to
  // options.tries_max times: it must have no effect outside the transaction that may not be
  // repeated. Any other error rolls back and is handed out, but only if all that was read still
  // holds: else it is a conflict, too. After Txn::rollback() it returns kRolledBack, and never
  // commits. An exception of `function` rolls back and goes on to the caller. By default a success
  // survives a crash only some milliseconds later, see Durability::kAsync: choose kSync for one
  // that does when transact() returns, or look at the ticket.
  //
  // Returns what `function` did, what begin() and commit() report (Session, Txn), and
  // kConflict: options.tries_max tries have met others. kInvalidArgument: also, tries_max is out of
  // its range, the call is within another transact() of this thread and database, or `function`
  // moved its Txn away. kTimeout: also, all sessions were at work for options.timeout_us, and there
  // was no memory for another one. kOutOfMemory: of memory_bytes, after three gleans that gave none
  // back. An error of kSync's wait for the device comes from a transaction that was committed, and
  // is seen by others: it is not undone, but a crash may undo it.
  template <typename Function>
  auto transact(Function&& function, const TxnOptions& options = {})
      -> internal::Transacted<Function>;

  // Runs `function` once on a snapshot, with Isolation::kSnapshot: it reads the state at the end of
  // one epoch while others write, and never conflicts. By default that state holds all that was
  // committed when snapshot() was called. It waits for the snapshot that does, and has the gleaner
  // make it. After many writes that takes a second for some hundred megabytes that have changed.
  // Where an older state will do, SnapshotOptions::newest_existing takes the newest one at once.
  // Ends as transact() does; what begin() reports is reported without a call of `function`.
  template <typename Function>
  auto snapshot(Function&& function, const SnapshotOptions& options = {})
      -> internal::Transacted<Function>;
  // Returns the snapshots that as_of can choose, oldest first: the newest Options::snapshots_kept,
  // and perhaps an older one that has not gone yet.
  std::vector<SnapshotInfo> snapshots() const;

  // An explicit session, the caller's until it is destroyed. It belongs to the SOC of the processor
  // that this call runs on, or to another one where no more can be made, for as long as it is
  // there, whatever thread uses it. kTooLarge: options.sessions_max are in
  // use. kOutOfMemory: no room for its log buffer.
  Result<Session> new_session();

  // ---- epochs and facts ----------------------------------------------------------------------

  // The newest epoch whose commits all survive a crash. One atomic read.
  Epoch durable_epoch() const;
  // Makes all commits so far durable. kTimeout: they are not yet. kIoError, kOutOfSpace,
  // kOutOfMemory: the log could not be written; commits that no ticket said to be durable may be
  // lost in a crash. At a full device, and without memory, a later call may go well.
  Status wait_durable(std::uint64_t timeout_us = Ticket::kForever);
  // Makes a snapshot that covers all commits so far, and gives back the memory of all volatile
  // pages that did not change since: they are read from the snapshot from then on. Transactions go
  // on meanwhile. `progress` is called now and then, by the thread that makes the snapshot: it may
  // ask for facts, but must neither run a transaction, wait for a glean, nor throw. The engine does
  // this by itself, see GleanOptions. kNotSupported: Logging::kNone. kIoError, kOutOfSpace,
  // kCorruption, kOutOfMemory, kTooLarge (snapshots have used up their numbers, or a file its
  // pages): the database is what it was, and its newest snapshot the one before.
  Result<GleanReport> glean(const GleanProgressSink& progress = {});
  // Backs room for `bytes` more bytes of volatile pages with memory now, so that no later
  // transaction and no background thread has to wait for the system to clear it (0.5 ms a MiB on
  // some machines); without it memory is backed a few MiB ahead of use. Never beyond three
  // quarters of memory_bytes. Any thread. Returns the bytes that are ready: fewer than asked for
  // if the bound was met.
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
    return ErrorCode::kInvalidArgument;  // it does not compile
  } else if constexpr (std::is_same_v<Returned, Status>) {
    std::remove_reference_t<Function>* call = &function;  // also of a plain function
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
