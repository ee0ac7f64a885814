#pragma once
// SnapshotComposer: the compose stage over all partitions. It makes the files of a snapshot, and
// the manifest that lists them.

#include <cstddef>
#include <memory>
#include <vector>

#include "foedus-core/base/system/task.h"
#include "foedus-core/engine/snapshot_driver.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "foedus-core/snapshot/snapshot_reader.h"
#include "foedus-core/snapshot/snapshot_writer.h"
#include "foedus/database.h"
#include "foedus/status.h"
#include "gleaner/compose/partition_composer.h"
#include "gleaner/compose/partition_read_ahead.h"
#include "gleaner/handoff/partition_table.h"
#include "gleaner/map_reduce.h"
#include "gleaner/stage_tasks.h"

namespace foedus::gleaner {

class SnapshotComposer {
 public:
  // `sorted`: its streams are at their begin. REQUIRES: all outlive this object.
  SnapshotComposer(const engine::GleanOrder& order, const PartitionTable& table,
                   const MapReduce& sorted);

  // The steps, in this order and each once. After an error no other follows. All return errors of
  // the previous snapshot and of the device.

  // Composes the pages of all partitions, each to a file of its own.
  Status compose();
  // Joins what the partitions have of each storage under its root.
  Status join_storages();
  // Completes the files, and returns the manifest, which is not written yet.
  Result<snapshot::Manifest> finish();

  // Adds the work of all steps to `report`.
  void count(GleanReport* report) const;

 private:
  Status create_files();
  void start_composers();
  Result<std::vector<Subtree>> subtrees_of(std::size_t index);
  Status join_storage(std::size_t index);
  Status add_load(const engine::LoadedStorage& load);

  const engine::GleanOrder& order_;
  const PartitionTable& table_;
  const MapReduce& sorted_;
  snapshot::SnapshotFiles old_pages_;
  std::vector<page::SnapshotPageId> roots_;  // of the previous snapshot, by storage
  snapshot::Manifest manifest_;
  base::WaitPoint finished_;
  std::vector<std::unique_ptr<snapshot::SnapshotWriter>> writers_;  // by partition
  StageTasks<PartitionComposer> composers_;
  StageTasks<PartitionReadAhead> ahead_;  // none if the order does not ask for them
};

}  // namespace foedus::gleaner
