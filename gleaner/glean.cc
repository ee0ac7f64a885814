#include "gleaner/glean.h"

#include <utility>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/base/probe.h"
#include "foedus-core/snapshot/files/orphaned_files.h"
#include "gleaner/partitions.h"
#include "gleaner/reduce/run_file.h"
#include "gleaner/snapshot_composer.h"
#include "gleaner/stage_clock.h"

namespace foedus::gleaner {

namespace {

Status check_numbers(const engine::GleanOrder& order) {
  const bool is_possible = order.mappers <= kMaxSocs && order.reducers <= kMaxSocs &&
                           order.reducer_bytes >= ReducerOptions::kMemoryBytesMin;
  if (is_possible) return {};
  return Status::error(
      ErrorCode::kInvalidArgument,
      "a glean has 1 to 64 mappers, and 1 to 64 reducers of at least 131072 bytes");
}

}  // namespace

Status Glean::sort() {
  FOEDUS_CHECK(check_numbers(order_));
  return base::catching([this]() -> Status {
    const StageClock clock(order_.runtime);
    FOEDUS_TRY(PartitionTable table, partitions_of(order_));
    return sort_by(std::move(table), clock);
  });
}

Status Glean::sort(PartitionTable table) {
  return base::catching([&] { return sort_by(std::move(table), StageClock(order_.runtime)); });
}

Status Glean::sort_by(PartitionTable table, const StageClock& clock) {
  FOEDUS_INVARIANT(order_.covered <= order_.newest_seen, order_.covered.number());
  FOEDUS_PROBE(glean_stage, static_cast<int>(GleanStage::kMap));
  table_.emplace(std::move(table));
  FOEDUS_CHECK(remove_orphaned_files());
  FOEDUS_CHECK(remove_orphaned_runs(order_.device));
  sorted_.emplace(order_, *table_);
  FOEDUS_CHECK(sorted_->run());
  sorted_->count(&sort_report_);
  sort_report_.total_us = clock.us();
  sort_report_.total_cpu_us = clock.cpu_us() + sort_report_.map_cpu_us + sort_report_.sort_cpu_us +
                              sort_report_.reduce_cpu_us;
  return {};
}

Result<snapshot::Manifest> Glean::compose(GleanReport* report) {
  Result<snapshot::Manifest> made = base::catching([&] { return try_compose(report); });
  has_failed_ = !made.is_ok();
  if (made.is_ok()) return made;
  // The next glean removes what cannot be removed now (G41). The caller gets the first error.
  const Status ignored = base::catching([this] { return remove_orphaned_files(); });
  static_cast<void>(ignored.is_ok());
  return made;
}

// Once this has returned, no task writes to the files any more, so that compose() can remove them
// (G41).
Result<snapshot::Manifest> Glean::try_compose(GleanReport* report) {
  const StageClock clock(order_.runtime);
  FOEDUS_PROBE(glean_stage, static_cast<int>(GleanStage::kCompose));
  if (has_failed_) {  // G44
    FOEDUS_CHECK(sorted_->begin_streams());
    FOEDUS_CHECK(remove_orphaned_files());
  }
  if (order_.before_pages) order_.before_pages();
  SnapshotComposer composer(order_, *table_, *sorted_);
  FOEDUS_CHECK(composer.compose());
  FOEDUS_CHECK(composer.join_storages());
  FOEDUS_TRY(snapshot::Manifest manifest, composer.finish());
  FOEDUS_CHECK(check_given_up(order_));
  FOEDUS_CHECK(snapshot::write_manifest(order_.device, manifest));  // G41
  *report = sort_report_;
  composer.count(report);
  report->snapshot = static_cast<std::uint32_t>(manifest.number);
  report->covered = manifest.covered;
  report->compose_us = clock.us();
  report->compose_cpu_us += clock.cpu_us();
  report->total_us += report->compose_us;
  report->total_cpu_us += report->compose_cpu_us;
  return manifest;
}

// Removes the files that no manifest lists. If the manifest of the previous snapshot is lost (E27),
// fails and removes nothing: the files of that snapshot would be among them.
Status Glean::remove_orphaned_files() const {
  return snapshot::remove_orphaned_files(order_.device, order_.previous, nullptr, order_.in_making);
}

}  // namespace foedus::gleaner
