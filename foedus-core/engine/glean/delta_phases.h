#pragma once
// DeltaPhases: when the delta of a Master-Tree begins to take puts, and when operations stop
// looking into it (M47, M53).
//
//   flag set or cleared ──announced──► known to all transactions ──step()──► takes puts, or ends
//
// Used by the gleaner's task alone.

#include <cstdint>
#include <map>
#include <vector>

#include "foedus-core/base/system/task.h"
#include "foedus-core/engine/sessions/catalog.h"
#include "foedus-core/epoch/epoch_clock.h"
#include "foedus-core/page/page_pool.h"
#include "foedus-core/storage/base/installation.h"
#include "foedus/epoch.h"

namespace foedus::engine {

class DeltaPhases {
 public:
  struct Parts {
    base::Runtime* runtime = nullptr;
    epoch::EpochClock* clock = nullptr;
    page::PagePool* pool = nullptr;
    const Catalog* catalog = nullptr;
    std::uint32_t session = 0;  // the slot of the gleaner's task in the clock
  };
  explicit DeltaPhases(const Parts& parts) : parts_(parts) {}
  DeltaPhases(const DeltaPhases&) = delete;
  DeltaPhases& operator=(const DeltaPhases&) = delete;

  // Learns from an installation of the storage: announces a new delta, and notes since when the
  // delta has had no rows.
  void watch(page::StorageId storage, const storage::InstallCounts& counts);
  // Lets each announced delta take puts, or ends it, once every open transaction began after the
  // announcement. Announces the end of deltas that have had no rows for long.
  void step();

 private:
  // A delta whose flag was set or cleared in epoch `since`. It takes puts, or ends, once every open
  // transaction began in a later epoch.
  struct Announced {
    page::StorageId storage{};
    Epoch since;
    bool ends = false;
  };

  void announce(page::StorageId storage, bool ends);
  void end(occ::StorageControl* control);

  const Parts parts_;
  std::vector<Announced> announced_;
  std::map<page::StorageId, std::uint64_t> empty_;  // deltas without rows, and since when
};

}  // namespace foedus::engine
