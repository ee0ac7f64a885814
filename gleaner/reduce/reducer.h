#pragma once
// Reducer: the task that receives one partition's blocks, keeps or spills them, and in the end has
// all its records in order (paper §7.3).
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
//   G19  While a half of the inbox is sorted into a run, mappers fill the other one. Not before
//        they need it: if the log ends first, both halves stay, and runs are read into what the
//        last one has left. The last half is never spilled: its records are merged with the runs.
//   G20  Memory is what was given, and one chunk for the run that is written. A record that is
//        larger than a chunk takes a place in there while a merge of runs gives it out, one at a
//        time, however many runs have some; only if a half has no room for it and four chunks, it
//        is beside. Not counted: copies of one key's history that is folded.
//   G21  Runs go when the reducer does, and when it fails. What a crash leaves is taken away by
//        remove_leftover_runs() before the next glean.
//   G22  The same records give the same streams, whoever shipped them, in whatever blocks, spilled
//        or not.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/task.h"
#include "foedus-core/device/device.h"
#include "foedus/status.h"
#include "gleaner/handoff/inbox.h"
#include "gleaner/reduce/compacted_stream.h"
#include "gleaner/reduce/merge.h"
#include "gleaner/reduce/run_reader.h"
#include "gleaner/reduce/run_writer.h"
#include "gleaner/reduce/sorted_records.h"

namespace foedus::gleaner {

struct ReducerOptions {
  page::SnapshotNumber snapshot{};  // with soc, in the names of runs
  std::uint32_t soc = 0;
  std::uint32_t mappers = 1;
  char* memory = nullptr;          // at a multiple of 64
  // At least kMemoryBytesMin; three eighths of it must hold any record. Bytes beyond 32 GiB are not
  // used.
  std::uint64_t memory_bytes = 0;
  static constexpr std::uint64_t kMemoryBytesMin = 2 * 64 * 1024;
};

struct ReducerCounts {
  std::uint64_t runs = 0;  // written, joined ones included
  std::uint64_t run_bytes = 0;
  std::uint64_t superseded = 0;   // not written to a run because of G14
  std::uint64_t cpu_us = 0;       // processor time of all steps
  std::uint64_t sort_cpu_us = 0;  // and of that, for sorting
};

// All records of one storage in the reducer's partition.
struct StorageStream {
  page::StorageId storage{};
  RecordStream* records = nullptr;
};

class Reducer : public base::Task {
 public:
  // All outlive the reducer. `finished`: woken when it is done.
  Reducer(base::Runtime* runtime, base::WaitPoint* finished, device::Device* device,
          const PartitionTable* table, const ReducerOptions& options);
  ~Reducer() override;
  Reducer(const Reducer&) = delete;
  Reducer& operator=(const Reducer&) = delete;

  // For all mappers; the reducer is started before the first of them, and outlives them.
  Inbox* inbox() { return &inbox_; }

  const char* name() const override { return "reducer"; }
  bool is_background() const override { return true; }
  std::uint64_t step() override;
  std::uint64_t step_failed(const std::bad_alloc& thrown) noexcept override;

  // order: acquire, pairs with the release in end(): status, counts and streams are there.
  bool is_done() const { return is_done_.load_acquire() != 0; }
  // What follows: once is_done().
  // kOutOfSpace, kIoError, kCorruption: of a run.
  const Status& status() const { return status_; }
  const ReducerCounts& counts() const { return counts_; }

  // next_storage() begins with the first one again. By the thread that calls that.
  Status begin_streams();
  // The next storage that has records, in the order of ids; nothing after the last. Valid until the
  // next call, which skips what was not read of it. By one thread. REQUIRES: status() is ok,
  // and so is that of all mappers.
  Result<std::optional<StorageStream>> next_storage();
  // How many records were read of the streams that next_storage() has given and skipped since.
  std::uint64_t records_streamed() const { return records_streamed_; }
  // Records that all streams have taken so far. Any thread, while they are read.
  std::uint64_t records_merged() const { return merge_->records_merged(); }
  // What is in memory, constant from now on. Any thread.
  const SortedRecords& in_memory() const { return sorted_; }
  std::uint64_t bytes_in_memory() const {
    return (held_.has_value() ? held_->bytes : 0) +
           (last_half_.has_value() ? last_half_->bytes : 0);
  }
  // Whether that is all.
  bool is_all_in_memory() const { return runs_.empty(); }

 private:
  enum class State : std::uint8_t {
    kReceiving,
    kHolding,
    kSortingHalf,  // that is spilled next
    kSpilling,
    kJoining,
    kSortingAll,  // that is in memory
    kDone,
  };
  struct Spill;
  struct Run {
    RunId id;
    std::uint64_t large_bytes;  // as RunWriter has it
  };

  Result<State> step_once();
  Result<State> receive();
  Result<State> hold();
  void take_last(const Inbox::Half& half, char* chunks, std::uint64_t chunks_bytes);
  bool sort_next();
  Result<State> begin_join_or_sort();
  Status begin_spill(std::vector<std::unique_ptr<SortedSource>> sources, bool of_memory);
  // False: there is more to write.
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

  // Used by step() only, and after is_done().
  State state_ = State::kReceiving;
  std::optional<Inbox::Half> held_;  // complete, and neither spilled nor merged yet
  std::optional<Inbox::Half> last_half_;
  char* chunks_ = nullptr;           // memory for runs that are read, beside the last half
  std::uint64_t chunks_bytes_ = 0;
  SortedRecords sorted_;             // of held_, or of all that is in memory in the end
  LargeRoom large_;                  // at their begin, or in large_memory_
  IoMemory large_memory_;
  std::unique_ptr<Spill> spill_;
  std::vector<Run> runs_;  // that are complete
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
