#pragma once
// Which neighbours to exchange for which pages of a snapshot (M35, M37).

#include <cstddef>
#include <span>

#include "foedus-core/storage/masstree/install/exchange.h"

namespace foedus::storage::masstree {

// Children [first, first + exchange.out.size()) are to go.
struct Run {
  Exchange exchange;
  std::size_t first = 0;
};

// Both look from child `at` on. `children`: all of one page. `row`: all pages of the snapshot of
// the children's level and slices, or none. False: there is nothing that is worth it.

// Children for pages of the snapshot.
bool next_exchange(std::span<const Child> children, std::span<const ColdPage> row, std::size_t at,
                   Run* run);
// Children for one volatile page in their place: neighbours under one page of the snapshot.
bool next_merge(std::span<const Child> children, std::span<const ColdPage> row, std::size_t at,
                Run* run);

}  // namespace foedus::storage::masstree
