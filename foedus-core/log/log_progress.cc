#include "foedus-core/log/log_progress.h"

#include <algorithm>

#include "foedus-core/base/invariant.h"

namespace foedus::log {

LogProgress::LogProgress(base::Runtime* runtime, internal::DurabilityWaits* waits,
                         std::uint32_t loggers)
    : runtime_(runtime), waits_(waits), loggers_(loggers) {}

std::uint64_t LogProgress::dirty() const {
  const std::lock_guard lock(mutex_);
  return dirty_;
}

void LogProgress::raise_dirty(std::uint64_t epoch) {
  {
    const std::lock_guard lock(mutex_);
    if (epoch <= dirty_) return;
    dirty_ = epoch;
  }
  for (base::Task* const task : tasks_) runtime_->notify(task);  // L19
}

void LogProgress::report(std::uint32_t number, std::uint64_t scanned, std::uint64_t mark) {
  std::uint64_t scanned_min = ~std::uint64_t{0};
  std::uint64_t mark_min = ~std::uint64_t{0};
  bool all_marked;
  {
    const std::lock_guard lock(mutex_);
    PerLogger& own = loggers_[number];
    FOEDUS_INVARIANT(scanned >= own.scanned && mark >= own.mark, scanned, mark, own.mark);
    FOEDUS_INVARIANT(mark <= scanned, mark, scanned);
    own.scanned = scanned;
    own.mark = mark;
    for (const PerLogger& logger : loggers_) {
      scanned_min = std::min(scanned_min, logger.scanned);
      mark_min = std::min(mark_min, logger.mark);
    }
    all_marked = dirty_ <= mark_min;
  }
  waits_->announce(Epoch(all_marked ? scanned_min : mark_min));  // L18
}

void LogProgress::report_space(std::uint32_t number, const Status& status) {
  const std::lock_guard lock(mutex_);
  if (loggers_[number].space.is_ok() && status.is_ok()) return;
  loggers_[number].space = status;
  Status any;
  for (const PerLogger& logger : loggers_) {
    if (!logger.space.is_ok()) any = logger.space;
  }
  waits_->set_out_of_space(any);  // under the mutex: the newest status is the last one set
}

void LogProgress::report_failure(Status failure) {
  failure.with_hint("reads go on, commits do not until the database is opened again");
  waits_->fail(failure);
  for (base::Task* const task : tasks_) runtime_->notify(task);
}

}  // namespace foedus::log
