#pragma once
// SnapshotInstaller: installs a snapshot's pages in all storages, and drops the volatile pages that
// they replace (paper §7.5). It knows for each storage which snapshots its pages may still lead to.
//
//   E17 Installing pins the reclamation of pages for one storage at a time. It does so before it
//       looks whether the storage was dropped: a later drop waits for the pin before it frees
//       pages.
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

// Which volatile pages are dropped: none, as many as memory asks for without or with used ones, or
// all that can be.
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
    // Slots of the clock that no other thread uses: the task's own, and the first one of all other
    // installers.
    std::uint32_t session = 0;
    std::uint32_t install_sessions = 0;
  };
  explicit SnapshotInstaller(const Parts& parts);
  SnapshotInstaller(const SnapshotInstaller&) = delete;
  SnapshotInstaller& operator=(const SnapshotInstaller&) = delete;

  // Installs the snapshot in all storages, and drops pages. Counts these in `report`. Spares used
  // pages where memory asks for room (CLOCK's second chance). If the target is not met without
  // them, the next glean begins at once, and drops those that were not used again until then. An
  // exchange of pages takes free pages. Where there are next to none, a round frees what the next
  // one needs, and used pages are dropped as well.
  Status install(const snapshot::Manifest& manifest, Drop drop, GleanReport* report);
  // Looks again at storages in which something led to snapshots older than `before` (O16), since a
  // session was there. The session is hardly at the same place again.
  Status settle(const snapshot::Manifest& manifest, page::SnapshotNumber before);
  // Does what the next glean would, since there is none while nothing is written. Returns whether
  // it did. A lack of memory is reported, but fails no request for a glean: the next look may go
  // well.
  bool settle_while_idle();
  // Notes that nothing volatile leads to snapshots before that one: there are no volatile pages.
  void set_installed(const snapshot::Manifest& manifest);
  // Returns the oldest snapshot that something volatile may lead to (E16).
  page::SnapshotNumber oldest_needed() const;
  // Returns how many installations have begun.
  std::uint64_t installations() const { return installations_; }

  // Returns dropped pages to the pool, for any session to take.
  void reclaim();
  // Returns the number of pages in use above `percent` of all that there can be.
  std::uint64_t pages_above(std::uint32_t percent) const;
  const DropGoal& drop_goal() const { return drop_goal_; }
  // Returns the processor time of the threads beside the caller's, since the last call.
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
  std::unique_ptr<InstallThreads> threads_;  // null: there is one installer

  DropGoal drop_goal_;                  // of the last installation
  std::uint64_t waits_for_memory_ = 0;  // the throttle's count at the last installation
  std::uint64_t settled_us_ = 0;        // when settle_while_idle() last looked
  std::uint64_t installations_ = 0;
  // By storage: nothing volatile leads to pages of snapshots before this one (E16). Storages that
  // were never installed, or are gone, have no entry.
  std::map<page::StorageId, page::SnapshotNumber> needed_from_;
};

}  // namespace foedus::engine
