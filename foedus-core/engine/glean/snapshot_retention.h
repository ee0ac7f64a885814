#pragma once
// SnapshotRetention: which manifests, files and pages of snapshots stay, and for how long. Moves
// live pages out of mostly superseded files, and removes manifests and files that are not needed.
//
//   E16 Only log that a durable manifest covers is removed. For each storage the installer knows
//       the oldest snapshot to which a volatile page or root pointer may lead (O16).
//       Manifests before the oldest of these snapshots, and files that only they list, are removed.
//       The oldest snapshot is noted, and then the current epoch, the stamp. The removal waits
//       until the transactions that began up to the stamp have ended, since they may have seen
//       older pointers. Later transactions see no pointer to a snapshot before the one that was
//       noted, but may see pointers that are changed after the stamp. So what is not needed any
//       more since such a change waits for the next stamp. The removal spares the manifests and
//       files of snapshots that are read or kept.
//   E37 The files of snapshots take at most three pages for each live page, plus 4 MiB. The pages
//       that a glean or a move is about to write count. If the files would take more, snapshots
//       before the newest are kept no longer. Files that a transaction reads stay: the gleaner's
//       task waits for that transaction, but not for long, so the bound may be exceeded.
//   E50 Names of files are removed at once. A task frees their blocks (file_closer.h) while the
//       next glean sorts. A glean or a move waits for that task before it writes its first page, so
//       E37 holds.
//
// Used by the gleaner's task, which also runs recovery, and by open() before that task starts.

#include <cstdint>
#include <set>

#include "foedus-core/base/system/task.h"
#include "foedus-core/device/device.h"
#include "foedus-core/device/file_closer.h"
#include "foedus-core/engine/glean/snapshot_installer.h"
#include "foedus-core/engine/setup/operator_log.h"
#include "foedus-core/engine/snapshots/newest_manifest.h"
#include "foedus-core/engine/snapshots/snapshot_caches.h"
#include "foedus-core/engine/snapshots/snapshots.h"
#include "foedus-core/epoch/epoch_clock.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "foedus/database.h"
#include "foedus/status.h"

namespace foedus::engine {

class SnapshotRetention {
 public:
  struct Parts {
    base::Runtime* runtime = nullptr;
    device::Device* device = nullptr;
    epoch::EpochClock* clock = nullptr;
    Snapshots* snapshots = nullptr;
    SnapshotCaches* caches = nullptr;
    NewestManifest* newest = nullptr;
    SnapshotInstaller* installer = nullptr;
    const snapshot::FileInMaking* in_making = nullptr;
    const OperatorLog* operator_log = nullptr;
  };
  explicit SnapshotRetention(const Parts& parts) : parts_(parts), closer_(parts.runtime) {}
  SnapshotRetention(const SnapshotRetention&) = delete;
  SnapshotRetention& operator=(const SnapshotRetention&) = delete;

  // ---- while no transaction reads volatile pages: recovery, and the last glean -----------------

  // Takes over a durable manifest without an installation, and makes its snapshot readable. From
  // then on remove_superseded() assumes that no volatile page leads to an earlier snapshot, and
  // removes those that are neither kept nor read. `is_newest`: false for a manifest found at
  // open if a newer one follows; see NewestManifest::set_older(). REQUIRES: no transaction follows
  // pointers of volatile pages to earlier snapshots any more.
  void take_uninstalled(const snapshot::Manifest& manifest, bool is_newest = true);
  // Removes manifests and files that are not needed (E16, E53). A later call tries those again that
  // could not be removed. REQUIRES: no transaction, open now or later, can follow a pointer of a
  // volatile page to a removed file.
  Status remove_superseded();

  // ---- gleans ----------------------------------------------------------------------------------

  // Makes room for `pages` more pages within the bound of snapshot files (E37). If there is too
  // little, lets kept snapshots before the newest one expire, settles storages that still lead to
  // them (SnapshotInstaller::settle()), and removes these snapshots.
  Status make_disk_room(std::uint64_t pages);
  // Returns once all blocks of removed files are free (E50).
  void wait_for_blocks() { closer_.wait(); }
  // Moves live pages out of mostly superseded files, and removes files that are not needed any more
  // (E16). If this fails, a later glean or open() removes the rest. `manifest`: the newest one,
  // which is installed.
  Status reclaim_files(snapshot::Manifest manifest, GleanReport* report);
  // Moves pages and removes files after recovery, which leaves this work because callers wait for
  // its end.
  void reclaim_recovered();
  // Makes room after a glean that failed because the device is full. If that glean left a manifest,
  // makes the manifest durable, so that it is the newest one (E27). Then removes all snapshots but
  // that of the newest manifest.
  Status give_up_older();
  // Returns the processor time of the removals, since the last call.
  std::uint64_t take_cpu_us() { return closer_.take_cpu_us(); }

  // ---- between gleans --------------------------------------------------------------------------

  // Removes files if the transactions up to the stamp have ended (E16). If the last reader of an
  // old snapshot has left, or the installer needs fewer snapshots than at the last stamp, sets the
  // stamp first. A later call tries again what could not be removed.
  Status remove_unread();
  // Makes room in the NVM tier if the device asks for it.
  void make_wanted_tier_room();

 private:
  Result<std::uint64_t> pages_of_files() const;
  Status move_pages(snapshot::Manifest* manifest, GleanReport* report);
  Status wait_and_remove();
  void stamp_removal();
  Status remove_if_unread();
  Status remove_before_stamp();
  Status name_damaged(page::SnapshotNumber number);
  void make_tier_room();

  const Parts parts_;
  device::FileCloser closer_;
  // The removal waits for transactions that began up to this epoch. None: nothing is to be removed.
  Epoch removal_stamp_;
  page::SnapshotNumber oldest_at_stamp_{};  // oldest snapshot that was needed at the last stamp
  // Old manifests that were found damaged and reported to the operator.
  std::set<page::SnapshotNumber> damaged_;
};

}  // namespace foedus::engine
