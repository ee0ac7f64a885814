#pragma once
// Reads a directory whose log has no writer: one that no engine has open (ClosedDirectory), or one
// that an engine is about to open.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "foedus-core/base/system/task.h"
#include "foedus-core/device/device.h"
#include "foedus-core/engine/sessions/recovered_catalog.h"
#include "foedus-core/engine/setup/directory_names.h"
#include "foedus-core/engine/snapshot_driver.h"
#include "foedus-core/log/segments/records.h"
#include "foedus-core/numa/topology.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "foedus-core/storage_meta/storage_meta.h"
#include "foedus/epoch.h"
#include "foedus/options.h"
#include "foedus/status.h"

namespace foedus::log {
class Log;
}

namespace foedus::engine {

// Returns the newest manifest, or nullopt if there is no snapshot yet.
Result<std::optional<snapshot::Manifest>> find_newest_manifest(device::Device* device);
// Returns kCorruption if there are snapshot files without a log, or if the newest manifest does not
// cover all removed segments of the log. The engine leaves neither: a log has its savepoint before
// the first snapshot, and segments are removed only once a durable manifest covers them.
Status check_together(device::Device* device, const log::Log& log,
                      const std::optional<snapshot::Manifest>& newest);

// A directory that no engine has open. It is locked, and its log, newest manifest and catalog are
// read.
class ClosedDirectory {
 public:
  // Opens the directory, and makes the cut of its log durable (E13). If `socs` is 0, uses as many
  // SOCs as the machine has. kBusy: another process or engine has the directory open. kNotFound: it
  // has neither log nor snapshot. kInvalidArgument: `names` are refused. kCorruption,
  // kWrongVersion, kIoError, kOutOfSpace.
  static Result<std::unique_ptr<ClosedDirectory>> open(const DirectoryNames& names,
                                                       std::uint32_t socs, LogSink sink);
  ~ClosedDirectory();
  ClosedDirectory(const ClosedDirectory&) = delete;
  ClosedDirectory& operator=(const ClosedDirectory&) = delete;

  device::Device* device() { return device_.get(); }
  base::Runtime* runtime() { return runtime_.get(); }
  const numa::Topology& topology() const { return *topology_; }
  // Returns null if there is no snapshot yet.
  const snapshot::Manifest* newest_manifest() const {
    return manifest_.has_value() ? &*manifest_ : nullptr;
  }
  // Returns the epoch up to which all commits are durable.
  Epoch durable() const { return durable_; }
  Epoch newest_seen() const { return newest_seen_; }
  // Returns the storages that exist at the log's end (E14), ascending by id. The next storage id is
  // above all ids ever given.
  const std::vector<storage_meta::StorageMeta>& storages() const { return catalog_.storages; }
  page::StorageId next_storage_id() const { return catalog_.next_storage_id; }

  // Returns how long it took to read the catalog.
  std::uint64_t catalog_us() const { return catalog_us_; }

  // Return the number of segments of the log, and open one of them. Segments of one logger have
  // indexes in the order of the log.
  std::size_t segment_count() const;
  Result<std::unique_ptr<log::SegmentRecords>> open_segment(std::size_t index) const;
  // Returns an order for a snapshot of all durable commits in the directory.
  GleanOrder order() const;

 private:
  ClosedDirectory() = default;
  Status read(const DirectoryNames& names, std::uint32_t socs, LogSink sink);

  std::unique_ptr<base::Runtime> runtime_;
  std::unique_ptr<numa::Topology> topology_;
  std::unique_ptr<device::Device> device_;
  std::unique_ptr<log::Log> log_;
  std::optional<snapshot::Manifest> manifest_;
  Epoch durable_;
  Epoch newest_seen_;
  RecoveredCatalog catalog_;
  std::uint64_t catalog_us_ = 0;
};

}  // namespace foedus::engine
