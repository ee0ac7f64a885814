#pragma once
// The gleaner for a directory that no process has open. It makes the durable log of the directory
// into the next snapshot, reclaims superseded pages, and removes files that no reader can ask for
// any more.

#include <cstdint>
#include <string>
#include <vector>

#include "foedus/database.h"
#include "foedus/options.h"
#include "foedus/status.h"
#include "gleaner/reclaim/reclaim_options.h"

namespace foedus::gleaner {

struct DirectoryGleanOptions {
  // As FileOptions::dirs: all other directories that hold files of the database.
  std::vector<std::string> dirs = {};
  // As TierOptions::ssd_dirs. The new snapshot is written to the memory tier.
  std::vector<std::string> ssd_dirs = {};
  std::uint32_t socs = 0;      // over which the reducers' memory is spread; 0: the machine's
  std::uint32_t mappers = 0;   // 1..64; 0: one for each SOC
  std::uint32_t reducers = 0;  // also the number of composers and of files; values as `mappers`
  // Memory of each reducer in bytes, at least 131072; records that do not fit are spilled. Three
  // eighths of it must hold any row. With less than 12 MiB a reducer may use additional memory for
  // one row (G20).
  std::uint64_t reducer_bytes = 128u << 20;
  // How many snapshots of different epochs stay, the newest ones; at least 1.
  std::uint32_t snapshots_kept = 1;
  ReclaimOptions reclaim = {};
  LogSink sink;  // receives lines for an operator; may be empty
};

// Makes a snapshot of the log in `dir`, then reclaims superseded pages and removes unneeded files.
// Returns kBusy if the database is open, and kNotFound if there is none or it holds no commit.
// Returns kInvalidArgument for wrong options, or for `dirs` as Database::open() does. If it fails
// as glean() does, the directory keeps its previous snapshots. If it fails as reclaim() does, the
// new snapshot exists.
Result<GleanReport> glean_directory(const std::string& dir, const DirectoryGleanOptions& options);

}  // namespace foedus::gleaner
