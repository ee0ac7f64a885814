#pragma once
// SnapshotInstaller: installs a snapshot's pages in all storages, and drops the volatile pages that
// they replace (paper §7.5). It remembers for each storage the oldest snapshot to which its
// volatile pages may still lead.
//
//   E17 The installer pins an epoch for one storage at a time. It pins before it looks whether the
//       storage was dropped: a drop that comes later waits for the pin before it frees pages.
//
// Used by the gleaner's task alone.

#include <cstdint>
#include <map>
#include <memory>

#include "foedus-core/base/system/task.h"
#include "foedus-core/engine/glean/delta_phases.h"
#include "foedus-core/engine/glean/drop_goal.h"
#include "foedus-core/engine/glean/glean_requests.h"
#include "foedus-core/engine/glean/install_threads.h"
#include "foedus-core/engine/pace/write_throttle.h"
#include "foedus-core/engine/sessions/catalog.h"
#include "foedus-core/engine/setup/operator_log.h"
#include "foedus-core/engine/snapshots/newest_manifest.h"
#include "foedus-core/engine/snapshots/snapshot_caches.h"
#include "foedus-core/engine/snapshots/snapshots.h"
#include "foedus-core/epoch/epoch_clock.h"
#include "foedus-core/numa/topology.h"
#include "foedus-core/page/page_pool.h"
#include "foedus-core/page/session_pages.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "foedus/options.h"
#include "foedus/status.h"

namespace foedus::engine {

// Which volatile pages an installation drops. kUnused and kAsNeeded: as many as the drop goal asks
// for; kUnused spares pages with the mark of use. kAll: all that can be dropped.
enum class Drop : std::uint8_t { kNone, kUnused, kAsNeeded, kAll };

class SnapshotInstaller {
 public:
  struct Parts {
    const Options* options = nullptr;
    base::Runtime* runtime = nullptr;
    const numa::Topology* topology = nullptr;
    epoch::EpochClock* clock = nullptr;
    page::PagePool* pool = nullptr;
    const Catalog* catalog = nullptr;
    SnapshotCaches* caches = nullptr;
    const Snapshots* snapshots = nullptr;
    const NewestManifest* newest = nullptr;
    const WriteThrottle* throttle = nullptr;
    const GleanRequests* requests = nullptr;
    DeltaPhases* deltas = nullptr;
    const OperatorLog* operator_log = nullptr;
    // Slots of the clock that no other thread uses. `session`: the slot of the gleaner's task.
    // `install_sessions`: the first slot of the install threads.
    std::uint32_t session = 0;
    std::uint32_t install_sessions = 0;
  };
  explicit SnapshotInstaller(const Parts& parts);
  SnapshotInstaller(const SnapshotInstaller&) = delete;
  SnapshotInstaller& operator=(const SnapshotInstaller&) = delete;

  // Installs the snapshot in all storages, drops volatile pages, and counts these in `report`. With
  // kAsNeeded, spares pages used since the last installation (CLOCK's second chance). If too many
  // pages stay, the next glean is due soon, and drops those that were not used again. If less than
  // an eighth of all pages is free, goes over the storages again at once, and drops used pages,
  // too. Installing takes free pages itself, so each round makes room for the next one.
  Status install(const snapshot::Manifest& manifest, Drop drop, GleanReport* report);
  // Installs again, dropping nothing, in storages whose volatile pages may still lead to snapshots
  // before `before`. The installer may miss pointers that sessions move meanwhile (O16), and a
  // session hardly ever does so on the same page at the next round. Gives up after some rounds:
  // oldest_needed() then still returns the earlier snapshot.
  Status settle(const snapshot::Manifest& manifest, page::SnapshotNumber before);
  // Does settle() for the newest snapshot, since no glean does it while nothing is written. Does
  // nothing if that is not needed, or was done a moment ago. The operator is told of a failure; no
  // request for a glean fails by it, and a later call tries again.
  void settle_while_idle();
  // Notes that no transaction can get to a snapshot before that of `manifest` by a volatile page.
  // Called while there are no volatile pages, or when no transaction will read them again.
  void set_installed(const snapshot::Manifest& manifest);
  // Returns the oldest snapshot to which a volatile page or root pointer may lead (E16).
  page::SnapshotNumber oldest_needed() const;

  // Returns to the pool those dropped pages that no transaction can look at any more.
  void reclaim();
  // Returns how many pages are in use above `percent` of all pages. Dropped pages that wait for
  // reclaim() do not count.
  std::uint64_t pages_above(std::uint32_t percent) const;
  const DropGoal& drop_goal() const { return drop_goal_; }
  // Returns the processor time of the install threads since the last call.
  std::uint64_t take_cpu_us();

 private:
  Status install_once(const snapshot::Manifest& manifest, Drop drop, GleanReport* report);
  Status install_storage(const snapshot::ManifestStorage& storage, const snapshot::Manifest& of,
                         Drop drop, InstallThreads* threads, GleanReport* report);
  void wait_for_pages();
  void choose_drop_goal();
  std::uint64_t pages_to_drop(Drop drop) const;
  std::uint64_t retired_count() const;

  const Parts parts_;
  page::SessionPages pages_;
  std::unique_ptr<InstallThreads> threads_;  // null: the gleaner's thread installs alone

  DropGoal drop_goal_;                  // goal of the last installation
  std::uint64_t waits_for_memory_ = 0;  // the throttle's count at the last installation
  std::uint64_t settled_us_ = 0;        // when settle_while_idle() last called settle()
  // For each storage, a snapshot: no volatile page leads to pages that only earlier snapshots have
  // (E16). A storage that was never installed, or was dropped, has no entry.
  std::map<page::StorageId, page::SnapshotNumber> needed_from_;
};

}  // namespace foedus::engine
