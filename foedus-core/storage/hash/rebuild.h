#pragma once
// Makes room in a full bin: rebuilds it without its dead records, alone or together with its buddy,
// or spreads it over two (layout/page.h).

#include <cstdint>

#include "foedus-core/occ/txn_context.h"
#include "foedus-core/storage/hash/bin.h"
#include "foedus-core/storage/moves/birth.h"

namespace foedus::storage::hash {

// Changes the transaction's own write entries and its held lock from `from` to `to`, the copy that
// the session itself has made. REQUIRES: `from` is locked, and no other session can reach `to`.
void follow_record(occ::TxnContext& ctx, page::RecordHeader* from, page::RecordHeader* to,
                   std::uint32_t place);

// Returns the birth of a bin into which `ctx` is moving records of `bin`, and of `buddy` if that is
// not null (H5). REQUIRES: these records, or their bins, are marked moved.
moves::Birth birth_now(occ::TxnContext& ctx, const HashBinPage* bin,
                       const HashBinPage* buddy = nullptr);

// Replaces `bin` by one or two successors, if all its records can be locked and there are pages.
// `space`: what the caller needs, by space_of(). On true, the caller unlocks `bin` and then retires
// it. False: nothing was changed. REQUIRES: the bin's lock is held and it is not moved.
bool try_replace(occ::TxnContext& ctx, occ::StorageControl* control, HashBinPage* bin,
                 std::uint32_t space);

}  // namespace foedus::storage::hash
