#pragma once
// A glean that the engine orders in two steps. The engine reads the sorted records in between.

#include <memory>

#include "foedus-core/engine/snapshot_driver.h"
#include "foedus/status.h"

namespace foedus::gleaner {

// Sorts the log of an order (engine::sort_tail()).
Result<std::unique_ptr<engine::SortedTail>> sort_order(engine::GleanOrder order);

}  // namespace foedus::gleaner
