// foedus/txn.h: the end of a transaction, and savepoints.
#include <utility>

#include "foedus-core/engine/txn_calls.h"
#include "foedus-core/txn/savepoint.h"
#include "foedus/txn.h"

namespace foedus {

namespace {

// Runs `function` with the context of the transaction, as one of its operations.
template <typename Function>
auto in_context(engine::SessionSlot* slot, std::uint64_t turn, Function&& function)
    -> std::invoke_result_t<Function&, occ::TxnContext&> {
  return engine::operation(slot, turn, [&]() -> std::invoke_result_t<Function&, occ::TxnContext&> {
    FOEDUS_CHECK(engine::check_txn(slot, turn));
    occ::TxnContext& txn = slot->session.load_relaxed()->context();  // order: E30
    if (txn.is_doomed()) return txn.conflict(ConflictReason::kNone, nullptr);
    return function(txn);
  });
}

Status no_savepoint() {
  return Status::error(ErrorCode::kInvalidArgument,
                       "no savepoint of this transaction: it was released, or the transaction went "
                       "back to an earlier one, or it is of another transaction");
}

}  // namespace

Result<Ticket> Txn::commit() {
  if (Status open = engine::check_txn(slot_, turn_); !open.is_ok()) {
    rollback();
    return open;
  }
  engine::EngineSession* const session = slot_->session.load_relaxed();  // order: E30
  if (session->is_in_transact()) {
    return Status::error(ErrorCode::kInvalidArgument, "transact() commits; return success instead");
  }
  turn_ = kNoTurn;
  Result<Ticket> ticket = base::catching([session] { return session->commit(); });
  const std::uint64_t owed_bytes = session->take_owed_bytes();
  engine::Engine& engine = session->engine();
  slot_->release(engine::SessionState::kHeld);
  if (owed_bytes != 0) [[unlikely]]
    engine.throttle()->wait(owed_bytes);
  return ticket;
}

void Txn::rollback() {
  const std::uint64_t turn = std::exchange(turn_, kNoTurn);
  if (!engine::is_txn_open(slot_, turn) && !slot_->is_revoked(turn)) return;
  engine::EngineSession* const session = slot_->session.load_relaxed();  // order: E30
  // In transact(), Database::run() rolls back after the user's function has returned.
  if (session->is_in_transact()) return session->set_wants_rollback();
  session->rollback();
  slot_->release(engine::SessionState::kHeld);
}

Status Txn::verify() {
  FOEDUS_CHECK(engine::check_txn(slot_, turn_));
  // order: relaxed, check_txn() has compared the turn (E30).
  return engine::operation(slot_, turn_,
                           [this] { return slot_->session.load_relaxed()->verify(); });
}

Result<Savepoint> Txn::savepoint() {
  return in_context(slot_, turn_, [this](occ::TxnContext& txn) -> Result<Savepoint> {
    return Savepoint(slot_,
                     txn.sets().savepoints().add(txn.sets().writes().size(), txn.log().mark()));
  });
}

Status Txn::rollback_to(const Savepoint& savepoint) {
  return in_context(slot_, turn_, [&](occ::TxnContext& txn) -> Status {
    const occ::Savepoints::Point* const point = txn.sets().savepoints().find(number_of(savepoint));
    return point == nullptr ? no_savepoint() : txn::rollback_to(&txn, *point);
  });
}

Status Txn::release(const Savepoint& savepoint) {
  return in_context(slot_, turn_, [&](occ::TxnContext& txn) -> Status {
    if (txn.sets().savepoints().find(number_of(savepoint)) == nullptr) return no_savepoint();
    txn.sets().savepoints().end_from(savepoint.number_);
    return {};
  });
}

}  // namespace foedus
