#pragma once
// OperationMark: announces an operation of a transaction while it is at work (E36), where the
// session is tracked. It is tracked if transactions may be revoked, or if the build looks for a Txn
// that two threads use (FOEDUS_CHECKED).

#include <cstdint>

#include "foedus-core/base/system/process.h"
#include "foedus-core/engine/sessions/session_slot.h"

namespace foedus::engine {

class OperationMark {
 public:
  // Announces an operation of the transaction of that turn; if it is over, announces nothing.
  OperationMark(SessionSlot* slot, std::uint64_t turn) {
    // order: relaxed, constant while the session is leased.
    if (slot->is_tracked.load_relaxed() != 0 && slot->is_in(turn)) [[unlikely]]
      enter(slot);
  }
  ~OperationMark() {
    // order: release, pairs with the watch's acquire: what the operation did is seen.
    if (slot_ != nullptr) [[unlikely]]
      slot_->inside.store_release(0);
  }
  OperationMark(const OperationMark&) = delete;
  OperationMark& operator=(const OperationMark&) = delete;

 private:
  [[gnu::cold]] void enter(SessionSlot* slot);

  SessionSlot* slot_ = nullptr;  // null: not announced, or by an operation around this one
};

}  // namespace foedus::engine
