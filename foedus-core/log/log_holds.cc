// Holds of LogDirectory (L32): which segments stay for a reader of changes.
#include <algorithm>
#include <string>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/log/log_directory.h"

namespace foedus::log {

std::uint64_t LogDirectory::bytes_kept(Epoch covered) const {
  if (change_bytes_ == 0) return 0;
  const std::lock_guard lock(mutex_);
  return kept_bytes_locked(covered, 0);
}

Result<LogHold> LogDirectory::hold_after(Epoch delivered) {
  const std::lock_guard lock(mutex_);
  return hold_locked(delivered);
}

// The epoch is one of a record, or changes_after: a record's, too, or the first mark of a run.
Result<LogHold> LogDirectory::hold_newest(Epoch durable) {
  const std::lock_guard lock(mutex_);
  Epoch newest(savepoint_.changes_after);
  for (const auto& entries : entries_) {
    for (const Entry& entry : entries) {
      const Epoch of_entry(entry.newest_epoch);  // none, if the segment is not settled
      if (of_entry <= durable) newest = std::max(newest, of_entry);
    }
  }
  return hold_locked(newest);
}

Result<LogHold> LogDirectory::hold_locked(Epoch delivered) {
  if (change_bytes_ == 0) {
    return Status::error(ErrorCode::kNotSupported,
                         device_->path() + ": the log keeps no changes; open the database with " +
                             "option log.change_bytes");
  }
  const std::uint64_t first = savepoint_.changes_after;
  if (delivered.number() < first) {
    return Status::error(
        ErrorCode::kNotFound,
        device_->path() + ": the log does not have all changes after epoch " +
            std::to_string(delivered.number()) + ", only those after " + std::to_string(first) +
            "; read the rows in a snapshot, and begin a stream after the epoch that it covers");
  }
  holds_.emplace(++last_hold_, delivered.number());
  return LogHold{last_hold_, delivered};
}

void LogDirectory::move_hold(std::uint64_t hold, Epoch delivered) {
  const std::lock_guard lock(mutex_);
  FOEDUS_SYNC_POINT("log:hold_moves");
  std::uint64_t& held = holds_.at(hold);
  FOEDUS_INVARIANT(delivered.number() >= held, delivered.number(), held);
  held = delivered.number();
}

void LogDirectory::release_hold(std::uint64_t hold) {
  const std::lock_guard lock(mutex_);
  holds_.erase(hold);
}

// Returns true if the oldest segment of the logger may be removed.
bool LogDirectory::is_removable_locked(std::uint32_t logger, Epoch covered,
                                       std::size_t left) const {
  const std::vector<Entry>& entries = entries_[logger];
  if (entries.size() <= left) return false;
  const Entry& oldest = entries.front();
  return oldest.is_settled && oldest.newest_epoch <= covered.number();
}

// Returns the bytes of the segments that `covered` covers, each of which counts as at least
// `each_min`.
std::uint64_t LogDirectory::kept_bytes_locked(Epoch covered, std::uint64_t each_min) const {
  std::uint64_t bytes = 0;
  for (const auto& entries : entries_) {
    for (const Entry& entry : entries) {
      const bool is_covered = entry.is_settled && entry.newest_epoch <= covered.number();
      if (is_covered) bytes += std::max(entry.bytes, each_min);
    }
  }
  return bytes;
}

// Returns the newest epoch up to which segments may be removed of what a snapshot covers.
Epoch LogDirectory::not_held_locked(Epoch covered) const {
  for (const auto& [hold, delivered] : holds_) covered = std::min(covered, Epoch(delivered));
  return covered;
}

}  // namespace foedus::log
