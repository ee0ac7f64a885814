#pragma once
// Verification of a key's absence after a failed insert. A call may insert a record physically for
// a key that the transaction saw to be missing, and fail afterwards. Then nothing would verify the
// absence: the insert has moved the page-version entry that said so to the new version, and the
// write with a precondition about the key is not made. So the key's absence becomes a read of the
// new, deleted record (O4).

#include <string_view>

#include "foedus-core/occ/txn_context.h"
#include "foedus-core/storage/moves/own_writes.h"

namespace foedus::storage::keyed {

// Remembers as a read that `placed`, the record that was inserted for `key`, is absent, wherever it
// has moved since. Returns `status`, the error of the write that was not made, or kConflict if the
// key is present by now.
Status keep_absence(occ::TxnContext& ctx, occ::StorageControl* control, page::RecordHeader* placed,
                    std::string_view key, Status status, moves::TrackMoved* track);

}  // namespace foedus::storage::keyed
