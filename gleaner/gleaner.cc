#include "gleaner/gleaner.h"

#include <memory>
#include <utility>
#include <vector>

#include "foedus-core/engine/snapshot_driver.h"
#include "foedus-core/snapshot/unneeded.h"
#include "gleaner/glean.h"
#include "gleaner/reclaim/reclaim.h"
#include "gleaner/reclaim/victims.h"
#include "gleaner/segment_source.h"

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
    FOEDUS_TRY(const snapshot::Manifest manifest, snapshot::read_manifest(device, *number));
    if (!keep.empty() && manifest.covered == before) continue;
    before = manifest.covered;
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
                         snapshot::Manifest* manifest, ReclaimCounts* counts) {
  FOEDUS_CHECK(remove_old(device, options.snapshots_kept));
  for (int round = 0; round < kRoundsMax; ++round) {
    const auto victims = choose_victims(*manifest, options.reclaim);
    if (victims.empty()) break;
    FOEDUS_TRY(*manifest, reclaim(device, *manifest, victims, counts));
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

Status check(const DirectoryGleanOptions& options, std::uint32_t mappers) {
  if (mappers > kMaxSocs || options.mapper_bytes < 4096) {
    return Status::error(ErrorCode::kInvalidArgument, "1 to 64 mappers of at least 4096 bytes");
  }
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

Result<GleanReport> glean_directory(const std::string& dir, const DirectoryGleanOptions& options) {
  FOEDUS_TRY(const auto directory, engine::ClosedDirectory::open(dir, options.socs, options.sink));
  base::Runtime& runtime = *directory->runtime();
  const std::uint64_t begin_us = runtime.now_us();
  const std::uint32_t mappers =
      options.mappers == 0 ? directory->topology().socs() : options.mappers;
  FOEDUS_CHECK(check(options, mappers));

  std::vector<std::vector<SegmentPart>> parts(mappers);
  for (std::size_t i = 0; i < directory->segment_count(); ++i) {
    parts[i % mappers].push_back(
        {static_cast<std::uint32_t>(i), [&directory, i] { return directory->open_segment(i); }});
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
  FOEDUS_TRY(snapshot::Manifest manifest, glean(input, &counts));
  const std::uint64_t gleaned_us = runtime.now_us();
  ReclaimCounts reclaimed;
  FOEDUS_CHECK(reclaim_directory(directory->device(), options, &manifest, &reclaimed));
  GleanReport report;
  report.snapshot = static_cast<std::uint32_t>(manifest.number);
  report.covered = manifest.covered;
  report.records_read = counts.records_read;
  report.records_composed = counts.records_shipped;
  report.runs_spilled = counts.runs_spilled;
  report.pages_written = counts.pages_written;
  report.pages_moved = reclaimed.pages_written;
  count_pages(manifest, &report);
  report.catalog_us = directory->catalog_us();
  report.map_reduce_us = counts.map_reduce_us;
  report.compose_us = counts.compose_us;
  report.reclaim_us = runtime.now_us() - gleaned_us;
  report.total_us = report.catalog_us + runtime.now_us() - begin_us;
  return report;
}

}  // namespace foedus::gleaner
