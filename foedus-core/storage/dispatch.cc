#include "foedus-core/storage/dispatch.h"

namespace foedus::storage {

Status create(page::PagePool* pool, page::SessionPages* pages, occ::StorageControl* control) {
  return visit(control->meta.kind, [&](auto kind) { return kind.create(pool, pages, control); });
}

void drop(page::PagePool* pool, page::SessionPages* pages, occ::StorageControl* control) {
  visit(control->meta.kind, [&](auto kind) { kind.drop(pool, pages, control); });
}

namespace {

// Nothing is to go, and all that the storage has is in volatile pages: no pointer and no record
// leads to a snapshot, so none has to lead to the new one (O16). Pages need not be looked at.
bool is_nothing_to_install(const Installation& installation) {
  const occ::StorageControl& control = *installation.control;
  const bool drops = installation.pages_to_drop != 0 ||
                     control.meta.kind == StorageKind::kSequential;
  // order: relaxed, written by the installer itself, or before anybody had the storage.
  return !drops && control.drop_epoch.load_relaxed() == 0;
}

}  // namespace

Result<InstallCounts> install(const Installation& installation, page::SnapshotPageId root) {
  if (is_nothing_to_install(installation)) {
    InstallCounts counts;
    // order: relaxed, a statistic.
    counts.pages_kept = installation.control->volatile_pages.load_relaxed();
    return counts;
  }
  return visit(installation.control->meta.kind,
               [&](auto kind) { return kind.install(installation, root); });
}

void sample_pages(const page::PagePool& pool, const occ::StorageControl& control,
                  PageSamples* samples) {
  visit(control.meta.kind, [&](auto kind) { kind.sample_pages(pool, control, samples); });
}

bool track_moved(page::PagePool& pool, occ::StorageControl* control, page::RecordHeader* record,
                 page::RecordHeader** to, std::uint32_t* place) {
  return visit(control->meta.kind,
               [&](auto kind) { return kind.track_moved(pool, control, record, to, place); });
}

Status relocate(occ::TxnContext& ctx, occ::WriteEntry* entry) {
  return visit(entry->storage->meta.kind, [&](auto kind) { return kind.relocate(ctx, entry); });
}

bool page_still_holds(page::PagePool& pool, const occ::PageEntry& entry) {
  return visit(entry.storage->meta.kind,
               [&](auto kind) { return kind.page_still_holds(pool, entry); });
}

}  // namespace foedus::storage
