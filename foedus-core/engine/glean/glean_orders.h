#pragma once
// GleanOrders: fills in orders for the gleaner (snapshot_driver.h): the log to read, the storages,
// and how many tasks with how much memory.
//
//   E15 `covered` is read from the durable epoch before the segments are listed. So all records up
//       to it are on the device, in segments that the list has (log.h).
//
// Used by the gleaner's task, recovery included.

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
    std::uint32_t session = 0;  // the slot of the gleaner's task in the clock
  };
  explicit GleanOrders(const Parts& parts) : parts_(parts) {}
  GleanOrders(const GleanOrders&) = delete;
  GleanOrders& operator=(const GleanOrders&) = delete;

  // Returns the part that all orders have. It has at least `tasks_min` mappers and reducers if they
  // fit into the gleaner's memory and `bytes_beside`. `tail`: holds a part of that memory; null:
  // there is none.
  GleanOrder base(std::uint32_t tasks_min, std::uint64_t bytes_beside, const Unapplied* tail);
  // Returns the order for all that is durable. If that is not more than `previous` covers (null:
  // there is no snapshot), the order has no log.
  GleanOrder next(const snapshot::Manifest* previous, const Unapplied* tail);
  // Frees the memory that was kept from the last glean.
  void free_memory() { memory_.clear(); }

 private:
  void sample_pages(GleanOrder* order) const;

  const Parts parts_;
  // Kept from one glean to the next: taking it anew, a page at a time, is a third of a mapper's
  // time. Given back once no glean was due for a while.
  std::vector<numa::SocMemory> memory_;
};

}  // namespace foedus::engine
