#pragma once
// Physical inserts (paper §8): make records, and more room for their payloads.

#include <cstddef>
#include <string_view>

#include "foedus-core/occ/txn_context.h"
#include "foedus-core/storage/masstree/search/find.h"

namespace foedus::storage::masstree {

// Finds the record of `key`, or makes a deleted one, with room for `payload_bytes` if that is
// possible. `position`: the result of a search just now, or an empty one. *is_made: made by this
// call, not by another session.
Status place(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
             std::size_t payload_bytes, KeyPosition* position, bool* is_made);

// Makes room for a payload in the record of `key` that was found, or sets `chain` if the payload
// can only be an overflow chain. `again`: the record has moved, and the caller searches for it
// again.
Status make_room(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                 const KeyPosition& position, std::size_t payload_bytes, bool* again, bool* chain);

}  // namespace foedus::storage::masstree
