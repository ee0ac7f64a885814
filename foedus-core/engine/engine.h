#pragma once
// Engine: everything of one open database, and the order in which it starts and stops.
//
//   open:  device (lock) ► memory ► log, manifest (read) ► log (cut) ► clock ► gleaner ►
//          users of snapshots ► recovery: a glean ► log (new incarnation) ► all users
//   close: sessions closed ► last glean, or recovery given up ► gleaner ► rings durable ►
//          log sealed ► clock ► device (unlock) ► memory, in the destructor
//
//   E7  open() writes to a directory only after it has read the log and the newest manifest. If it
//       cannot read them, the directory stays as it was, except that pages which an earlier process
//       left staged are written to the SSD (setup/directories.h).
//   E8  Users get sessions only after the cut of the log is durable. Transactions that are not of
//       snapshot isolation, DDL and requests for a glean go on only after recovery has succeeded
//       (E23).

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foedus-core/base/memory_budget.h"
#include "foedus-core/base/system/task.h"
#include "foedus-core/device/device.h"
#include "foedus-core/engine/glean/gleaning.h"
#include "foedus-core/engine/glean/page_room.h"
#include "foedus-core/engine/glean/recovery.h"
#include "foedus-core/engine/open_streams.h"
#include "foedus-core/engine/pace/write_throttle.h"
#include "foedus-core/engine/sessions/catalog.h"
#include "foedus-core/engine/sessions/ddl_log.h"
#include "foedus-core/engine/sessions/session.h"
#include "foedus-core/engine/sessions/session_factory.h"
#include "foedus-core/engine/sessions/session_pool.h"
#include "foedus-core/engine/sessions/txn_watch.h"
#include "foedus-core/engine/sessions/unapplied.h"
#include "foedus-core/engine/setup/directories.h"
#include "foedus-core/engine/setup/memory_shares.h"
#include "foedus-core/engine/setup/open_state.h"
#include "foedus-core/engine/setup/operator_file.h"
#include "foedus-core/engine/setup/operator_log.h"
#include "foedus-core/engine/setup/session_memory.h"
#include "foedus-core/engine/snapshots/snapshots.h"
#include "foedus-core/epoch/epoch_clock.h"
#include "foedus-core/log/durability.h"
#include "foedus-core/log/log.h"
#include "foedus-core/numa/topology.h"
#include "foedus-core/page/page_pool.h"
#include "foedus-core/page/pool_warmer.h"
#include "foedus/database.h"
#include "foedus/options.h"

namespace foedus::engine {

// Runtime and device that a test puts in place of the real ones; null: the real one is used. Both
// must outlive the engine.
struct Environment {
  base::Runtime* runtime = nullptr;
  device::Device* device = nullptr;
};

class Engine {
 public:
  static Result<std::unique_ptr<Engine>> open(Options options, const Environment& environment = {});
  // Calls close(). Ends the program if close() returns kBusy; ignores its other errors.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Closes the database. kBusy: transactions are open, some of which the message names, or the
  // caller is a callback of the database; the database stays open.
  Status close();
  Status check_open() const { return state_.check_open(); }
  Status check_recovered() const { return state_.check_recovered(); }
  Status wait_recovered(std::uint64_t timeout_us) const {
    return state_.wait_recovered(timeout_us);
  }
  Status check_process() const { return state_.check_process(); }
  // Closes the files of the directories and frees nothing. A child of fork() calls this instead of
  // the destructor, because the engine is its parent's (E12).
  static void abandon(std::unique_ptr<Engine> engine);

  // ---- sessions ------------------------------------------------------------------------------
  SessionPool& sessions() { return *session_pool_; }
  Result<EngineSession*> take_session() {
    FOEDUS_CHECK(check_open());
    return session_pool_->take();
  }
  void give_session(EngineSession* session) {
    if (check_process().is_ok()) session_pool_->give(session);  // not in a child (E12)
  }
  // Waits for recovery, or for the snapshot that `options` ask for. Called before the first try
  // claims a session, so that no other thread waits for that session meanwhile. Returns the epoch
  // that the transaction's snapshot must cover; none: any snapshot will do. Errors: those of
  // foedus::Session::begin().
  Result<Epoch> wait_to_begin(const TxnOptions& options);

  // ---- parts ---------------------------------------------------------------------------------
  // Returns the number of the database in this process (E32).
  std::uint64_t number() const { return number_; }
  page::PagePool& pool() { return *pool_; }
  epoch::EpochClock& clock() { return *clock_; }
  Catalog& catalog() { return *catalog_; }
  internal::DurabilityWaits& durability() { return *durability_; }
  const EffectiveOptions& effective_options() const { return effective_; }
  const Options& options() const { return options_; }  // zeroes are replaced by defaults
  log::Log* log() { return log_.get(); }  // null: Logging::kNone
  // Null: Logging::kNone.
  Gleaning* gleaning() { return gleaning_.get(); }
  // Null: Logging::kNone.
  PageRoom* page_room() { return page_room_.get(); }
  // REQUIRES: StorageControl::has_unapplied() was true in the caller's transaction, which is open.
  // The rows are freed only after all transactions that saw true have ended.
  Unapplied& unapplied() { return *unapplied_.get(); }
  snapshot::PageCache* cache() { return caches_ == nullptr ? nullptr : caches_->pages(); }
  // Null: Logging::kNone.
  WriteThrottle* throttle() { return gleaning_ == nullptr ? nullptr : &gleaning_->throttle(); }
  DdlLog& ddl_log() { return *ddl_log_; }
  Snapshots& snapshots() { return *snapshots_; }
  Stats stats() const;
  // Does what foedus::Database::changes() says. REQUIRES: check_recovered() was successful.
  Result<std::shared_ptr<OpenStream>> open_stream(std::optional<Epoch> after);
  // Does what foedus::Database::backup() says. backup_to() writes to a directory that is open.
  Result<BackupReport> backup(const std::string& dir, const BackupOptions& options);
  Result<BackupReport> backup_to(device::Device* to, const BackupOptions& options);
  // Adds to `status` why memory was not freed: the last glean has failed, or a transaction of
  // another session has been open for long. `status`: a kOutOfMemory of session `session`.
  [[gnu::cold]] Status why_no_memory(Status status, std::uint32_t session) const;

  // ---- log -----------------------------------------------------------------------------------
  bool log_has_failed() const { return log_ != nullptr && log_->has_failed(); }
  // Waits until a snapshot covers `epoch`. kInvalidArgument: the epoch has not begun.
  // kNotSupported: Logging::kNone. kTimeout. Other errors: those of durability() and of the
  // gleaner.
  Status wait_covered(Epoch epoch, std::uint64_t timeout_us);
  // Returns the newest epoch of all commits that have returned, DDL included, and of those whose
  // records the calling thread has seen (C7). Commits that recovery found count if no snapshot had
  // them when recovery ended. None: there is no such commit.
  Epoch newest_commit() const;

 private:
  Engine(Options options, const Environment& environment);
  Status start(const Environment& environment);
  void begin_operator_file();
  Status open_device(const Environment& environment);
  Status make_memory();
  Status open_log();
  Status make_catalog();
  void make_gleaning(std::uint32_t install_sessions);
  void make_sessions();
  void stop_tasks();
  Status close_sessions();
  Result<Epoch> wait_for_snapshot(const TxnOptions& options);
  Status wait_for_backup(const BackupOptions& options);
  Result<BackupReport> back_up_newest(device::Device* to, const BackupOptions& options,
                                      std::uint64_t begin_us);

  // Set by open(), then the same until close(). Later members use earlier ones.
  Options options_;
  const bool cache_borrows_ = options_.pages.cache_bytes == 0;  // read before zeroes are replaced
  EffectiveOptions effective_;
  const std::unique_ptr<base::Runtime> own_runtime_;  // null: the environment's is used
  base::Runtime* const runtime_;
  const std::shared_ptr<OperatorFile> operator_file_;  // null: messages go elsewhere, or nowhere
  const OperatorLog operator_log_;
  OpenState state_;
  OpenedDirectories directories_;  // empty: the device is the environment's
  device::Device* device_ = nullptr;
  std::unique_ptr<numa::Topology> topology_;
  MemoryShares shares_;
  std::unique_ptr<base::MemoryBudget> budget_;
  std::unique_ptr<page::PagePool> pool_;
  std::unique_ptr<SessionMemory> session_memory_;
  std::unique_ptr<page::PoolWarmer> warmer_;
  std::unique_ptr<epoch::EpochClock> clock_;
  std::unique_ptr<log::Log> log_;  // null: Logging::kNone
  std::unique_ptr<internal::DurabilityWaits> no_waits_;
  internal::DurabilityWaits* durability_ = nullptr;
  std::unique_ptr<Snapshots> snapshots_;
  std::unique_ptr<SnapshotCaches> caches_;  // null: Logging::kNone
  UnappliedTail unapplied_;                 // empty once no row of the log's tail waits
  std::unique_ptr<SessionFactory> session_factory_;
  std::unique_ptr<EngineSession> own_session_;
  std::unique_ptr<DdlLog> ddl_log_;
  std::unique_ptr<Catalog> catalog_;
  std::unique_ptr<Gleaning> gleaning_;  // null: Logging::kNone
  std::unique_ptr<SessionPool> session_pool_;
  std::unique_ptr<PageRoom> page_room_;  // null: Logging::kNone
  std::unique_ptr<TxnWatch> watch_;
  OpenStreams streams_;
  std::uint64_t number_ = 0;
  Engine* next_abandoned_ = nullptr;
};

}  // namespace foedus::engine
