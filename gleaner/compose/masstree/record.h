#pragma once
// Types that the parts of the Master-Trees' composer pass to each other.

#include <string>
#include <string_view>

#include "foedus-core/page/page_id.h"
#include "foedus-core/page/tid.h"
#include "foedus/status.h"
#include "gleaner/compose/base/composition.h"
#include "gleaner/compose/base/payload_chain.h"

namespace foedus::gleaner {

// A record, of a page of the previous snapshot or on its way into the next one.
struct MasstreeRecord {
  page::Tid tid;               // without flags
  std::string_view payload;    // if there is no chain
  page::SnapshotPageId chain;  // the first page; null: none
};

// Returns kCorruption (G8) with the storage's name and, if it is not empty, the key.
Status masstree_corruption(const Composition& composition, std::string_view key, std::string what);

}  // namespace foedus::gleaner
