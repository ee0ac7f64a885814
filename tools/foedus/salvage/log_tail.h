#pragma once
// The log of a damaged database: the records that check out and are in no snapshot, and the epoch
// up to which none is missing.
//
//   J1  A mark in a segment says that all commits of its logger up to an epoch end before it (log
//       L9). So what a logger has logged up to the newest mark before the first damage is whole,
//       whatever the damage hides.
//   J2  The whole epoch is the least of these marks over all loggers, and not above the cut. The
//       snapshot with the records up to it is the state at the end of that epoch: no transaction is
//       missing, and none is there in part. It is never below the snapshot's epoch.
//   J3  The log is trusted only if it is known to be complete. Without a savepoint the number of
//       loggers is unknown. If segments were removed for a snapshot that is lost, their records are
//       unknown. Both make the snapshot's epoch the whole one.
//   J4  A segment begins with whole records (log FORMAT.md), so it can be read whatever was lost
//       before it. Where records begin after a damaged frame is not known: the rest of its segment
//       is not read.
//   J5  A segment that must be sealed and is not may hold records after its cut, which do not
//       exist. If the cut is that of an older incarnation, the segment is not read.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "foedus-core/log/ring/record.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/page/tid.h"
#include "foedus/epoch.h"
#include "foedus/status.h"
#include "tools/foedus/closed_database.h"
#include "tools/foedus/salvage/losses.h"

namespace foedus::cli {

// A copy of a log record.
struct TailRecord {
  log::LogRecordType type{};
  std::uint32_t payload_offset = 0;
  page::Tid tid;
  std::uint32_t session = 0;
  std::uint64_t order = 0;  // in which the session published its records
  std::string key;
  std::string payload;
};

struct LogTail {
  Epoch whole;                                                 // J2
  std::map<page::StorageId, std::vector<TailRecord>> records;  // as they were read

  // Forgets the records of epochs after `whole`. Returns how many there were.
  std::uint64_t forget_later();
};

// Reads the records of epochs above `covered`, those that the snapshot has. Each damage is a loss.
// kWrongVersion: the format of the log is not known. kIoError: the directory cannot be listed.
Result<LogTail> read_log_tail(const ClosedDatabase& database, Epoch covered, Losses* losses);

}  // namespace foedus::cli
