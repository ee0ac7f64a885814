#pragma once
// Payloads that are chains of overflow pages: in a snapshot, consecutive pages of one file.

#include <string>
#include <string_view>

#include "foedus-core/page/page_id.h"
#include "foedus/status.h"
#include "gleaner/compose/composition.h"

namespace foedus::gleaner {

// Appends the pages of a payload, one behind the other, and gives the first. Failures of the
// writer.
Result<page::SnapshotPageId> write_chain(const Composition& composition, std::string_view payload);

// Reads all of it. kCorruption: it is no chain of this storage; failures of the reader.
Status read_chain(const Composition& composition, page::SnapshotPageId first, std::string* payload);

// No record is of it any more (G63). Reads its first page. Failures of read_chain().
Status supersede_chain(const Composition& composition, page::SnapshotPageId first);

}  // namespace foedus::gleaner
