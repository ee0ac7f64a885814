#pragma once
// GleanOrders: fills in orders for the gleaner (snapshot_driver.h): the log to read, the storages,
// the number of tasks, and their memory.
//
//   E15 An order's `covered` is the durable epoch, read before the segments are listed. So all
//       records of epochs up to `covered` are on the device, in segments of the list (log.h).
//
// The gleaner's task uses it, also for the glean of a recovery.

#include <cstdint>
#include <vector>

#include "foedus-core/base/system/task.h"
#include "foedus-core/device/device.h"
#include "foedus-core/engine/glean/snapshot_retention.h"
#include "foedus-core/engine/sessions/catalog.h"
#include "foedus-core/engine/sessions/unapplied.h"
#include "foedus-core/engine/snapshot_driver.h"
#include "foedus-core/epoch/epoch_clock.h"
#include "foedus-core/log/durability.h"
#include "foedus-core/log/log.h"
#include "foedus-core/numa/soc_memory.h"
#include "foedus-core/numa/topology.h"
#include "foedus-core/page/page_pool.h"
#include "foedus/options.h"

namespace foedus::engine {

class GleanOrders {
 public:
  struct Parts {
    const Options* options = nullptr;
    base::Runtime* runtime = nullptr;
    device::Device* device = nullptr;
    const numa::Topology* topology = nullptr;
    log::Log* log = nullptr;
    const internal::DurabilityWaits* durability = nullptr;
    epoch::EpochClock* clock = nullptr;
    const Catalog* catalog = nullptr;
    page::PagePool* pool = nullptr;
    SnapshotRetention* retention = nullptr;
    const snapshot::FileInMaking* in_making = nullptr;  // F9
    std::uint32_t session = 0;  // the slot of the gleaner's task in the clock
  };
  explicit GleanOrders(const Parts& parts) : parts_(parts) {}
  GleanOrders(const GleanOrders&) = delete;
  GleanOrders& operator=(const GleanOrders&) = delete;

  // Returns the part that all orders have: device, tasks and memory. The order has at least
  // `tasks_min` mappers and as many reducers, if they fit into the gleaner's memory plus
  // `bytes_beside`. `tail`: a recovered tail, whose memory the glean cannot use; null: there is no
  // tail.
  GleanOrder base(std::uint32_t tasks_min, std::uint64_t bytes_beside, const Unapplied* tail);
  // Returns the order for all durable log that `previous` (null: there is no snapshot) does not
  // cover. If there is no such log, the order has no segments.
  GleanOrder next(const snapshot::Manifest* previous, const Unapplied* tail);
  // Frees the memory that was kept from the last glean.
  void free_memory() { memory_.clear(); }

 private:
  void sample_pages(GleanOrder* order) const;

  const Parts parts_;
  // Reducers' memory, kept from one glean to the next. Mappers write records into it, and page
  // faults of new memory would take a third of their time. Freed if no glean has begun for a while.
  std::vector<numa::SocMemory> memory_;
};

}  // namespace foedus::engine
