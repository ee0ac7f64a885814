#pragma once
// Payloads that are chains of overflow pages. In a snapshot, a chain's pages are consecutive in one
// file.

#include <string>
#include <string_view>

#include "foedus-core/page/page_id.h"
#include "foedus/status.h"
#include "gleaner/compose/base/composition.h"

namespace foedus::gleaner {

// Appends the pages of a payload one after another, and returns the first. Returns errors of the
// writer.
Result<page::SnapshotPageId> write_chain(const Composition& composition, std::string_view payload);

// Reads a whole payload. kCorruption: the pages are no chain of this storage. Returns errors of the
// reader.
Status read_chain(const Composition& composition, page::SnapshotPageId first, std::string* payload);

// Counts the pages of a chain as superseded, because no record leads to it any more (G63). Reads
// its first page. Fails as read_chain() does.
Status supersede_chain(const Composition& composition, page::SnapshotPageId first);

}  // namespace foedus::gleaner
