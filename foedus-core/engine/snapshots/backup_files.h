#pragma once
// The snapshot files of a backup: added as links or as checked copies, or kept and compared.

#include <cstdint>

#include "foedus-core/engine/snapshots/backup_directory.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "foedus/database.h"
#include "foedus/status.h"

namespace foedus::engine {

// Returns the length of a snapshot file.
inline std::uint64_t file_bytes(const snapshot::ManifestFile& file) {
  return (std::uint64_t{file.pages} + 1) * page::kPageBytes;
}

// Adds a file of the database to the backup. Its bytes are durable then; its name is not.
// kCorruption: the length of the file, or a page that is copied, is wrong. kNotSupported: it must
// be a link, and cannot. kOutOfSpace, kIoError: a part of a copy may be left.
Status add_file(const BackupOrder& order, const snapshot::ManifestFile& file, BackupReport* report);

// Compares a file that the older backup has with that of the database: all pages with
// BackupOrder::compare_all, else a sample. kInvalidArgument: they differ. kCorruption: one has
// another length. kIoError: also, one is missing.
Status compare_file(const BackupOrder& order, const snapshot::ManifestFile& file);

// Returns the error for a backup that has another file of this name.
Status other_database(const BackupOrder& order, const snapshot::ManifestFile& file);

}  // namespace foedus::engine
