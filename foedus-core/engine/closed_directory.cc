#include <algorithm>
#include <map>
#include <utility>

#include "foedus-core/device/file_device.h"
#include "foedus-core/engine/snapshot_driver.h"
#include "foedus-core/log/log.h"

namespace foedus::engine {

ClosedDirectory::~ClosedDirectory() = default;

Result<std::unique_ptr<ClosedDirectory>> ClosedDirectory::open(const std::string& dir,
                                                               std::uint32_t socs, LogSink sink) {
  std::unique_ptr<ClosedDirectory> opened(new ClosedDirectory());
  FOEDUS_CHECK(opened->read(dir, socs, std::move(sink)));
  return opened;
}

Status ClosedDirectory::read(const std::string& dir, std::uint32_t socs, LogSink sink) {
  runtime_ = base::make_thread_runtime();
  FOEDUS_TRY(numa::Topology topology, numa::Topology::make(socs));
  topology_ = std::make_unique<numa::Topology>(std::move(topology));
  FOEDUS_TRY(device_, device::FileDevice::open(dir, Facility::kTry));
  FOEDUS_TRY(log_, log::Log::open(device_.get(), runtime_.get(), {.socs = topology_->socs()},
                                  std::move(sink)));
  FOEDUS_CHECK(log_->make_cut_durable());  // E13
  Result<snapshot::Manifest> manifest = snapshot::read_newest_manifest(device_.get());
  if (manifest.is_ok()) {
    manifest_ = std::move(manifest).value();
  } else if (manifest.status().code() != ErrorCode::kNotFound) {
    return manifest.status();
  }
  if (segment_count() == 0 && !manifest_.has_value()) {
    return Status::error(ErrorCode::kNotFound, dir + " holds no log");
  }
  durable_ = log_->durable_epoch_found();
  newest_seen_ = std::max(durable_, log_->first_new_epoch().previous());
  const std::uint64_t begin_us = runtime_->now_us();
  FOEDUS_CHECK(read_catalog());
  catalog_us_ = runtime_->now_us() - begin_us;
  return {};
}

Status ClosedDirectory::read_catalog() {
  std::map<page::StorageId, storage_meta::StorageMeta> storages;
  std::uint32_t next_id = 1;
  if (manifest_.has_value()) {
    next_id = static_cast<std::uint32_t>(manifest_->next_storage_id);
    for (const snapshot::ManifestStorage& one : manifest_->storages) {
      storages[one.id] = {one.id,      one.kind,          one.name,
                          one.records, one.payload_bytes, one.fan_out_bits};
    }
  }
  std::vector<page::StorageId> dropped;
  for (std::size_t i = 0; i < segment_count(); ++i) {
    FOEDUS_CHECK(log_->read_segment(
        i, [&](std::uint32_t, std::uint64_t, const log::LogRecord& record) -> Status {
          next_id = std::max(next_id, static_cast<std::uint32_t>(record.storage_id) + 1);
          if (record.type == log::LogRecordType::kDropStorage) {
            dropped.push_back(record.storage_id);
          } else if (record.type == log::LogRecordType::kCreateStorage) {
            FOEDUS_TRY(storages[record.storage_id],
                       storage_meta::parse(record.storage_id, record.key(), record.payload()));
          }
          return {};
        }));
  }
  for (const page::StorageId id : dropped) storages.erase(id);  // ids are never used again
  for (auto& [id, meta] : storages) storages_.push_back(std::move(meta));
  next_storage_id_ = page::StorageId{next_id};
  return {};
}

std::size_t ClosedDirectory::segment_count() const { return log_->found_segment_count(); }

Result<std::unique_ptr<log::SegmentRecords>> ClosedDirectory::open_segment(
    std::size_t index) const {
  return log_->open_segment(index);
}

}  // namespace foedus::engine
