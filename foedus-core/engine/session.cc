#include "foedus-core/engine/session.h"

#include <algorithm>

#include "foedus-core/engine/engine.h"
#include "foedus-core/txn/commit.h"

namespace foedus::engine {

namespace {

constexpr std::uint64_t kBackOffUsMax = 1'000;
constexpr unsigned kBackOffPauses = 64;

}  // namespace

EngineSession::EngineSession(const Parts& parts, numa::SocMemory ring)
    : engine_(parts.engine),
      ring_(std::move(ring)),
      pages_(parts.pool, parts.clock, parts.soc),
      log_(ring_.begin(), parts.log_buffer_bytes, parts.number, parts.room),
      context_({.pool = parts.pool,
                .pages = &pages_,
                .clock = parts.clock,
                .log = &log_,
                .session = parts.number,
                .soc = parts.soc,
                .cache = parts.cache}),
      random_(parts.number + 1) {}

EngineSession::~EngineSession() = default;

Status EngineSession::begin(const TxnOptions& options) {
  if (options.isolation == Isolation::kSnapshot) {
    return Status::error(ErrorCode::kNotSupported,
                         "snapshot isolation needs a stratified snapshot, and there is none");
  }
  FOEDUS_CHECK(engine_->check_open());
  if (!options.read_only && options.isolation == Isolation::kSerializable) {
    engine_->hold_up_writer();
  }
  durability_ = options.durability;
  context_.begin(options);
  return {};
}

Result<Ticket> EngineSession::commit() {
  FOEDUS_CHECK(engine_->check_process());  // E12: begun by the parent
  // Reads go on after the log has failed; a commit that could never become durable does not.
  const bool writes = !context_.write_set().is_empty();
  if (writes && engine_->log_has_failed()) [[unlikely]] {
    txn::rollback(&context_);
    return engine_->log_failure();
  }
  Epoch epoch;
  FOEDUS_CHECK(txn::commit(&context_, &epoch));
  const Ticket ticket(&engine_->durability(), epoch);
  if (durability_ == Durability::kSync && epoch.is_valid()) FOEDUS_CHECK(ticket.wait_durable());
  return ticket;
}

void EngineSession::rollback() {
  if (!context_.is_open() || !engine_->check_process().is_ok()) return;
  txn::rollback(&context_, context_.is_doomed());
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

void EngineSession::give_cursor(ScanCursor* cursor) { free_cursors_.emplace_back(cursor); }

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
