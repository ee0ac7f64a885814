#include "gleaner/gleaner.h"

#include <memory>
#include <utility>
#include <vector>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/clock.h"
#include "foedus-core/base/invariant.h"
#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/engine/snapshot_driver.h"
#include "foedus-core/snapshot/unneeded.h"
#include "gleaner/compose/array_composer.h"
#include "gleaner/compose/hash_composer.h"
#include "gleaner/glean.h"
#include "gleaner/map/mapper.h"
#include "gleaner/partition/partition.h"
#include "gleaner/reclaim/reclaim.h"
#include "gleaner/reclaim/victims.h"
#include "gleaner/reduce/reducer.h"
#include "gleaner/segment_source.h"

namespace foedus::gleaner {

namespace {

// Deals the segments out to the mappers, those of one logger in their order (G40).
std::vector<std::unique_ptr<SegmentSource>> deal(const engine::GleanOrder& order,
                                                 std::uint32_t mappers,
                                                 base::AtomicWord<std::uint64_t>* opened) {
  std::vector<std::vector<SegmentPart>> parts(mappers);
  for (std::size_t i = 0; i < order.segments.size(); ++i) {
    const engine::GleanOrder::OpenSegment& segment = order.segments[i];
    parts[i % mappers].push_back({static_cast<std::uint32_t>(i), [&segment, opened] {
                                    opened->fetch_add_relaxed(1);  // order: relaxed, a statistic
                                    return segment();
                                  }});
  }
  std::vector<std::unique_ptr<SegmentSource>> sources;
  for (auto& some : parts) sources.push_back(std::make_unique<SegmentSource>(std::move(some)));
  return sources;
}

// A boundary that the storage's composer accepts, at or before this one.
std::uint64_t align(const storage_meta::StorageMeta& meta, std::uint64_t boundary) {
  // No position is behind it; but that of a hash has to be the begin of a bin of its root.
  if (boundary == ~std::uint64_t{0} && meta.kind != StorageKind::kHash) return boundary;
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

// Nothing: there are no victims.
Result<std::optional<snapshot::Manifest>> reclaim_by(device::Device* device,
                                                     const snapshot::Manifest& newest,
                                                     const ReclaimOptions& options,
                                                     GleanReport* report) {
  const auto victims = choose_victims(newest, options);
  if (victims.empty()) return std::optional<snapshot::Manifest>();
  ReclaimCounts counts;
  FOEDUS_TRY(snapshot::Manifest moved, reclaim(device, newest, victims, &counts));
  report->snapshot = static_cast<std::uint32_t>(moved.number);
  report->pages_moved += counts.pages_written;
  return std::optional<snapshot::Manifest>(std::move(moved));
}

}  // namespace
}  // namespace foedus::gleaner

namespace foedus::engine {

Result<std::optional<snapshot::Manifest>> reclaim_pages(device::Device* device,
                                                        const snapshot::Manifest& newest,
                                                        ReclaimFrom from, GleanReport* report) {
  gleaner::ReclaimOptions options;
  if (from == ReclaimFrom::kUrgent) {
    options.total_percent_max += options.total_percent_max / 2;
    options.files_max *= 4;
  }
  return gleaner::reclaim_by(device, newest, options, report);
}

// What cannot be is refused by the mapper that meets it.
std::uint64_t position_of(StorageKind kind, const log::LogRecord& record) {
  return gleaner::can_be_of(kind, record) ? gleaner::position_of(kind, record) : 0;
}

Result<snapshot::Manifest> make_snapshot(const GleanOrder& order, GleanReport* report) {
  const std::uint64_t begin_us = order.runtime->now_us();
  const std::uint64_t begin_cpu_us = base::thread_cpu_us();
  const std::uint32_t mappers = order.mappers == 0 ? order.topology->socs() : order.mappers;
  const std::uint32_t reducers = order.reducers == 0 ? order.topology->socs() : order.reducers;
  if (mappers > kMaxSocs || reducers > kMaxSocs ||
      order.reducer_bytes < gleaner::ReducerOptions::kMemoryBytesMin) {
    return Status::error(ErrorCode::kInvalidArgument,
                         "1 to 64 mappers, and 1 to 64 reducers of at least 131072 bytes");
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
  input.reducer_bytes = order.reducer_bytes;
  input.huge_pages = order.huge_pages;
  input.memory = order.memory;
  input.reads_ahead = order.reads_ahead;
  if (order.progress) {
    input.mapping = [&] {
      // order: relaxed, a statistic.
      order.progress({GleanStage::kMap, opened.load_relaxed(), order.segments.size()});
    };
    input.composing = [&](std::size_t done) {
      order.progress({GleanStage::kCompose, done, order.storages.size()});
    };
  }

  input.is_given_up = order.is_given_up;

  gleaner::GleanCounts counts;
  FOEDUS_TRY(snapshot::Manifest manifest, gleaner::glean(input, &counts));
  report->snapshot = static_cast<std::uint32_t>(manifest.number);
  report->covered = manifest.covered;
  report->records_read = counts.records_read;
  report->records_composed = counts.records_composed;
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

namespace {

// One round is enough but for options that say how much it may move, and for trees of next to no
// fan-out: then the next glean goes on.
constexpr int kRoundsMax = 4;

// Of the newest `count` epochs that there are snapshots of, the newest snapshot each: one that was
// reclaimed has the place of the one that it was made of.
Result<std::vector<page::SnapshotNumber>> snapshots_to_keep(device::Device* device,
                                                            std::uint32_t count) {
  FOEDUS_TRY(const auto numbers, snapshot::find_manifests(device));
  std::vector<page::SnapshotNumber> keep;
  Epoch before;
  for (auto number = numbers.rbegin(); number != numbers.rend() && keep.size() < count; ++number) {
    const Result<snapshot::Manifest> manifest = snapshot::read_manifest(device, *number);
    // It is lost, as when a database is opened.
    if (snapshot::is_damage(manifest.code()) && number != numbers.rbegin()) continue;
    if (!manifest.is_ok()) return manifest.status();
    if (!keep.empty() && manifest->covered == before) continue;
    before = manifest->covered;
    keep.push_back(*number);
  }
  return keep;
}

Status remove_old(device::Device* device, std::uint32_t kept) {
  FOEDUS_TRY(const auto keep, snapshots_to_keep(device, kept));
  return snapshot::remove_unneeded(device, keep, nullptr, nullptr);
}

// What a glean left behind that is not needed goes first: it makes room.
Status reclaim_directory(device::Device* device, const DirectoryGleanOptions& options,
                         snapshot::Manifest* manifest, GleanReport* report) {
  FOEDUS_CHECK(remove_old(device, options.snapshots_kept));
  for (int round = 0; round < kRoundsMax; ++round) {
    FOEDUS_TRY(auto moved, reclaim_by(device, *manifest, options.reclaim, report));
    if (!moved.has_value()) break;
    *manifest = std::move(*moved);
    FOEDUS_CHECK(remove_old(device, options.snapshots_kept));
  }
  return {};
}

void count_pages(const snapshot::Manifest& manifest, GleanReport* report) {
  for (const snapshot::ManifestFile& file : manifest.files) {
    report->pages_live += file.live_pages;
    report->pages_total += file.pages;
  }
}

Status check(const DirectoryGleanOptions& options) {
  const ReclaimOptions& reclaim = options.reclaim;
  const bool is_possible = options.snapshots_kept >= 1 && reclaim.files_max >= 2 &&
                           reclaim.total_percent_goal > 100 &&
                           reclaim.total_percent_goal <= reclaim.total_percent_max;
  if (is_possible) return {};
  return Status::error(ErrorCode::kInvalidArgument,
                       "at least one snapshot is kept, of at least two files, and 100 < "
                       "total_percent_goal <= total_percent_max");
}

}  // namespace

namespace {

Result<GleanReport> glean_checked(const std::string& dir, const DirectoryGleanOptions& options) {
  FOEDUS_TRY(const auto directory,
             engine::ClosedDirectory::open(dir, options.socs, options.sink));
  engine::GleanOrder order = directory->order();
  if (!order.covered.is_valid()) {  // its process ended in the first epoch
    return Status::error(ErrorCode::kNotFound, dir + " holds no commit");
  }
  order.mappers = options.mappers;
  order.reducers = options.reducers;
  order.reducer_bytes = options.reducer_bytes;
  GleanReport report;
  FOEDUS_TRY(snapshot::Manifest manifest, engine::make_snapshot(order, &report));
  const std::uint64_t gleaned_us = directory->runtime()->now_us();
  FOEDUS_CHECK(reclaim_directory(directory->device(), options, &manifest, &report));
  count_pages(manifest, &report);
  report.catalog_us = directory->catalog_us();
  report.reclaim_us = directory->runtime()->now_us() - gleaned_us;
  report.total_us += report.catalog_us + report.reclaim_us;
  return report;
}

}  // namespace

Result<GleanReport> glean_directory(const std::string& dir, const DirectoryGleanOptions& options) {
  FOEDUS_CHECK(check(options));
  return base::catching([&] { return glean_checked(dir, options); });
}

}  // namespace foedus::gleaner
