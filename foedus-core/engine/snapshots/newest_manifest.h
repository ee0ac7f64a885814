#pragma once
// NewestManifest: the manifest of the newest snapshot, in memory and on the device.
//
//   E27 Before a glean the newest manifest on the device is the one that is known here. A later one
//       was left by a glean that failed, and is made durable. A lost one is written again before
//       any file may be taken for an orphaned one: its files are in no other manifest.
//
// The gleaner's task alone changes it. Any thread may read it.

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

  // Returns the newest manifest; none: there is no snapshot yet.
  std::optional<snapshot::Manifest> get() const;
  void add_stats(Stats* stats) const;
  // Returns the live pages of all its files.
  std::uint64_t live_pages() const;
  // Returns whether the last glean, or what followed one, has failed: the device may have a later
  // manifest, and a wait for the next snapshot may be in vain.
  bool has_failed() const { return has_failed_.load_relaxed() != 0; }  // order: relaxed, a hint

  // ---- the gleaner's task ----------------------------------------------------------------------

  void set_has_failed(bool has_failed) {
    has_failed_.store_relaxed(has_failed ? 1 : 0);  // order: relaxed, a hint; the task's own else
  }
  // Takes over a durable manifest as the newest one, and makes its snapshot readable. Replaces the
  // one before wholly, or not at all.
  void set(const snapshot::Manifest& manifest);
  // Does so with one that was found at open, which later ones will replace.
  void set_older(const snapshot::Manifest& manifest);
  // Writes a lost manifest again (E27), before any file may be taken for an orphaned one. Gleans
  // and moves take long: they look again themselves, and remove nothing if it was lost meanwhile. A
  // manifest that is lost after the last look before a removal stays lost.
  Status restore_lost();
  // Takes over the newest manifest of the device after a failed glean (E27), which may have given
  // its manifest the name.
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
