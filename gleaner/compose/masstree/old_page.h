#pragma once
// Reads pages of Master-Trees in the previous snapshot, and checks them before they are used. A
// checksum says that a page is as it was written, but not that it is the one that a pointer is for.

#include <cstdint>

#include "foedus-core/page/page_bytes.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus/status.h"
#include "gleaner/compose/base/composition.h"
#include "gleaner/compose/masstree/record.h"

namespace foedus::gleaner {

inline constexpr std::uint32_t kAnyLevel = ~0u;

// Reads a page of a layer. A root may have any level (kAnyLevel). kCorruption: it is another page,
// or breaks a rule of its kind. Returns errors of the reader.
Status read_old_page(const Composition& composition, const Subtree& page, std::uint8_t layer,
                     page::PageBytes* to);

// Returns a child of a page that was read. REQUIRES: index <= its keys.
Subtree child_of(storage::masstree::InteriorPage* page, unsigned index);

// Returns the record of a slot that has no next layer. Its payload points into the page.
MasstreeRecord old_record(storage::masstree::BorderPage* page, storage::masstree::Slot slot);

}  // namespace foedus::gleaner
