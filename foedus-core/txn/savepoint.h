#pragma once
// Going back to a savepoint.
//
//   C8  A write that is undone alone leaves its precondition behind, as a read of its record. The
//       read has the TID for which the precondition was checked at the time of the undoing, not at
//       the time of the write. This suffices: if no commit changes the record from that check to
//       the serialization point, the precondition holds there.

#include "foedus-core/occ/txn_context.h"
#include "foedus/status.h"

namespace foedus::txn {

// Undoes the writes that came after `point`, and ends the savepoints that did. What the transaction
// has read since stays read: its user has seen it. So has the user seen that a write succeeded. If
// its precondition still holds, it becomes a read (C8); if it does not, the transaction is doomed.
// REQUIRES: the transaction is not doomed.
Status rollback_to(occ::TxnContext* txn, const occ::Savepoints::Point& point);

}  // namespace foedus::txn
