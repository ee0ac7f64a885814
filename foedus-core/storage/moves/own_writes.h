#pragma once
// What a transaction does for its own writes when other sessions have moved their records (birth.h,
// Q2).

#include "foedus-core/occ/access_sets.h"
#include "foedus-core/occ/txn_context.h"
#include "foedus/status.h"

namespace foedus::storage::moves {

// The types of a kind's track_moved() and relocate(). track_moved() returns whether a moved record
// is still in volatile pages, and where; relocate() finds or makes it from the root.
using TrackMoved = bool(page::PagePool& pool, occ::StorageControl* control,
                        page::RecordHeader* record, page::RecordHeader** to, std::uint32_t* place);
using Relocate = Status(occ::TxnContext& ctx, occ::WriteEntry* entry);

// Looks for own writes to the storage whose records have moved, perhaps to a page that was born in
// `birth`, and makes them name the records where these are now. Skips writes that were seen in
// place after the end of `birth` (O17). *moved: some record had moved, so the search that asks has
// to be made again.
Status relocate_own(occ::TxnContext& ctx, occ::StorageControl* control, Epoch birth,
                    TrackMoved* track_moved, Relocate* relocate, bool* moved);

}  // namespace foedus::storage::moves
