#pragma once
// A glean makes the next snapshot from the log and the previous snapshot alone (paper §7). Records
// are mapped and reduced to sorted streams, composed to pages, and made a snapshot by its manifest.
// Transactions may run meanwhile; nothing here knows of volatile pages.
//
//   G41 Until the manifest has its name, the files written so far are orphaned files; afterwards
//       the snapshot is complete and readable by itself. A glean that fails removes its orphaned
//       files if it can, because the log may need the space. Once the manifest has its name, even
//       if that is not durable yet, no file of the glean is an orphaned file.
//   G42 Equal records, an equal previous snapshot and an equal partition table give equal files,
//       whatever the number of mappers and their memory.
//   G44 Composing changes nothing of what was sorted in memory: records can be looked up meanwhile,
//       and a composition that failed can be repeated.
//
//   partition ──► map ──► reduce ──► sorted streams ──► compose ──► join ──► manifest durable
//   └──────────── sort() ──────────┘                    └────────── compose() ──────────┘

#include <optional>

#include "foedus-core/engine/snapshot_driver.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "foedus/database.h"
#include "foedus/status.h"
#include "gleaner/handoff/partition_table.h"
#include "gleaner/map_reduce.h"

namespace foedus::gleaner {

class StageClock;

// Runs a glean in two steps; between them the sorted records can be read.
// REQUIRES: one glean of a directory at a time.
class Glean {
 public:
  // REQUIRES: `order` and all that it points to outlive the glean. While compose() does not run,
  // the previous manifest may be replaced by another one of the same snapshot.
  explicit Glean(const engine::GleanOrder& order) : order_(order) {}
  Glean(const Glean&) = delete;
  Glean& operator=(const Glean&) = delete;

  // Divides the storages among the reducers, then maps and reduces the log. kInvalidArgument: a
  // number of the order is out of its range. Returns errors of the log, and of the device if
  // records had to be spilled. Called once.
  Status sort();
  // Maps and reduces the log with the given partitions, instead of those that follow from the
  // order's samples. REQUIRES: the numbers of the order are in their ranges.
  Status sort(PartitionTable table);
  // Writes the snapshot, and returns its manifest, which is durable. `report`: of both steps.
  // Returns errors of the previous snapshot and of the device. The newest snapshot is then still
  // the previous one (G41), and the call can be repeated (G44). REQUIRES: sort() was successful.
  Result<snapshot::Manifest> compose(GleanReport* report);

  // Returns the reducers by partition. REQUIRES: sort() was successful.
  const StageTasks<Reducer>& reducers() const { return sorted_->reducers(); }

 private:
  Status sort_by(PartitionTable table, const StageClock& clock);
  Result<snapshot::Manifest> try_compose(GleanReport* report);
  Status remove_orphaned_files() const;

  const engine::GleanOrder& order_;
  std::optional<PartitionTable> table_;
  std::optional<MapReduce> sorted_;
  GleanReport sort_report_;  // of sort() alone
  bool has_failed_ = false;  // the last compose() has failed
};

}  // namespace foedus::gleaner
