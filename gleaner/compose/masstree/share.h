#pragma once
// Shares the keys of two border pages in the making, so that the second one is not almost empty
// (G60).

#include "foedus-core/storage/masstree/layout/page.h"

namespace foedus::gleaner {

// Moves the last keys of `before`, the page before it, to `page` until both are about equally full.
// Does so only if `page` is not half full. The caller then sets the fences and all that depends on
// the counts. Returns false if no key moved. REQUIRES: both are being made, with all keys in order.
bool share_keys(storage::masstree::BorderPage* before, storage::masstree::BorderPage* page);

}  // namespace foedus::gleaner
