#pragma once
// Pages of Master-Trees in the snapshot before: read, and looked at before anyone relies on them. A
// checksum says that a page is what was written, not that it is the one that a pointer is for.

#include <cstdint>

#include "foedus-core/page/page_bytes.h"
#include "foedus-core/storage/masstree/masstree_page.h"
#include "foedus/status.h"
#include "gleaner/compose/composition.h"
#include "gleaner/compose/masstree_record.h"

namespace foedus::gleaner {

inline constexpr std::uint32_t kAnyLevel = ~0u;

// Reads the page of a layer; level kAnyLevel: a root. kCorruption: it is not that page, or not one
// that can be; failures of the reader.
Status read_old_page(const Composition& composition, const Subtree& page, std::uint8_t layer,
                     page::PageBytes* to);

// The page below one that was read. REQUIRES: index <= its keys.
Subtree child_of(storage::masstree::InteriorPage* page, unsigned index);

// The record of a slot that is no layer. Its payload points into the page.
MasstreeRecord old_record(storage::masstree::BorderPage* page, storage::masstree::Slot slot);

}  // namespace foedus::gleaner
