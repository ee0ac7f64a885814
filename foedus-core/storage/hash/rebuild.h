#pragma once
// Makes room in a full bin: rebuilds it without its dead records, alone or together with its buddy,
// or spreads it over two (layout/page.h).

#include <cstdint>

#include "foedus-core/occ/txn_context.h"
#include "foedus-core/storage/hash/bin.h"
#include "foedus-core/storage/moves/birth.h"

namespace foedus::storage::hash {

// Follows a record of this transaction's that it moves itself: its writes, and the lock that it
// holds. `to` must not be reachable by others yet. REQUIRES: `from` is locked.
void follow_record(occ::TxnContext& ctx, page::RecordHeader* from, page::RecordHeader* to,
                   std::uint32_t place);

// Returns the stamp of a bin into which `ctx` is moving the records of `bin`, and of `buddy` if
// that is not null (H5). REQUIRES: they are marked.
moves::Birth birth_now(occ::TxnContext& ctx, const HashBinPage* bin,
                       const HashBinPage* buddy = nullptr);

// Replaces `bin` by one or two successors, if all its records can be locked and there are pages.
// `space`: the need of the caller, space_of(). False: nothing was changed. REQUIRES: the bin's lock
// is held and it is not moved. If true, the caller unlocks and then retires it.
bool try_replace(occ::TxnContext& ctx, occ::StorageControl* control, HashBinPage* bin,
                 std::uint32_t space);

}  // namespace foedus::storage::hash
