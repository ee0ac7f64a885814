// The verify phase: lines 7 to 12 of algorithm 2, and the page-versions of §8.2.
//
// Why a purged record verifies: its key was read as absent, and it is absent now, in a page whose
// keys and pointers nobody but this look has to keep. A transaction that inserts the key after this
// look has its record in that page before its own serialization point; if that point came before
// ours, we see the record here, being-written or newer. Where pages were dropped since, there need
// be no such page: may_be_cold().
#include "foedus-core/storage/dispatch.h"
#include "foedus-core/txn/commit_phases.h"

namespace foedus::txn {

namespace {

// The TID of what was read, wherever it is now. False: it was purged.
bool current_tid(occ::TxnContext* txn, const occ::ReadEntry& read, page::RecordHeader** record,
                 page::Tid* now) {
  *record = read.record;
  *now = read.record->load_tid();
  while ((now->word() & (page::Tid::kMoved | page::Tid::kNextLayer)) != 0) [[unlikely]] {
      std::uint32_t place = 0;
      if (!storage::track_moved(txn->pool(), read.storage, *record, record, &place)) return false;
      *now = (*record)->load_tid();  // it may have moved once more meanwhile
    }
  return true;
}

// Whether the storage may have dropped what the transaction has seen: then what is in no volatile
// page any more may be in a snapshot, and "purged" cannot be said.
bool may_be_cold(occ::TxnContext* txn, const occ::StorageControl* storage) {
  // order: relaxed, after the fence of the serialization point: an insert that comes before ours
  // and went by a pointer that a drop left behind makes the drop's announcement seen.
  return storage->drop_epoch.load_relaxed() >= txn->begin_epoch().number();
}

Status verify_reads(occ::TxnContext* txn, WriteSetIs write_set) {
  for (const occ::ReadEntry& read : txn->reads()) {
    page::RecordHeader* record = nullptr;
    page::Tid now;
    if (!current_tid(txn, read, &record, &now)) {
      if (may_be_cold(txn, read.storage)) {
        return txn->conflict(ConflictReason::kPageDropped, read.storage);
      }
      if (read.observed.is_deleted()) continue;  // absent then, absent now
      return txn->conflict(ConflictReason::kRecordChanged, read.storage);
    }
    if (now.is_being_written()) {
      if (write_set == WriteSetIs::kOpen || !txn->write_set().contains(record)) {
        return txn->conflict(ConflictReason::kRecordLocked, read.storage);
      }
      now = now.without(page::Tid::kBeingWritten);
    }
    if (now == read.observed) [[likely]] continue;
    // Absent then, absent now: a record that was purged and inserted again for a write starts anew.
    if (now.is_deleted() && read.observed.is_deleted()) continue;
    return txn->conflict(ConflictReason::kRecordChanged, read.storage);
  }
  return {};
}

Status verify_pointers(occ::TxnContext* txn) {
  for (const occ::PointerEntry& entry : txn->pointers()) {
    const occ::PointerLook look = storage::look_again(txn->pool(), entry);
    if (look == occ::PointerLook::kSame) [[likely]]
      continue;
    return txn->conflict(look == occ::PointerLook::kDropped ? ConflictReason::kPageDropped
                                                            : ConflictReason::kPageInstalled,
                         entry.storage);
  }
  return {};
}

Status verify_pages(occ::TxnContext* txn) {
  for (const occ::PageEntry& entry : txn->page_set().entries()) {
    const page::PageVersion now = entry.page->load_version();
    if (now == entry.observed) [[likely]]
      continue;  // counts equal, no flag
    if (now.is_dropped()) return txn->conflict(ConflictReason::kPageDropped, entry.storage);
    if (!storage::page_still_holds(txn->pool(), entry)) {
      return txn->conflict(ConflictReason::kPageGained, entry.storage);
    }
  }
  return {};
}

// A storage that was dropped takes no commit after its drop: see engine/catalog.cc.
Status verify_storages(occ::TxnContext* txn) {
  const occ::StorageControl* last = nullptr;
  for (const occ::WriteEntry& entry : txn->write_set().entries()) {
    if (entry.storage == last) continue;
    last = entry.storage;
    if (last->is_dropped()) return txn->conflict(ConflictReason::kPageDropped, entry.storage);
  }
  return {};
}

}  // namespace

Status verify_premises(occ::TxnContext* txn) {
  occ::WriteSet& set = txn->write_set();
  for (std::uint32_t i = 0; i < set.size(); ++i) {
    const occ::WriteEntry& entry = set[i];
    // Later writes of the record rely on this one.
    if (entry.premise == occ::Premise::kNone || set.find(entry.record).oldest != i) continue;
    page::RecordHeader* record = nullptr;
    page::Tid now;
    const bool is_found = current_tid(txn, {entry.record, {}, entry.storage}, &record, &now);
    if (!is_found && may_be_cold(txn, entry.storage)) {
      return txn->conflict(ConflictReason::kPageDropped, entry.storage, entry.log->key());
    }
    const bool is_there = is_found && !now.is_deleted();
    const bool wanted = entry.premise == occ::Premise::kPresent;
    if (is_there != wanted || now.is_being_written()) {
      return txn->conflict(ConflictReason::kRecordChanged, entry.storage, entry.log->key());
    }
  }
  return {};
}

Status verify_sets(occ::TxnContext* txn, WriteSetIs write_set) {
  FOEDUS_CHECK(verify_reads(txn, write_set));
  FOEDUS_CHECK(verify_pointers(txn));
  FOEDUS_CHECK(verify_pages(txn));
  return verify_storages(txn);
}

}  // namespace foedus::txn
