#include "foedus-core/txn/commit.h"

#include <algorithm>

#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/base/probe.h"
#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/storage/base/overflow.h"
#include "foedus-core/txn/commit_phases.h"

namespace foedus::txn {

namespace {

// Returns the epoch up to which a read-only transaction may have seen commits.
Epoch newest_observed(occ::TxnContext* txn) {
  // A missing key may have been erased and purged in any epoch up to now: no TID is left that would
  // tell.
  if (!txn->sets().pages().is_empty()) return txn->clock().current();
  Epoch newest;
  for (const occ::ReadEntry& read : txn->sets().reads())
    newest = std::max(newest, read.observed.epoch());
  return newest;
}

Status commit_read_only(occ::TxnContext* txn, Epoch* epoch) {
  // order: the reads come before their verification, which is the serialization point.
  base::fence_seq_cst();
  FOEDUS_CHECK(verify_sets(txn, WriteSetState::kUnlocked));
  *epoch = newest_observed(txn);
  return {};
}

// Runs algorithm 2 with write set, read set, pointer set and page-version set. All allocation comes
// before the whole write set is locked: after std::bad_alloc, lock_write_set() has released its
// locks, and no record is marked.
Status commit_writes(occ::TxnContext* txn, Epoch* epoch) {
  FOEDUS_CHECK(lock_write_set(txn));
  FOEDUS_SYNC_POINT("commit:locked");
  const page::Tid overwritten = mark_being_written(txn);  // C1
  *epoch = txn->clock().enter_commit(txn->session());     // fence, serialization point, C2
  FOEDUS_SYNC_POINT("commit:serialized");

  page::Tid tid;
  Status status = verify_sets(txn, WriteSetState::kLocked);
  if (status.is_ok() && *epoch > epoch::kCommitEpochMax) [[unlikely]] {
    status = epoch::epochs_used_up();  // E28
  }
  if (status.is_ok() && !choose_tid(txn, *epoch, overwritten, &tid)) {  // C3
    status = txn->conflict(ConflictReason::kRetryBound, nullptr);
  }
  if (status.is_ok()) {
    apply_writes(txn, tid);
    txn->log().publish();  // C4
    FOEDUS_SYNC_POINT("commit:published");
    txn->set_last_tid(tid);  // C7: before the records show it
    publish_records(txn, tid);
  } else {
    unmark_being_written(txn);
    unlock_write_set(txn);
  }
  txn->clock().leave_commit(txn->session());
  return status;
}

}  // namespace

Status commit(occ::TxnContext* txn, Epoch* epoch) {
  FOEDUS_INVARIANT(txn->is_open());
  Status status;
  try {
    if (txn->is_doomed()) {
      status = txn->conflict(ConflictReason::kNone, nullptr);
    } else if (txn->isolation() != Isolation::kSerializable) {
      *epoch = Epoch();
    } else if (txn->sets().writes().is_empty()) {
      status = commit_read_only(txn, epoch);
    } else {
      status = commit_writes(txn, epoch);
    }
  } catch (const std::bad_alloc& thrown) {
    status = base::out_of_memory(thrown);
  }
  if (!status.is_ok()) {
    rollback(txn, true);
    return status;
  }
  txn->locks().release();
  occ::TxnContext::Counters::count(&txn->counters().commits);
  txn->end();
  return status;
}

void release_overflow(occ::TxnContext* txn, std::uint32_t first) {
  occ::WriteSet& writes = txn->sets().writes();
  for (std::uint32_t i = first; i < writes.size(); ++i) {
    if (writes[i].overflow == 0) continue;
    storage::release_overflow(*txn, writes[i].storage, writes[i].overflow);
    writes[i].overflow = 0;
  }
}

void rollback(occ::TxnContext* txn, bool will_retry) {
  FOEDUS_INVARIANT(txn->is_open());
  FOEDUS_PROBE(txn_abort, txn->session());
  release_overflow(txn, 0);
  txn->log().rollback();
  txn->locks().release();
  occ::TxnContext::Counters::count(&txn->counters().rollbacks);
  if (will_retry) {
    txn->end_for_retry();
  } else {
    txn->end();
  }
}

Status verify(occ::TxnContext* txn) {
  if (txn->is_doomed()) return txn->conflict(ConflictReason::kNone, nullptr);
  base::fence_seq_cst();  // order: as in commit_read_only()
  const std::size_t reads = txn->sets().reads().size();
  Status status = read_preconditions(txn, 0);
  if (status.is_ok()) status = verify_sets(txn, WriteSetState::kUnlocked);
  txn->sets().reads().truncate(reads);
  return status;
}

}  // namespace foedus::txn
