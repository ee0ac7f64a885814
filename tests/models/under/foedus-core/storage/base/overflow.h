#pragma once
// Stands in for storage/base/overflow.h: no payload is that large.

#include "foedus-core/occ/txn_context.h"

namespace foedus::storage {

inline void release_overflow(occ::TxnContext&, occ::StorageControl*, std::uint64_t) {}

}  // namespace foedus::storage
