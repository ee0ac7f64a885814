#pragma once
// Finds where records and pages are now, without locks and without a transaction.

#include <cstdint>

#include "foedus-core/occ/txn_context.h"
#include "foedus-core/storage/masstree/layout/page.h"

namespace foedus::storage::masstree {

// storage/dispatch.h has the contracts of the first three.

// Finds a moved record through foster twins, replacement pages and next layers. If the record was
// deleted and left out of a move, *to is the last record that the key had, because the key may have
// been inserted and purged again since.
bool track_moved(page::PagePool& pool, occ::StorageControl* control, page::RecordHeader* record,
                 page::RecordHeader** to, std::uint32_t* place);
// Returns whether no key was added to the page, its foster twins, or layers that were made since.
bool page_still_holds(page::PagePool& pool, const occ::PageEntry& entry);
// Verifies a followed pointer, which may have moved to another page or place since (M20).
occ::PointerState look_again(page::PagePool& pool, const occ::PointerEntry& entry);

// Returns true if no key was added to `page` since it had these counts (change/track.cc).
bool is_unchanged(page::PagePool& pool, BorderPage* page, page::PageVersion observed);
// Returns the root of a layer of `page`. Null: it is no longer the page that was made for the
// layer, or was dropped. REQUIRES: slot.is_layer().
BorderPage* layer_anchor_of(page::PagePool& pool, BorderPage* page, Slot slot);

}  // namespace foedus::storage::masstree
