// The apply phase of a commit (line 13 of algorithm 2): chooses the TID, writes the payloads, and
// publishes the records. With the being-written flags, which are set before the commit verifies, it
// is the writer's half of the sequence lock on records. The reader's half is occ/optimistic_read.h.
#include <algorithm>
#include <utility>

#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/storage/dispatch.h"
#include "foedus-core/txn/commit_phases.h"

namespace foedus::txn {

page::Tid mark_being_written(occ::TxnContext* txn) {
  std::uint64_t newest = 0;
  for (const occ::WriteEntry& entry : txn->sets().writes().entries()) {
    // order: relaxed, the fence of enter_commit() comes next. No other thread changes the word
    // while the committing session holds the lock (P2).
    const page::Tid tid(entry.record->tid.load_relaxed());
    newest = std::max(newest, tid.word());
    entry.record->tid.store_relaxed(tid.with(page::Tid::kBeingWritten).word());
  }
  return page::Tid(newest);
}

void unmark_being_written(occ::TxnContext* txn) {
  for (const occ::WriteEntry& entry : txn->sets().writes().entries()) {
    const page::Tid tid(entry.record->tid.load_relaxed());
    // order: release, although no payload was changed: each change of a TID word ends with a
    // release store.
    entry.record->tid.store_release(tid.without(page::Tid::kBeingWritten).word());
  }
}

bool choose_tid(occ::TxnContext* txn, Epoch epoch, page::Tid overwritten, page::Tid* tid) {
  std::uint64_t newest = std::max(txn->last_tid().word(), overwritten.word());
  newest = std::max(newest, txn->tid_floor().word());
  for (const occ::ReadEntry& read : txn->sets().reads())
    newest = std::max(newest, read.observed.word());
  const page::Tid last(newest);
  FOEDUS_INVARIANT(last.epoch() <= epoch, last.epoch().number(), epoch.number());
  if (last.epoch() < epoch) {
    *tid = page::Tid(epoch, 1);
    return true;
  }
  if (last.ordinal() == page::Tid::kOrdinalMax) return false;
  *tid = page::Tid(epoch, last.ordinal() + 1);
  return true;
}

void apply_writes(occ::TxnContext* txn, page::Tid tid) {
  base::fence_writer();  // order: the being-written flags come before the payload bytes
  for (occ::WriteEntry& entry : txn->sets().writes().entries()) {
    storage::apply(*txn, entry);
    entry.log->tid = tid.word();
  }
}

namespace {

// Returns whether the record is deleted after the entry is applied. `was`: whether it is deleted
// before.
bool is_deleted_after(const occ::WriteEntry& entry, bool was) {
  const log::LogRecordType type = entry.log->type;
  const bool is_whole = type == log::LogRecordType::kPut || type == log::LogRecordType::kAppend;
  return type == log::LogRecordType::kErase || (was && !is_whole);
}

bool is_deleted_now(const page::RecordHeader& record) {
  return page::Tid(record.tid.load_relaxed()).is_deleted();  // order: relaxed, own word
}

void publish_record(page::RecordHeader* record, occ::LockWaiter* waiter, page::Tid tid,
                    bool is_deleted) {
  // order: release, pairs with load_tid() of readers: the payload is complete.
  record->tid.store_release(tid.with(is_deleted ? page::Tid::kDeleted : 0).word());
  FOEDUS_SYNC_POINT("commit:record_published");
  // A null waiter means that the lock is held since get_for_update, and released at the end.
  if (waiter != nullptr) occ::unlock(&record->lock, waiter);
}

}  // namespace

void publish_records(occ::TxnContext* txn, page::Tid tid) {
  const auto& sorted = txn->sets().writes().sorted();
  if (sorted.empty()) {  // not sorted: each record has one entry
    for (occ::WriteEntry& entry : txn->sets().writes().entries()) {
      const bool is_deleted = is_deleted_after(entry, is_deleted_now(*entry.record));
      publish_record(entry.record, std::exchange(entry.waiter, nullptr), tid, is_deleted);
    }
    return;
  }
  for (auto at = sorted.begin(); at != sorted.end();) {
    page::RecordHeader* const record = at->record;
    // The first entry of a record has the waiter of the record's lock.
    occ::LockWaiter* const waiter = std::exchange(at->entry->waiter, nullptr);
    bool is_deleted = is_deleted_now(*record);
    for (; at != sorted.end() && at->record == record; ++at) {
      is_deleted = is_deleted_after(*at->entry, is_deleted);
    }
    publish_record(record, waiter, tid, is_deleted);
  }
}

}  // namespace foedus::txn
