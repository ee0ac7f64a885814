#pragma once
// The phases of commit.cc.

#include "foedus-core/occ/txn_context.h"
#include "foedus-core/page/tid.h"
#include "foedus/epoch.h"
#include "foedus/status.h"

namespace foedus::txn {

// commit_lock.cc: after success every record of the write set is locked and not moved, and every
// write can be applied. The write set is sorted, or each of its records has one entry.
Status lock_write_set(occ::TxnContext* txn);
void unlock_write_set(occ::TxnContext* txn);

// Whether the records of the write set are locked and marked, and the commit's epoch is known (C6).
enum class WriteSetState { kUnlocked, kLocked };

// commit_verify.cc: reads, pointers and page-versions are as they were seen.
Status verify_sets(occ::TxnContext* txn, WriteSetState write_set);

// The premises of writes hold, as far as can be told without locks, and are read: they have to hold
// together with all else that was. Before an error that follows from them leaves a transaction. The
// lock phase looks for good.
Status read_premises(occ::TxnContext* txn);

// commit_apply.cc

// Returns the newest TID of what will be overwritten.
page::Tid mark_being_written(occ::TxnContext* txn);
void unmark_being_written(occ::TxnContext* txn);
// C3. False: the epoch has no ordinal left above what it must be above. `overwritten`: of
// mark_being_written().
bool choose_tid(occ::TxnContext* txn, Epoch epoch, page::Tid overwritten, page::Tid* tid);
// Changes the payloads and completes the log records.
void apply_writes(occ::TxnContext* txn, page::Tid tid);
// Makes the records readable under their new TID and releases the locks.
void publish_records(occ::TxnContext* txn, page::Tid tid);

}  // namespace foedus::txn
