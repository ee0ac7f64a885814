#pragma once
// OperationMark: announces in the session's slot that an operation of its transaction is at work,
// so that TxnWatch does not roll the transaction back meanwhile (E36). It does so only if the
// session is tracked. That is the case if transactions may be revoked, or the build checks that no
// two threads use one Txn at the same time (FOEDUS_CHECKED).

#include <cstdint>

#include "foedus-core/base/system/process.h"
#include "foedus-core/engine/sessions/session_slot.h"

namespace foedus::engine {

class OperationMark {
 public:
  // Announces an operation of the transaction with number `turn`. Announces nothing if that
  // transaction has ended or was revoked.
  OperationMark(SessionSlot* slot, std::uint64_t turn) {
    // order: relaxed. is_tracked changes only when the slot gets another session. The turn has
    // grown by then, so is_in() returns false.
    if (slot->is_tracked.load_relaxed() != 0 && slot->is_in(turn)) [[unlikely]]
      enter(slot);
  }
  ~OperationMark() {
    // order: release, pairs with the acquire of TxnWatch, which then sees what the operation did.
    if (slot_ != nullptr) [[unlikely]]
      slot_->inside.store_release(0);
  }
  OperationMark(const OperationMark&) = delete;
  OperationMark& operator=(const OperationMark&) = delete;

 private:
  [[gnu::cold]] void enter(SessionSlot* slot);

  SessionSlot* slot_ = nullptr;  // null: not announced, or announced by an outer OperationMark
};

}  // namespace foedus::engine
