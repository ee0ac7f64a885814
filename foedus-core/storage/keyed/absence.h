#pragma once
// Absence that an insert has covered up. A call may insert a record physically for a key that the
// transaction saw to be missing, and fail afterwards. The insert has moved the page-version entry
// along, which said that the key is missing, and the write whose premise would say it is not made.
// So the key's absence becomes a read of the new record (O4).

#include <string_view>

#include "foedus-core/occ/txn_context.h"
#include "foedus-core/storage/moves/own_writes.h"

namespace foedus::storage::keyed {

// Remembers that the key of `placed`, the record that was inserted for it, is absent. Returns
// `status`, the error of the write that was not made, or kConflict if the key is there by now.
Status keep_absence(occ::TxnContext& ctx, occ::StorageControl* control, page::RecordHeader* placed,
                    std::string_view key, Status status, moves::TrackMoved* track);

}  // namespace foedus::storage::keyed
