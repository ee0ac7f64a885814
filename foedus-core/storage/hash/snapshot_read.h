#pragma once
// Reads the pages of a snapshot, from its root or from the pointers where volatile pages end.
// Nothing is remembered, because nothing there changes (H8). A call returns false if a page cannot
// be read, or is another one than the pointer to it is for; TxnContext::no_page() says why.

#include <cstdint>
#include <string_view>

#include "foedus-core/occ/read_range.h"
#include "foedus-core/occ/txn_context.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/storage/hash/bin.h"

namespace foedus::storage::hash {

// Finds the bin of `hash` below page `id`, whose prefix has `bits` bits. *bin is null if there is
// none.
bool find_in_snapshot(occ::TxnContext& ctx, const occ::StorageControl* control,
                      page::SnapshotPageId id, unsigned bits, std::uint64_t hash,
                      HashBinPage** bin);

// Searches all pages of a snapshot's bin for `key`, and copies the part of its payload that `range`
// wants. *is_found: the key is there. REQUIRES: a ColdReads around this call and the one that gave
// the bin.
bool read_cold(occ::TxnContext& ctx, HashBinPage* bin, std::uint64_t hash, std::string_view key,
               occ::ReadRange* range, bool* is_found);

// Copies the part of the payload that `range` asks for, from the snapshot in which the storage has
// `root`. kNotFound. kIoError, kCorruption, kOutOfMemory: a page cannot be read.
Status get_in_snapshot(occ::TxnContext& ctx, occ::StorageControl* control,
                       page::SnapshotPageId root, std::string_view key, occ::ReadRange* range);

// Begins the reads for which get_in_snapshot() will wait, up to the first page that is not cached.
void prefetch_in_snapshot(occ::TxnContext& ctx, occ::StorageControl* control,
                          page::SnapshotPageId root, std::string_view key);

}  // namespace foedus::storage::hash
