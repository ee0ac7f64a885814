// foedus/database.h: Database and Session over the engine.
#include "foedus/database.h"

#include <string>
#include <type_traits>
#include <utility>

#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/engine/engine.h"
#include "foedus-core/engine/setup/options_check.h"
#include "foedus-core/engine/storage_access.h"
#include "foedus-core/storage/hash/storage.h"

namespace foedus {

namespace {

// Number of further tries of a transaction that found no memory, each after PageRoom has made pages
// free.
constexpr std::uint32_t kTriesForRoom = 3;

[[gnu::cold]] Status moved_from() {
  return Status::error(ErrorCode::kClosed, "the database was moved from");
}

// Opens or creates a storage: the common part of the open_…() calls.
template <typename Handle>
Result<Handle> open_storage(engine::Engine* engine, StorageKind kind, std::string_view name,
                            storage_meta::StorageMeta shape = {}) {
  if (engine == nullptr) return moved_from();
  return base::catching([&]() -> Result<Handle> {
    shape.kind = kind;
    shape.name = name;
    FOEDUS_CHECK(engine->check_open());
    FOEDUS_TRY(occ::StorageControl* const control, engine->catalog().open(shape));
    return internal::StorageAccess::make<Handle>(control);
  });
}

// Returns what `function` returns. Returns an empty object if `engine` is null or belongs to the
// parent of this process, or if memory runs out.
template <typename Function>
auto list_of(const engine::Engine* engine, Function&& function) {
  std::invoke_result_t<Function&> list;
  base::trying([&] {
    if (engine != nullptr && engine->check_process().is_ok()) list = function();
  });
  return list;
}

}  // namespace

Database::Database(std::unique_ptr<engine::Engine> engine) : engine_(std::move(engine)) {}
Database::Database(Database&& other) noexcept = default;
Database::~Database() {
  if (engine_ == nullptr || engine_->check_process().is_ok()) return;
  engine::Engine::abandon(std::move(engine_));
}

Result<Database> Database::open(Options options) {
  FOEDUS_TRY(auto opened, engine::Engine::open(std::move(options)));
  return Database(std::move(opened));
}

Status Database::wait_recovered(std::uint64_t timeout_us) {
  if (engine_ == nullptr) return moved_from();
  return base::catching([&] { return engine_->wait_recovered(timeout_us); });
}

Status Database::close() { return engine_ == nullptr ? moved_from() : engine_->close(); }

Result<Masstree> Database::open_masstree(std::string_view name) {
  return open_storage<Masstree>(engine_.get(), StorageKind::kMasstree, name);
}

Result<Hash> Database::open_hash(std::string_view name, const HashOptions& options) {
  storage_meta::StorageMeta shape;
  shape.fan_out_bits = storage::hash::fan_out_bits_for(options.records_expected);
  return open_storage<Hash>(engine_.get(), StorageKind::kHash, name, std::move(shape));
}

Result<Array> Database::open_array(std::string_view name, std::uint64_t records,
                                   std::uint32_t payload_bytes) {
  if (records == 0 || records > kMaxArrayRecords || payload_bytes == 0 ||
      payload_bytes > kMaxArrayPayloadBytes) {
    return base::catching([&]() -> Result<Array> {
      Status status = Status::error(
          ErrorCode::kInvalidArgument,
          "an array has 1 .. " + std::to_string(kMaxArrayRecords) + " records of 1 .. " +
              std::to_string(kMaxArrayPayloadBytes) + " bytes, not " + std::to_string(records) +
              " of " + std::to_string(payload_bytes));
      return std::move(status.at_storage(name));
    });
  }
  storage_meta::StorageMeta shape;
  shape.records = records;
  shape.payload_bytes = payload_bytes;
  return open_storage<Array>(engine_.get(), StorageKind::kArray, name, std::move(shape));
}

Result<Sequential> Database::open_sequential(std::string_view name) {
  return open_storage<Sequential>(engine_.get(), StorageKind::kSequential, name);
}

std::vector<StorageInfo> Database::storages() const {
  return list_of(engine_.get(), [this] { return engine_->catalog().list(); });
}

std::vector<SnapshotInfo> Database::snapshots() const {
  return list_of(engine_.get(), [this] { return engine_->snapshots().list(); });
}

Result<Session> Database::new_session() {
  if (engine_ == nullptr) return moved_from();
  return base::catching([this]() -> Result<Session> {
    FOEDUS_TRY(engine::EngineSession* const session, engine_->take_session());
    return Session(session);
  });
}

Epoch Database::durable_epoch() const {
  return engine_ == nullptr ? Epoch() : engine_->durability().durable();
}

Status Database::wait_durable(std::uint64_t timeout_us) {
  if (engine_ == nullptr) return moved_from();
  return base::catching([&]() -> Status {
    FOEDUS_CHECK(engine_->check_open());
    return engine_->durability().wait(engine_->clock().current(), timeout_us);
  });
}

Result<GleanReport> Database::glean(const GleanProgressSink& progress) {
  if (engine_ == nullptr) return moved_from();
  FOEDUS_CHECK(engine_->check_open());
  if (engine_->gleaning() == nullptr) {
    return Status::error(ErrorCode::kNotSupported, "without a log there are no snapshots");
  }
  return base::catching([&]() -> Result<GleanReport> {
    FOEDUS_CHECK(engine_->check_recovered());
    return engine_->gleaning()->scheduler().glean(progress);
  });
}

Result<BackupReport> Database::backup(const std::string& dir, const BackupOptions& options) {
  if (engine_ == nullptr) return moved_from();
  return base::catching([&] { return engine_->backup(dir, options); });
}

std::uint64_t Database::reserve_memory(std::uint64_t bytes) {
  const bool is_open = engine_ != nullptr && engine_->check_open().is_ok();
  return is_open ? engine_->pool().reserve(bytes) : 0;
}
EffectiveOptions Database::effective_options() const {
  EffectiveOptions options;
  base::trying([&] {
    if (engine_ != nullptr) options = engine_->effective_options();
  });
  return options;
}
Stats Database::stats() const {
  return list_of(engine_.get(), [this] { return engine_->stats(); });
}

// A call of transact() that the thread is in. The frames of a thread are a list, innermost first.
struct Database::TransactFrame {
  explicit TransactFrame(engine::EngineSession* session);
  // Ends the transaction also when the function throws.
  ~TransactFrame();
  TransactFrame(const TransactFrame&) = delete;
  TransactFrame& operator=(const TransactFrame&) = delete;
  static bool is_in(const engine::Engine& engine);

  engine::EngineSession* const session;
  const TransactFrame* const outer;
  std::uint32_t tries = 0;
  static thread_local constinit const TransactFrame* innermost;
};

thread_local constinit const Database::TransactFrame* Database::TransactFrame::innermost = nullptr;

Database::TransactFrame::TransactFrame(engine::EngineSession* in) : session(in), outer(innermost) {
  innermost = this;
  in->set_in_transact(true);
}

Database::TransactFrame::~TransactFrame() {
  innermost = outer;
  session->rollback();
  session->forget_retry();
  session->set_in_transact(false);
  session->note_tries(tries);
  const std::uint64_t owed_bytes = session->take_owed_bytes();
  engine::Engine& engine = session->engine();
  engine.sessions().release(session);
  if (owed_bytes != 0) [[unlikely]] engine.throttle()->wait(owed_bytes);
}

bool Database::TransactFrame::is_in(const engine::Engine& engine) {
  for (const TransactFrame* frame = innermost; frame != nullptr; frame = frame->outer) {
    if (&frame->session->engine() == &engine) return true;
  }
  return false;
}

Status Database::drop_storage(std::string_view name) {
  if (engine_ == nullptr) return moved_from();
  return base::catching([&]() -> Status {
    FOEDUS_CHECK(engine_->check_open());
    if (TransactFrame::is_in(*engine_)) {
      return Status::error(ErrorCode::kInvalidArgument,
                           "drop_storage() within transact(): a drop is no part of a transaction, "
                           "and one that has used the storage could not commit; drop it outside");
    }
    return engine_->catalog().drop(name);
  });
}

// Runs one try: begins the transaction, calls the function, and commits or rolls back.
Status Database::try_once(engine::EngineSession* session, TxnFunction function, void* argument,
                          const TxnOptions& options, std::uint32_t tries, Epoch covered) {
  Status begun = base::catching([&] { return session->begin(options, covered, tries > 1); });
  if (!begun.is_ok()) {
    session->rollback();  // a retry's begin() may fail at a lock, with the transaction open
    return begun;
  }
  // In the second half of its tries a transaction locks the records that it reads: a long
  // transaction among short ones then commits in the end.
  session->context().set_locks_reads(tries > 1 && tries * std::uint64_t{2} > options.tries_max);
  Status status;
  bool is_moved_out = false;
  {
    Txn txn(session);
    status = function(argument, txn);
    is_moved_out = txn.turn_ == Txn::kNoTurn;
    txn.turn_ = Txn::kNoTurn;
  }
  if (status.is_ok() && session->wants_rollback()) {
    status = Status::rolled_back();
  } else if (status.is_ok() && is_moved_out) {
    status = Status::error(ErrorCode::kInvalidArgument,
                           "the Txn was moved out of the function that transact() runs; the "
                           "transaction was rolled back");
  }
  if (status.is_ok()) {
    Result<Ticket> ticket = base::catching([session] { return session->commit(); });
    if (ticket.is_ok() && options.ticket != nullptr) *options.ticket = *ticket;
    return ticket.status();
  }
  // The function's error may rest on reads that no longer verify. If so, returns the conflict.
  Status reads = base::catching([session] { return session->verify(); });
  session->rollback();
  return reads.is_ok() ? status : reads;
}

// Runs the loop of transact(): tries until one commits, or until a further try is not allowed.
Status Database::run(TxnFunction function, void* argument, const TxnOptions& options) {
  if (engine_ == nullptr) return moved_from();
  FOEDUS_CHECK(engine_->check_open());
  if (!engine::is_possible(options.tries_max)) return engine::refusal_of(options);
  if (TransactFrame::is_in(*engine_)) {
    return Status::error(ErrorCode::kInvalidArgument,
                         "transact() within a transaction of the same thread; pass the Txn down to "
                         "what runs within it");
  }
  FOEDUS_TRY(Epoch covered, base::catching([&] { return engine_->wait_to_begin(options); }));
  FOEDUS_TRY(engine::EngineSession* const session,
             base::catching([&] { return engine_->sessions().claim(options.timeout_us); }));
  TransactFrame frame(session);

  // Only serializable transactions allocate volatile pages. A transaction of another isolation that
  // finds no memory lacks something else, which a glean does not free.
  const bool may_take_pages = options.isolation == Isolation::kSerializable;
  std::uint32_t tries_for_room =
      may_take_pages && engine_->gleaning() != nullptr ? kTriesForRoom : 0;
  for (std::uint32_t tries = 1;; ++tries) {
    if (tries > 1) {
      FOEDUS_TRY(covered, base::catching([&] { return engine_->wait_to_begin(options); }));
    }
    frame.tries = tries;
    session->clear_has_committed();
    Status status = try_once(session, function, argument, options, tries, covered);
    if (status.is_ok() || session->has_committed()) return status;
    if (status.code() == ErrorCode::kOutOfMemory && tries_for_room != 0) {
      --tries_for_room;
      session->forget_retry();
      bool is_room = false;
      base::trying([&] { is_room = engine_->page_room()->make(); });
      if (is_room) continue;
    }
    if (status.code() != ErrorCode::kConflict || tries >= options.tries_max) return status;
    if (session->context().locks().has_timed_out()) return status;
    session->back_off(tries);
  }
}

Session::Session(Session&& other) noexcept
    : slot_(other.slot_), database_(std::exchange(other.database_, 0)) {}

Session::Session(engine::EngineSession* session)
    : slot_(&session->slot()), database_(session->engine().number()) {}

Session::~Session() {
  // order: acquire, pairs with the release in lease_slot(): if the slot has the number database_,
  // slot_->session is a session of that database.
  if (database_ == 0 || slot_->database.load_acquire() != database_) return;
  engine::EngineSession* const session = slot_->session.load_relaxed();  // order: as above
  session->engine().give_session(session);
}

Result<Txn> Session::begin(const TxnOptions& options) { return begin(options, false); }

Result<Txn> Session::retry(const TxnOptions& options) { return begin(options, true); }

Result<Txn> Session::begin(const TxnOptions& options, bool is_retry) {
  if (database_ == 0) return Status::error(ErrorCode::kClosed, "the session was moved from");
  if (slot_->database.load_acquire() != database_) {  // order: acquire, as in the destructor
    return Status::error(ErrorCode::kClosed, "the database was closed");
  }
  return engine::begin_txn(slot_->session.load_relaxed(), options, is_retry);  // order: as above
}

Result<Txn> engine::begin_txn(engine::EngineSession* session, const TxnOptions& options,
                              bool is_retry) {
  Engine& engine = session->engine();
  FOEDUS_CHECK(engine.check_process());
  SessionSlot& slot = session->slot();
  const auto not_ended = [] {
    return Status::error(ErrorCode::kInvalidArgument,
                         "the session's last transaction has not ended");
  };
  // order: relaxed, a hint: it spares the wait below. try_change() decides.
  if (slot.state.load_relaxed() == SessionState::kBusy) return not_ended();
  FOEDUS_TRY(const Epoch covered, base::catching([&] { return engine.wait_to_begin(options); }));
  if (!slot.try_change(SessionState::kHeld, SessionState::kBusy)) {
    FOEDUS_CHECK(engine.check_open());
    return not_ended();
  }
  Status begun = base::catching([&] { return session->begin(options, covered, is_retry); });
  if (begun.is_ok()) return Txn(session);
  session->rollback();  // a retry's begin() may fail at a lock, with the transaction open
  if (begun.code() == ErrorCode::kOutOfMemory) session->forget_retry();
  slot.release(SessionState::kHeld);
  return begun;
}

}  // namespace foedus
