#pragma once
// A backup: a directory that holds one snapshot, and opens as a database. It consists of
//
//   savepoint             it counts no segment: all commits are in the snapshot
//   manifest-<n>          of the snapshot
//   snapshot-<m>-<soc>    the files that the manifest lists, under their names in the database
//
//   E54 The savepoint of a backup says that log up to some epoch was removed. So open() refuses a
//       directory that has the savepoint but no manifest. It is durable before any other file is
//       made, and removed after all others.
//   E55 A manifest in a backup gets its name only after its files are durable, and after the
//       savepoint counts its commits as durable. Files of the older manifest are removed only once
//       the new manifest is durable (snapshot F4).
//
// write_backup(), over an older one:
//   files: write, sync | savepoint | manifest (F2) | old manifest and files removed
//   the older backup is there -------------------->| either |<---- the new one is there

#include "foedus-core/device/device.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "foedus/database.h"
#include "foedus/status.h"

namespace foedus::engine {

// Returns kInvalidArgument if the directory has files that are neither those of a backup nor those
// of the beginning of one. Changes nothing. kCorruption, kIoError, kWrongVersion: of the savepoint.
Status check_backup_directory(device::Device* to);

// What to back up, and to where.
struct BackupOrder {
  device::Device* from = nullptr;
  const snapshot::Manifest* manifest = nullptr;  // its files stay during the call
  device::Device* to = nullptr;                  // no other thread uses it
  BackupFiles files = BackupFiles::kAuto;
  bool compare_all = false;
};

// Makes the backup, durably, and fills in the files and bytes of `report`. On failure the directory
// has the older backup or the new one; if it had none, it is emptied, unless removals fail, too.
// kInvalidArgument: the directory has something else than an older backup of this database; it was
// not changed. Other errors: those of foedus::Database::backup().
Status write_backup(const BackupOrder& order, BackupReport* report);

}  // namespace foedus::engine
