#pragma once
// Reading ahead: a composer wants the pages of the snapshot before one by one, each when the one
// before it is done. A device that answers many questions at a time is told of them earlier.
//
//   G67 It changes nothing but when pages are read: it announces those that records lead to, level
//       by level, reads those of them itself that lead further, and is silent about what it cannot
//       read or does not understand. The composer meets that, too, and says so.

#include <span>

#include "gleaner/compose/composition.h"

namespace foedus::gleaner {

// The pages that a composer of these records, in the order G2, will read. Writer and ledger are not
// used. Two pages of memory, and some words for each record.
void read_ahead(const Composition& composition, std::span<const StreamRecord> records);

}  // namespace foedus::gleaner
