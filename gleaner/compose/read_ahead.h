#pragma once
// Reading ahead. A composer reads the pages of the previous snapshot one by one, each when the one
// before it is done. A device that serves many reads at a time can begin with them earlier, if they
// are announced.
//
//   G67 Reading ahead changes only the time at which pages are read. It announces the pages to
//       which records lead, level by level, and reads the inner ones to find those below. It
//       reports no errors: the composer meets them, too, and reports them.

#include <span>

#include "gleaner/compose/base/composition.h"

namespace foedus::gleaner {

// Announces the pages that a composer of these records, which are in the order of G2, will read.
// Does not use writer and accounting. Takes two pages of memory, and some words for each record.
void read_ahead(const Composition& composition, std::span<const StreamRecord> records);

}  // namespace foedus::gleaner
