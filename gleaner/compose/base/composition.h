#pragma once
// Composition: the input of every composer: one storage, the previous snapshot, and where to write.
//
//   G5  A composer reads the records of its range once, in their order (G2), and appends pages. It
//       keeps in memory only the pages that are not full yet, a few of each level.
//   G6  If no record touches a subtree, the composer neither reads nor copies its pages: the new
//       snapshot points to the old ones.
//   G7  Equal records, range, previous root and fences give equal bytes.
//   G8  A record that contradicts the snapshot is kCorruption with storage and key, never a guess.
//       Examples are a partial write or a second erasure of an absent key, and a payload outside of
//       its bounds. Only the first erasure of a key may find no record: the put before it was
//       superseded (G14).
//   G63 The new root leads to every page that is appended. A page of the previous snapshot to which
//       it no longer leads is superseded once: pages that are made anew, pages that vanish, and
//       chains of payloads that were overwritten or erased. If a page is read for several ranges,
//       the composer of the range in which it begins supersedes it.

#include <cstdint>
#include <vector>

#include "foedus-core/page/page_header.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/snapshot/cache/page_io.h"
#include "foedus-core/snapshot/files/live_pages.h"
#include "foedus-core/storage_meta/storage_meta.h"
#include "gleaner/handoff/record_stream.h"
#include "gleaner/handoff/subtree.h"

namespace foedus::gleaner {

struct Composition {
  const storage_meta::StorageMeta* meta = nullptr;
  page::SnapshotPageId previous_root;  // in the previous snapshot; null: none
  snapshot::PageReader* previous = nullptr;
  snapshot::PageWriter* writer = nullptr;
  snapshot::PageAccounting* accounting = nullptr;  // null: pages are not counted

  Result<page::SnapshotPageId> append(const page::PageHeader* page) const {
    FOEDUS_TRY(const page::SnapshotPageId id, writer->append(page));
    if (accounting != nullptr) accounting->append(id, *page);
    return id;
  }
  // Counts a page of the previous snapshot as superseded, or `pages` consecutive ones from it on.
  // `old`: as it was read.
  void supersede(const page::PageHeader& old, std::uint32_t pages = 1) const {
    if (accounting != nullptr) accounting->supersede(page::SnapshotPageId(old.page_id), old, pages);
  }
};

// Each kind has, in ../<kind>/composer.h:
//
//   // Returns the pages of `range`. Ranges cover all positions without gaps or overlaps; their
//   // boundaries are aligned as the kind asks.
//   Result<std::vector<Subtree>> compose_<kind>(const Composition& composition,
//                                               const PositionRange& range, RecordStream* records);
//   // Returns the root over all subtrees of a storage, which come in the order of their ranges.
//   Result<page::SnapshotPageId> join_<kind>(const Composition& composition,
//                                            const std::vector<Subtree>& subtrees);

}  // namespace foedus::gleaner
