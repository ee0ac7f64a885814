#pragma once
// Gleaning: the parts of an open database that make its snapshots. Each part uses only parts that
// are listed before it. The parts run in the gleaner's task, except that the throttle has its own
// task. Some of their functions can be called by any thread.
//
//   newest      the newest manifest (E27)
//   requests    calls that wait for a glean
//   loads       bulk loads (E60)
//   forecast    how long gleans take
//   throttle    slows writers to the gleaner's pace (E18)
//   deltas      phases of the deltas of Master-Trees
//   installer   installs snapshot pages in storages, drops volatile ones (E17)
//   retention   which files of snapshots stay (E16, E37, E50)
//   orders      what the gleaner reads (E15)
//   tail        the snapshot of a recovered tail (E40)
//   recovery    recovery from the log, before any glean
//   scheduler   the gleaner's task; decides when a glean is due

#include <cstdint>
#include <memory>

#include "foedus-core/engine/glean/glean_scheduler.h"
#include "foedus-core/engine/glean/storage_loads.h"
#include "foedus-core/engine/pace/write_throttle.h"
#include "foedus-core/numa/topology.h"

namespace foedus::engine {

class Gleaning {
 public:
  struct Parts {
    const Options* options = nullptr;
    base::Runtime* runtime = nullptr;
    OpenState* state = nullptr;
    device::Device* device = nullptr;
    const numa::Topology* topology = nullptr;
    page::PagePool* pool = nullptr;
    epoch::EpochClock* clock = nullptr;
    log::Log* log = nullptr;
    internal::DurabilityWaits* durability = nullptr;
    Snapshots* snapshots = nullptr;
    SnapshotCaches* caches = nullptr;
    Catalog* catalog = nullptr;
    SessionFactory* sessions = nullptr;
    SessionMemory* session_memory = nullptr;
    UnappliedTail* unapplied = nullptr;
    const OperatorLog* operator_log = nullptr;
    // Slots of the clock that no other thread uses. `session`: the slot of the gleaner's task.
    // `install_sessions`: the first slot of the install threads.
    std::uint32_t session = 0;
    std::uint32_t install_sessions = 0;
  };
  explicit Gleaning(const Parts& parts);
  Gleaning(const Gleaning&) = delete;
  Gleaning& operator=(const Gleaning&) = delete;

  GleanRequests& requests() { return requests_; }
  StorageLoads& loads() { return loads_; }
  NewestManifest& newest() { return newest_; }
  WriteThrottle& throttle() { return throttle_; }
  SnapshotInstaller& installer() { return installer_; }
  SnapshotRetention& retention() { return retention_; }
  Recovery& recovery() { return recovery_; }
  GleanScheduler& scheduler() { return scheduler_; }
  void add_stats(Stats* stats) const;

 private:
  // Return the Parts of one part each, with pointers to the parts that were made before it.
  SnapshotInstaller::Parts installer_parts(const Parts& parts);
  GleanOrders::Parts orders_parts(const Parts& parts);
  TailGlean::Parts tail_parts(const Parts& parts);
  Recovery::Parts recovery_parts(const Parts& parts);
  GleanScheduler::Parts scheduler_parts(const Parts& parts);

  NewestManifest newest_;
  GleanRequests requests_;
  StorageLoads loads_;
  GleanForecast forecast_;
  WriteThrottle throttle_;
  DeltaPhases deltas_;
  SnapshotInstaller installer_;
  SnapshotRetention retention_;
  GleanOrders orders_;
  TailGlean tail_;
  Recovery recovery_;
  GleanScheduler scheduler_;
};

}  // namespace foedus::engine
