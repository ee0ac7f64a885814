// The last phase: line 13 of algorithm 2. The writer's half of the sequence lock on records; the
// reader's is occ/optimistic_read.h.
#include <algorithm>

#include "foedus-core/storage/dispatch.h"
#include "foedus-core/txn/commit_phases.h"

namespace foedus::txn {

namespace {

// Calls function(entries of one record: begin, end) for each record of the sorted write set.
template <typename Function>
void for_each_record(occ::TxnContext* txn, Function&& function) {
  std::vector<occ::WriteEntry>& writes = txn->write_set().entries();
  for (std::size_t begin = 0; begin < writes.size();) {
    std::size_t end = begin + 1;
    while (end < writes.size() && writes[end].record == writes[begin].record) ++end;
    function(&writes[begin], &writes[0] + end);
    begin = end;
  }
}

}  // namespace

void mark_being_written(occ::TxnContext* txn) {
  for (const occ::WriteEntry& entry : txn->write_set().entries()) {
    // order: relaxed, the fence of enter_commit() comes next; P2: the lock is held.
    const page::Tid tid(entry.record->tid.load_relaxed());
    entry.record->tid.store_relaxed(tid.with(page::Tid::kBeingWritten).word());
  }
}

void unmark_being_written(occ::TxnContext* txn) {
  for (const occ::WriteEntry& entry : txn->write_set().entries()) {
    const page::Tid tid(entry.record->tid.load_relaxed());
    // order: release, though nothing was changed: the word is always left with one.
    entry.record->tid.store_release(tid.without(page::Tid::kBeingWritten).word());
  }
}

bool choose_tid(occ::TxnContext* txn, Epoch epoch, page::Tid* tid) {
  std::uint64_t highest = txn->last_tid().version();
  for (const occ::ReadEntry& read : txn->reads()) {
    highest = std::max(highest, read.observed.version());
  }
  for (const occ::WriteEntry& entry : txn->write_set().entries()) {
    // order: relaxed, the lock is held.
    highest = std::max(highest, page::Tid(entry.record->tid.load_relaxed()).version());
  }
  const page::Tid last(highest << page::Tid::kFlagBits);
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
  for (occ::WriteEntry& entry : txn->write_set().entries()) {
    storage::apply(*txn, entry);
    entry.log->tid = tid.word();
  }
}

void publish_records(occ::TxnContext* txn, page::Tid tid) {
  for_each_record(txn, [tid](occ::WriteEntry* begin, occ::WriteEntry* end) {
    bool deleted = page::Tid(begin->record->tid.load_relaxed()).is_deleted();
    for (const occ::WriteEntry* entry = begin; entry != end; ++entry) {
      if (entry->log->type == log::LogRecordType::kErase) deleted = true;
      if (entry->log->type == log::LogRecordType::kPut) deleted = false;
      if (entry->log->type == log::LogRecordType::kAppend) deleted = false;
    }
    // order: release, pairs with load_tid() of readers: the payload is complete.
    begin->record->tid.store_release(tid.with(deleted ? page::Tid::kDeleted : 0).word());
    if (begin->waiter == nullptr) return;  // held since get_for_update; released at the end
    occ::unlock(&begin->record->lock, begin->waiter);
    begin->waiter = nullptr;
  });
}

}  // namespace foedus::txn
