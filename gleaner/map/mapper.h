#pragma once
// Mapper: the task that reads log records, sorts them by storage, partition and G2, and ships them
// to the reducers (paper §7.3).
//
//   reading ──memory full, or source at its end──► shipping bucket by bucket ──► reading …, done
//      └── a record that is larger than the memory goes out alone
//
//   G17  A record is shipped once, to the partition of its position, unless its epoch is outside of
//        the glean, its storage was dropped, it is about the catalog, or it is superseded by one of
//        the same bucket (G14).
//   G18  Whatever happens, a mapper ends as a writer of every inbox: reducers wait for that.

#include <cstdint>
#include <vector>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/task.h"
#include "foedus/epoch.h"
#include "foedus/status.h"
#include "gleaner/handoff/inbox.h"
#include "gleaner/handoff/partition_table.h"
#include "gleaner/map/map_memory.h"
#include "gleaner/map/record_source.h"

namespace foedus::gleaner {

struct MapperOptions {
  Epoch covered;                    // of the snapshot before: records up to it are in there
  Epoch newest;                     // of the glean: records above it are for the next one
  char* memory = nullptr;           // at a multiple of 64
  std::uint64_t memory_bytes = 0;   // at least kMemoryBytesMin
  static constexpr std::uint64_t kMemoryBytesMin = 4096;
};

struct MapperCounts {
  std::uint64_t read = 0;        // records of the source
  std::uint64_t superseded = 0;  // not shipped because of G14
  std::uint64_t shipped = 0;
  std::uint64_t shipped_bytes = 0;  // of their blocks
  std::uint64_t cpu_us = 0;         // processor time of all steps
  std::uint64_t sort_cpu_us = 0;    // and of that, for sorting
};

class Mapper : public base::Task {
 public:
  // All outlive the mapper. `inboxes`: one for each partition. `finished`: woken when it is done.
  Mapper(base::Runtime* runtime, base::WaitPoint* finished, const PartitionTable* table,
         RecordSource* source, std::vector<Inbox*> inboxes, const MapperOptions& options);

  const char* name() const override { return "mapper"; }
  bool is_background() const override { return true; }
  std::uint64_t step() override;
  std::uint64_t step_failed(const std::bad_alloc& thrown) noexcept override;

  // order: acquire, pairs with the release in end(): status and counts are final.
  bool is_done() const { return is_done_.load_acquire() != 0; }
  // What follows: once is_done().
  // kCorruption: a record of a storage that never was, or that cannot have logged it. kTooLarge: a
  // record that does not fit into an inbox. kClosed: a reducer failed, and says why. Else an error
  // of the source.
  const Status& status() const { return status_; }
  const MapperCounts& counts() const { return counts_; }

 private:
  enum class State : std::uint8_t { kReading, kShipping, kDone };

  Result<State> step_once();
  bool next_bucket(SortedBucket* bucket);
  Result<State> read();
  Status take(const SourceRecord& record, bool* was_added);
  Status ship_alone(const SourceRecord& record, const StoragePartitions& storage,
                    std::uint64_t position);
  Status ship(const SortedBucket& bucket);
  Status ship_block(const SortedBucket& bucket, std::size_t begin, std::size_t end,
                    std::uint64_t entry_bytes);
  void end(Status status);

  base::Runtime* const runtime_;
  base::WaitPoint* const finished_;
  const PartitionTable* const table_;
  RecordSource* const source_;
  const std::vector<Inbox*> inboxes_;
  const MapperOptions options_;

  // Used by step() only, and after is_done().
  MapMemory memory_;
  State state_ = State::kReading;
  bool is_at_end_ = false;
  bool has_waiting_ = false;  // waiting_ found no room, and its source still holds it
  SourceRecord waiting_;
  Status status_;
  MapperCounts counts_;

  base::AtomicWord<std::uint32_t> is_done_;
};

}  // namespace foedus::gleaner
