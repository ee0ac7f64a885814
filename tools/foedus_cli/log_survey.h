#pragma once
// What the log of a closed database has: its segments, the storages that it creates and drops, and
// how much of it is in no snapshot yet. One pass over all records.

#include <cstdint>
#include <map>
#include <vector>

#include "foedus-core/log/log_directory.h"
#include "foedus-core/snapshot/manifest.h"
#include "foedus-core/storage_meta/storage_meta.h"
#include "foedus/epoch.h"
#include "foedus/status.h"
#include "tools/foedus_cli/closed_database.h"
#include "tools/foedus_cli/finding.h"

namespace foedus::cli {

struct LogCounts {
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;  // of the records
};

struct LogSurvey {
  log::FoundLog found;
  std::vector<LogCounts> segments;  // as in `found`
  Findings findings;                // segments that cannot be read to their end
  LogCounts all;
  LogCounts tail;  // of epochs above those that the snapshot covers
  // At the end of the log, ascending by id, those of the snapshot included.
  std::map<page::StorageId, storage_meta::StorageMeta> storages;
  std::map<page::StorageId, std::string> names;  // of dropped ones, too, as far as they are known
};

// `newest`: the newest manifest, null: there is none. kCorruption: it is not known which segments
// there are. kWrongVersion, kIoError.
Result<LogSurvey> survey_log(const ClosedDatabase& database, const snapshot::Manifest* newest);

}  // namespace foedus::cli
