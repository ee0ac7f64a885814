#pragma once
// Stands in for storage/dispatch.h: the calls of the commit protocol to storages, implemented by
// the model.

#include "foedus-core/occ/txn_context.h"

namespace foedus::storage {

bool track_moved(page::PagePool& pool, occ::StorageControl* control, page::RecordHeader* record,
                 page::RecordHeader** to, std::uint32_t* place);
void apply(occ::TxnContext& ctx, const occ::WriteEntry& entry);

inline Status relocate(occ::TxnContext&, occ::WriteEntry*) { return ErrorCode::kConflict; }
inline bool page_still_holds(page::PagePool&, const occ::PageEntry&) { return false; }
inline occ::PointerState look_again(page::PagePool&, const occ::PointerEntry&) {
  return occ::PointerState::kSame;
}
inline bool accepts(page::PagePool&, const occ::WriteEntry&) { return true; }

}  // namespace foedus::storage
