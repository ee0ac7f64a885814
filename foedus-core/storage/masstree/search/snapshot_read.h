#pragma once
// Point reads of one snapshot, from its root (see search/cold.h). Nothing is remembered, because
// nothing there changes.

#include <cstdint>
#include <string_view>

#include "foedus-core/occ/read_range.h"
#include "foedus-core/occ/txn_context.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/storage_meta/storage_control.h"
#include "foedus/status.h"

namespace foedus::storage::masstree {

// Copies the part of the payload that `range` asks for, from the snapshot in which the storage has
// `root`. kNotFound. kIoError, kCorruption, kOutOfMemory: a page cannot be read.
Status get_in_snapshot(occ::TxnContext& ctx, occ::StorageControl* control,
                       page::SnapshotPageId root, std::string_view key, occ::ReadRange* range);

// Begins the reads for which get_in_snapshot() will wait, up to the first page that is not cached.
void prefetch_in_snapshot(occ::TxnContext& ctx, occ::StorageControl* control,
                          page::SnapshotPageId root, std::string_view key);

}  // namespace foedus::storage::masstree
