#pragma once
// Finds the page for an append: the way from the root of the storage to the last page of the
// session's own chain. Makes the pages that are missing on it: the root of a storage that is in
// snapshots only, the heads page, the chain's first page or its next one.

#include <cstdint>

#include "foedus-core/occ/txn_context.h"
#include "foedus-core/page/page_header.h"
#include "foedus-core/storage/sequential/sequential_page.h"
#include "foedus-core/storage_meta/storage_control.h"

namespace foedus::storage::sequential {

// Returns the last page of the calling session's chain, with room for the payload. Null: out of
// pages, or the storage was dropped. REQUIRES: the session is pinned (S10), or no snapshot is
// installed yet.
SequentialPage* tail_with_room(occ::TxnContext& ctx, occ::StorageControl* control,
                               std::uint32_t payload_bytes);

// Adds one to what `page` counts, and to the transaction's own entry of the page, so that the
// change is no conflict for it. REQUIRES: the page's lock is held, or the calling session alone
// changes its version (S1).
inline void count_one(occ::TxnContext& ctx, page::PageHeader* page) {
  const page::PageVersion before = page->load_version();
  page->store_version(before.plus_key());
  ctx.sets().pages().advance_page_version(page, before, before.plus_key());
}

}  // namespace foedus::storage::sequential
