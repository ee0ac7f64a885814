// The lock phase: lines 1 to 5 of algorithm 2. Locks are first tried in the order of the calls:
// most locks are free, and sorting costs more than locking. The try fails if a lock is not free, or
// if a record has moved, violates a precondition, or lacks room for its write. Then all locks are
// released. If any record has moved, its entries get its new place, and the phase starts over. If
// none has, the records are sorted by address, and their locks are waited for in that order (O1).
// Each record is checked with its lock held, because a split may have moved it before. A lock word
// is safe to try even if its record has moved: a page that is retired during a transaction is not
// reused before that transaction's end.
#include <new>
#include <span>

#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/storage/dispatch.h"
#include "foedus-core/txn/commit_phases.h"

namespace foedus::txn {

namespace {

bool has_moved(const page::RecordHeader& record) {
  const page::Tid tid = record.load_tid();
  return tid.is_moved() || tid.is_next_layer();
}

// Makes every entry point to the newest place of its record; the record may move again at once.
// Inserts the record of a purged key again. Sets *some if at least one record had moved. REQUIRES:
// no lock of the write set is held, because the insert may split a page, which locks the page's
// records.
Status resolve_moved(occ::TxnContext* txn, bool* some) {
  // The loop goes by index: relocate() and move() change the entries, but not their number.
  for (std::uint32_t i = 0; i < txn->sets().writes().size(); ++i) {
    occ::WriteEntry& entry = txn->sets().writes()[i];
    if (!has_moved(*entry.record)) continue;
    *some = true;
    page::RecordHeader* const from = entry.record;
    page::RecordHeader* to = nullptr;
    std::uint32_t place = 0;
    if (storage::track_moved(txn->pool(), entry.storage, from, &to, &place)) {
      txn->sets().writes().move(from, to, place);
    } else {
      FOEDUS_CHECK(storage::relocate(*txn, &entry));
    }
  }
  return {};
}

bool try_lock_one(occ::TxnContext* txn, occ::WriteEntry* entry) {
  entry->waiter = txn->locks().waiters().take();
  if (txn->locks().held().are_below(entry->record)) {
    if (txn->locks().lock(entry->record, entry->waiter)) return true;
  } else if (occ::try_lock_for(&entry->record->lock, entry->waiter, occ::kTriesLong)) {
    // The lock was only tried, because a wait could be a deadlock: the transaction already holds a
    // record lock at a higher address (get_for_update).
    return true;
  }
  entry->waiter = nullptr;
  return false;
}

// Returns whether the record still satisfies the preconditions of its entries and has the payload
// room that they rely on. Each entry is checked against the record as the entries before it leave
// it. REQUIRES: the record's lock is held.
template <typename Entries>
bool accepts_all(occ::TxnContext* txn, page::Tid tid, const Entries& entries) {
  bool present = !tid.is_deleted();
  bool rewritten = false;
  for (const auto& [record, entry] : entries) {
    const log::LogRecordType type = entry->log->type;
    const bool whole = type == log::LogRecordType::kPut;
    const bool fits = (rewritten && !whole) || storage::accepts(txn->pool(), *entry);
    const bool holds = entry->precondition == occ::Precondition::kNone ||
                       present == (entry->precondition == occ::Precondition::kPresent);
    if (!holds || !fits) return false;
    if (whole) present = rewritten = true;
    if (type == log::LogRecordType::kErase) present = false;
  }
  return true;
}

// Locks each record once and checks it; the first of its entries has the waiter. Sets *moved_again
// if a record has moved since resolve_moved(). In that case and on failure, locks stay held.
Status lock_sorted(occ::TxnContext* txn, bool* moved_again) {
  const auto& sorted = txn->sets().writes().sorted();
  for (auto at = sorted.begin(); at != sorted.end();) {
    page::RecordHeader* const record = at->record;
    auto end = at + 1;
    while (end != sorted.end() && end->record == record) ++end;
    if (!txn->locks().holds(record) && !try_lock_one(txn, at->entry)) {
      return txn->conflict(ConflictReason::kRecordLocked, at->entry->storage,
                           at->entry->log->key());
    }
    const page::Tid tid = record->load_tid();
    if (tid.is_moved() || tid.is_next_layer()) [[unlikely]] {
      *moved_again = true;
      return {};
    }
    if (!accepts_all(txn, tid, std::span(at, end))) {
      return txn->conflict(ConflictReason::kRecordChanged, at->entry->storage,
                           at->entry->log->key());
    }
    at = end;
  }
  return {};
}

// Returns whether the record accepts its only entry. REQUIRES: the record's lock is held.
bool accepts_one(occ::TxnContext* txn, const occ::WriteEntry& entry) {
  const page::Tid tid = entry.record->load_tid();
  if (tid.is_moved() || tid.is_next_layer()) return false;
  const bool holds = entry.precondition == occ::Precondition::kNone ||
                     tid.is_deleted() != (entry.precondition == occ::Precondition::kPresent);
  return holds && storage::accepts(txn->pool(), entry);
}

// Locks all records, in the order of the calls. Locks are only tried here and never waited for, so
// any order is free of deadlocks (O1). Returns false with nothing locked if a lock is not free, if
// a record refuses its entry or has several entries, or if the transaction holds locks already.
// lock_write_set() then tries resolve_moved() and lock_sorted(), which may still succeed.
bool lock_all_that_are_free(occ::TxnContext* txn) {
  occ::WriteSet& write_set = txn->sets().writes();
  write_set.unsort();
  if (!write_set.has_one_for_each() || !txn->locks().held().is_empty()) return false;
  for (occ::WriteEntry& entry : write_set.entries()) {
    entry.waiter = txn->locks().waiters().take();
    const bool is_locked = occ::try_lock(&entry.record->lock, entry.waiter);
    if (is_locked && accepts_one(txn, entry)) [[likely]] continue;
    if (!is_locked) entry.waiter = nullptr;
    unlock_write_set(txn);
    return false;
  }
  return true;
}

}  // namespace

Status lock_write_set(occ::TxnContext* txn) {
  for (;;) {
    FOEDUS_SYNC_POINT("commit:before_lock");
    bool have_moved = false;
    bool moved_again = false;
    try {
      if (lock_all_that_are_free(txn)) [[likely]] return {};
      FOEDUS_CHECK(resolve_moved(txn, &have_moved));
      if (have_moved) continue;
      FOEDUS_SYNC_POINT("commit:before_sorted_lock");
      txn->sets().writes().sort();
      Status status = lock_sorted(txn, &moved_again);
      if (status.is_ok() && !moved_again) [[likely]] return status;
      unlock_write_set(txn);
      if (!status.is_ok()) return status;
    } catch (const std::bad_alloc&) {
      unlock_write_set(txn);
      throw;
    }
  }
}

void unlock_write_set(occ::TxnContext* txn) {
  for (occ::WriteEntry& entry : txn->sets().writes().entries()) {
    if (entry.waiter == nullptr) continue;
    occ::unlock(&entry.record->lock, entry.waiter);
    entry.waiter = nullptr;
  }
}

}  // namespace foedus::txn
