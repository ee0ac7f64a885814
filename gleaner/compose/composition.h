#pragma once
// Composition: what every composer is given: one storage, the snapshot before, and where to write.
//
//   G5  A composer reads the records of its range once, in their order (G2), and appends pages. In
//       memory it has no more than the pages that are not full yet, a few of each level.
//   G6  What no record touches is not read below the page whose pointer says so, and not copied:
//       the new snapshot points to the old page.
//   G7  The same records, range, previous root and fences give the same bytes.
//   G8  A record that contradicts what is there (a partial write or a second erasure of nothing, a
//       payload outside of its bounds) is kCorruption with storage and key, never a guess. Only the
//       first erasure of a key may find nothing: the put before it was superseded (G14).
//   G63 Every page that is appended is one that the new root leads to, and every page of the
//       snapshot before that it leads to no more is superseded once: pages that are made anew,
//       those that vanish, and chains of payloads that were overwritten or erased. Where a page
//       is read for several ranges, the composer of the one that it begins in does so.

#include <cstdint>
#include <vector>

#include "foedus-core/page/page_header.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/snapshot/live_pages.h"
#include "foedus-core/snapshot/page_io.h"
#include "foedus-core/storage_meta/storage_meta.h"
#include "gleaner/handoff/record_stream.h"
#include "gleaner/handoff/subtree.h"

namespace foedus::gleaner {

struct Composition {
  const storage_meta::StorageMeta* meta = nullptr;
  page::SnapshotPageId previous_root;  // of the snapshot before; null: the storage is not in it
  snapshot::PageReader* previous = nullptr;
  snapshot::PageWriter* writer = nullptr;
  snapshot::PageLedger* ledger = nullptr;  // null: nobody wants to know

  Result<page::SnapshotPageId> append(const page::PageHeader* page) const {
    FOEDUS_TRY(const page::SnapshotPageId id, writer->append(page));
    if (ledger != nullptr) ledger->append(id, *page);
    return id;
  }
  // The page as it was read; of several that follow one another, the first.
  void supersede(const page::PageHeader& old, std::uint32_t pages = 1) const {
    if (ledger != nullptr) ledger->supersede(page::SnapshotPageId(old.page_id), old, pages);
  }
};

// Each kind has, in <kind>_composer.h:
//
//   // The pages of `range`, which is all positions or one of several without gaps or overlaps,
//   // whose boundaries are aligned as the kind asks.
//   Result<std::vector<Subtree>> compose_<kind>(const Composition& composition,
//                                               const PositionRange& range, RecordStream* records);
//   // One root over all subtrees of a storage, in the order of their ranges.
//   Result<page::SnapshotPageId> join_<kind>(const Composition& composition,
//                                            const std::vector<Subtree>& subtrees);

}  // namespace foedus::gleaner
