#pragma once
// The gleaner for a directory that is not open: what is durable in its log becomes its next
// snapshot, superseded pages are reclaimed, and what nobody can ask for any more is removed.

#include <cstdint>
#include <string>
#include <vector>

#include "foedus/database.h"
#include "foedus/options.h"
#include "foedus/status.h"
#include "gleaner/reclaim/reclaim_options.h"

namespace foedus::gleaner {

struct DirectoryGleanOptions {
  std::vector<std::string> dirs = {};      // as Options::dirs; every one that has files of it
  std::vector<std::string> ssd_dirs = {};  // the same; the snapshot is written to the other tier
  std::uint32_t socs = 0;                  // reducers' memory is spread over; 0: the machine's
  std::uint32_t mappers = 0;               // 1..64; 0: one for each SOC
  std::uint32_t reducers = 0;              // and composers, and files; the same
  // Memory of each reducer, at least 131072; what does not fit is spilled. Three eighths of it must
  // hold any row. With less than 12 MiB a reducer may take room for one row beside it.
  std::uint64_t reducer_bytes = 128u << 20;
  std::uint32_t snapshots_kept = 1;          // the newest ones, of different epochs; at least 1
  ReclaimOptions reclaim = {};
  LogSink sink;                            // what an operator should know; may be empty
};

// kBusy: the database is open. kNotFound: there is none, or it holds no commit. kInvalidArgument:
// of `dirs`, as Database::open(). Failures as of
// glean(): the directory then has what it had; or as of reclaim(), behind a glean that succeeded.
Result<GleanReport> glean_directory(const std::string& dir, const DirectoryGleanOptions& options);

}  // namespace foedus::gleaner
