#include "gleaner/directory_glean.h"

#include <memory>
#include <utility>
#include <vector>

#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/engine/closed_directory.h"
#include "foedus-core/engine/snapshot_driver.h"
#include "foedus-core/snapshot/obsolete_snapshots.h"
#include "gleaner/reclaim/reclaim.h"

namespace foedus::gleaner {

namespace {

// One round is enough, except for options that limit what a round moves and for trees with a small
// fan-out. The next glean then continues.
constexpr int kRoundsMax = 4;

// Returns the newest snapshot of each of the newest `count` epochs that have one. A snapshot that
// reclaiming made has the epoch of the one that it replaces, and takes its place.
Result<std::vector<page::SnapshotNumber>> snapshots_to_keep(device::Device* device,
                                                            std::uint32_t count) {
  FOEDUS_TRY(const auto numbers, snapshot::find_manifests(device));
  std::vector<page::SnapshotNumber> keep;
  Epoch before;
  for (auto number = numbers.rbegin(); number != numbers.rend() && keep.size() < count; ++number) {
    const Result<snapshot::Manifest> manifest = snapshot::read_manifest(device, *number);
    // A damaged manifest means a lost snapshot, as when a database is opened. Only the newest has
    // to be readable.
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
  return snapshot::remove_obsolete_snapshots(device, keep, nullptr, nullptr);
}

// Reclaims superseded pages in rounds. Old snapshots are removed before each round, which makes
// room for what it writes.
Status reclaim_directory(device::Device* device, const DirectoryGleanOptions& options,
                         snapshot::Manifest* manifest, GleanReport* report) {
  FOEDUS_CHECK(remove_old(device, options.snapshots_kept));
  for (int round = 0; round < kRoundsMax; ++round) {
    FOEDUS_TRY(auto moved, reclaim_if_due(device, *manifest, options.reclaim, report));
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
                       "snapshots_kept must be at least 1, files_max at least 2, and 100 < "
                       "total_percent_goal <= total_percent_max");
}

Result<GleanReport> glean_checked(const std::string& dir, const DirectoryGleanOptions& options) {
  FOEDUS_TRY(const auto directory,
             engine::ClosedDirectory::open({dir, options.dirs, options.ssd_dirs}, options.socs,
                                           options.sink));
  engine::GleanOrder order = directory->order();
  if (!order.covered.is_valid()) {  // the process ended in the first epoch
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
