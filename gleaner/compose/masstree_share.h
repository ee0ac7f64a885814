#pragma once
// Two border pages in the making share their keys, so that the second one is no page of next to
// nothing (G60).

#include "foedus-core/storage/masstree/masstree_page.h"

namespace foedus::gleaner {

// If `page` is not half full, the last keys of `before`, the page before it, move to it until both
// have about the same. The caller sets fences and what follows from the counts. False: nothing
// moved. REQUIRES: both are being made, with all keys in order.
bool share_keys(storage::masstree::BorderPage* before, storage::masstree::BorderPage* page);

}  // namespace foedus::gleaner
