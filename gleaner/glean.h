#pragma once
// glean() makes the next snapshot from the log and the previous snapshot alone (paper §7). Records
// are mapped and reduced to sorted streams, composed to pages, and made a snapshot by its manifest.
// Transactions may run meanwhile; nothing here knows of volatile pages.
//
//   G41 Until the manifest has its name, the files written so far are leftovers; afterwards the
//       snapshot is complete and readable by itself. A glean that fails removes its leftovers if it
//       can, because the log may need the room. Once the manifest has its name, even if that is not
//       durable yet, no file of the glean is a leftover.
//   G42 Equal records, an equal previous snapshot and an equal partition table give equal files,
//       whatever the number of mappers and their memory.
//   G44 Composing changes nothing of what was sorted in memory: records can be looked up meanwhile,
//       and a composition that failed can be repeated.
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
  // The storages that exist at the end of `covered`, ascending by id.
  std::vector<storage_meta::StorageMeta> storages;
  page::StorageId next_storage_id{};
  const snapshot::Manifest* previous = nullptr;  // null: this is the first snapshot
  Epoch covered;                                 // this epoch and all before it are durable
  Epoch newest_seen;                             // not below covered

  // The boundaries of each storage's partitions, by the storage's place in `storages`. A storage
  // has one boundary less than there are reducers, aligned as its composer asks. Empty: the first
  // partition has all of the storage.
  std::vector<std::vector<std::uint64_t>> boundaries;
  std::uint32_t reducers = 1;  // also composers and files; 1..kMaxSocs
  // Memory of each reducer in bytes. README.md and G20 say what it takes beside it.
  std::uint64_t reducer_bytes = 64u << 20;
  Facility huge_pages = Facility::kTry;            // for that memory, which is read in random order
  Facility numa_binding = Facility::kTry;          // as in GleanOrder
  std::vector<numa::SocMemory>* memory = nullptr;  // as in GleanOrder

  // True: the previous snapshot is on a device and not in memory, so it is read ahead (G68).
  bool reads_ahead = false;

  std::function<void()> before_pages;  // as in GleanOrder
  // The gleaning thread calls `mapping` from time to time with the bytes of records mapped so far.
  // It calls `composing` with the number of records composed so far and the number of all. Both may
  // be empty.
  std::function<void(std::uint64_t)> mapping;
  std::function<void(std::uint64_t, std::uint64_t)> composing;
  // Called more often than these, and once before the manifest is written. If it returns true,
  // glean() ends with kClosed.
  std::function<bool()> is_given_up;
};

struct GleanCounts {
  std::uint64_t records_read = 0;
  std::uint64_t records_composed = 0;
  std::uint64_t runs_spilled = 0;
  std::uint64_t pages_written = 0;
  std::uint64_t map_reduce_us = 0;
  std::uint64_t compose_us = 0;  // includes the time until the snapshot is durable
  // Processor time, as in GleanReport.
  std::uint64_t map_cpu_us = 0;
  std::uint64_t sort_cpu_us = 0;
  std::uint64_t reduce_cpu_us = 0;
  std::uint64_t compose_cpu_us = 0;
  std::uint64_t task_cpu_us = 0;  // of all tasks, without the caller's thread
};

class Reducer;

// Runs a glean in two steps; between them the sorted records can be read.
// REQUIRES: one glean of a directory at a time.
class Glean {
 public:
  // REQUIRES: `input` and all that it points to outlive the glean.
  explicit Glean(const GleanInput& input);
  ~Glean();
  Glean(const Glean&) = delete;
  Glean& operator=(const Glean&) = delete;

  // Maps and reduces the log. Returns errors of the log, and of the device if records had to be
  // spilled. Called once.
  Status sort();
  // Writes the snapshot, and returns its manifest, which is durable. Returns errors of the previous
  // snapshot and of the device. The newest snapshot is then still the previous one (G41), and the
  // call can be repeated (G44). REQUIRES: sort() was successful.
  Result<snapshot::Manifest> compose(GleanCounts* counts);

  // Returns the reducers by partition. REQUIRES: sort() was successful.
  const std::vector<std::unique_ptr<Reducer>>& reducers() const;

 private:
  class Steps;
  const GleanInput& input_;
  std::unique_ptr<Steps> steps_;
};

// Returns the manifest of the new snapshot, which is durable. Returns errors of the log, the
// previous snapshot and the device; the newest snapshot is then still the previous one (G41).
// REQUIRES: one glean of a directory at a time.
Result<snapshot::Manifest> glean(const GleanInput& input, GleanCounts* counts);

}  // namespace foedus::gleaner
