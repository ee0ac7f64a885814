#pragma once
// The phases of commit.cc.

#include <cstdint>

#include "foedus-core/occ/txn_context.h"
#include "foedus-core/page/tid.h"
#include "foedus/epoch.h"
#include "foedus/status.h"

namespace foedus::txn {

// Locks the write set (commit_lock.cc). On success every record of the set is locked and not moved,
// and every write can be applied. Either the set is then sorted, or each of its records has one
// entry: publish_records() relies on this.
Status lock_write_set(occ::TxnContext* txn);
void unlock_write_set(occ::TxnContext* txn);

// kLocked tells verify_sets() that the records of the write set are locked and marked, and that the
// commit's epoch is known. An absence of a later epoch is then a conflict (C6).
enum class WriteSetState { kUnlocked, kLocked };

// Checks that reads, pointers and page-versions are as they were seen (commit_verify.cc).
Status verify_sets(occ::TxnContext* txn, WriteSetState write_set);

// Checks the preconditions of the writes from `first` on against the current records, without
// locks. Adds these records to the read set, because preconditions have to hold at the same time as
// all other reads. Two callers need this. verify(): an error that the user's function returned may
// follow from a precondition. rollback_to(): a write that is undone has told the transaction
// something. A commit checks the preconditions of its writes under locks, in the lock phase.
Status read_preconditions(occ::TxnContext* txn, std::uint32_t first);

// Releases the overflow pages of the writes from `first` on, which will not be applied (commit.cc).
void release_overflow(occ::TxnContext* txn, std::uint32_t first);

// commit_apply.cc

// Sets the being-written flags (C1). Returns the newest TID that will be overwritten.
page::Tid mark_being_written(occ::TxnContext* txn);
void unmark_being_written(occ::TxnContext* txn);
// Chooses the commit's TID (C3). `overwritten` is the result of mark_being_written(). Returns false
// if the TIDs that the new one must exceed have used up the ordinals of the epoch.
bool choose_tid(occ::TxnContext* txn, Epoch epoch, page::Tid overwritten, page::Tid* tid);
// Changes the payloads and completes the log records.
void apply_writes(occ::TxnContext* txn, page::Tid tid);
// Makes the records readable under their new TID and releases the locks.
void publish_records(occ::TxnContext* txn, page::Tid tid);

}  // namespace foedus::txn
