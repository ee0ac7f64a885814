#include "foedus-core/storage/dispatch.h"

#include "foedus-core/storage/array/array_install.h"
#include "foedus-core/storage/array/array_stats.h"
#include "foedus-core/storage/hash/hash_install.h"
#include "foedus-core/storage/hash/hash_stats.h"
#include "foedus-core/storage/masstree/masstree_install.h"
#include "foedus-core/storage/masstree/masstree_stats.h"
#include "foedus-core/storage/sequential/sequential_install.h"

namespace foedus::storage {

Status create(page::PagePool* pool, page::SessionPages* pages, occ::StorageControl* control) {
  switch (control->meta.kind) {
    case StorageKind::kMasstree: return masstree::create(pool, pages, control);
    case StorageKind::kArray: return array::create(pool, pages, control);
    case StorageKind::kHash: return hash::create(pool, pages, control);
    case StorageKind::kSequential: return sequential::create(pool, pages, control);
  }
  FOEDUS_INVARIANT(false, control->meta.kind);
}

void drop(page::PagePool* pool, page::SessionPages* pages, occ::StorageControl* control) {
  switch (control->meta.kind) {
    case StorageKind::kMasstree: return masstree::drop(pool, pages, control);
    case StorageKind::kArray: return array::drop(pool, pages, control);
    case StorageKind::kHash: return hash::drop(pool, pages, control);
    case StorageKind::kSequential: return sequential::drop(pool, pages, control);
  }
  FOEDUS_INVARIANT(false, control->meta.kind);
}

namespace {

// Nothing is to go, and all that the storage has is in volatile pages: no pointer and no record
// leads to a snapshot, so none has to lead to the new one (O16). Pages need not be looked at.
bool is_nothing_to_install(const occ::Installation& installation) {
  const occ::StorageControl& control = *installation.control;
  const bool drops = installation.pages_to_drop != 0 ||
                     control.meta.kind == StorageKind::kSequential;
  // order: relaxed, written by the installer itself, or before anybody had the storage.
  return !drops && control.drop_epoch.load_relaxed() == 0;
}

}  // namespace

Result<occ::InstallCounts> install(const occ::Installation& installation,
                                   page::SnapshotPageId root) {
  if (is_nothing_to_install(installation)) {
    occ::InstallCounts counts;
    // order: relaxed, a statistic.
    counts.pages_kept = installation.control->volatile_pages.load_relaxed();
    return counts;
  }
  switch (installation.control->meta.kind) {
    case StorageKind::kMasstree: return masstree::install(installation, root);
    case StorageKind::kArray: return array::install(installation, root);
    case StorageKind::kHash: return hash::install(installation, root);
    case StorageKind::kSequential: return sequential::install(installation, root);
  }
  FOEDUS_INVARIANT(false, installation.control->meta.kind);
}

void sample_pages(const page::PagePool& pool, const occ::StorageControl& control,
                  occ::PageSamples* samples) {
  switch (control.meta.kind) {
    case StorageKind::kMasstree: return masstree::sample_pages(pool, control, samples);
    case StorageKind::kArray: return array::sample_pages(pool, control, samples);
    case StorageKind::kHash: return hash::sample_pages(pool, control, samples);
    case StorageKind::kSequential: return;
  }
  FOEDUS_INVARIANT(false, control.meta.kind);
}

bool track_moved(page::PagePool& pool, occ::StorageControl* control, page::RecordHeader* record,
                 page::RecordHeader** to, std::uint32_t* place) {
  switch (control->meta.kind) {
    case StorageKind::kMasstree: return masstree::track_moved(pool, control, record, to, place);
    case StorageKind::kArray: return array::track_moved(pool, control, record, to, place);
    case StorageKind::kHash: return hash::track_moved(pool, control, record, to, place);
    case StorageKind::kSequential: return sequential::track_moved(pool, control, record, to, place);
  }
  FOEDUS_INVARIANT(false, control->meta.kind);
}

Status relocate(occ::TxnContext& ctx, occ::WriteEntry* entry) {
  switch (entry->storage->meta.kind) {
    case StorageKind::kMasstree: return masstree::relocate(ctx, entry);
    case StorageKind::kArray: return array::relocate(ctx, entry);
    case StorageKind::kHash: return hash::relocate(ctx, entry);
    case StorageKind::kSequential: return sequential::relocate(ctx, entry);
  }
  FOEDUS_INVARIANT(false, entry->storage->meta.kind);
}

bool page_still_holds(page::PagePool& pool, const occ::PageEntry& entry) {
  switch (entry.storage->meta.kind) {
    case StorageKind::kMasstree: return masstree::page_still_holds(pool, entry);
    case StorageKind::kArray: return array::page_still_holds(pool, entry);
    case StorageKind::kHash: return hash::page_still_holds(pool, entry);
    case StorageKind::kSequential: return sequential::page_still_holds(pool, entry);
  }
  FOEDUS_INVARIANT(false, entry.storage->meta.kind);
}

}  // namespace foedus::storage
