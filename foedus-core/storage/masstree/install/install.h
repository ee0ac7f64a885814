#pragma once
// Installs a new snapshot of a Master-Tree: pages that did not change since give way to its pages.
//
//   M35 Volatile pages are less full than those of snapshots, and have the fences that splits gave
//       them. So pages are not exchanged one by one. A run of quiet neighbours under one parent is
//       exchanged for the pages of the snapshot that lie inside its slices. The slices that remain
//       at either end of the run stay in one volatile page each (M33, M34). So all pages between
//       two hot ones are dropped, except for less than one page of the snapshot at either end. And
//       pages that are made volatile again have the fences of the snapshot.
//   M36 Each level of a layer is exchanged for the same level of the snapshot, bottom-up. So runs
//       of interior pages are exchanged in the same way after the pages below them, and the root at
//       last. The pages of a layer are dropped below the layer's record if the snapshot has the
//       layer, too. Otherwise they are dropped with that record, after merges have purged their
//       erased rows: before, there may be too many records to be locked at once.
//   M37 A run is exchanged a few pages at a time, so that no session waits for their locks for
//       long. If more pages than that lie under one page of the snapshot, they become one volatile
//       page first.
//   M38 A pointer with a volatile half keeps the snapshot half that it has. A new one would be of
//       no use until the volatile page is dropped, and a split forgets it anyway. Snapshot-resident
//       pages of earlier snapshots are exchanged in runs, too. One that can be in no run, because
//       the new snapshot has no page with its fences and its neighbours are hot, is made volatile
//       (O16): its rows are as good as new. Of several such neighbours the first and the last are
//       made volatile, and those between are exchanged with them in a run.
//   M39 The installer looks at each page once, and then at the pages below it, except for those
//       that it passes over (O18). It reads the children of a page under the page's lock, and
//       together they have all slices of the page. If a child has moved when its turn comes, the
//       installer looks at its twins. So it looks at every slice. From then on only this installer
//       changes the pointers of that slice, to pages of the new snapshot, and sessions move them
//       along (O16).

#include "foedus-core/storage/base/installation.h"
#include "foedus/status.h"

namespace foedus::storage::masstree {

// Installs the snapshot. `root`: of the new snapshot; null: no record was ever written, nothing is
// done. kIoError, kCorruption, kOutOfMemory: a snapshot page could not be read; what was installed
// stays, the rest is as before and can be installed later. REQUIRES: one installation of a storage
// at a time; the caller is pinned; all pages of the snapshot are durable.
Result<InstallCounts> install(const Installation& installation, page::SnapshotPageId root);

}  // namespace foedus::storage::masstree
