#pragma once
// glean(): the next snapshot, from the log and the snapshot before alone (paper §7): records are
// mapped and reduced to sorted streams, composed to pages, and made a snapshot by its manifest.
// Transactions may run meanwhile; nothing here knows of volatile pages.
//
//   G41 Before the manifest has its name, what was written is leftovers; afterwards the snapshot is
//       complete and readable by itself. A glean that fails removes them, if it can: the log may
//       need the room. One whose manifest has its name, if only for the system, has none.
//   G42 The same records, snapshot before and partition table give the same files, whatever the
//       number of mappers and their memory.
//   G44 Composing changes nothing of what was sorted in memory: records can be looked up meanwhile,
//       and what has failed can be composed again.
//   G45 Mapper, reducer and composer number n run on SOC n modulo the number of SOCs, where threads
//       are bound at all (N10). The memory of the reducer lies there.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "foedus-core/base/task.h"
#include "foedus-core/device/device.h"
#include "foedus-core/numa/soc_memory.h"
#include "foedus-core/numa/topology.h"
#include "foedus-core/snapshot/manifest.h"
#include "foedus-core/storage_meta/storage_meta.h"
#include "foedus/epoch.h"
#include "foedus/status.h"
#include "gleaner/handoff/partition_table.h"
#include "gleaner/map/record_source.h"

namespace foedus::gleaner {

struct GleanInput {
  device::Device* device = nullptr;
  base::Runtime* runtime = nullptr;
  const numa::Topology* topology = nullptr;

  std::vector<RecordSource*> sources;  // the log, once; one mapper for each
  // Those that exist at the end of `covered`, ascending by id.
  std::vector<storage_meta::StorageMeta> storages;
  page::StorageId next_storage_id{};
  const snapshot::Manifest* previous = nullptr;  // null: there is none
  Epoch covered;                                 // all of it and before is durable
  Epoch newest_seen;                             // not below covered

  // Boundaries of a storage's partitions, by its place in `storages`, one less than there are
  // reducers and aligned as its composer asks. Empty: all of it in the first partition.
  std::vector<std::vector<std::uint64_t>> boundaries;
  std::uint32_t reducers = 1;           // and composers, and files: 1..kMaxSocs
  std::uint64_t reducer_bytes = 64u << 20;  // memory of each; what is beside it: README.md, G20
  Facility huge_pages = Facility::kTry;            // for it: records are read in no order
  Facility numa_binding = Facility::kTry;          // as in GleanOrder
  std::vector<numa::SocMemory>* memory = nullptr;  // as in GleanOrder

  // The snapshot before is on a device and not in memory: read it ahead (G68).
  bool reads_ahead = false;

  std::function<void()> before_pages;  // as in GleanOrder
  // Called by the thread that gleans, now and then: with the bytes of records that were mapped;
  // with the records that were composed, and of how many. May be empty.
  std::function<void(std::uint64_t)> mapping;
  std::function<void(std::uint64_t, std::uint64_t)> composing;
  // Asked more often, and before the manifest is written. True: glean() ends with kClosed.
  std::function<bool()> is_given_up;
};

struct GleanCounts {
  std::uint64_t records_read = 0;
  std::uint64_t records_composed = 0;
  std::uint64_t runs_spilled = 0;
  std::uint64_t pages_written = 0;
  std::uint64_t map_reduce_us = 0;
  std::uint64_t compose_us = 0;  // and until it is durable
  // Processor time, as in GleanReport.
  std::uint64_t map_cpu_us = 0;
  std::uint64_t sort_cpu_us = 0;
  std::uint64_t reduce_cpu_us = 0;
  std::uint64_t compose_cpu_us = 0;
  std::uint64_t task_cpu_us = 0;  // of all tasks, not of the caller's thread
};

class Reducer;

// The two steps of a glean, between which the sorted records are at hand.
// REQUIRES: one glean of a directory at a time.
class Glean {
 public:
  // `input`: outlives the glean, and so does all that it points to.
  explicit Glean(const GleanInput& input);
  ~Glean();
  Glean(const Glean&) = delete;
  Glean& operator=(const Glean&) = delete;

  // Maps and reduces. Errors of the log, and of the device if records had to be spilled. Once.
  Status sort();
  // Writes the snapshot, and returns its manifest, which is durable. Errors of the snapshot before
  // and the device: the newest snapshot is the one before (G41); it can be tried again (G44).
  // REQUIRES: sort() was successful.
  Result<snapshot::Manifest> compose(GleanCounts* counts);

  // By partition. REQUIRES: sort() was successful.
  const std::vector<std::unique_ptr<Reducer>>& reducers() const;

 private:
  class Steps;
  const GleanInput& input_;
  std::unique_ptr<Steps> steps_;
};

// Returns the manifest of the new snapshot, which is durable. Errors of the log, the snapshot
// before and the device: the newest snapshot is the one before (G41).
// REQUIRES: one glean of a directory at a time.
Result<snapshot::Manifest> glean(const GleanInput& input, GleanCounts* counts);

}  // namespace foedus::gleaner
