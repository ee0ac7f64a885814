#pragma once
// ClosedDatabase: reads the files of a database that no process has open. Nothing is changed: no
// seal is written, no orphaned file removed, no lock file made (device V8).

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "foedus-core/device/device.h"
#include "foedus-core/device/tiers/tiered_device.h"
#include "foedus-core/engine/setup/directory_names.h"
#include "foedus-core/log/log_directory.h"
#include "foedus-core/log/segments/records.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "foedus/epoch.h"
#include "foedus/status.h"

namespace foedus::cli {

struct ClosedDatabase {
  // Opens the database of some directories. kBusy: it is open. kNotFound: no such directory, or no
  // database in it. kInvalidArgument: of `names`. kIoError.
  static Result<ClosedDatabase> open(const engine::DirectoryNames& names);
  // Opens the database on `device`.
  static Result<ClosedDatabase> of(std::unique_ptr<device::Device> device);

  // Examines the log. kCorruption, kWrongVersion: the message names file and offset.
  Result<log::FoundLog> log() const { return log::examine_log(device.get()); }
  // Returns a message about commits that are lost, if the newest manifest covers `covered`, or an
  // empty string. There is a log wherever there is a manifest, and a segment is removed only if a
  // manifest covers it.
  std::string problem_of(const log::FoundLog& log, Epoch covered) const;
  // Opens the durable records of a segment. REQUIRES: `segment` is of log().
  Result<std::unique_ptr<log::SegmentRecords>> records(const log::FoundSegment& segment) const;

  std::unique_ptr<device::Device> device;
  std::vector<page::SnapshotNumber> manifests;  // ascending
  std::optional<device::TierFill> fill;         // if snapshots lie on two tiers
};

}  // namespace foedus::cli
