// Engine::backup(): which snapshot is backed up, and where to.
#include <algorithm>
#include <string>
#include <utility>

#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/device/posix/file_device.h"
#include "foedus-core/engine/engine.h"
#include "foedus-core/engine/snapshots/backup_directory.h"

namespace foedus::engine {

namespace {

// Returns kInvalidArgument instead of an error that says that the directory is in use.
Status as_argument(Status status) {
  if (status.code() != ErrorCode::kBusy) return status;
  return Status::error(ErrorCode::kInvalidArgument, "no backup can be made: " + status.message());
}

// Refuses a directory that is in use or has foreign files. Changes nothing in it, not even by the
// lock file that FileDevice::open() makes.
Status check_directory(const std::string& dir) {
  FOEDUS_CHECK(check_directories({dir, {}, {}}));
  auto found = device::FileDevice::open_to_read(dir);
  if (found.code() == ErrorCode::kNotFound) return {};
  if (!found.is_ok()) return as_argument(found.status());
  return check_backup_directory(found->get());
}

}  // namespace

// Waits until a snapshot is there that the backup may hold.
Status Engine::wait_for_backup(const BackupOptions& options) {
  if (log_ == nullptr) {
    return Status::error(ErrorCode::kNotSupported,
                         "with Logging::kNone there are no snapshots to back up");
  }
  const std::uint64_t begin_us = runtime_->now_us();
  FOEDUS_CHECK(wait_recovered(options.timeout_us));
  if (options.newest_existing) return {};
  const Epoch wanted = newest_commit();
  const std::uint64_t spent_us = runtime_->now_us() - begin_us;
  if (wanted.is_valid()) {
    return wait_covered(wanted, options.timeout_us - std::min(options.timeout_us, spent_us));
  }
  // All commits are in the snapshot that open() has found; a database without any has no snapshot.
  if (snapshots_->covered().is_valid()) return {};
  return gleaning_->scheduler().glean({}).status();
}

// Backs up the newest snapshot, which stays meanwhile (E53).
Result<BackupReport> Engine::back_up_newest(device::Device* to, const BackupOptions& options,
                                            std::uint64_t begin_us) {
  BackupReport report;
  report.snapshot_us = runtime_->now_us() - begin_us;
  const PinnedSnapshot pinned(snapshots_.get());
  if (pinned.get() == nullptr) {
    return Status::error(ErrorCode::kNotFound, "there is no snapshot yet");
  }
  FOEDUS_SYNC_POINT("backup:pinned");
  report.covered = pinned.get()->covered();
  report.snapshot = static_cast<std::uint32_t>(pinned.get()->number());
  FOEDUS_CHECK(write_backup({.from = device_,
                             .manifest = &pinned.get()->manifest(),
                             .to = to,
                             .files = options.files,
                             .compare_all = options.compare_all},
                            &report));
  report.total_us = runtime_->now_us() - begin_us;
  return report;
}

Result<BackupReport> Engine::backup_to(device::Device* to, const BackupOptions& options) {
  FOEDUS_CHECK(check_open());
  const std::uint64_t begin_us = runtime_->now_us();
  FOEDUS_CHECK(wait_for_backup(options));
  return back_up_newest(to, options, begin_us);
}

Result<BackupReport> Engine::backup(const std::string& dir, const BackupOptions& options) {
  FOEDUS_CHECK(check_open());
  FOEDUS_CHECK(check_directory(dir));
  const std::uint64_t begin_us = runtime_->now_us();
  FOEDUS_CHECK(wait_for_backup(options));
  auto to = device::FileDevice::open(
      dir, options_.files.direct_io == Facility::kOff ? Facility::kOff : Facility::kTry);
  if (!to.is_ok()) return as_argument(to.status());
  return back_up_newest(to->get(), options, begin_us);
}

}  // namespace foedus::engine
