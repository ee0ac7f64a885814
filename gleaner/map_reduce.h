#pragma once
// MapReduce: the stages that make sorted streams of a log (paper §7.3), mappers and reducers at
// work together.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "foedus-core/base/system/task.h"
#include "foedus-core/engine/snapshot_driver.h"
#include "foedus-core/numa/soc_memory.h"
#include "foedus/database.h"
#include "foedus/status.h"
#include "gleaner/handoff/partition_table.h"
#include "gleaner/map/mapper.h"
#include "gleaner/reduce/reducer.h"
#include "gleaner/segment_source.h"
#include "gleaner/stage_tasks.h"

namespace foedus::gleaner {

class MapReduce {
 public:
  // REQUIRES: both outlive this object.
  MapReduce(const engine::GleanOrder& order, const PartitionTable& table);

  // Sorts the log of the order. Returns errors of the log, and of the device if records had to be
  // spilled. Called once.
  Status run();
  // Adds the work of run() to `report`.
  void count(GleanReport* report) const;

  // The rest REQUIRES: run() was successful.

  // Returns the reducers by partition.
  const StageTasks<Reducer>& reducers() const { return reducers_; }
  // Returns the number of records that the reducers got.
  std::uint64_t records_shipped() const;
  // Makes the streams of all reducers begin again (G44).
  Status begin_streams();

 private:
  Result<char*> memory_of(std::uint32_t reducer);
  Status start_reducers();
  void start_mappers();

  const engine::GleanOrder& order_;
  const PartitionTable& table_;
  std::uint64_t us_ = 0;                                       // time of run()
  const std::vector<std::unique_ptr<SegmentSource>> sources_;  // one for each mapper
  std::vector<numa::SocMemory> memory_;  // of the reducers, if the order gives none
  base::WaitPoint finished_;
  StageTasks<Reducer> reducers_;
  StageTasks<Mapper> mappers_;
};

}  // namespace foedus::gleaner
