#include "foedus-core/engine/session.h"

#include <algorithm>

#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/base/process.h"
#include "foedus-core/engine/engine.h"
#include "foedus-core/engine/open_databases.h"
#include "foedus-core/txn/commit.h"

namespace foedus::engine {

namespace {

constexpr std::uint64_t kBackOffUsMax = 1'000;
constexpr unsigned kBackOffPauses = 64;

}  // namespace

EngineSession::SlotLease::SlotLease(std::uint64_t database, EngineSession* session)
    : slot(lease_slot(database, session)) {}
EngineSession::SlotLease::~SlotLease() { return_slot(slot); }

EngineSession::EngineSession(const Parts& parts, numa::SocMemory ring)
    : engine_(parts.engine),
      slot_lease_(parts.database, this),
      slot_(slot_lease_.slot),
      ring_(std::move(ring)),
      pages_(parts.pool, parts.clock, parts.soc),
      log_(ring_.begin(), parts.log_buffer_bytes, parts.number, parts.room),
      context_({.pool = parts.pool,
                .pages = &pages_,
                .clock = parts.clock,
                .log = &log_,
                .session = parts.number,
                .soc = parts.soc,
                .cache = parts.cache,
                .turn = &slot_->turn}),
      random_(parts.number + 1) {}

EngineSession::~EngineSession() = default;

Status EngineSession::begin(const TxnOptions& options, Epoch covered) {
  if (options.isolation == Isolation::kSnapshot) [[unlikely]] {
    FOEDUS_CHECK(enter_snapshot(options, covered));
  }
  durability_ = options.durability.value_or(engine_->options().durability);
  wants_rollback_ = false;
  // order: relaxed twice, for people.
  slot_->thread.store_relaxed(base::thread_id());
  slot_->since_us.store_relaxed(context_.clock().stepped_us());
  context_.begin(options);
  return {};
}

Status EngineSession::enter_snapshot(const TxnOptions& options, Epoch covered) {
  context_.forget_retry();
  Snapshots& snapshots = engine_->snapshots();
  if (options.as_of.is_valid()) {
    FOEDUS_TRY(snapshot_, snapshots.enter_as_of(context_.session(), options.as_of));
    return {};
  }
  snapshot_ = snapshots.enter(context_.session());
  const Epoch found = snapshot_ == nullptr ? Epoch() : snapshot_->covered();
  FOEDUS_INVARIANT(found >= covered, found.number(), covered.number());
  if (snapshot_ != nullptr || !options.newest_existing) return {};
  return Status::error(ErrorCode::kNotFound,
                       "there is no snapshot yet; call glean(), or leave newest_existing out");
}

void EngineSession::leave_snapshot() {
  if (snapshot_ == nullptr) return;
  snapshot_ = nullptr;
  engine_->snapshots().leave(context_.session());
}

Result<Ticket> EngineSession::commit() {
  has_committed_ = false;
  FOEDUS_CHECK(engine_->check_process());  // E12: begun by the parent
  // Reads go on after the log has failed; a commit that could never become durable does not.
  const bool writes = !context_.write_set().is_empty();
  if (writes && engine_->log_has_failed()) [[unlikely]] {
    txn::rollback(&context_);
    return engine_->log_failure();
  }
  Epoch epoch;
  Status status = txn::commit(&context_, &epoch);
  if (snapshot_ != nullptr) [[unlikely]] {
    epoch = snapshot_->covered();
    leave_snapshot();
  }
  FOEDUS_CHECK(std::move(status));
  has_committed_ = true;
  const Ticket ticket(&engine_->durability(), epoch);
  if (durability_ == Durability::kSync && epoch.is_valid()) FOEDUS_CHECK(ticket.wait_durable());
  return ticket;
}

void EngineSession::rollback() {
  if (!engine_->check_process().is_ok()) return;  // E12
  if (context_.is_open()) txn::rollback(&context_, context_.is_doomed());
  leave_snapshot();
}

void EngineSession::forget_retry() {
  if (engine_->check_process().is_ok()) context_.forget_retry();
}

Status EngineSession::verify() {
  FOEDUS_CHECK(engine_->check_process());
  return txn::verify(&context_);
}

ScanCursor* EngineSession::take_cursor() {
  if (free_cursors_.empty()) return new ScanCursor(this);
  ScanCursor* const cursor = free_cursors_.back().release();
  free_cursors_.pop_back();
  return cursor;
}

void EngineSession::give_cursor(ScanCursor* cursor) {
  std::unique_ptr<ScanCursor> given(cursor);
  base::trying([&] { free_cursors_.push_back(std::move(given)); });
}

void EngineSession::back_off(std::uint32_t try_number) {
  // The first few conflicts are with a commit that takes microseconds: pause without the system.
  if (try_number <= 4) {
    const std::uint64_t pauses = random_.below(kBackOffPauses << try_number);
    for (std::uint64_t i = 0; i < pauses; ++i) base::cpu_pause();
    return;
  }
  const std::uint64_t bound =
      std::min<std::uint64_t>(kBackOffUsMax, std::uint64_t{1} << std::min(try_number, 20u));
  engine_->runtime().pause(1 + random_.below(bound));
}

}  // namespace foedus::engine
