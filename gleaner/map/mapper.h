#pragma once
// Mapper: the task that reads log records and deals them out to the reducers (paper §7.3).
//
//     record --its epoch, storage and shape are possible--> the open block of its partition
//     --block is full--> announced, and another one opened; a record larger than a block gets a
//     block of its own
//
//   G16  A record is copied once, from where it was read to where its reducer will find it. The
//        mapper does not sort: the reducer has more of the records, and sorts them once (G23).
//   G17  A record is shipped once, to the partition of its position. Left out are records outside
//        of the glean's epochs, of dropped storages, and about the catalog.
//   G18  A mapper that ends, even after a failure, announces what it reserved and ends as a writer
//        of every inbox. Else reducers would wait forever.

#include <cstdint>
#include <vector>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/system/task.h"
#include "foedus/epoch.h"
#include "foedus/status.h"
#include "gleaner/handoff/inbox.h"
#include "gleaner/handoff/partition_table.h"
#include "gleaner/map/open_block.h"
#include "gleaner/map/record_source.h"

namespace foedus::gleaner {

struct MapperOptions {
  Epoch covered;  // of the previous snapshot, which has records up to it
  Epoch newest;   // of the glean; later records are for the next one
};

struct MapperCounts {
  std::uint64_t read = 0;  // records of the source
  std::uint64_t shipped = 0;
  std::uint64_t shipped_bytes = 0;  // of blocks, without their unused bytes
  std::uint64_t cpu_us = 0;         // processor time of all steps
};

class Mapper : public base::Task {
 public:
  // REQUIRES: all arguments outlive the mapper. `inboxes`: one for each partition. `finished`:
  // woken when the mapper is done.
  Mapper(base::Runtime* runtime, base::WaitPoint* finished, const PartitionTable* table,
         RecordSource* source, const std::vector<Inbox*>& inboxes, const MapperOptions& options);

  const char* name() const override { return "mapper"; }
  bool is_background() const override { return true; }
  std::uint64_t step() override;
  std::uint64_t step_failed(const std::bad_alloc& thrown) noexcept override;

  // Returns the bytes of the records read so far. Any thread.
  std::uint64_t bytes_read() const { return bytes_read_.load_relaxed(); }  // order: a statistic
  // order: acquire, pairs with the release in end(): status and counts are final.
  bool is_done() const { return is_done_.load_acquire() != 0; }
  // Both REQUIRE is_done(). kCorruption: a record of a storage that never existed, or that cannot
  // have logged it. kTooLarge: a record that does not fit into an inbox. kClosed: a reducer failed;
  // its own status says why. Other errors are the source's.
  const Status& status() const { return status_; }
  const MapperCounts& counts() const { return counts_; }

 private:
  // Maps some records. Returns false if the source is at its end.
  Result<bool> map_some();
  Status map(const SourceRecord& record);
  Status make_room(std::uint32_t partition, std::uint64_t entry_bytes);
  void announce(OpenBlock* block);
  void announce_sealed();
  void end(Status status);

  base::Runtime* const runtime_;
  base::WaitPoint* const finished_;
  const PartitionTable* const table_;
  RecordSource* const source_;
  const MapperOptions options_;

  // Used by step(); after is_done() by any thread.
  std::vector<OpenBlock> blocks_;  // by partition
  Status status_;
  MapperCounts counts_;

  base::AtomicWord<std::uint64_t> bytes_read_;
  base::AtomicWord<std::uint32_t> is_done_;
};

}  // namespace foedus::gleaner
