#include "tools/foedus/closed_database.h"

#include <algorithm>

#include "foedus-core/engine/setup/directories.h"
#include "foedus-core/log/savepoint.h"
#include "foedus-core/log/segments/format.h"
#include "foedus-core/snapshot/files/format.h"

namespace foedus::cli {

Result<ClosedDatabase> ClosedDatabase::open(const engine::DirectoryNames& names) {
  FOEDUS_TRY(engine::OpenedDirectories opened, engine::open_directories_to_read(names));
  FOEDUS_TRY(ClosedDatabase database, of(std::move(opened.device)));
  if (opened.tiers != nullptr) database.fill = opened.tiers->fill();
  return database;
}

Result<ClosedDatabase> ClosedDatabase::of(std::unique_ptr<device::Device> device) {
  ClosedDatabase database;
  database.device = std::move(device);
  FOEDUS_TRY(const std::vector<std::string> names, database.device->list());
  bool is_database = false;
  for (const std::string& name : names) {
    const auto manifest = snapshot::parse_manifest_name(name);
    if (manifest.has_value()) database.manifests.push_back(*manifest);
    is_database = is_database || manifest.has_value() || name == log::kSavepointName ||
                  log::parse_segment_name(name).has_value() ||
                  snapshot::parse_snapshot_name(name).has_value();
  }
  if (!is_database) {
    return Status::error(ErrorCode::kNotFound,
                         "there is no database in directory " + database.device->path());
  }
  std::sort(database.manifests.begin(), database.manifests.end());
  return database;
}

std::string ClosedDatabase::problem_of(const log::FoundLog& log, Epoch covered) const {
  if (log.is_fresh && !manifests.empty()) {
    return "the log is missing, and with it what was committed behind epoch " +
           std::to_string(covered.number());
  }
  const std::uint64_t removed_epoch = log.savepoint.removed_epoch;
  if (removed_epoch <= covered.number()) return {};
  return "a manifest is missing: segments of epochs up to " + std::to_string(removed_epoch) +
         " were removed because a snapshot covered them, and the newest one that is left covers " +
         "epochs up to " + std::to_string(covered.number());
}

Result<std::unique_ptr<log::SegmentRecords>> ClosedDatabase::records(
    const log::FoundSegment& segment) const {
  FOEDUS_TRY(auto file, device->open(segment.name(), device::Access::kRead));
  return std::make_unique<log::SegmentRecords>(
      std::move(file), segment.header, segment.seal.valid_bytes, Epoch(segment.seal.cut_epoch));
}

}  // namespace foedus::cli
