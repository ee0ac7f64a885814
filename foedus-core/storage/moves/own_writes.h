#pragma once
// Own writes of a transaction whose records other sessions have moved (birth.h, Q2).

#include "foedus-core/occ/access_sets.h"
#include "foedus-core/occ/txn_context.h"
#include "foedus/status.h"

namespace foedus::storage::moves {

// A kind's track_moved() and relocate().
using TrackMoved = bool(page::PagePool& pool, occ::StorageControl* control,
                        page::RecordHeader* record, page::RecordHeader** to, std::uint32_t* place);
using Relocate = Status(occ::TxnContext& ctx, occ::WriteEntry* entry);

// Leads the own writes to the storage whose records have moved, to a page that was born in `birth`
// perhaps, to where the records are now. Writes that were seen in place since `birth` was over are
// not looked at (O17). *moved: some have, so the position that a search has found may not hold.
Status settle_own(occ::TxnContext& ctx, occ::StorageControl* control, Epoch birth,
                  TrackMoved* track_moved, Relocate* relocate, bool* moved);

}  // namespace foedus::storage::moves
