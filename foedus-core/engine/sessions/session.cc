#include "foedus-core/engine/sessions/session.h"

#include <algorithm>
#include <string>

#include "foedus-core/base/line_allocator.h"
#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/base/probe.h"
#include "foedus-core/base/system/process.h"
#include "foedus-core/engine/sessions/open_databases.h"
#include "foedus-core/engine/sessions/operation_mark.h"
#include "foedus-core/engine/sessions/txn_watch.h"
#include "foedus-core/engine/setup/session_memory.h"
#include "foedus-core/engine/snapshots/snapshots.h"
#include "foedus-core/txn/commit.h"

namespace foedus::engine {

namespace {

constexpr std::uint64_t kBackOffUsMax = 1'000;
constexpr unsigned kBackOffPauses = 64;

}  // namespace

Status revoked() {
  return Status::error(ErrorCode::kTimeout,
                       "the transaction was open for longer than Options::transaction_timeout_us, "
                       "and was rolled back");
}

EngineSession::SlotLease::SlotLease(std::uint64_t database, EngineSession* session)
    : slot(lease_slot(database, session)) {}
EngineSession::SlotLease::~SlotLease() { return_slot(slot); }

EngineSession::EngineSession(const Parts& parts, numa::SocMemory ring)
    : parts_(parts),
      slot_lease_(parts.database, this),
      slot_(slot_lease_.slot),
      memory_(parts.shape.memory),
      ring_(std::move(ring)),
      ring_bytes_(parts.shape.log_buffer_bytes),
      pages_(parts.pool, parts.clock, parts.shape.soc),
      log_(ring_.begin(), parts.shape.log_buffer_bytes, parts.shape.number, parts.room,
           parts.shape.memory == nullptr ? nullptr : this, parts.shape.log_buffer_bytes_max),
      context_({.pool = parts.pool,
                .pages = &pages_,
                .clock = parts.clock,
                .log = &log_,
                .session = parts.shape.number,
                .soc = parts.shape.soc,
                .cache = parts.reads.cache,
                .page_reader = parts.reads.page_reader,
                .lines = parts.reads.lines,
                .line_reads = parts.reads.line_reads,
                .turn = &slot_->turn,
                .memory = parts.shape.memory}),
      touches_(parts.runtime, parts.topology),
      random_(parts.shape.number + 1),
      times_(parts.shape.number + 1) {
#if defined(FOEDUS_CHECKED)
  constexpr bool kIsChecked = true;
#else
  constexpr bool kIsChecked = false;
#endif
  const bool is_tracked = kIsChecked || parts_.watch != nullptr;
  slot_->is_tracked.store_relaxed(is_tracked ? 1 : 0);  // order: relaxed: no user has it yet
}

EngineSession::~EngineSession() {
  if (memory_ != nullptr) memory_->give_back(ring_bytes());
}

Result<char*> EngineSession::grow_ring(std::uint64_t bytes, bool is_needed) {
  const std::uint64_t more = bytes - ring_bytes();
  const bool is_room = is_needed ? memory_->try_take(more) : memory_->try_take_spare(more);
  if (!is_room) {
    return Status::error(ErrorCode::kOutOfMemory,
                         "no memory for a log buffer of " + std::to_string(bytes) +
                             " bytes, which the transaction needs; commit in smaller batches, or "
                             "raise Options::memory_bytes");
  }
  Result<numa::SocMemory> ring = base::catching([&] {
    base::reserve_more(&old_rings_, 1);
    return numa::SocMemory::allocate_ring(*parts_.topology, soc(), bytes,
                                          parts_.options->pages.numa_binding);
  });
  if (!ring.is_ok()) {
    memory_->give_back(more);
    return ring.status();
  }
  next_ring_ = std::move(ring).value();
  ring_bytes_.store_relaxed(bytes);  // order: relaxed, a statistic
  return next_ring_.begin();
}

void EngineSession::ring_has_moved(const log::RingMove& move) {
  context_.follow(move);
  old_rings_.push_back(std::move(ring_));
  ring_ = std::move(next_ring_);
}

Status EngineSession::begin(const TxnOptions& options, Epoch covered, bool is_retry) {
  if (options.isolation == Isolation::kSnapshot) [[unlikely]] {
    FOEDUS_CHECK(enter_snapshot(options, covered));
  }
  times_.note_begin(is_retry);
  FOEDUS_PROBE(txn_begin, parts_.shape.number);
  durability_ = options.durability.value_or(parts_.options->durability);
  wants_rollback_ = false;
  old_rings_.clear();
  // order: relaxed twice, readers take the words as estimates. The readers are texts for people and
  // PageRoom.
  slot_->thread.store_relaxed(base::thread_id());
  slot_->since_us.store_relaxed(context_.clock().stepped_us());
  if (to_touch_ != nullptr) [[unlikely]]
    return begin_with_touch(options);
  if (context_.begin(options, is_retry)) [[unlikely]]
    return reacquire();
  return {};
}

// Locks the records of a retry. This is announced as an operation, since it may wait for locks, and
// TxnWatch may revoke the transaction meanwhile.
Status EngineSession::reacquire() {
  const OperationMark mark(slot_, context_.turn());
  if (is_revoked()) return revoked();
  context_.reacquire();
  return is_revoked() ? revoked() : Status();
}

// Begins the retry of a transaction, and applies the row that the last try could not apply (E39).
// This is announced as an operation, since TxnWatch may revoke the transaction meanwhile. A
// transaction that is not serializable begins without the row. It holds no record lock, so an
// operation that needs the row can apply it; and a transaction on a snapshot never needs it.
Status EngineSession::begin_with_touch(const TxnOptions& options) {
  context_.begin(options);
  occ::StorageControl* const control = std::exchange(to_touch_, nullptr);
  if (options.isolation != Isolation::kSerializable) return {};
  const OperationMark mark(slot_, context_.turn());
  // Errors are ignored: the operation that needs the row tries again and reports them.
  base::trying([&] {
    if (is_revoked() || !control->has_unapplied()) return;
    static_cast<void>(parts_.unapplied->get()->touch(control, key_to_touch_).is_ok());
  });
  return is_revoked() ? revoked() : Status();
}

Status EngineSession::touch_later(occ::StorageControl* control, std::string_view key) {
  key_to_touch_ = key;
  to_touch_ = control;
  return context_.conflict(ConflictReason::kRecordLocked, control, key);
}

Status EngineSession::enter_snapshot(const TxnOptions& options, Epoch covered) {
  context_.forget_retry();
  Snapshots& snapshots = *parts_.snapshots;
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
  parts_.snapshots->leave(context_.session());
}

bool EngineSession::is_revoked() const { return occ::TxnTurn::is_revoked(context_.turn()); }

Result<Ticket> EngineSession::commit() {
  has_committed_ = false;
  FOEDUS_CHECK(parts_.state->check_process());  // E12: begun by the parent
  const OperationMark mark(slot_, context_.turn());
  if (is_revoked()) [[unlikely]] {
    parts_.watch->end_revoked(this);
    return revoked();
  }
  Result<Ticket> ticket = commit_open();
  // If TxnWatch has revoked the transaction since the check above, the result of commit_open()
  // stands, and only the flag in the slot is cleared.
  if (is_revoked()) [[unlikely]]
    parts_.watch->end_revoked(this);
  return ticket;
}

Result<Ticket> EngineSession::commit_open() {
  // After the log has failed, a commit with writes is refused: it could never become durable. Reads
  // go on.
  const bool writes = !context_.sets().writes().is_empty();
  if (writes && parts_.log != nullptr && parts_.log->has_failed()) [[unlikely]] {
    txn::rollback(&context_);
    return parts_.log->failure();
  }
  touches_.note_commit(&context_);
  const bool is_throttled = parts_.throttle != nullptr && parts_.throttle->is_on();
  const std::uint64_t owed_bytes = writes && is_throttled ? log_.open_record_bytes() : 0;
  Epoch epoch;
  Status status = txn::commit(&context_, &epoch);
  if (snapshot_ != nullptr) [[unlikely]] {
    epoch = snapshot_->covered();
    leave_snapshot();
  }
  FOEDUS_CHECK(std::move(status));
  has_committed_ = true;
  times_.note_commit(context_.isolation() == Isolation::kSerializable);
  FOEDUS_PROBE(txn_commit, parts_.shape.number, epoch.number());
  owed_bytes_ += owed_bytes;
  const Ticket ticket(parts_.durability, epoch);
  if (durability_ == Durability::kSync && epoch.is_valid()) FOEDUS_CHECK(wait_durable(ticket));
  return ticket;
}

Status EngineSession::wait_durable(const Ticket& ticket) {
  if (ticket.is_durable()) return {};
  const std::uint64_t begin = base::system_ticks();
  FOEDUS_CHECK(ticket.wait_durable());
  times_.note_wait(begin);
  FOEDUS_PROBE(txn_durable, parts_.shape.number);
  return {};
}

void EngineSession::add_stats(SocStats* stats) const {
  ++stats->sessions;
  stats->pages_taken_local += pages_.taken_local();
  stats->pages_taken_remote += pages_.taken_remote();
  stats->pages_touched_local += touches_.local();
  stats->pages_touched_remote += touches_.remote();
}

void EngineSession::rollback() {
  if (!parts_.state->check_process().is_ok()) return;  // E12: begun by the parent
  const OperationMark mark(slot_, context_.turn());
  if (context_.is_open() && !is_revoked()) txn::rollback(&context_, context_.is_doomed());
  if (is_revoked()) [[unlikely]]
    parts_.watch->end_revoked(this);
  leave_snapshot();
}

void EngineSession::roll_back_revoked() {
  txn::rollback(&context_);
  leave_snapshot();
}

void EngineSession::forget_retry() {
  to_touch_ = nullptr;
  if (parts_.state->check_process().is_ok()) context_.forget_retry();
}

Status EngineSession::verify() {
  FOEDUS_CHECK(parts_.state->check_process());
  const OperationMark mark(slot_, context_.turn());
  if (is_revoked()) [[unlikely]]
    return revoked();
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
  // The first conflicts are mostly with commits that take microseconds. So the thread spins, which
  // is shorter than a sleep by the system.
  if (try_number <= 4) {
    const std::uint64_t pauses = random_.below(kBackOffPauses << try_number);
    for (std::uint64_t i = 0; i < pauses; ++i) base::cpu_pause();
    return;
  }
  const std::uint64_t bound =
      std::min<std::uint64_t>(kBackOffUsMax, std::uint64_t{1} << std::min(try_number, 20u));
  parts_.runtime->pause(1 + random_.below(bound));
}

}  // namespace foedus::engine
