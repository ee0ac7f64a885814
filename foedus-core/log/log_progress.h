#pragma once
// LogProgress: how far each logger of one log is, and the durable epoch that follows from this.
//
//   word        written by   meaning
//   dirty       all loggers  newest epoch of any record that a logger has met in a ring
//   scanned[i]  logger i     it has met, written and synced all records of this epoch and before
//   mark[i]     logger i     its newest mark on the device; recovery cuts at the minimum M of them
//
//   L18 The durable epoch is S = min scanned if dirty <= M, else M. S is right if dirty <= M: a
//       logger stores scanned[i] only after it has raised dirty for all it met, and S is read
//       before dirty. So every record of an epoch <= S is of an epoch <= dirty <= M. Recovery keeps
//       it, for it cuts after M, though nothing was written for the epochs since M. M is right
//       always: every logger has synced a mark >= M after all records of those epochs. S would be
//       wrong while dirty > M: one logger may have synced records of an epoch that another one has
//       not marked, and recovery would cut them off.
//   L19 A logger that raises dirty notifies all, and a logger marks when dirty is above its own
//       mark (and published too). So M reaches dirty soon after each commit, and an idle log writes
//       nothing.

#include <cstdint>
#include <mutex>
#include <vector>

#include "foedus-core/base/system/task.h"
#include "foedus-core/log/durability.h"
#include "foedus/status.h"

namespace foedus::log {

class LogProgress {
 public:
  LogProgress(base::Runtime* runtime, internal::DurabilityWaits* waits, std::uint32_t loggers);

  // Adds a logger to notify, before the loggers start. Nothing is announced until each has reported
  // once.
  void add_logger(base::Task* logger) { tasks_.push_back(logger); }

  std::uint64_t dirty() const;
  // Notes that a logger has met a record of `epoch` in a ring.
  void raise_dirty(std::uint64_t epoch);
  // Notes that logger `number` has synced all up to `scanned`, and a mark of `mark`. Announces the
  // durable epoch that follows (L18).
  void report(std::uint32_t number, std::uint64_t scanned, std::uint64_t mark);

  // Notes that logger `number` lacks space on the device or memory, or has both again (ok).
  void report_space(std::uint32_t number, const Status& status);
  // Ends all waits with `failure`, and a hint that reads go on. Notifies all loggers, which stop
  // writing.
  void report_failure(Status failure);

 private:
  struct PerLogger {
    std::uint64_t scanned = 0;
    std::uint64_t mark = 0;
    Status space;
  };

  base::Runtime* const runtime_;
  internal::DurabilityWaits* const waits_;
  std::vector<base::Task*> tasks_;

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::uint64_t dirty_ = 0;
  std::vector<PerLogger> loggers_;
};

}  // namespace foedus::log
