#pragma once
// Checks of an array's page in a snapshot (P17). Which records are possible depends on the array,
// not on the page: has_quiet_records() checks them where they are relied on.

#include <cstdint>

#include "foedus-core/page/page_check.h"
#include "foedus-core/storage/array/array_page.h"

namespace foedus::storage::array {

page::BrokenRule broken_rule(const ArrayBorderPage& page);
page::BrokenRule broken_rule(const ArrayInteriorPage& page);

// Returns whether this is the page of that level whose records begin at index `first`.
inline bool is_page_of(const page::PageHeader& page, page::StorageId storage, std::uint32_t level,
                       std::uint64_t first) {
  const auto kind = level == 0 ? page::PageKind::kArrayBorder : page::PageKind::kArrayInterior;
  return page.kind == kind && page.level == level && page.storage_id == storage &&
         page.kind_word == first;
}
// Returns whether all records are zero or as records of a snapshot are (page::is_quiet()).
// Otherwise the page must not become volatile, nor be changed by a glean.
bool has_quiet_records(const ArrayBorderPage& page, const ArrayShape& shape, Epoch newest);

}  // namespace foedus::storage::array
