#pragma once
// Reducer: the task that receives the blocks of one partition, keeps or spills them, and finally
// has all their records in order (paper §7.3).
//
//   receiving ──half complete──► holding it ──the other is half full──► sorting it ──► spilling it
//       │  ▲                          │                                                     │
//       │  └──────────────────────────┼─────────────────its run is written──────────────────┘
//       │                 the other is the last one
//       └── the last half ──►─────────┴──► joining runs while there are too many ──► sorting all
//                                                                      ──► done: next_storage()
//
//   memory: | half of the inbox | half of the inbox | area in which items are sorted: a quarter |
//
//   G19  While a half of the inbox is sorted into a run, mappers fill the other one. A half is
//        spilled only when mappers need it. If the log ends before, both halves stay in memory, and
//        runs are read into the free part of the last half. The last half is never spilled: its
//        records are merged with the runs.
//   G20  A reducer takes the memory that it was given, and one chunk for the run that it writes.
//        While a merge of runs gives out a record larger than a chunk, the record takes a place in
//        that memory, one at a time however many runs have such records. If a half has no room for
//        the record and four chunks, the reducer allocates memory for the record. Copies of one
//        key's history that is folded are not counted.
//   G21  Runs are removed when the reducer is destroyed, and when it fails. remove_orphaned_runs()
//        removes those of a crash before the next glean.
//   G22  Equal records give equal streams, whichever mappers shipped them, in whatever blocks,
//        spilled or not.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/system/task.h"
#include "foedus-core/device/device.h"
#include "foedus/status.h"
#include "gleaner/handoff/inbox.h"
#include "gleaner/handoff/partition_records.h"
#include "gleaner/reduce/compacted_stream.h"
#include "gleaner/reduce/merge.h"
#include "gleaner/reduce/run_reader.h"
#include "gleaner/reduce/run_writer.h"
#include "gleaner/reduce/sorted_records.h"

namespace foedus::gleaner {

struct ReducerOptions {
  page::SnapshotNumber snapshot{};  // snapshot and soc name the runs
  std::uint32_t soc = 0;
  std::uint32_t mappers = 1;
  char* memory = nullptr;          // at a multiple of 64
  // At least kMemoryBytesMin; three eighths of it must hold any record. Bytes beyond 32 GiB are
  // left unused.
  std::uint64_t memory_bytes = 0;
  static constexpr std::uint64_t kMemoryBytesMin = 2 * 64 * 1024;
};

struct ReducerCounts {
  std::uint64_t runs = 0;  // written, including those that join others
  std::uint64_t run_bytes = 0;
  std::uint64_t superseded = 0;   // left out of runs (G14)
  std::uint64_t cpu_us = 0;       // processor time of all steps
  std::uint64_t sort_cpu_us = 0;  // the part of it for sorting
};

class Reducer : public base::Task, public PartitionRecords {
 public:
  // REQUIRES: all arguments outlive the reducer. `finished`: woken when it is done.
  Reducer(base::Runtime* runtime, base::WaitPoint* finished, device::Device* device,
          const PartitionTable* table, const ReducerOptions& options);
  ~Reducer() override;
  Reducer(const Reducer&) = delete;
  Reducer& operator=(const Reducer&) = delete;

  // Returns the inbox for all mappers. REQUIRES: the reducer is started before the first of them,
  // and outlives them.
  Inbox* inbox() { return &inbox_; }

  const char* name() const override { return "reducer"; }
  bool is_background() const override { return true; }
  std::uint64_t step() override;
  std::uint64_t step_failed(const std::bad_alloc& thrown) noexcept override;

  // order: acquire, pairs with the release in end(): status, counts and streams are complete.
  bool is_done() const { return is_done_.load_acquire() != 0; }
  // All that follows REQUIRES is_done(). status(): success, or kOutOfSpace, kIoError or kCorruption
  // of a run.
  const Status& status() const { return status_; }
  const ReducerCounts& counts() const { return counts_; }

  // Makes next_storage() begin with the first storage again. Called by the thread that calls
  // next_storage().
  Status begin_streams();
  // REQUIRES: status() and those of all mappers are ok.
  Result<std::optional<StorageStream>> next_storage() override;
  // Returns how many records were read from streams of next_storage() that a later next_storage()
  // has ended.
  std::uint64_t records_streamed() const { return records_streamed_; }
  // Returns how many records all streams have taken so far. Any thread, while they are read.
  std::uint64_t records_merged() const { return merge_->records_merged(); }
  std::span<const SortedGroup> in_memory() const override { return sorted_.groups(); }
  std::uint64_t bytes_in_memory() const {
    return (held_.has_value() ? held_->bytes : 0) +
           (last_half_.has_value() ? last_half_->bytes : 0);
  }
  // Returns true if all records are in memory.
  bool is_all_in_memory() const { return runs_.empty(); }

 private:
  enum class State : std::uint8_t {
    kReceiving,
    kHolding,
    kSortingHalf,  // the half that is spilled next
    kSpilling,
    kJoining,
    kSortingAll,  // all records in memory
    kDone,
  };
  struct Spill;
  struct Run {
    RunId id;
    std::uint64_t large_bytes;  // RunWriter::large_bytes()
  };

  Result<State> step_once();
  Result<State> receive();
  Result<State> hold();
  void take_last(const Inbox::Half& half, char* chunks, std::uint64_t chunks_bytes);
  bool sort_next();
  Result<State> begin_join_or_sort();
  Status begin_spill(std::vector<std::unique_ptr<SortedSource>> sources, bool of_memory);
  // Writes some records of the run. Returns false if there are more.
  Result<bool> go_on_spilling();
  Status end_spill();
  std::uint64_t large_bytes() const;
  std::size_t runs_that_fit(std::uint64_t bytes) const;
  std::size_t divide_chunks();
  Result<std::unique_ptr<RunReader>> open_run(const Run& run, std::size_t place);
  Status remove_runs();
  void give_up_runs();
  void end(Status status);

  base::Runtime* const runtime_;
  base::WaitPoint* const finished_;
  device::Device* const device_;
  const ReducerOptions options_;
  const std::uint64_t inbox_bytes_;
  Inbox inbox_;
  const std::uint64_t chunk_bytes_;

  // Used by step(); after is_done() by other threads.
  State state_ = State::kReceiving;
  std::optional<Inbox::Half> held_;  // complete, and neither spilled nor merged yet
  std::optional<Inbox::Half> last_half_;
  char* chunks_ = nullptr;  // memory for reading runs, beside the last half
  std::uint64_t chunks_bytes_ = 0;
  SortedRecords sorted_;  // of held_, or finally of all in memory
  LargeRoom large_;       // at the begin of chunks_, or in large_memory_
  IoMemory large_memory_;
  std::unique_ptr<Spill> spill_;
  std::vector<Run> runs_;  // complete ones
  std::uint32_t next_run_ = 0;
  std::vector<std::unique_ptr<SortedSource>> sources_;  // of merge_
  std::unique_ptr<Merge> merge_;
  std::unique_ptr<CompactedStream> stream_;
  std::uint64_t records_streamed_ = 0;
  Status status_;
  ReducerCounts counts_;

  base::AtomicWord<std::uint32_t> is_done_;
};

}  // namespace foedus::gleaner
