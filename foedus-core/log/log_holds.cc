// Holds of LogDirectory (L32): which segments stay for a reader of changes.
#include <algorithm>
#include <string>

#include "foedus-core/base/invariant.h"
#include "foedus-core/log/log_directory.h"

namespace foedus::log {

// Returns the newest epoch of which a record may have been removed.
std::uint64_t LogDirectory::removed_epoch_locked() const {
  if (savepoint_.removed_epoch != 0) return savepoint_.removed_epoch;
  // A savepoint of an early build does not say it. Then all that recovery found counts as removed,
  // if the numbers of segments show that there were older ones.
  const bool is_known = std::ranges::all_of(savepoint_.loggers, [](const SavepointLogger& logger) {
    return logger.oldest <= 1;  // segments are numbered from 1
  });
  return is_known ? 0 : found_.cut.number();
}

Result<std::uint64_t> LogDirectory::hold_after(Epoch delivered) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t removed = removed_epoch_locked();
  if (delivered.number() < removed) {
    return Status::error(ErrorCode::kNotFound,
                         device_->path() + ": the log does not have all changes after epoch " +
                             std::to_string(delivered.number()) + " any more, only those after " +
                             std::to_string(removed) +
                             "; start over from a backup, a dump or a scan");
  }
  holds_.emplace(++last_hold_, delivered.number());
  return last_hold_;
}

void LogDirectory::move_hold(std::uint64_t hold, Epoch delivered) {
  const std::lock_guard lock(mutex_);
  std::uint64_t& held = holds_.at(hold);
  FOEDUS_INVARIANT(delivered.number() >= held, delivered.number(), held);
  held = delivered.number();
}

void LogDirectory::release_hold(std::uint64_t hold) {
  const std::lock_guard lock(mutex_);
  holds_.erase(hold);
}

// Returns the newest epoch up to which segments may be removed of what a snapshot covers.
Epoch LogDirectory::not_held_locked(Epoch covered) const {
  for (const auto& [hold, delivered] : holds_) covered = std::min(covered, Epoch(delivered));
  return covered;
}

}  // namespace foedus::log
