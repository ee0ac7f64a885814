#include "gleaner/gleaner.h"

#include <memory>
#include <utility>
#include <vector>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/clock.h"
#include "foedus-core/base/invariant.h"
#include "foedus-core/engine/snapshot_driver.h"
#include "gleaner/compose/array_composer.h"
#include "gleaner/compose/hash_composer.h"
#include "gleaner/glean.h"
#include "gleaner/partition/partition.h"
#include "gleaner/segment_source.h"

namespace foedus::gleaner {

namespace {

// Deals the segments out to the mappers, those of one logger in their order (G40).
std::vector<std::unique_ptr<SegmentSource>> deal(const engine::GleanOrder& order,
                                                 std::uint32_t mappers,
                                                 base::AtomicWord<std::uint64_t>* opened) {
  std::vector<std::vector<SegmentPart>> parts(mappers);
  for (std::size_t i = 0; i < order.segments.size(); ++i) {
    const engine::GleanOrder::OpenSegment& open = order.segments[i];
    parts[i % mappers].push_back({static_cast<std::uint32_t>(i), [&open, opened] {
                                    opened->fetch_add_relaxed(1);  // order: relaxed, a statistic
                                    return open();
                                  }});
  }
  std::vector<std::unique_ptr<SegmentSource>> sources;
  for (auto& some : parts) sources.push_back(std::make_unique<SegmentSource>(std::move(some)));
  return sources;
}

// A boundary that the storage's composer accepts, at or before this one.
std::uint64_t align(const storage_meta::StorageMeta& meta, std::uint64_t boundary) {
  if (boundary == ~std::uint64_t{0}) return boundary;  // no position is behind it
  switch (meta.kind) {
    case StorageKind::kArray: return align_array_boundary(meta, boundary);
    case StorageKind::kHash: return align_hash_boundary(meta, boundary);
    case StorageKind::kMasstree:
    case StorageKind::kSequential: return boundary;
  }
  FOEDUS_INVARIANT(false, meta.kind);
}

std::vector<std::vector<std::uint64_t>> boundaries_of(const engine::GleanOrder& order,
                                                      std::uint32_t reducers) {
  std::vector<std::vector<std::uint64_t>> all;
  for (std::size_t i = 0; i < order.storages.size(); ++i) {
    std::vector<PositionSample> samples;
    if (i < order.samples.size()) {
      for (const occ::PageSample& one : order.samples[i]) {
        samples.push_back({one.position, one.soc});
      }
    }
    all.push_back(choose_boundaries(order.storages[i], std::move(samples), reducers,
                                    order.topology->socs()));
    for (std::uint64_t& boundary : all.back()) boundary = align(order.storages[i], boundary);
  }
  return all;
}

}  // namespace
}  // namespace foedus::gleaner

namespace foedus::engine {

std::uint64_t position_of(StorageKind kind, const log::LogRecord& record) {
  return gleaner::position_of(kind, record);
}

Result<snapshot::Manifest> make_snapshot(const GleanOrder& order, GleanReport* report) {
  const std::uint64_t begin_us = order.runtime->now_us();
  const std::uint64_t begin_cpu_us = base::thread_cpu_us();
  const std::uint32_t mappers = order.mappers == 0 ? order.topology->socs() : order.mappers;
  const std::uint32_t reducers = order.reducers == 0 ? order.topology->socs() : order.reducers;
  if (mappers > kMaxSocs || reducers > kMaxSocs || order.mapper_bytes < 4096) {
    return Status::error(ErrorCode::kInvalidArgument,
                         "1 to 64 mappers and reducers of at least 4096 bytes");
  }
  base::AtomicWord<std::uint64_t> opened;
  const auto sources = gleaner::deal(order, mappers, &opened);
  gleaner::GleanInput input;
  for (const auto& source : sources) input.sources.push_back(source.get());
  input.device = order.device;
  input.runtime = order.runtime;
  input.topology = order.topology;
  input.storages = order.storages;
  input.next_storage_id = order.next_storage_id;
  input.previous = order.previous;
  input.covered = order.covered;
  input.newest_seen = order.newest_seen;
  input.reducers = reducers;
  input.boundaries = gleaner::boundaries_of(order, reducers);
  input.mapper_bytes = order.mapper_bytes;
  input.reducer_bytes = order.reducer_bytes;
  if (order.progress) {
    input.mapping = [&] {
      // order: relaxed, a statistic.
      order.progress({GleanStage::kMap, opened.load_relaxed(), order.segments.size()});
    };
    input.composing = [&](std::size_t done) {
      order.progress({GleanStage::kCompose, done, order.storages.size()});
    };
  }

  gleaner::GleanCounts counts;
  FOEDUS_TRY(snapshot::Manifest manifest, gleaner::glean(input, &counts));
  report->snapshot = static_cast<std::uint32_t>(manifest.number);
  report->covered = manifest.covered;
  report->records_read = counts.records_read;
  report->records_composed = counts.records_shipped;
  report->runs_spilled = counts.runs_spilled;
  report->pages_written = counts.pages_written;
  report->map_reduce_us = counts.map_reduce_us;
  report->compose_us = counts.compose_us;
  report->total_us = order.runtime->now_us() - begin_us;
  report->map_cpu_us = counts.map_cpu_us;
  report->sort_cpu_us = counts.sort_cpu_us;
  report->reduce_cpu_us = counts.reduce_cpu_us;
  report->compose_cpu_us = counts.compose_cpu_us;
  report->total_cpu_us = base::thread_cpu_us() - begin_cpu_us + counts.task_cpu_us;
  return manifest;
}

}  // namespace foedus::engine

namespace foedus::gleaner {

Result<GleanReport> glean_directory(const std::string& dir, const DirectoryGleanOptions& options) {
  FOEDUS_TRY(const auto directory,
             engine::ClosedDirectory::open(dir, options.socs, options.sink));
  engine::GleanOrder order = directory->order();
  order.mappers = options.mappers;
  order.mapper_bytes = options.mapper_bytes;
  order.reducers = options.reducers;
  order.reducer_bytes = options.reducer_bytes;
  GleanReport report;
  FOEDUS_TRY([[maybe_unused]] const auto manifest, engine::make_snapshot(order, &report));
  report.catalog_us = directory->catalog_us();
  report.total_us += report.catalog_us;
  return report;
}

}  // namespace foedus::gleaner
