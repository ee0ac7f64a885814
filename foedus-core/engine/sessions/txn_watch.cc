#include "foedus-core/engine/sessions/txn_watch.h"

#include <algorithm>

#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/engine/sessions/session.h"

namespace foedus::engine {

namespace {

using occ::TxnTurn;

constexpr std::uint64_t kLookUsMax = 100'000;

}  // namespace

std::uint64_t TxnWatch::step() {
  const std::uint64_t now_us = parts_.runtime->now_us();
  parts_.sessions->for_each([&](EngineSession& session) { look_at(&session, now_us); });
  return std::clamp<std::uint64_t>(timeout_us_ / 4, 1'000, kLookUsMax);
}

void TxnWatch::look_at(EngineSession* session, std::uint64_t now_us) {
  SessionSlot& slot = session->slot();
  // order: relaxed. If the transaction has ended, the exchange below fails, since each transaction
  // has another turn.
  std::uint64_t turn = slot.turn.load_relaxed();
  if (!TxnTurn::is_open(turn)) return;
  if (!TxnTurn::is_revoked(turn)) {
    // The transaction has been open at least since the first look at it. SessionSlot::since_us
    // would not do: it may be too early for as long as a commit has held the clock back.
    Seen& seen = seen_[session->context().session()];
    if (seen.turn != turn) {
      // `now_us` was read before the turn, and may be too early if this thread had no processor.
      seen = {turn, parts_.runtime->now_us()};
      return;
    }
    if (now_us - seen.since_us <= timeout_us_) return;
    // order: acquire, pairs with the release of TxnContext::begin().
    if (!slot.turn.compare_exchange_acq_rel(turn, turn | TxnTurn::kRevoked)) return;
    turn |= TxnTurn::kRevoked;
    parts_.operator_log->say(LogLevel::kWarning,
                             "a transaction is rolled back, which was open for longer than "
                             "transaction_timeout_us (" +
                                 std::to_string(timeout_us_) + "): session " +
                                 std::to_string(session->context().session()) + ", thread " +
                                 std::to_string(slot.thread.load_relaxed()));  // order: for people
  }
  base::fence_seq_cst();  // order: E36, `turn` is changed before `inside` is looked at
  FOEDUS_SYNC_POINT("txn_watch:revoked");
  const std::lock_guard lock(ending_mutex_);
  // order: acquire, pairs with ~OperationMark(): the rollback sees what the operation did.
  if (slot.inside.load_acquire() != 0) return;
  if (slot.turn.load_relaxed() != turn)
    return;  // order: relaxed, the owner ends a revoked transaction only under the mutex
  session->roll_back_revoked();
}

void TxnWatch::end_revoked(EngineSession* session) {
  SessionSlot& slot = session->slot();
  // order: relaxed, as SessionSlot::is_in(): the calling thread owns the transaction. Until this
  // thread ends it, only TxnWatch changes `turn`, and only adds the flags kRevoked and kEnded.
  if (!TxnTurn::is_revoked(slot.turn.load_relaxed())) return;
  const std::lock_guard lock(ending_mutex_);
  const std::uint64_t turn = slot.turn.load_relaxed();  // order: relaxed, under the mutex
  if (TxnTurn::is_open(turn)) session->roll_back_revoked();
  slot.turn.store_relaxed(TxnTurn::number_of(turn) + 1);  // order: relaxed, own word from here on
}

}  // namespace foedus::engine
