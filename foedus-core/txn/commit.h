#pragma once
// The commit protocol: algorithm 2 of the paper (§6.2, §8.2), with the departures that architecture
// §5 states. commit.cc is the protocol; commit_lock.cc, commit_verify.cc and commit_apply.cc its
// phases.
//
//   C1  The being-written flag is set on every record of the write set before the fence. Therefore,
//       of two transactions that each read a record which the other writes, at least one sees the
//       other's flag in verify.
//   C2  The epoch is read after that fence and before verify: a transaction that reads from another
//       has no smaller epoch (epoch/epoch_clock.h, E1).
//   C3  The TID is above all TIDs that were read or are overwritten, and above the session's last.
//   C4  The log is published before the being-written flags go away and the locks are released.
//   C7  The session's last TID is set before a record shows the new one. A thread that has seen a
//       commit therefore finds its epoch among those of the sessions (Engine::newest_commit()).
//   C5  A page split, an adoption or a new layer changes no TID and no count that is verified: it
//       never makes a transaction conflict.

#include "foedus-core/occ/txn_context.h"
#include "foedus/epoch.h"
#include "foedus/status.h"

namespace foedus::txn {

// Commits `txn` and ends it. On success, the commit survives a crash once `epoch` is durable. For a
// read-only transaction, all that it saw survives then. On failure `txn` was rolled back.
Status commit(occ::TxnContext* txn, Epoch* epoch);

// Undoes everything and ends the transaction. `will_retry` says that it conflicted; the locks that
// it held are then remembered for a retry (occ::TxnContext::end_for_retry()).
void rollback(occ::TxnContext* txn, bool will_retry = false);

// Succeeds if all that `txn` has read still holds, so that a decision based on it is sound.
// Otherwise the transaction is doomed.
Status verify(occ::TxnContext* txn);

}  // namespace foedus::txn
