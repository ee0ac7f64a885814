#pragma once
// Installs a new snapshot of a Master-Tree: pages that did not change since give way to its pages.
//
//   M35 Volatile pages are less full than those of snapshots, and end where splits ended them. So
//       pages are not exchanged one by one. Runs of quiet neighbours under one parent are exchanged
//       for the pages of the snapshot that have the same slices. What one of the two has more at an
//       end stays in one volatile page (M33, M34). So all pages between two hot ones go, but for
//       less than one page of the snapshot at either end. And pages that are made volatile again
//       have the fences of the snapshot.
//   M36 Each level of a layer is exchanged against the same level of the snapshot, bottom-up. So
//       runs of interior pages go in the same way once the pages below them did, and the root in
//       the end. A layer goes below its record if the snapshot has the layer, too. Otherwise it
//       goes with that record, when erased rows have gone from it by merges: there may be too many
//       to be locked at once.
//   M37 A run is exchanged a few pages at a time, so that no session waits for their locks for
//       long. If more pages than that lie under one page of the snapshot, they become one volatile
//       page first.
//   M38 A pointer with a volatile page keeps the snapshot page it has. A new one would be of no use
//       until the volatile page goes, and a split forgets it anyway. Pointers to pages of earlier
//       snapshots are exchanged as runs are. A page whose fences the new snapshot does not have any
//       more is made volatile (O16). Its neighbours are hot, and its rows are as good as new. Of
//       several such neighbours the first and the last are, and those between go with them in a
//       run.
//   M39 Each page is looked at once, and the pages below it after it, but for those that are passed
//       over (O18). Children are read under their page's lock, and have all its slices. A child
//       that has moved when its turn comes is looked for at its twins. So all other slices were
//       looked at. After that moment the pointers of a slice are changed by this installer, to
//       pages of the new snapshot, or moved along (O16).

#include "foedus-core/storage/base/installation.h"
#include "foedus/status.h"

namespace foedus::storage::masstree {

// Installs the snapshot. `root`: of the new snapshot; null: no record was ever written, nothing is
// done. kIoError, kCorruption, kOutOfMemory: a snapshot page could not be read; what was installed
// stays, the rest is as before and can be installed later. REQUIRES: one installation of a storage
// at a time; the caller is pinned; all pages of the snapshot are durable.
Result<InstallCounts> install(const Installation& installation, page::SnapshotPageId root);

}  // namespace foedus::storage::masstree
