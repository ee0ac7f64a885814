#include "foedus-core/engine/sessions/operation_mark.h"

#include <string>

#include "foedus-core/base/invariant.h"

namespace foedus::engine {

void OperationMark::enter(SessionSlot* slot) {
  const std::uint32_t self = base::thread_id();
  std::uint32_t other = 0;
  if (slot->inside.compare_exchange_acq_rel(other, self)) {
    base::fence_seq_cst();  // order: E36, `inside` is stored before `turn` is compared
    slot_ = slot;
    return;
  }
#if defined(FOEDUS_CHECKED)
  if (other != self) {
    base::end_program("a transaction is used by two threads at the same time: thread " +
                      std::to_string(self) + " begins an operation while thread " +
                      std::to_string(other) + " is in one; a Txn belongs to one thread at a time");
  }
#endif
}

}  // namespace foedus::engine
