#include "foedus-core/engine/engine.h"

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <new>
#include <string>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/line_allocator.h"
#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/base/user_call.h"
#include "foedus-core/engine/closed_directory.h"
#include "foedus-core/engine/sessions/open_databases.h"
#include "foedus-core/engine/setup/directories.h"
#include "foedus-core/engine/setup/opening_lines.h"
#include "foedus-core/engine/setup/options_check.h"

namespace foedus::engine {

namespace {

// Age from which a message about a lack of memory names a transaction as a cause.
constexpr std::uint64_t kOldTxnUs = 1'000'000;
// Greatest epoch in which a database may start. It lies above kCommitEpochMax: a database without
// epochs for commits can still be opened and read, which uses up epochs, too.
constexpr Epoch kFirstEpochMax(Epoch::kMax - (std::uint64_t{1} << 20));

// In a child of fork(), the list of abandoned engines of the parent, so that a leak checker finds
// them reachable.
base::AtomicWord<Engine*> abandoned{nullptr};

// Wraps the operator's log sink so that its exceptions are ignored: no task could handle them.
Options with_quiet_sink(Options options) {
  if (!options.log_sink) return options;
  options.log_sink = [sink = std::move(options.log_sink)](LogLevel level, std::string_view line) {
    base::call_user(
        &sink, [&] { sink(level, line); }, [](const std::string&) {});
  };
  return options;
}

// Makes the file for messages, and its sink. Returns null if the user has a sink or wants no file.
std::shared_ptr<OperatorFile> make_operator_file(base::Runtime* runtime, bool has_files,
                                                 Options* options) {
  if (!has_files || options->log_sink || options->operator_log_bytes == 0) return nullptr;
  auto file = std::make_shared<OperatorFile>(runtime);
  options->log_sink = [file](LogLevel level, std::string_view line) { file->say(level, line); };
  return file;
}

}  // namespace

Engine::Engine(Options options, const Environment& environment)
    : options_(with_quiet_sink(std::move(options))),
      own_runtime_(environment.runtime == nullptr ? base::make_thread_runtime() : nullptr),
      runtime_(environment.runtime == nullptr ? own_runtime_.get() : environment.runtime),
      operator_file_(make_operator_file(
          runtime_, environment.device == nullptr && options_.log.kind == Logging::kFiles,
          &options_)),
      operator_log_(options_.log_sink),
      state_(runtime_) {}

Result<std::unique_ptr<Engine>> Engine::open(Options options, const Environment& environment) {
  return base::catching([&]() -> Result<std::unique_ptr<Engine>> {
    FOEDUS_CHECK(check_options(options));
    std::unique_ptr<Engine> engine(new Engine(std::move(options), environment));
    FOEDUS_CHECK(engine->start(environment));
    return engine;
  });
}

Status Engine::start(const Environment& environment) {
  FOEDUS_CHECK(open_device(environment));
  number_ = enter_database(options_.dir);
  FOEDUS_CHECK(make_memory());
  FOEDUS_CHECK(open_log());
  effective_.options = options_;
  if (operator_file_ != nullptr) begin_operator_file();
  runtime_->start(clock_.get());
  runtime_->start(warmer_.get());
  if (watch_ != nullptr) runtime_->start(watch_.get());
  if (gleaning_ == nullptr) {
    state_.end_recovery({});
  } else {
    runtime_->start(&gleaning_->throttle());
    runtime_->start(&gleaning_->scheduler());  // begins with recovery
    snapshots_->set_gleaner(&gleaning_->scheduler());
  }
  state_.set_open();
  return options_.open_until == OpenUntil::kSnapshotReadable ? Status() : check_recovered();
}

// Begins to write messages to files, now that open() may write (E7), and tells what was opened.
void Engine::begin_operator_file() {
  effective_.options.log_sink = {};  // the user has set none
  operator_file_->start(
      options_.dir, options_.operator_log_bytes,
      describe_opening(effective_, {.processors = topology_->processors(),
                                    .physical_bytes = numa::physical_memory_bytes()}));
}

Status Engine::open_device(const Environment& environment) {
  if (environment.device != nullptr) {
    device_ = environment.device;
    return {};
  }
  FOEDUS_TRY(directories_, open_directories(options_, runtime_));
  effective_.direct_io = directories_.has_direct_io;
  if (options_.files.device == DeviceKind::kMapped && !directories_.maps_files) {
    options_.files.device = DeviceKind::kFile;
    operator_log_.say(LogLevel::kWarning, options_.dir +
                                              " does not lie on persistent memory: its files are " +
                                              "read and written by system calls");
  }
  choose_nvm_cache(&options_);
  device_ = directories_.device.get();
  return {};
}

Status Engine::make_memory() {
  FOEDUS_TRY(numa::Topology topology, numa::Topology::make(options_.socs, runtime_->processors()));
  topology_ = std::make_unique<numa::Topology>(std::move(topology));
  options_.socs = topology_->socs();
  FOEDUS_CHECK(fill_in_loggers(&options_, &effective_.loggers));
  if (options_.memory_bytes == 0) choose_memory_bytes(&options_);
  budget_ = std::make_unique<base::MemoryBudget>(options_.memory_bytes);
  if (options_.log.kind == Logging::kFiles) {
    FOEDUS_CHECK(fill_in_glean(&options_, topology_->processors()));
    const bool reserved = budget_->try_take(options_.glean.memory_bytes);
    FOEDUS_INVARIANT(reserved, options_.memory_bytes, options_.glean.memory_bytes);
  }
  FOEDUS_TRY(shares_, share_memory(options_));
  FOEDUS_TRY(pool_, page::PagePool::make(topology_.get(), budget_.get(), shares_.page_bytes,
                                         options_.pages.huge_pages, options_.pages.numa_binding));
  session_memory_ = std::make_unique<SessionMemory>(budget_.get(), pool_.get(),
                                                    shares_.session_bytes, shares_.page_bytes_left);
  warmer_ = std::make_unique<page::PoolWarmer>(runtime_, pool_.get());
  effective_.huge_pages = pool_->huge_pages();
  effective_.numa_binding =
      topology_->can_bind(options_.pages.numa_binding) && pool_->numa_binding();
  return {};
}

Status Engine::open_log() {
  // Slots of the clock: one for each session of users, for the engine's own session, for the
  // gleaner's task, for each session that applies rows of the log's tail, for the session that
  // looks for such rows, and for each install thread. One installer is the gleaner's task itself.
  const std::uint32_t install_sessions = options_.sessions_max + 3 + Unapplied::kSessions;
  const std::uint32_t slots = install_sessions + std::max(options_.glean.installers, 1u) - 1;
  Epoch first(1);
  std::optional<snapshot::Manifest> manifest;
  if (options_.log.kind == Logging::kFiles) {
    const log::LogSettings log_options{.loggers = effective_.loggers,
                                       .segment_bytes = options_.log.segment_bytes,
                                       .topology = topology_.get(),
                                       .numa_binding = options_.pages.numa_binding,
                                       .change_bytes = options_.log.change_bytes};
    FOEDUS_TRY(log_, log::Log::open(device_, runtime_, log_options, options_.log_sink));
    const bool keeps_changes = log_->change_bytes() != 0;
    options_.log.change_bytes = keeps_changes ? log_->change_bytes() : kNoChanges;
    durability_ = &log_->durability();
    durability_->set_sink(options_.log_sink);
    first = std::max(first, log_->first_new_epoch());
    FOEDUS_TRY(manifest, find_newest_manifest(device_));
    FOEDUS_CHECK(check_together(device_, *log_, manifest));
    if (manifest.has_value()) first = std::max(first, manifest->newest_seen.next());
    if (first > kFirstEpochMax) {
      return Status::error(ErrorCode::kCorruption,
                           device_->path() + " has epoch " + std::to_string(first.number() - 1) +
                               " in its log or manifest, and too few are left after it");
    }
  } else {
    FOEDUS_CHECK(refuse_files(device_));
    no_waits_ = std::make_unique<internal::DurabilityWaits>(runtime_, true);
    durability_ = no_waits_.get();
    durability_->set_sink(options_.log_sink);
  }
  clock_ = std::make_unique<epoch::EpochClock>(runtime_, first, slots, options_.epoch_interval_us);
  clock_->set_sink(options_.log_sink);
  snapshots_ = std::make_unique<Snapshots>(runtime_, slots, options_.snapshots_kept);
  FOEDUS_CHECK(make_catalog());
  if (log_ != nullptr) make_gleaning(install_sessions);
  make_sessions();
  if (log_ == nullptr) {
    no_waits_->set_clock(clock_.get());
    return {};
  }
  log_->set_clock(clock_.get());
  return gleaning_->recovery().begin(std::move(manifest));
}

// Makes the caches, the factory of sessions, the catalog, and the session that logs its changes.
Status Engine::make_catalog() {
  if (log_ != nullptr) {
    FOEDUS_TRY(caches_, SnapshotCaches::make({.options = &options_,
                                              .runtime = runtime_,
                                              .device = device_,
                                              .topology = topology_.get(),
                                              .budget = budget_.get(),
                                              .clock = clock_.get(),
                                              .lender = cache_borrows_ ? pool_.get() : nullptr,
                                              .operator_log = &operator_log_}));
  }
  session_factory_ = std::make_unique<SessionFactory>(
      SessionFactory::Parts{.session = {.engine = this,
                                        .options = &options_,
                                        .runtime = runtime_,
                                        .state = &state_,
                                        .topology = topology_.get(),
                                        .pool = pool_.get(),
                                        .clock = clock_.get(),
                                        .log = log_.get(),
                                        .durability = durability_,
                                        .snapshots = snapshots_.get(),
                                        .unapplied = &unapplied_,
                                        .database = number_},
                            .log = log_.get(),
                            .caches = caches_.get(),
                            .budget = budget_.get(),
                            .memory = session_memory_.get()});
  FOEDUS_TRY(own_session_, session_factory_->make_own());
  ddl_log_ = std::make_unique<DdlLog>(DdlLog::Parts{.runtime = runtime_,
                                                    .clock = clock_.get(),
                                                    .log = log_.get(),
                                                    .session = own_session_.get()});
  catalog_ = std::make_unique<Catalog>(Catalog::Parts{.runtime = runtime_,
                                                      .state = &state_,
                                                      .clock = clock_.get(),
                                                      .durability = durability_,
                                                      .pool = pool_.get(),
                                                      .ddl = ddl_log_.get(),
                                                      .database = number_});
  return {};
}

// Makes the gleaner's task and its parts. `install_sessions`: the clock's first slot for install
// threads.
void Engine::make_gleaning(std::uint32_t install_sessions) {
  gleaning_ = std::make_unique<Gleaning>(Gleaning::Parts{.options = &options_,
                                                         .runtime = runtime_,
                                                         .state = &state_,
                                                         .device = device_,
                                                         .topology = topology_.get(),
                                                         .pool = pool_.get(),
                                                         .clock = clock_.get(),
                                                         .log = log_.get(),
                                                         .durability = durability_,
                                                         .snapshots = snapshots_.get(),
                                                         .caches = caches_.get(),
                                                         .catalog = catalog_.get(),
                                                         .sessions = session_factory_.get(),
                                                         .session_memory = session_memory_.get(),
                                                         .unapplied = &unapplied_,
                                                         .operator_log = &operator_log_,
                                                         .session = options_.sessions_max + 1,
                                                         .install_sessions = install_sessions});
}

// Makes the pool of users' sessions, the transaction timeout monitor, and PageRoom.
void Engine::make_sessions() {
  session_pool_ =
      std::make_unique<SessionPool>(SessionPool::Parts{.runtime = runtime_,
                                                       .topology = topology_.get(),
                                                       .factory = session_factory_.get(),
                                                       .sessions_max = options_.sessions_max,
                                                       .on_demand = shares_.sessions_on_demand,
                                                       .database = number_});
  if (options_.transaction_timeout_us != 0) {
    watch_ = std::make_unique<TxnWatch>(TxnWatch::Parts{.options = &options_,
                                                        .runtime = runtime_,
                                                        .sessions = session_pool_.get(),
                                                        .operator_log = &operator_log_});
  }
  SessionFactory::UserParts users{.watch = watch_.get()};
  if (gleaning_ != nullptr) {
    users.throttle = &gleaning_->throttle();
    page_room_ = std::make_unique<PageRoom>(PageRoom::Parts{.runtime = runtime_,
                                                            .clock = clock_.get(),
                                                            .pool = pool_.get(),
                                                            .scheduler = &gleaning_->scheduler(),
                                                            .sessions = session_pool_.get()});
  }
  session_factory_->set_user_parts(users);
}

Engine::~Engine() {
  const Status closed = close();
  if (closed.code() == ErrorCode::kBusy) {
    base::end_program("a Database is destroyed while it is in use; " + closed.message());
  }
  // If open() failed, close() did nothing, and tasks may still run. Otherwise it has stopped them.
  if (!check_process().is_ok()) return;
  state_.give_up_recovery();
  stop_tasks();
  leave_database(number_);
}

void Engine::stop_tasks() {
  GleanScheduler* const scheduler = gleaning_ == nullptr ? nullptr : &gleaning_->scheduler();
  WriteThrottle* const throttle = gleaning_ == nullptr ? nullptr : &gleaning_->throttle();
  for (base::Task* const task : std::initializer_list<base::Task*>{
           watch_.get(), throttle, scheduler, clock_.get(), warmer_.get()}) {
    if (task != nullptr) runtime_->stop(task);
  }
  if (operator_file_ != nullptr) operator_file_->stop();
}

void Engine::abandon(std::unique_ptr<Engine> engine) {
  // Closes the child's descriptors; the parent keeps its lock.
  engine->directories_.close();
  if (engine->operator_file_ != nullptr) engine->operator_file_->abandon();
  Engine* const left = engine.release();
  // order: relaxed and acq_rel, no thread reads the list.
  left->next_abandoned_ = abandoned.load_relaxed();
  while (!abandoned.compare_exchange_acq_rel(left->next_abandoned_, left)) {
  }
}

Status Engine::close() {
  FOEDUS_CHECK(check_open());
  const bool is_in_sink = gleaning_ != nullptr && gleaning_->requests().is_in_sink();
  if (base::UserCall::is_inside(durability_) || is_in_sink) {
    return Status::error(ErrorCode::kBusy, "close() is called by a callback of the database");
  }
  FOEDUS_CHECK(base::catching([this] { return close_sessions(); }));
  state_.set_closed();
  leave_database(number_);
  if (gleaning_ != nullptr) gleaning_->loads().close();
  streams_.close();
  if (gleaning_ != nullptr) {
    if (state_.is_recovered()) gleaning_->scheduler().make_last(options_.glean.close_us);
    snapshots_->set_gleaner(nullptr);
    state_.give_up_recovery();
    runtime_->stop(&gleaning_->throttle());
    runtime_->stop(&gleaning_->scheduler());
    gleaning_->requests().end();
  }
  const bool may_have_commits = state_.is_recovered();
  state_.set_not_recovered();
  Status status;
  if (log_ != nullptr) {
    status = base::catching([this] { return log_->close(snapshots_->covered()); });
  }
  if (!may_have_commits) status = {};
  stop_tasks();
  // Unlocks the directory now, so that it can be opened again before this object is destroyed.
  directories_.close();
  device_ = nullptr;
  return status;
}

Result<std::shared_ptr<OpenStream>> Engine::open_stream(std::optional<Epoch> after) {
  if (log_ == nullptr) {
    return Status::error(ErrorCode::kNotSupported, "without a log there are no changes to read");
  }
  return streams_.open({.runtime = runtime_,
                        .log = log_.get(),
                        .catalog = catalog_.get(),
                        .look_us = options_.epoch_interval_us},
                       after);
}

// Closes all sessions, so that no transaction begins any more. kBusy: transactions are open, and no
// session is closed; the message names some of them.
Status Engine::close_sessions() {
  const Status closed = session_pool_->close();
  if (closed.code() != ErrorCode::kBusy) return closed;
  const std::vector<OpenTransaction> open = session_pool_->open_transactions();
  std::string text = std::to_string(open.size()) +
                     (open.size() == 1 ? " transaction is open" : " transactions are open");
  constexpr std::size_t kNamed = 4;
  for (std::size_t i = 0; i < std::min(open.size(), kNamed); ++i) {
    text += (i == 0 ? ": " : "; ") + SessionPool::describe(open[i]);
  }
  if (open.size() > kNamed) text += "; ...";
  return Status::error(ErrorCode::kBusy, text + "; end them first");
}

// ---- sessions

Status Engine::why_no_memory(Status status, std::uint32_t session) const {
  base::trying([&] {
    if (const Status failed = snapshots_->trouble(); !failed.is_ok()) {
      status.with_hint("the last glean failed: " + failed.message());
    }
    for (const OpenTransaction& open : session_pool_->open_transactions()) {
      if (open.session == session || open.age_us < kOldTxnUs) continue;
      status.with_hint("memory that was given up since then waits for the end of a transaction: " +
                       SessionPool::describe(open));
      break;
    }
  });
  return status;
}

// ---- transactions

Result<Epoch> Engine::wait_to_begin(const TxnOptions& options) {
  if (!are_known(options.isolation, options.durability.value_or(Durability::kAsync))) [[unlikely]]
    return refusal_of(options);
  const bool of_snapshot = options.isolation == Isolation::kSnapshot;
  const bool asks_for_one =
      options.as_of.is_valid() || options.at_least.is_valid() || options.newest_existing;
  if (of_snapshot || asks_for_one) [[unlikely]]
    return wait_for_snapshot(options);
  FOEDUS_CHECK(check_recovered());  // E8
  return Epoch();
}

Result<Epoch> Engine::wait_for_snapshot(const TxnOptions& options) {
  FOEDUS_CHECK(check_open());
  const int asked = static_cast<int>(options.as_of.is_valid()) +
                    static_cast<int>(options.at_least.is_valid()) +
                    static_cast<int>(options.newest_existing);
  if (options.isolation != Isolation::kSnapshot || asked > 1) {
    return Status::error(
        ErrorCode::kInvalidArgument,
        "as_of, at_least and newest_existing belong to snapshot isolation, one at a time");
  }
  if (log_ == nullptr) {
    return Status::error(ErrorCode::kNotSupported, "with Logging::kNone there are no snapshots");
  }
  if (options.as_of.is_valid() || options.newest_existing) return Epoch();
  const std::uint64_t begin_us = runtime_->now_us();
  Epoch wanted = options.at_least;
  if (!wanted.is_valid()) {
    FOEDUS_CHECK(wait_recovered(options.timeout_us));  // which may find newer commits
    wanted = newest_commit();
  }
  if (!wanted.is_valid()) return wanted;
  const std::uint64_t spent_us = runtime_->now_us() - begin_us;
  FOEDUS_CHECK(wait_covered(wanted, options.timeout_us - std::min(options.timeout_us, spent_us)));
  return wanted;
}

Epoch Engine::newest_commit() const {
  Epoch newest = own_session_->context().last_tid().epoch();
  if (gleaning_ != nullptr) newest = std::max(newest, gleaning_->recovery().found_up_to());
  session_pool_->for_each([&](EngineSession& session) {
    newest = std::max(newest, session.context().last_tid().epoch());
  });
  return newest;
}

Status Engine::wait_covered(Epoch epoch, std::uint64_t timeout_us) {
  if (snapshots_->covered() >= epoch) return {};
  if (log_ == nullptr) {
    return Status::error(ErrorCode::kNotSupported,
                         "with Logging::kNone there is nothing to make a snapshot of");
  }
  if (epoch > clock_->current()) {
    return Status::error(ErrorCode::kInvalidArgument,
                         "epoch " + std::to_string(epoch.number()) + " has not begun; " +
                             std::to_string(clock_->current().number()) + " is the current one");
  }
  const std::uint64_t begin_us = runtime_->now_us();
  const auto left_us = [&] {
    return timeout_us - std::min(timeout_us, runtime_->now_us() - begin_us);
  };
  FOEDUS_CHECK(wait_recovered(timeout_us));
  FOEDUS_CHECK(durability_->wait(epoch, left_us()));
  return snapshots_->wait_covered(epoch, left_us());
}

}  // namespace foedus::engine
