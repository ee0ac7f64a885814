#pragma once
// Surveys the log of a closed database in one pass: its segments, the storages that it creates and
// drops, and the share of it that is in no snapshot yet.

#include <cstdint>
#include <map>
#include <vector>

#include "foedus-core/log/log_directory.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "foedus-core/storage_meta/storage_meta.h"
#include "foedus/epoch.h"
#include "foedus/status.h"
#include "tools/foedus/closed_database.h"
#include "tools/foedus/finding.h"

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
  // Storages that exist at the end of the log, ascending by id, those of the snapshot included.
  std::map<page::StorageId, storage_meta::StorageMeta> storages;
  std::map<page::StorageId, std::string> names;  // of dropped ones, too, as far as they are known
};

// `newest` is the newest manifest, or null if there is none. kCorruption: the list of segments is
// damaged. kWrongVersion, kIoError.
Result<LogSurvey> survey_log(const ClosedDatabase& database, const snapshot::Manifest* newest);

}  // namespace foedus::cli
