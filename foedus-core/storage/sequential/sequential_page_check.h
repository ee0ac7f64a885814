#pragma once
// Checks of a sequential storage's page in a snapshot (P17, S5 to S7).

#include "foedus-core/page/page_check.h"
#include "foedus-core/storage/sequential/sequential_snapshot_page.h"

namespace foedus::storage::sequential {

// Returns the rule that is broken, or null. `newest`: the highest epoch that a record may have.
page::BrokenRule broken_rule(const SequentialSnapshotPage& page, Epoch newest);
page::BrokenRule broken_rule(const SequentialRunsPage& page, Epoch newest);

}  // namespace foedus::storage::sequential
