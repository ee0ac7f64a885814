#pragma once
// Dispatch by kind: what the commit protocol, recovery and the catalog ask of a storage of any
// kind. txn/ includes this header and none of a kind.

#include <cstdint>
#include <vector>

#include "foedus-core/occ/access_sets.h"
#include "foedus-core/occ/txn_context.h"
#include "foedus-core/storage/base/installation.h"
#include "foedus-core/storage/base/page_sample.h"
#include "foedus-core/storage/kinds.h"
#include "foedus-core/storage_meta/storage_control.h"
#include "foedus/status.h"
#include "foedus/storage.h"

namespace foedus::storage {

// ---- rarely called: dispatch.cc -----------------------------------------------------------------

// Makes the root. REQUIRES: no other session knows the storage yet.
Status create(page::PagePool* pool, page::SessionPages* pages, occ::StorageControl* control);
// Retires all pages. REQUIRES: no transaction that begins now finds the storage.
void drop(page::PagePool* pool, page::SessionPages* pages, occ::StorageControl* control);

// Installs a new snapshot whose root this is, null if it has no pages of the storage, and drops
// volatile pages. Does not look at a storage that leads to no snapshot, if nothing is to be
// dropped. Failures of the page cache: what was installed stays, the rest is as before.
// REQUIRES: one installation of a storage at a time; the caller is pinned; the snapshot is durable.
Result<InstallCounts> install(const Installation& installation, page::SnapshotPageId root);

// Samples volatile pages with records (storage/base/page_sample.h); none of sequential storages.
void sample_pages(const page::PagePool& pool, const occ::StorageControl& control,
                  PageSamples* samples);

// Finds a moved record where it is now, without locks and without a transaction. False: it is in no
// page any more; relocate() a write, and a read of it conflicts, unless it was of an absent key.
// *to is then what was left behind, with the last TID that the key had; null: that is not known.
bool track_moved(page::PagePool& pool, occ::StorageControl* control, page::RecordHeader* record,
                 page::RecordHeader** to, std::uint32_t* place);
// Finds the record of a write from the root by the full key in its log record, or makes it, with
// room for the write. All entries of the record name the new record and place afterwards. REQUIRES:
// the transaction holds no record lock of its lock phase.
Status relocate(occ::TxnContext& ctx, occ::WriteEntry* entry);
// Verifies a page-version that is not literally the same any more: returns whether no key was added
// to what the entry saw.
bool page_still_holds(page::PagePool& pool, const occ::PageEntry& entry);

// Verifies a pointer that was followed to a snapshot page.
inline occ::PointerState look_again(page::PagePool& pool, const occ::PointerEntry& entry) {
  if (entry.storage->meta.kind == StorageKind::kMasstree) return masstree::look_again(pool, entry);
  // Only a hash storage sets the place, for null pointers.
  return entry.place == 0 ? occ::look_in_place(entry) : hash::look_again(entry);
}

// ---- for every write of every commit ------------------------------------------------------------

// Returns whether apply() is possible: the payload has room, the part is inside. False: the record
// is not what the call that wrote it found. REQUIRES: the caller holds the record's lock and saw
// that it has not moved.
inline bool accepts(page::PagePool& pool, const occ::WriteEntry& entry) {
  return visit(entry.storage->meta.kind, [&](auto kind) { return kind.accepts(pool, entry); });
}

// Changes the payload, not the TID. REQUIRES: accepts(); the record is locked and marked
// being-written. Called for every entry, those of one record in the order of the user's calls.
inline void apply(occ::TxnContext& ctx, const occ::WriteEntry& entry) {
  visit(entry.storage->meta.kind, [&](auto kind) { kind.apply(ctx, entry); });
}

}  // namespace foedus::storage
