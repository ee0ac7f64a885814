#include "foedus-core/log/log_directory.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/out_of_memory.h"

namespace foedus::log {

namespace {

std::uint64_t change_bytes_of(std::uint64_t setting, const Savepoint& found) {
  if (setting == 0) return found.change_bytes;
  return setting == kNoChanges ? 0 : setting;
}

}  // namespace

LogDirectory::LogDirectory(device::Device* device, FoundLog found, std::uint64_t segment_bytes,
                           std::uint64_t change_bytes)
    : device_(device),
      segment_bytes_(segment_bytes),
      change_bytes_(change_bytes_of(change_bytes, found.savepoint)),
      found_(std::move(found)),
      savepoint_(found_.savepoint) {
  for (const FoundSegment& segment : found_.segments) {
    // Records after the cut do not exist (L9). Their epochs must not count: no snapshot would ever
    // cover them, and the segment would stay.
    const std::uint64_t newest = std::min(segment.seal.newest_epoch, segment.seal.cut_epoch);
    entries_[segment.header.logger].push_back({segment.header.number, segment.seal.valid_bytes,
                                               segment.is_sealed, segment.is_sealed, newest,
                                               segment.seal.cut_epoch});
  }
}

// ---- start

Status LogDirectory::make_tail_durable(const FoundSegment& segment) {
  FOEDUS_TRY(const auto file,
             device::open_existing(device_, segment.name(), device::Access::kReadWrite));
  struct alignas(kBlockBytes) Block {
    char bytes[16 * kBlockBytes];
  };
  const auto block = std::make_unique<Block>();
  std::uint64_t at = segment.tail.synced_bytes;
  while (at < segment.tail.valid_bytes) {
    const std::size_t wanted =
        std::min<std::uint64_t>(sizeof(block->bytes), segment.tail.valid_bytes - at);
    FOEDUS_TRY(const std::size_t read, file->read_at(at, block->bytes, wanted));
    if (read != wanted) {
      return Status::error(ErrorCode::kCorruption,
                           file->path() + " became shorter at offset " + std::to_string(at));
    }
    FOEDUS_CHECK(file->write_at(at, block->bytes, wanted));
    at += wanted;
  }
  return file->sync();
}

Status LogDirectory::seal_one(FoundSegment* segment) {
  FOEDUS_TRY(const auto file,
             device::open_existing(device_, segment->name(), device::Access::kReadWrite));
  SegmentBlock block;
  FOEDUS_TRY(const std::size_t read, file->read_at(0, block.bytes(), kBlockBytes));
  if (read != kBlockBytes || block.header_state() != SegmentBlock::State::kValid) {
    return Status::error(ErrorCode::kCorruption, file->path() + ": no valid header at offset 0");
  }
  FOEDUS_CHECK(write_seal(file.get(), &block, segment->seal));
  segment->is_sealed = true;
  return {};
}

Status LogDirectory::remove_orphaned_files() {
  for (const std::string& name : found_.orphaned_files) {
    const Status removed = device_->remove(name);
    if (!removed.is_ok() && removed.code() != ErrorCode::kNotFound) return removed;
  }
  return {};  // the next incarnation syncs the directory; else they are found once more
}

Status LogDirectory::seal_found() {
  if (found_.is_fresh) return {};
  FOEDUS_CHECK(device_->sync_directory());  // L21
  FOEDUS_CHECK(rewrite_savepoint(device_, found_.savepoint));
  for (const FoundSegment& segment : found_.segments) {
    if (!segment.is_sealed) FOEDUS_CHECK(make_tail_durable(segment));
  }
  const bool is_clean = (found_.savepoint.flags & kClosedCleanly) != 0;
  for (FoundSegment& segment : found_.segments) {
    const bool is_last = segment.header.incarnation == found_.savepoint.incarnation;
    if (is_last && !is_clean) FOEDUS_CHECK(seal_one(&segment));
  }
  FOEDUS_CHECK(remove_orphaned_files());
  const std::lock_guard lock(mutex_);
  for (auto& entries : entries_) {
    for (Entry& entry : entries) entry.is_settled = entry.is_sealed = true;
  }
  return {};
}

Result<std::vector<std::unique_ptr<SegmentWriter>>> LogDirectory::begin_incarnation(
    std::uint32_t loggers, std::uint64_t first_mark) {
  const std::lock_guard lock(mutex_);
  if (found_.is_fresh) FOEDUS_CHECK(create_savepoint(device_, &savepoint_));
  ++savepoint_.incarnation;
  savepoint_.logger_count = loggers;
  savepoint_.flags = 0;
  savepoint_.durable_epoch = first_mark;
  const bool kept_changes = found_.is_fresh || savepoint_.change_bytes != 0;
  if (!kept_changes) savepoint_.changes_after = first_mark;  // L35
  savepoint_.change_bytes = change_bytes_;
  std::vector<std::unique_ptr<SegmentWriter>> writers;
  for (std::uint32_t logger = 0; logger < loggers; ++logger) {
    FOEDUS_TRY(auto writer, create_locked(logger, first_mark));
    writers.push_back(std::move(writer));
  }
  is_incarnated_ = true;
  FOEDUS_CHECK(device_->sync_directory());  // L14
  FOEDUS_CHECK(write_savepoint_locked());
  return writers;
}

// ---- loggers

Result<std::unique_ptr<SegmentWriter>> LogDirectory::create_locked(std::uint32_t logger,
                                                                   std::uint64_t mark_epoch) {
  SavepointLogger& counted = savepoint_.loggers[logger];
  if (counted.newest >= kSegmentNumberMax) {
    return Status::error(ErrorCode::kIoError,
                         device_->path() + ": no segment number is left for logger " +
                             std::to_string(logger));
  }
  const SegmentHeader header{
      .magic = 0,
      .version = 0,
      .crc = 0,
      .logger = logger,
      .number = counted.newest + 1,
      .incarnation = savepoint_.incarnation,
      .mark_epoch = mark_epoch,
      .previous_valid_bytes = has_own_segment_[logger] ? entries_[logger].back().bytes : 0,
      .file_bytes = 0};
  // An attempt that failed before may have left the file; no savepoint counts it (L14).
  const Status removed = device_->remove(segment_name(logger, header.number));
  if (!removed.is_ok() && removed.code() != ErrorCode::kNotFound) return removed;
  FOEDUS_TRY(auto writer, SegmentWriter::create(device_, header, segment_bytes_));
  if (is_incarnated_) FOEDUS_CHECK(device_->sync_directory());  // L14
  // The entry comes first: without memory for it, the next attempt makes the same segment.
  entries_[logger].push_back({header.number, kBlockBytes, false, false, 0, Epoch::kMax});
  counted.newest = header.number;
  counted.anchor_segment = header.number;
  counted.anchor_bytes = kBlockBytes;
  has_own_segment_[logger] = true;
  return writer;
}

Result<std::unique_ptr<SegmentWriter>> LogDirectory::new_segment(std::uint32_t logger,
                                                                 std::uint64_t mark_epoch) {
  const std::lock_guard lock(mutex_);
  auto writer = base::catching([&] { return new_segment_locked(logger, mark_epoch); });
  const int error = writer.status().error_number();
  if (error != EMFILE && error != ENFILE && error != ENOMEM) return writer;
  // Nothing was lost, and memory or descriptors may be there again later (L25).
  const std::uint32_t newest = savepoint_.loggers[logger].newest;
  const std::uint32_t number = newest + (unsure_[logger] == nullptr ? 1 : 0);
  return Status::system_error(ErrorCode::kOutOfMemory,
                              "cannot begin " + device_->path() + "/" +
                                  segment_name(logger, number),
                              error, error == ENOMEM ? "give the process more memory" : "");
}

// Makes the next segment, or takes the one that the last attempt has left, and writes a savepoint
// that counts it. If that fails, keeps the segment for the next attempt.
Result<std::unique_ptr<SegmentWriter>> LogDirectory::new_segment_locked(std::uint32_t logger,
                                                                        std::uint64_t mark_epoch) {
  std::unique_ptr<SegmentWriter>& unsure = unsure_[logger];
  if (unsure == nullptr) {
    FOEDUS_TRY(unsure, create_locked(logger, mark_epoch));
  }
  FOEDUS_INVARIANT(unsure->mark_epoch() == mark_epoch, unsure->mark_epoch(), mark_epoch);
  FOEDUS_CHECK(write_savepoint_locked());
  return std::move(unsure);
}

Status LogDirectory::write_savepoint_locked() { return write_savepoint(device_, &savepoint_); }

void LogDirectory::note_synced(std::uint32_t logger, std::uint32_t number, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  Entry& newest = entries_[logger].back();
  FOEDUS_INVARIANT(newest.number == number && newest.bytes <= bytes, number, newest.number);
  newest.bytes = bytes;
  savepoint_.loggers[logger].anchor_bytes = bytes;
}

void LogDirectory::note_settled(std::uint32_t logger, std::uint32_t number,
                                std::uint64_t newest_epoch, bool is_sealed) {
  const std::lock_guard lock(mutex_);
  for (Entry& entry : entries_[logger]) {
    if (entry.number != number) continue;
    entry.is_settled = true;
    entry.is_sealed = is_sealed;
    entry.newest_epoch = newest_epoch;
  }
}

// ---- any thread

Status LogDirectory::remove_up_to(Epoch covered) {
  const std::lock_guard lock(mutex_);
  FOEDUS_INVARIANT(is_incarnated_);
  forget_up_to_locked(covered, 0);
  if (covered_.empty()) return {};
  FOEDUS_CHECK(write_savepoint_locked());  // L14
  return remove_forgotten_locked();
}

Status LogDirectory::remove_found_up_to(Epoch covered) {
  const std::lock_guard lock(mutex_);
  FOEDUS_INVARIANT(!is_incarnated_);
  forget_up_to_locked(covered, 1);
  if (covered_.empty()) return {};
  std::erase_if(found_.segments, [this](const FoundSegment& segment) {
    return segment.header.number < savepoint_.loggers[segment.header.logger].oldest;
  });
  Status counted = write_savepoint_locked();  // L14; it is the last incarnation's savepoint
  if (!counted.is_ok()) return counted;
  return remove_forgotten_locked();
}

// Takes segments out of savepoint_ and adds them to covered_, the oldest changes first. The caller
// writes the savepoint, and then removes them (L14). `left`: how many of each logger stay at least.
void LogDirectory::forget_up_to_locked(Epoch covered, std::size_t left) {
  // Before this run has begun, savepoint_ says whether the last one has kept changes.
  const std::uint64_t keep = savepoint_.change_bytes == 0 ? 0 : change_bytes_;
  const Epoch not_held = not_held_locked(covered);
  for (;;) {
    std::uint32_t chosen = kMaxSocs;
    for (std::uint32_t logger = 0; logger < kMaxSocs; ++logger) {
      if (!is_removable_locked(logger, not_held, left)) continue;
      const bool is_older = chosen == kMaxSocs || entries_[logger].front().newest_epoch <
                                                      entries_[chosen].front().newest_epoch;
      if (is_older) chosen = logger;
    }
    if (chosen == kMaxSocs) return;
    const Entry oldest = entries_[chosen].front();
    const bool has_changes = oldest.newest_epoch > savepoint_.changes_after;
    if (has_changes && kept_bytes_locked(covered, kKeptBytesMin) <= keep) return;
    covered_.push_back({segment_name(chosen, oldest.number), oldest.bytes});
    savepoint_.removed_epoch = std::max(savepoint_.removed_epoch, oldest.newest_epoch);
    savepoint_.changes_after = std::max(savepoint_.changes_after, oldest.newest_epoch);
    ++savepoint_.loggers[chosen].oldest;
    entries_[chosen].erase(entries_[chosen].begin());
  }
}

Status LogDirectory::remove_forgotten_locked() {
  Status first_failure;
  for (auto segment = covered_.begin(); segment != covered_.end();) {
    Status removed = device_->remove(segment->name);
    const bool is_gone = removed.is_ok() || removed.code() == ErrorCode::kNotFound;
    if (!is_gone && first_failure.is_ok()) first_failure = std::move(removed);
    segment = is_gone ? covered_.erase(segment) : segment + 1;
  }
  return first_failure;
}

Status LogDirectory::close_cleanly(Epoch durable, Epoch covered) {
  const std::lock_guard lock(mutex_);
  for (const auto& entries : entries_) {
    for (const Entry& entry : entries) {
      if (!entry.is_sealed) return {};  // what a crash leaves is complete too
    }
  }
  savepoint_.flags |= kClosedCleanly;
  savepoint_.durable_epoch = durable.number();
  if (covered.is_valid()) forget_up_to_locked(covered, 1);
  Status written = write_savepoint_locked();  // L14
  if (written.is_ok()) (void)remove_forgotten_locked().is_ok();  // else they are orphaned files
  return written;
}

std::vector<LogSegment> LogDirectory::segments() const {
  const std::lock_guard lock(mutex_);
  std::vector<LogSegment> all;
  for (std::uint32_t logger = 0; logger < kMaxSocs; ++logger) {
    for (const Entry& entry : entries_[logger]) {
      const std::uint64_t newest = entry.is_settled ? entry.newest_epoch : Epoch::kMax;
      all.push_back({logger, entry.number, entry.bytes, entry.cut_epoch, newest});
    }
  }
  return all;
}

std::uint64_t LogDirectory::bytes_on_device() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t sum = 0;
  for (const auto& entries : entries_) {
    for (const Entry& entry : entries) sum += entry.bytes;
  }
  for (const Covered& segment : covered_) sum += segment.bytes;
  return sum;
}

}  // namespace foedus::log
