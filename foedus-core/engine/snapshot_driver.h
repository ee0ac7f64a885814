#pragma once
// What the core gives to the gleaner, and the gleaner to the core.
//
//   E13 A glean of a directory reads the log only after the cut of the last incarnation was made
//       durable (log L11): what it writes must not outlive what it was made of.
//   E14 The storages of a snapshot are those of the one before and of the log's creations, without
//       those that the log drops up to the epoch that is covered.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "foedus-core/base/task.h"
#include "foedus-core/device/device.h"
#include "foedus-core/log/segment_records.h"
#include "foedus-core/numa/topology.h"
#include "foedus-core/snapshot/manifest.h"
#include "foedus-core/storage_meta/storage_meta.h"
#include "foedus/epoch.h"
#include "foedus/options.h"
#include "foedus/status.h"

namespace foedus::log {
class Log;
}

namespace foedus::engine {

// A directory that no engine has open: locked, its log read, its newest manifest, its catalog.
class ClosedDirectory {
 public:
  // `socs`: 0: those of the machine. kBusy: it is open. kNotFound: there is no log in it.
  // kCorruption, kWrongVersion, kIoError, kOutOfSpace (E13).
  static Result<std::unique_ptr<ClosedDirectory>> open(const std::string& dir, std::uint32_t socs,
                                                       LogSink sink);
  ~ClosedDirectory();
  ClosedDirectory(const ClosedDirectory&) = delete;
  ClosedDirectory& operator=(const ClosedDirectory&) = delete;

  device::Device* device() { return device_.get(); }
  base::Runtime* runtime() { return runtime_.get(); }
  const numa::Topology& topology() const { return *topology_; }
  // Null: there is no snapshot yet.
  const snapshot::Manifest* newest_manifest() const {
    return manifest_.has_value() ? &*manifest_ : nullptr;
  }
  // All commits of it and before are durable.
  Epoch durable() const { return durable_; }
  Epoch newest_seen() const { return newest_seen_; }
  // E14, ascending by id; and an id above all that were ever given.
  const std::vector<storage_meta::StorageMeta>& storages() const { return storages_; }
  page::StorageId next_storage_id() const { return next_storage_id_; }

  // How long the catalog's records were looked for.
  std::uint64_t catalog_us() const { return catalog_us_; }

  // Segments of the log, those of one logger in their order.
  std::size_t segment_count() const;
  Result<std::unique_ptr<log::SegmentRecords>> open_segment(std::size_t index) const;

 private:
  ClosedDirectory() = default;
  Status read(const std::string& dir, std::uint32_t socs, LogSink sink);
  Status read_catalog();

  std::unique_ptr<base::Runtime> runtime_;
  std::unique_ptr<numa::Topology> topology_;
  std::unique_ptr<device::Device> device_;
  std::unique_ptr<log::Log> log_;
  std::optional<snapshot::Manifest> manifest_;
  Epoch durable_;
  Epoch newest_seen_;
  std::vector<storage_meta::StorageMeta> storages_;
  page::StorageId next_storage_id_{};
  std::uint64_t catalog_us_ = 0;
};

}  // namespace foedus::engine
