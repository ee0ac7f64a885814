#pragma once
// NewestManifest: the manifest of the newest snapshot, in memory and on the device.
//
//   E27 When a glean begins, the manifest in memory is the newest one on the device. If a failed
//       glean has left a later manifest on the device, that one is made durable and taken over. If
//       the newest manifest on the device is damaged or gone, it is written again from memory. This
//       repair comes before any orphaned file is removed: files that only the lost manifest listed
//       would count as orphaned.
//
// Only the gleaner's task changes the manifest. Any thread may read it.

#include <mutex>
#include <optional>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/device/device.h"
#include "foedus-core/engine/setup/operator_log.h"
#include "foedus-core/engine/snapshots/snapshot_caches.h"
#include "foedus-core/engine/snapshots/snapshots.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "foedus/database.h"
#include "foedus/status.h"

namespace foedus::engine {

class NewestManifest {
 public:
  struct Parts {
    device::Device* device = nullptr;
    Snapshots* snapshots = nullptr;
    SnapshotCaches* caches = nullptr;
    const OperatorLog* operator_log = nullptr;
  };
  explicit NewestManifest(const Parts& parts) : parts_(parts) {}
  NewestManifest(const NewestManifest&) = delete;
  NewestManifest& operator=(const NewestManifest&) = delete;

  // ---- any thread ----------------------------------------------------------------------------

  // Returns a copy of the newest manifest, or nothing if there is no snapshot yet.
  std::optional<snapshot::Manifest> get() const;
  void add_stats(Stats* stats) const;
  // Returns the number of live pages in all files of the newest snapshot.
  std::uint64_t live_pages() const;
  // Returns whether the last glean or the work after it, such as its installation, has failed. If
  // so, the device may have a later manifest than get(), and the next snapshot may never come.
  bool has_failed() const { return has_failed_.load_relaxed() != 0; }  // order: relaxed, a hint

  // ---- the gleaner's task ----------------------------------------------------------------------

  void set_has_failed(bool has_failed) {
    // order: relaxed, a hint for other threads; the task itself reads its own store.
    has_failed_.store_relaxed(has_failed ? 1 : 0);
  }
  // Takes over a durable manifest as the newest one, and makes its snapshot readable. The copies of
  // SSD pages on NVM that the previous snapshot or an earlier run has left serve it, too (K27). If
  // memory runs out, get() returns the old or the new manifest, never a part of one.
  void set(const snapshot::Manifest& manifest);
  // Takes over a manifest found at open that is not the newest one. Recovery takes over all found
  // manifests, the oldest first, so that every snapshot can be read. Leaves the copies of SSD pages
  // on NVM alone: they belong to the newest manifest, and set() would discard them (K27).
  void set_older(const snapshot::Manifest& manifest);
  // If the newest manifest on the device is damaged or gone, writes it again under a new number and
  // takes that one over (E27). Called before files are removed: files that only the lost manifest
  // lists would be removed as orphaned. Gleans and reclaim_pages() run for long after this call. So
  // they check the device's manifest before they remove orphaned files, and fail if it is lost. If
  // a manifest vanishes between the last check and a removal, the files that only it lists are
  // lost.
  Status restore_lost();
  // Calls restore_lost(). Then, if has_failed(), takes over the newest manifest of the device
  // (E27): the failed glean may have renamed its manifest into place. Syncs the directory first, so
  // that the manifest is durable.
  Status look_again();

 private:
  void replace(snapshot::Manifest manifest);
  void publish(const snapshot::Manifest& manifest);
  void publish_found(const snapshot::Manifest& manifest);

  const Parts parts_;
  base::AtomicWord<std::uint32_t> has_failed_;
  mutable std::mutex mutex_;
  std::optional<snapshot::Manifest> manifest_;  // guarded by mutex_
};

}  // namespace foedus::engine
