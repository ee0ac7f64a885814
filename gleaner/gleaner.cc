#include "gleaner/gleaner.h"

#include <memory>
#include <utility>
#include <vector>

#include "foedus-core/engine/snapshot_driver.h"
#include "gleaner/glean.h"
#include "gleaner/segment_source.h"

namespace foedus::gleaner {

Result<GleanReport> glean_directory(const std::string& dir, const DirectoryGleanOptions& options) {
  FOEDUS_TRY(const auto directory,
             engine::ClosedDirectory::open(dir, options.socs, options.sink));
  base::Runtime& runtime = *directory->runtime();
  const std::uint64_t begin_us = runtime.now_us();
  const std::uint32_t mappers =
      options.mappers == 0 ? directory->topology().socs() : options.mappers;
  if (mappers > kMaxSocs || options.mapper_bytes < 4096) {
    return Status::error(ErrorCode::kInvalidArgument, "1 to 64 mappers of at least 4096 bytes");
  }

  std::vector<std::vector<SegmentPart>> parts(mappers);
  for (std::size_t i = 0; i < directory->segment_count(); ++i) {
    parts[i % mappers].push_back({static_cast<std::uint32_t>(i), [&directory, i] {
                                    return directory->open_segment(i);
                                  }});
  }
  std::vector<std::unique_ptr<SegmentSource>> sources;
  GleanInput input;
  for (auto& some : parts) {
    sources.push_back(std::make_unique<SegmentSource>(std::move(some)));
    input.sources.push_back(sources.back().get());
  }
  input.device = directory->device();
  input.runtime = &runtime;
  input.topology = &directory->topology();
  input.storages = directory->storages();
  input.next_storage_id = directory->next_storage_id();
  input.previous = directory->newest_manifest();
  input.covered = directory->durable();
  input.newest_seen = directory->newest_seen();
  input.mapper_bytes = options.mapper_bytes;
  input.reducer_bytes = options.reducer_bytes;

  GleanCounts counts;
  FOEDUS_TRY(const snapshot::Manifest manifest, glean(input, &counts));
  GleanReport report;
  report.snapshot = static_cast<std::uint32_t>(manifest.number);
  report.covered = manifest.covered;
  report.records_read = counts.records_read;
  report.records_composed = counts.records_shipped;
  report.runs_spilled = counts.runs_spilled;
  report.pages_written = counts.pages_written;
  report.catalog_us = directory->catalog_us();
  report.map_reduce_us = counts.map_reduce_us;
  report.compose_us = counts.compose_us;
  report.total_us = report.catalog_us + runtime.now_us() - begin_us;
  return report;
}

}  // namespace foedus::gleaner
