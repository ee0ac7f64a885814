#pragma once
// Stands in for occ/overflow.h: no payload is that large.

#include "foedus-core/occ/txn_context.h"

namespace foedus::occ {

inline void release_overflow(TxnContext&, StorageControl*, std::uint64_t) {}

}  // namespace foedus::occ
