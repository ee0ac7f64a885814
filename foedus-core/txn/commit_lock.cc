// The lock phase: lines 1 to 5 of algorithm 2. Resolve moved records, sort by address, lock, and
// look a second time: a split may have moved a record between the look and the lock.
#include <algorithm>
#include <new>

#include "foedus-core/base/sync_point.h"
#include "foedus-core/storage/dispatch.h"
#include "foedus-core/txn/commit_phases.h"

namespace foedus::txn {

namespace {

bool has_moved(const page::RecordHeader& record) {
  const page::Tid tid = record.load_tid();
  return tid.is_moved() || tid.is_next_layer();
}

// Every entry's record is where it was a moment ago. No lock of the write set is held: to follow a
// purged record means to insert it again.
Status resolve_moved(occ::TxnContext* txn) {
  // By index: relocate() and move() change the entries, not their number.
  for (std::uint32_t i = 0; i < txn->write_set().size(); ++i) {
    occ::WriteEntry& entry = txn->write_set()[i];
    if (!has_moved(*entry.record)) continue;
    page::RecordHeader* const from = entry.record;
    page::RecordHeader* to = nullptr;
    std::uint32_t place = 0;
    if (storage::track_moved(txn->pool(), entry.storage, from, &to, &place)) {
      txn->write_set().move(from, to, place);
    } else {
      FOEDUS_CHECK(storage::relocate(*txn, &entry));
    }
  }
  return {};
}

bool try_lock_one(occ::TxnContext* txn, occ::WriteEntry* entry) {
  entry->waiter = txn->waiters().take();
  if (txn->held().are_below(entry->record)) {
    if (txn->lock_record(entry->record, entry->waiter)) return true;
  } else if (occ::try_lock_for(&entry->record->lock, entry->waiter, occ::kTriesLong)) {
    // Waiting could close a circle: a lock with a higher address is held (get_for_update).
    return true;
  }
  entry->waiter = nullptr;
  return false;
}

// Locks each record once: the first of its entries has the waiter.
Status lock_sorted(occ::TxnContext* txn) {
  const page::RecordHeader* last = nullptr;
  for (const auto& [record, entry] : txn->write_set().sorted()) {
    if (record == last) continue;
    last = record;
    if (txn->holds(record)) continue;
    if (!try_lock_one(txn, entry)) {
      unlock_write_set(txn);
      return txn->conflict(ConflictReason::kRecordLocked, entry->storage, entry->log->key());
    }
  }
  return {};
}

// With all locks held: whether the calls that found a record there still would, and whether its
// room still is what they relied on. Entries of one record see those before them.
Status check_writes(occ::TxnContext* txn) {
  const page::RecordHeader* last = nullptr;
  bool present = false;
  bool rewritten = false;
  for (const auto& [record, entry] : txn->write_set().sorted()) {
    if (record != last) {
      last = record;
      present = !record->load_tid().is_deleted();
      rewritten = false;
    }
    const bool whole = entry->log->type == log::LogRecordType::kPut;
    const bool fits = (rewritten && !whole) || storage::accepts(txn->pool(), *entry);
    const bool holds = entry->premise == occ::Premise::kNone ||
                       present == (entry->premise == occ::Premise::kPresent);
    if (!holds || !fits) {
      return txn->conflict(ConflictReason::kRecordChanged, entry->storage, entry->log->key());
    }
    if (whole) present = rewritten = true;
    if (entry->log->type == log::LogRecordType::kErase) present = false;
  }
  return {};
}

}  // namespace

Status lock_write_set(occ::TxnContext* txn) {
  const base::LineVector<occ::WriteEntry>& writes = txn->write_set().entries();
  for (;;) {
    FOEDUS_CHECK(resolve_moved(txn));
    txn->write_set().sort();
    FOEDUS_SYNC_POINT("commit:before_lock");
    try {
      FOEDUS_CHECK(lock_sorted(txn));
    } catch (const std::bad_alloc&) {
      unlock_write_set(txn);
      throw;
    }
    const bool moved_again =
        std::any_of(writes.begin(), writes.end(),
                    [](const occ::WriteEntry& entry) { return has_moved(*entry.record); });
    if (!moved_again) break;
    unlock_write_set(txn);
  }
  Status status = check_writes(txn);
  if (!status.is_ok()) unlock_write_set(txn);
  return status;
}

void unlock_write_set(occ::TxnContext* txn) {
  for (occ::WriteEntry& entry : txn->write_set().entries()) {
    if (entry.waiter == nullptr) continue;
    occ::unlock(&entry.record->lock, entry.waiter);
    entry.waiter = nullptr;
  }
}

}  // namespace foedus::txn
