#pragma once
// The commit protocol: algorithm 2 of the paper (§6.2, §8.2), with the rules below. commit.cc is
// the protocol; commit_lock.cc, commit_verify.cc and commit_apply.cc are its phases.
//
//   C1  The being-written flag is set on every record of the write set before the fence. Therefore,
//       of two transactions that each read a record which the other writes, at least one sees the
//       other's flag in verify.
//   C2  The epoch is read after that fence and before verify. Therefore a transaction that reads
//       from another has no smaller epoch than that one (epoch/epoch_clock.h, E1).
//   C3  The TID is above all TIDs that were read or are overwritten, and above the session's last.
//   C4  The log is published before the being-written flags go away and the locks are released.
//   C7  The session's last TID is set before a record shows the new one. Therefore, if a thread has
//       seen a commit, one of the sessions' last TIDs has an epoch not below that of the commit
//       (Engine::newest_commit()).
//   C5  A page split, an adoption or a new layer changes no TID and no count that is verified. So
//       none of these makes a transaction conflict.

#include "foedus-core/occ/txn_context.h"
#include "foedus/epoch.h"
#include "foedus/status.h"

namespace foedus::txn {

// Commits `txn` and ends it. On success, the commit survives a crash once `epoch` is durable. If
// `txn` is read-only, all commits that it saw survive a crash once `epoch` is durable. On failure
// `txn` was rolled back.
Status commit(occ::TxnContext* txn, Epoch* epoch);

// Undoes everything and ends the transaction. With `will_retry`, the session remembers the locks
// that the transaction held, so that a retry can take them first
// (occ::TxnContext::end_for_retry()).
void rollback(occ::TxnContext* txn, bool will_retry = false);

// Succeeds if all that `txn` has read still holds, so that a decision based on these reads is
// sound. Otherwise the transaction is doomed.
Status verify(occ::TxnContext* txn);

}  // namespace foedus::txn
