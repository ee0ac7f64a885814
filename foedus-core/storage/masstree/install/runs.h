#pragma once
// Chooses the neighbours to exchange, and the pages of a snapshot that replace them (M35, M37).

#include <cstddef>
#include <span>

#include "foedus-core/storage/masstree/install/exchange.h"

namespace foedus::storage::masstree {

// Children [first, first + exchange.out.size()) are to go.
struct Run {
  Exchange exchange;
  std::size_t first = 0;
};

// next_exchange() and next_merge() look from child `at` on. `children`: all of one page.
// `level_pages`: all pages of the snapshot of the children's level and slices, or none. False: no
// run is worth its exchange.

// Finds children to exchange for pages of the snapshot.
bool next_exchange(std::span<const Child> children, std::span<const ColdPage> level_pages,
                   std::size_t at, Run* run);
// Finds neighbours under one page of the snapshot, to exchange for one volatile page.
bool next_merge(std::span<const Child> children, std::span<const ColdPage> level_pages,
                std::size_t at, Run* run);

}  // namespace foedus::storage::masstree
