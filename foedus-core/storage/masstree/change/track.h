#pragma once
// Where records and pages are now, without locks and without a transaction.

#include <cstdint>

#include "foedus-core/occ/txn_context.h"
#include "foedus-core/storage/masstree/layout/page.h"

namespace foedus::storage::masstree {

// Where a moved record is now: through foster twins, pages in place of others, and next layers. No
// locks, no transaction. False: it was deleted, and a split left it behind. *to is the last record
// that the key had, which may have been inserted and purged again since; null: that is not known.
bool track_moved(page::PagePool& pool, occ::StorageControl* control, page::RecordHeader* record,
                 page::RecordHeader** to, std::uint32_t* place);

// Verify of a page-version: true if no key was added to what the entry saw, also not through
// foster twins and layers that came to be since.
bool page_still_holds(page::PagePool& pool, const occ::PageEntry& entry);

// Verify of a pointer that was followed to a snapshot page: by M20, wherever it is now.
occ::PointerLook look_again(page::PagePool& pool, const occ::PointerEntry& entry);

// True if no key was added to `page` since it had these counts (change/track.cc).
bool is_unchanged(page::PagePool& pool, BorderPage* page, page::PageVersion observed);
// The root of a layer that came to be in `page` after it had so many; null: it is no longer the
// page that was made for it, or was dropped. REQUIRES: slot.is_layer().
BorderPage* layer_anchor_of(page::PagePool& pool, BorderPage* page, Slot slot);

}  // namespace foedus::storage::masstree
