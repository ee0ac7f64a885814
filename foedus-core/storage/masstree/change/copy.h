#pragma once
// Makes volatile pages as copies of snapshot pages (M21, M22 in search/cold.h).

#include <cstdint>

#include "foedus-core/storage/masstree/change/change.h"
#include "foedus-core/storage/masstree/search/find.h"

namespace foedus::storage::masstree {

// Materializes the root of a layer. kAgain: another session was there first. kNoPage:
// TxnContext::no_page() says why.
[[gnu::noinline]] Change materialize_root(occ::TxnContext& ctx, occ::StorageControl* control,
                                          const LayerRoot& layer);
// Materializes the child for `slice`. The outcomes are those of materialize_root().
[[gnu::noinline]] Change materialize_child(occ::TxnContext& ctx, occ::StorageControl* control,
                                           InteriorPage* parent, std::uint64_t slice);

// Copies the page of a snapshot to a volatile one that no other session can reach. Null: out of
// pages.
TreePage* copy_page(page::PagePool& pool, page::SessionPages& pages, occ::StorageControl* control,
                    std::uint32_t soc, const page::PageHeader* cold);
// Changes the pointer to the child whose slices begin with `low`, if it is as expected (O10).
bool exchange_child(InteriorPage* parent, std::uint64_t low, const page::DualPageIds& before,
                    const page::DualPageIds& after);

}  // namespace foedus::storage::masstree
