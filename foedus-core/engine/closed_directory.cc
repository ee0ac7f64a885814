#include "foedus-core/engine/closed_directory.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "foedus-core/engine/setup/directories.h"
#include "foedus-core/engine/snapshot_driver.h"
#include "foedus-core/log/log.h"
#include "foedus-core/snapshot/files/format.h"

namespace foedus::engine {

namespace {

// Refuses a device that has snapshot files or manifests but no log: only a new database has no log.
Status check_new(device::Device* device, const log::Log& log) {
  if (!log.was_missing()) return {};
  FOEDUS_TRY(const auto names, device->list());
  for (const std::string& name : names) {
    const bool is_of_database = snapshot::parse_manifest_name(name).has_value() ||
                                snapshot::parse_snapshot_name(name).has_value();
    if (!is_of_database) continue;
    return Status::error(ErrorCode::kCorruption,
                         device->path() + ": " + name + " is there, but the log is missing, and " +
                             "with it what was committed after the newest snapshot");
  }
  return {};
}

}  // namespace

Result<std::optional<snapshot::Manifest>> find_newest_manifest(device::Device* device) {
  Result<snapshot::Manifest> found = snapshot::read_newest_manifest(device);
  if (found.is_ok()) return std::optional(std::move(found).value());
  if (found.code() != ErrorCode::kNotFound) return found.status();
  return std::optional<snapshot::Manifest>();
}

Status check_together(device::Device* device, const log::Log& log,
                      const std::optional<snapshot::Manifest>& newest) {
  FOEDUS_CHECK(check_new(device, log));
  const Epoch covered = newest.has_value() ? newest->covered : Epoch();
  const Epoch removed = log.removed_epoch_found();
  if (removed <= covered) return {};
  return Status::error(
      ErrorCode::kCorruption,
      device->path() + ": a manifest is missing: segments of epochs up to " +
          std::to_string(removed.number()) + " were removed because a snapshot covered them, and " +
          (newest.has_value() ? "the newest one that is left covers epochs up to " +
                                    std::to_string(covered.number())
                              : std::string("there is none")));
}

ClosedDirectory::~ClosedDirectory() = default;

Result<std::unique_ptr<ClosedDirectory>> ClosedDirectory::open(
    const DirectoryNames& names, std::uint32_t socs, LogSink sink) {
  FOEDUS_CHECK(check_directories(names));
  std::unique_ptr<ClosedDirectory> opened(new ClosedDirectory());
  FOEDUS_CHECK(opened->read(names, socs, std::move(sink)));
  return opened;
}

Status ClosedDirectory::read(const DirectoryNames& names, std::uint32_t socs, LogSink sink) {
  runtime_ = base::make_thread_runtime();
  FOEDUS_TRY(numa::Topology topology, numa::Topology::make(socs));
  topology_ = std::make_unique<numa::Topology>(std::move(topology));
  Options options;
  options.dir = names.dir;
  options.files.dirs = names.dirs;
  options.tiers.ssd_dirs = names.ssd_dirs;
  FOEDUS_TRY(OpenedDirectories opened, open_directories(options, runtime_.get()));
  device_ = std::move(opened.device);
  FOEDUS_TRY(log_, log::Log::open(device_.get(), runtime_.get(), {.loggers = topology_->socs()},
                                  std::move(sink)));
  FOEDUS_CHECK(log_->make_cut_durable());  // E13: a snapshot of this log may follow
  FOEDUS_TRY(manifest_, find_newest_manifest(device_.get()));
  FOEDUS_CHECK(check_together(device_.get(), *log_, manifest_));
  if (segment_count() == 0 && !manifest_.has_value()) {
    return Status::error(ErrorCode::kNotFound, names.dir + " holds no log");
  }
  const GleanOrder all = order();
  durable_ = all.covered;
  newest_seen_ = all.newest_seen;
  const std::uint64_t begin_us = runtime_->now_us();
  FOEDUS_TRY(catalog_, recover_catalog(*log_, newest_manifest(), runtime_.get()));
  catalog_us_ = runtime_->now_us() - begin_us;
  return {};
}

std::size_t ClosedDirectory::segment_count() const { return log_->found_segment_count(); }

Result<std::unique_ptr<log::SegmentRecords>> ClosedDirectory::open_segment(
    std::size_t index) const {
  return log_->open_segment(index);
}

GleanOrder ClosedDirectory::order() const {
  GleanOrder order = order_of_found(*log_, newest_manifest());
  order.device = device_.get();
  order.runtime = runtime_.get();
  order.topology = topology_.get();
  order.storages = catalog_.storages;
  order.samples = catalog_.samples;
  order.next_storage_id = catalog_.next_storage_id;
  return order;
}

}  // namespace foedus::engine
