#include "foedus-core/engine/snapshots/backup_directory.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/device/posix/file_device.h"
#include "foedus-core/device/posix/text_log.h"
#include "foedus-core/engine/snapshots/backup_files.h"
#include "foedus-core/log/savepoint.h"
#include "foedus-core/snapshot/files/format.h"
#include "foedus-core/snapshot/files/manifest_format.h"
#include "foedus-core/snapshot/files/orphaned_files.h"
#include "foedus-core/snapshot/obsolete_snapshots.h"

namespace foedus::engine {

namespace {

Status refused_target(const std::string& what) {
  return Status::error(ErrorCode::kInvalidArgument, what);
}

// A file that a user of a directory leaves there, whatever the directory is for.
bool is_of_device(std::string_view name) {
  return name == device::FileDevice::kLockName || name == device::FileDevice::kProbeName ||
         device::TextLog::is_name(name);
}

bool is_of_snapshot(std::string_view name) {
  return name == snapshot::kNewManifestName || snapshot::parse_manifest_name(name).has_value() ||
         snapshot::parse_snapshot_name(name).has_value();
}

// Returns whether a savepoint is that of a backup (E54). The log of a database counts loggers
// before it removes a segment.
bool is_of_backup(const log::Savepoint& savepoint) {
  return savepoint.logger_count == 0 && savepoint.removed_epoch != 0;
}

// What the directory has before the backup is written. Neither: it is empty.
struct FoundBackup {
  std::optional<log::Savepoint> savepoint;
  std::optional<snapshot::Manifest> manifest;  // none: the first backup was not completed
};

Status check_names(const std::vector<std::string>& names, const std::string& path) {
  for (const std::string& name : names) {
    if (is_of_device(name) || is_of_snapshot(name) || name == log::kSavepointName) continue;
    return refused_target(
        path + " has " + name +
        ": a backup is made in an empty directory, or in one that has only an older " + "backup");
  }
  return {};
}

// Reads the savepoint. None: the directory is empty, or has only a savepoint that was never
// completed.
Result<std::optional<log::Savepoint>> find_savepoint(device::Device* to) {
  FOEDUS_TRY(const auto names, to->list());
  FOEDUS_CHECK(check_names(names, to->path()));
  Result<log::Savepoint> read = log::read_savepoint(to);
  if (read.is_ok()) {
    if (is_of_backup(*read)) return std::optional(*read);
    return refused_target(to->path() + " has a database; a backup needs a directory of its own");
  }
  if (read.code() != ErrorCode::kNotFound && read.code() != ErrorCode::kCorruption) {
    return read.status();
  }
  const auto other = std::find_if(names.begin(), names.end(), is_of_snapshot);
  if (other == names.end()) return std::optional<log::Savepoint>();
  if (read.code() == ErrorCode::kCorruption) return read.status();
  return refused_target(to->path() + " has " + *other + ", but no savepoint: it is no backup");
}

// Refuses a backup that is not an older state of the database, as far as its manifest tells.
Status check_older(const snapshot::Manifest& old, const BackupOrder& order) {
  const snapshot::Manifest& next = *order.manifest;
  if (old == next) return {};
  if (old.number < next.number && old.covered <= next.covered &&
      old.next_storage_id <= next.next_storage_id) {
    return {};
  }
  return refused_target(order.to->path() + " has a backup of snapshot " +
                        std::to_string(static_cast<std::uint32_t>(old.number)) + ", epoch " +
                        std::to_string(old.covered.number()) +
                        ", which is newer than, or another than, " + "snapshot " +
                        std::to_string(static_cast<std::uint32_t>(next.number)) + ", epoch " +
                        std::to_string(next.covered.number()) +
                        ", of this database; make the backup in an empty directory");
}

// Returns the file that the older backup has, too; null: it lacks the file.
const snapshot::ManifestFile* find_kept(const FoundBackup& found,
                                        const snapshot::ManifestFile& file) {
  if (!found.manifest.has_value()) return nullptr;
  for (const snapshot::ManifestFile& old : found.manifest->files) {
    if (old.snapshot == file.snapshot && old.soc == file.soc) return &old;
  }
  return nullptr;
}

// Looks at the directory, and compares the files that stay with those of the database. Changes
// nothing.
Result<FoundBackup> look(const BackupOrder& order) {
  FoundBackup found;
  FOEDUS_TRY(found.savepoint, find_savepoint(order.to));
  if (!found.savepoint.has_value()) return found;
  Result<snapshot::Manifest> old = snapshot::read_newest_manifest(order.to);
  if (old.code() == ErrorCode::kNotFound) return found;
  FOEDUS_CHECK(old.status());
  FOEDUS_CHECK(check_older(*old, order));
  found.manifest = std::move(old).value();
  for (const snapshot::ManifestFile& file : order.manifest->files) {
    const snapshot::ManifestFile* const kept = find_kept(found, file);
    if (kept == nullptr) continue;
    if (kept->pages != file.pages) return other_database(order, file);
    FOEDUS_CHECK(compare_file(order, file));
  }
  return found;
}

// Makes the savepoint of a first backup; or makes the one that was found durable, and what an
// attempt that was cut short has left disappear.
Status prepare(const BackupOrder& order, FoundBackup* found) {
  if (!found->savepoint.has_value()) {
    log::Savepoint savepoint = log::empty_savepoint();
    savepoint.flags = log::kClosedCleanly;
    savepoint.durable_epoch = savepoint.removed_epoch = order.manifest->covered.number();
    FOEDUS_CHECK(log::create_savepoint(order.to, &savepoint));
    found->savepoint = savepoint;
    return {};
  }
  FOEDUS_CHECK(order.to->sync_directory());
  FOEDUS_CHECK(log::rewrite_savepoint(order.to, *found->savepoint));
  return snapshot::remove_obsolete_snapshots(order.to, {}, nullptr, nullptr, nullptr);
}

Status add_files(const BackupOrder& order, const FoundBackup& found, BackupReport* report) {
  for (const snapshot::ManifestFile& file : order.manifest->files) {
    ++report->files;
    report->bytes += file_bytes(file);
    if (find_kept(found, file) != nullptr) {
      ++report->files_kept;
      continue;
    }
    FOEDUS_CHECK(add_file(order, file, report));
    FOEDUS_SYNC_POINT("backup:file_added");
  }
  return {};
}

Status replace(const BackupOrder& order, FoundBackup found, BackupReport* report) {
  FOEDUS_CHECK(prepare(order, &found));
  FOEDUS_CHECK(add_files(order, found, report));
  if (found.savepoint->durable_epoch < order.manifest->covered.number()) {  // E55
    found.savepoint->durable_epoch = order.manifest->covered.number();
    FOEDUS_CHECK(log::write_savepoint(order.to, &*found.savepoint));
  }
  const bool is_there = found.manifest.has_value() && *found.manifest == *order.manifest;
  if (!is_there) FOEDUS_CHECK(snapshot::write_manifest(order.to, *order.manifest));
  return snapshot::remove_obsolete_snapshots(order.to, {}, nullptr, nullptr, nullptr);
}

// Removes the files of an attempt that failed. Without a manifest nothing is a backup: then also
// removes the savepoint, as the last file (E54).
Status undo(device::Device* to) {
  FOEDUS_CHECK(snapshot::remove_orphaned_files(to));
  FOEDUS_TRY(const auto numbers, snapshot::find_manifests(to));
  if (!numbers.empty()) return {};
  FOEDUS_CHECK(device::unless_gone(to->remove(log::kSavepointName)));
  return to->sync_directory();
}

}  // namespace

Status check_backup_directory(device::Device* to) { return find_savepoint(to).status(); }

Status write_backup(const BackupOrder& order, BackupReport* report) {
  FOEDUS_TRY(FoundBackup found, look(order));
  Status status = base::catching([&] { return replace(order, std::move(found), report); });
  if (!status.is_ok()) (void)base::catching([&] { return undo(order.to); }).is_ok();
  return status;
}

}  // namespace foedus::engine
