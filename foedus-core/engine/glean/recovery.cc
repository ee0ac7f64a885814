#include "foedus-core/engine/glean/recovery.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/base/probe.h"
#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/engine/setup/memory_shares.h"

namespace foedus::engine {

namespace {

// Least number of mappers, and of reducers and composers. Recovery has the processors for itself,
// and a composer mostly waits for old pages: a device is faster if several composers read at once.
constexpr std::uint32_t kTasksMin = 8;

// Most records of storages without a snapshot that may wait for a first touch, see can_wait().
constexpr std::uint64_t kNewRecordsMax = 1u << 16;

}  // namespace

Status Recovery::begin(std::optional<snapshot::Manifest> newest) {
  // Files that were found may be in the system's cache only. They are made durable (L21) before
  // recovery relies on them and removes others.
  FOEDUS_CHECK(parts_.log->make_cut_durable());
  manifest_ = std::move(newest);
  if (!manifest_.has_value()) return {};
  FOEDUS_CHECK(publish_found());
  // The snapshot's epochs are durable, too. make_cut_durable() has announced the epoch of the log's
  // cut, which may be earlier, since the log has no marks of epochs without a record (L18).
  parts_.durability->announce(manifest_->covered);
  for (const snapshot::ManifestStorage& one : manifest_->storages) {
    parts_.catalog->announce_found(
        {one.id, one.kind, one.name, one.records, one.payload_bytes, one.fan_out_bits});
  }
  return {};
}

// Makes the found snapshots readable. If the manifest of an older snapshot is damaged, reports and
// removes it. Only a damaged newest manifest is an error: the database needs no older snapshot.
Status Recovery::publish_found() {
  FOEDUS_TRY(const std::vector<page::SnapshotNumber> numbers,
             snapshot::find_manifests(parts_.device));
  for (const page::SnapshotNumber number : numbers) {
    Result<snapshot::Manifest> manifest = snapshot::read_manifest(parts_.device, number);
    if (snapshot::is_damage(manifest.code()) && number != numbers.back()) {
      parts_.operator_log->say(LogLevel::kWarning,
                               "an old snapshot is lost: " + manifest.status().message());
      // While the damaged manifest exists, any older file may belong to it, so no older file could
      // be removed.
      FOEDUS_CHECK(device::unless_gone(snapshot::remove_manifest(parts_.device, number)));
      continue;
    }
    if (!manifest.is_ok()) return manifest.status();
    parts_.retention->take_uninstalled(*manifest, number == numbers.back());
  }
  return {};
}

void Recovery::run() {
  FOEDUS_INVARIANT(!parts_.state->is_recovery_over());
  FOEDUS_SYNC_POINT("recovery:begin");
  FOEDUS_PROBE(recovery_begin);
  Status status = base::catching([this] { return recover(); });
  FOEDUS_PROBE(recovery_end, static_cast<int>(status.code()));
  manifest_.reset();
  unapplied_.reset();
  if (!status.is_ok()) {
    base::trying([&] {
      if (!parts_.state->is_recovery_given_up())
        parts_.operator_log->say(LogLevel::kError, "recovery: " + status.message());
    });
    parts_.snapshots->set_trouble(status);
    parts_.durability->fail(status);
  }
  parts_.state->end_recovery(std::move(status));
}

Status Recovery::check_given_up() const {
  if (!parts_.state->is_recovery_given_up()) return {};
  return Status::error(ErrorCode::kClosed, "the database was closed before it was recovered");
}

// Returns whether the rows of the tail may wait while the open database makes the snapshot. Rows of
// a short tail, or of a tail that is not in memory, may not wait: the tail's snapshot is made at
// once. If a keyed storage or array has no page in a snapshot yet, all its rows have to be applied
// to volatile pages (E41), so only a few such rows may wait.
bool Recovery::can_wait(const SortedTail& tail) const {
  const std::uint64_t touch_bytes = parts_.options->glean.touch_bytes;
  if (!tail.is_in_memory() || tail.bytes() < touch_bytes) return false;
  std::uint64_t new_records = 0;
  for (std::size_t i = 0; i < tail.storages().size(); ++i) {
    const storage_meta::StorageMeta& meta = tail.storages()[i];
    const bool is_new =
        meta.kind != StorageKind::kSequential &&
        snapshot::root_in(manifest_.has_value() ? &*manifest_ : nullptr, meta.id).is_null();
    if (is_new) new_records += tail.record_count(i);
  }
  return new_records <= kNewRecordsMax;
}

Status Recovery::compose(SortedTail* tail) {
  FOEDUS_SYNC_POINT("recovery:before_glean");
  GleanReport report;
  FOEDUS_TRY(snapshot::Manifest made, tail->compose(&report));
  FOEDUS_SYNC_POINT("recovery:manifest_durable");
  parts_.operator_log->say(LogLevel::kInfo,
                           "recovered " + std::to_string(report.records_read) +
                               " log records up to epoch " + std::to_string(made.covered.number()) +
                               " in " + std::to_string(report.total_us / 1000) + " ms, of which " +
                               std::to_string(report.map_reduce_us / 1000) + " to sort them, and " +
                               std::to_string(report.compose_us / 1000) + " to compose " +
                               std::to_string(report.pages_written) + " pages");
  parts_.retention->take_uninstalled(made);
  manifest_ = std::move(made);
  return {};
}

// Reads the found catalog, and sorts the tail. Then makes its snapshot, or lets its rows wait.
Status Recovery::glean_tail(RecoveredCatalog* found) {
  const log::Log& log = *parts_.log;
  const snapshot::Manifest* const previous = manifest_.has_value() ? &*manifest_ : nullptr;
  FOEDUS_TRY(*found, recover_catalog(log, previous, parts_.runtime));
  FOEDUS_CHECK(check_given_up());
  GleanOrder tail = order_of_found(log, previous);
  // If the tail has no records, no snapshot is made. Otherwise a database that is opened often
  // would soon keep only copies of one snapshot.
  if (previous != nullptr && !found->has_news) return {};
  // Without storages, no first snapshot is made. But after all storages were dropped, a later
  // snapshot without storages is made: only then can the files of the earlier snapshots be removed.
  if (previous == nullptr && found->storages.empty()) return {};
  BorrowedMemory borrowed(parts_.session_memory, bytes_to_borrow());
  GleanOrder order = parts_.orders->base(kTasksMin, borrowed.bytes(), nullptr);
  order.memory = nullptr;  // not kept: later gleans have reducers of another size
  order.reads_ahead = true;
  order.segments = std::move(tail.segments);
  order.previous = previous;
  order.covered = tail.covered;
  order.newest_seen = tail.newest_seen;
  order.storages = found->storages;
  order.samples = std::move(found->samples);
  order.next_storage_id = found->next_storage_id;
  order.is_given_up = [state = parts_.state] { return state->is_recovery_given_up(); };
  const Epoch covered = order.covered;
  FOEDUS_TRY(auto sorted, sort_tail(std::move(order)));
  return can_wait(*sorted) ? hold(std::move(sorted), &borrowed, covered) : compose(sorted.get());
}

// Returns how many bytes recovery borrows from the bound of volatile pages, of which there are none
// yet. It borrows what the tail needs beyond the gleaner's memory, but at most half of that bound.
std::uint64_t Recovery::bytes_to_borrow() const {
  const log::Log& log = *parts_.log;
  const snapshot::Manifest* const previous = manifest_.has_value() ? &*manifest_ : nullptr;
  std::uint64_t log_bytes = 0;
  for (const std::size_t i : uncovered_segments(log, previous)) {
    log_bytes += log.found_segment(i).synced_bytes;
  }
  const std::uint64_t wanted = memory_bytes_to_hold(log_bytes);
  const std::uint64_t own = parts_.options->glean.memory_bytes;
  return std::min(wanted - std::min(wanted, own), parts_.pool->bytes_max() / 2);
}

// Lets the rows of the tail wait for their first touch. If there is no memory for the sessions that
// apply them, makes the snapshot now.
Status Recovery::hold(std::unique_ptr<SortedTail> tail, BorrowedMemory* borrowed, Epoch covered) {
  const std::uint64_t bytes = tail->bytes();
  auto unapplied = Unapplied::make({.options = parts_.options,
                                    .runtime = parts_.runtime,
                                    .state = parts_.state,
                                    .clock = parts_.clock,
                                    .snapshots = parts_.snapshots,
                                    .catalog = parts_.catalog,
                                    .sessions = parts_.sessions},
                                   &tail, borrowed, covered);
  if (!unapplied.is_ok()) return compose(tail.get());
  unapplied_ = std::move(unapplied).value();
  found_up_to_ = covered;
  parts_.operator_log->say(LogLevel::kInfo,
                           "recovery: " + std::to_string(bytes >> 20) +
                               " MiB of log are sorted, and applied where they are asked "
                               "for, until there is a snapshot of them");
  return {};
}

// Does glean_tail(). If the device is full, removes snapshots before the newest one and log
// segments that this one covers, and tries once more.
Status Recovery::glean_tail_in_room(RecoveredCatalog* found) {
  Status status = glean_tail(found);
  if (status.code() != ErrorCode::kOutOfSpace || !manifest_.has_value()) return status;
  parts_.operator_log->say(
      LogLevel::kWarning,
      "recovery: " + status.message() + "; snapshots before the newest one are given up for it");
  FOEDUS_CHECK(parts_.retention->give_up_older());
  parts_.retention->take_uninstalled(*parts_.newest->get());
  manifest_ = parts_.newest->get();
  FOEDUS_CHECK(parts_.log->remove_found_segments_up_to(manifest_->covered));
  return glean_tail(found);
}

// Removes files that the newest snapshot does not need and no transaction reads. Moves live pages
// only if far too many pages are superseded: that happens if earlier runs were too short to move
// them. Otherwise the open database moves them later, while no caller waits. Moves none if rows of
// a tail wait: the tail's snapshot is made from the snapshot that was found.
Status Recovery::tidy() {
  if (unapplied_ == nullptr) {
    GleanReport report;
    FOEDUS_TRY(auto moved,
               reclaim_pages(parts_.device, *manifest_, ReclaimFrom::kUrgent, nullptr, &report));
    if (moved.has_value()) {
      FOEDUS_SYNC_POINT("recovery:moved");
      parts_.retention->take_uninstalled(*moved);
      manifest_ = std::move(*moved);
    }
  }
  FOEDUS_SYNC_POINT("recovery:before_removal");
  FOEDUS_CHECK(parts_.retention->remove_superseded());
  // The log is about to begin a segment, for which a full device may need this space (E16).
  return parts_.log->remove_found_segments_up_to(manifest_->covered);
}

Status Recovery::recover() {
  RecoveredCatalog found;
  FOEDUS_CHECK(glean_tail_in_room(&found));
  FOEDUS_CHECK(check_given_up());
  if (manifest_.has_value()) FOEDUS_CHECK(tidy());
  FOEDUS_SYNC_POINT("recovery:before_catalog");
  FOEDUS_CHECK(parts_.catalog->recover(found, manifest_.has_value() ? &*manifest_ : nullptr));
  FOEDUS_CHECK(parts_.log->start(parts_.clock));
  FOEDUS_SYNC_POINT("recovery:log_started");
  if (manifest_.has_value()) {
    FOEDUS_CHECK(parts_.log->remove_segments_up_to(manifest_->covered));  // E16: it is durable
  }
  // From here on recovery does not fail.
  parts_.catalog->enter_recovered();
  if (unapplied_ != nullptr) {
    unapplied_->attach();
    parts_.tail->take(std::move(unapplied_));
  }
  return {};
}

}  // namespace foedus::engine
