#pragma once
// What the parts of the Master-Trees' composer hand to each other, and what they do with payloads
// that are chains of overflow pages.

#include <string>
#include <string_view>

#include "foedus-core/page/page_id.h"
#include "foedus-core/page/tid.h"
#include "foedus/status.h"
#include "gleaner/compose/composition.h"

namespace foedus::gleaner {

// A record, of a page of the snapshot before or on its way into one of the next.
struct MasstreeRecord {
  page::Tid tid;               // without flags
  std::string_view payload;    // if there is no chain
  page::SnapshotPageId chain;  // the first page; null: none
};

// G8. kCorruption with the table's name and, if it is not empty, the key.
Status masstree_corruption(const Composition& composition, std::string_view key, std::string what);

// Appends the pages of a payload, one behind the other, and gives the first. Failures of the
// writer.
Result<page::SnapshotPageId> write_chain(const Composition& composition, std::string_view payload);

// Reads all of it. kCorruption: it is no chain of this storage; failures of the reader.
Status read_chain(const Composition& composition, page::SnapshotPageId first, std::string* payload);

}  // namespace foedus::gleaner
