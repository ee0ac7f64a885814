// The verify phase: lines 7 to 12 of algorithm 2, and the page-versions of §8.2.
//
// Why a read of a purged record is valid: its key was read as absent, and is absent now. No
// page-version entry protects the page, so current_tid()'s search for the key alone must catch an
// insert. A transaction that inserts the key has its record in a volatile page before its own
// serialization point. If that point came before this commit's, the search finds the record,
// being-written or newer. After a drop of pages the record may be in a snapshot instead.
// may_be_cold() finds this case, which is a conflict.
//
//   C6  A key that was absent and is absent again under a newer TID was inserted and erased in
//       between. At the serialization point, where the other reads hold, the key may have been
//       present. Therefore all sets are verified again, with the newer absence as the version that
//       was read. If that holds, all reads hold at a fence between both rounds, which becomes the
//       serialization point. The commit keeps its epoch: only the newer absence may depend on a
//       later commit. If that commit may be of a later epoch, this commit conflicts (C2). The
//       commit's TID is above that of the newer absence (C3). The ticket of a read-only transaction
//       has no smaller epoch than the newer absence.
#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/occ/optimistic_read.h"
#include "foedus-core/storage/dispatch.h"
#include "foedus-core/txn/commit_phases.h"

namespace foedus::txn {

namespace {

// Limit of the rounds of verification. If in each of them an absent key turns out to have been
// inserted and erased again, the commit gives up with a conflict (C6).
constexpr unsigned kRoundsMax = 8;

// Finds where the record of `read` is now, and its TID. Changes *place if it has moved. Returns
// false if the record was purged. *now is then the record's last TID, or Tid() if that is not
// known.
bool current_tid(occ::TxnContext* txn, const occ::ReadEntry& read, page::RecordHeader** record,
                 std::uint32_t* place, page::Tid* now) {
  *record = read.record;
  *now = read.record->load_tid();
  while ((now->word() & (page::Tid::kMoved | page::Tid::kNextLayer)) != 0) [[unlikely]] {
    FOEDUS_SYNC_POINT("commit:read_moved");
    const bool is_found = storage::track_moved(txn->pool(), read.storage, *record, record, place);
    *now = *record == nullptr ? page::Tid() : (*record)->load_tid();
    if (!is_found) return false;
  }  // the record may have moved again meanwhile
  return true;
}

// Returns whether the storage may have dropped pages that the transaction has seen. If so, a record
// that is in no volatile page may be in a snapshot, and does not count as purged.
bool may_be_cold(occ::TxnContext* txn, const occ::StorageControl* storage) {
  // order: relaxed, after the fence of the serialization point. If an insert before that point
  // followed a pointer that a drop had changed, this load sees the epoch that the drop announced.
  return storage->drop_epoch.load_relaxed() >= txn->begin_epoch().number();
}

// Returns whether the key of `read` was absent when it was read, and is still absent by `now`, the
// TID of `record` (C6). If `now` is another version than the one that was read, stores `record` and
// `now` in `read`, and sets *again: the caller then verifies all sets once more. With kLocked,
// returns false if `now` may be of a later epoch than this commit (C2).
bool is_absent_still(occ::TxnContext* txn, WriteSetState write_set, page::RecordHeader* record,
                     page::Tid now, occ::ReadEntry* read, bool* again) {
  if (!now.is_deleted() || !read->observed.is_deleted()) return false;
  if (now.version() == read->observed.version()) return true;
  // order: relaxed, own word. It is at most the epoch of this commit (E1), so a `now` of a later
  // epoch is always refused.
  const std::uint64_t own = txn->clock().slot(txn->session()).in_commit.load_relaxed();
  if (write_set == WriteSetState::kLocked && now.epoch().number() > own) return false;
  read->record = record;
  read->observed = now.without(page::Tid::kMoved);
  *again = true;
  return true;
}

// Returns whether this transaction itself marked the record being-written: only the holder of its
// lock marks it.
bool is_marked_here(occ::TxnContext* txn, const page::RecordHeader& record) {
  // order: relaxed, the session's own bits of the word.
  return occ::is_held_by(record.lock.load_relaxed(), txn->session());
}

// Verifies a read whose record has another TID than the one that was read.
[[gnu::noinline]] Status verify_changed(occ::TxnContext* txn, WriteSetState write_set,
                                        occ::ReadEntry* read, bool* again) {
  page::RecordHeader* record = nullptr;
  std::uint32_t place = 0;
  page::Tid now;
  if (!current_tid(txn, *read, &record, &place, &now)) {
    if (may_be_cold(txn, read->storage)) {
      return txn->conflict(ConflictReason::kPageDropped, read->storage);
    }
    if (is_absent_still(txn, write_set, record, now, read, again)) return {};
    return txn->conflict(ConflictReason::kRecordChanged, read->storage);
  }
  if (now.is_being_written()) {
    if (!is_marked_here(txn, *record)) {
      return txn->conflict(ConflictReason::kRecordLocked, read->storage);
    }
    now = now.without(page::Tid::kBeingWritten);
  }
  if (now == read->observed) return {};
  // Both TIDs may be those of an absent key, in two cases. The key was inserted and erased in
  // between; or a page move purged the record that was read, and a write inserted a new one, which
  // is deleted until the write commits.
  if (is_absent_still(txn, write_set, record, now, read, again)) return {};
  return txn->conflict(ConflictReason::kRecordChanged, read->storage);
}

Status verify_reads(occ::TxnContext* txn, WriteSetState write_set, bool* again) {
  for (occ::ReadEntry& read : txn->sets().reads()) {
    // An equal TID suffices. The TID that was read has neither the being-written nor the moved
    // flag, so the record does not have them now.
    const page::Tid now = read.record->load_tid();
    if (now == read.observed) [[likely]] continue;
    // Common case: this transaction also writes the record, and the only change is its own mark.
    if (now == read.observed.with(page::Tid::kBeingWritten) &&
        is_marked_here(txn, *read.record)) {
      continue;
    }
    FOEDUS_CHECK(verify_changed(txn, write_set, &read, again));
  }
  return {};
}

Status verify_pointers(occ::TxnContext* txn) {
  for (const occ::PointerEntry& entry : txn->sets().pointers()) {
    const occ::PointerState look = storage::look_again(txn->pool(), entry);
    if (look == occ::PointerState::kSame) [[likely]]
      continue;
    return txn->conflict(look == occ::PointerState::kDropped ? ConflictReason::kPageDropped
                                                             : ConflictReason::kPageInstalled,
                         entry.storage);
  }
  return {};
}

Status verify_pages(occ::TxnContext* txn) {
  for (const occ::PageEntry& entry : txn->sets().pages().entries()) {
    const page::PageVersion now = entry.page->load_version();
    if (now == entry.observed) [[likely]]
      continue;  // equal counts, and no flag: entry.observed has none
    if (now.is_dropped()) return txn->conflict(ConflictReason::kPageDropped, entry.storage);
    if (!storage::page_still_holds(txn->pool(), entry)) {
      return txn->conflict(ConflictReason::kPageGained, entry.storage);
    }
  }
  return {};
}

// Refuses a write to a storage that was dropped. A drop relies on this check: no commit to the
// storage comes after the drop (engine/sessions/catalog.cc).
Status verify_storages(occ::TxnContext* txn) {
  const occ::StorageControl* last = nullptr;
  for (const occ::WriteEntry& entry : txn->sets().writes().entries()) {
    if (entry.storage == last) continue;
    last = entry.storage;
    if (last->is_dropped()) return txn->conflict(ConflictReason::kPageDropped, entry.storage);
  }
  return {};
}

// Returns the end of the bytes that the write relies on: a partial write is refused if the payload
// ends before.
std::uint64_t relied_end(const occ::WriteEntry& entry) {
  if (entry.is_whole()) return 0;
  return std::uint64_t{entry.log->payload_offset} + entry.log->payload_bytes();
}

// Returns whether an earlier write of the record answers for entry `i`. A whole write does, because
// the later write relies on it alone. A partial one does that relies on as many bytes.
bool is_covered(occ::WriteSet* set, std::uint32_t i) {
  if (set->has_one_for_each()) [[likely]]
    return false;
  const std::uint64_t end = relied_end((*set)[i]);
  for (std::uint32_t j = set->find((*set)[i].record).oldest; j != i; j = (*set)[j].next_own) {
    if ((*set)[j].is_whole() || relied_end((*set)[j]) >= end) return true;
  }
  return false;
}

// Returns whether the payload of `record`, which page and `place` describe, has all bytes that the
// partial write changes. Sets *now to the TID for which that holds.
bool fits_still(occ::TxnContext* txn, const occ::WriteEntry& as_written, page::RecordHeader* record,
                std::uint32_t place, page::Tid* now) {
  occ::WriteEntry entry = as_written;
  entry.record = record;
  entry.place = place;
  bool fits = false;
  const bool is_read = occ::optimistic_read(
      *record, now, [&](page::Tid) { fits = storage::accepts(txn->pool(), entry); });
  return is_read && fits;
}

// Adds the record of `entry` to the read set, if what the write relies on holds now.
Status read_precondition(occ::TxnContext* txn, const occ::WriteEntry& entry) {
  constexpr std::uint64_t kElsewhere = page::Tid::kMoved | page::Tid::kNextLayer;
  page::RecordHeader* record = nullptr;
  page::Tid now;
  bool is_found = false;
  bool fits = true;
  do {
    std::uint32_t place = entry.place;
    is_found = current_tid(txn, {entry.record, {}, entry.storage}, &record, &place, &now);
    if (!is_found) break;
    FOEDUS_SYNC_POINT("txn:precondition_found");
    if (!entry.is_whole()) fits = fits_still(txn, entry, record, place, &now);
  } while ((now.word() & kElsewhere) != 0);  // it has moved since current_tid()
  const bool is_there = is_found && !now.is_deleted();
  if (is_there != (entry.precondition == occ::Precondition::kPresent) || !fits) {
    return txn->conflict(ConflictReason::kRecordChanged, entry.storage, entry.log->key());
  }
  if (record == nullptr) record = entry.record;
  constexpr std::uint64_t kNotSeen = page::Tid::kMoved | page::Tid::kBeingWritten;
  txn->sets().reads().add({record, now.without(kNotSeen), entry.storage});
  return {};
}

}  // namespace

Status read_preconditions(occ::TxnContext* txn, std::uint32_t first) {
  occ::WriteSet& set = txn->sets().writes();
  for (std::uint32_t i = first; i < set.size(); ++i) {
    if (set[i].precondition == occ::Precondition::kNone || is_covered(&set, i)) continue;
    FOEDUS_CHECK(read_precondition(txn, set[i]));
  }
  return {};
}

Status verify_sets(occ::TxnContext* txn, WriteSetState write_set) {
  for (unsigned round = 0; round < kRoundsMax; ++round) {
    bool again = false;
    FOEDUS_CHECK(verify_reads(txn, write_set, &again));
    FOEDUS_CHECK(verify_pointers(txn));
    FOEDUS_CHECK(verify_pages(txn));
    if (!again) [[likely]] return verify_storages(txn);
    base::fence_seq_cst();  // order: C6, as that of the serialization point
  }
  return txn->conflict(ConflictReason::kRecordChanged, nullptr);
}

}  // namespace foedus::txn
