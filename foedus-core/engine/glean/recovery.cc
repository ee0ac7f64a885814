#include "foedus-core/engine/glean/recovery.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/engine/setup/memory_shares.h"

namespace foedus::engine {

namespace {

// Least number of mappers, and of reducers. Nothing else is at work, and each composer waits for
// old pages: a device reads several sooner if it is asked for them together.
constexpr std::uint32_t kTasksMin = 8;

// Most records of new storages that may wait for a first touch.
constexpr std::uint64_t kNewRecordsMax = 1u << 16;

}  // namespace

Status Recovery::begin(std::optional<snapshot::Manifest> newest) {
  // The files that were found may be visible only. They become durable (L21) before others are
  // removed on their account.
  FOEDUS_CHECK(parts_.log->make_cut_durable());
  manifest_ = std::move(newest);
  if (!manifest_.has_value()) return {};
  FOEDUS_CHECK(publish_found());
  // The log's cut may be before that epoch: it has no mark of epochs without a record (L18).
  parts_.durability->announce(manifest_->covered);
  for (const snapshot::ManifestStorage& one : manifest_->storages) {
    parts_.catalog->announce_found(
        {one.id, one.kind, one.name, one.records, one.payload_bytes, one.fan_out_bits});
  }
  return {};
}

// Publishes the snapshots that could be read before the database was closed. Only the newest is
// part of the database: an older one that is damaged is not kept.
Status Recovery::publish_found() {
  FOEDUS_TRY(const std::vector<page::SnapshotNumber> numbers,
             snapshot::find_manifests(parts_.device));
  for (const page::SnapshotNumber number : numbers) {
    Result<snapshot::Manifest> manifest = snapshot::read_manifest(parts_.device, number);
    if (snapshot::is_damage(manifest.code()) && number != numbers.back()) {
      parts_.operator_log->say(LogLevel::kWarning,
                               "an old snapshot is lost: " + manifest.status().message());
      // With it, no glean could tell which older files may be removed.
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
  Status status = base::catching([this] { return recover(); });
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

// Returns whether the snapshot of a tail is made while the database is open. That of a short tail
// is made at once, so that no row waits. Rows of storages without a page in any snapshot all become
// volatile, as these storages are (E41): there may be few of them.
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

// Reads the found catalog, and makes a snapshot of what was found, or holds its tail.
Status Recovery::glean_tail(FoundCatalog* found) {
  const log::Log& log = *parts_.log;
  const snapshot::Manifest* const previous = manifest_.has_value() ? &*manifest_ : nullptr;
  FOEDUS_TRY(*found, read_found_catalog(log, previous, parts_.runtime));
  FOEDUS_CHECK(check_given_up());
  GleanOrder tail = order_of_found(log, previous);
  // Without news no snapshot is made: otherwise a database that is opened often would keep only
  // copies of one.
  if (previous != nullptr && !found->has_news) return {};
  // Without storages no first snapshot is made. After an earlier one, whose storages were all
  // dropped, one is: it alone lets go of their files.
  if (previous == nullptr && found->storages.empty()) return {};
  BorrowedMemory borrowed(parts_.session_memory, bytes_to_borrow());
  GleanOrder order = parts_.orders->base(kTasksMin, borrowed.bytes(), nullptr);
  order.memory = nullptr;  // the gleans to come have other sizes
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

// Returns the bytes to borrow off the bound of volatile pages. There are none yet: a tail that the
// gleaner's memory does not hold takes up to half of theirs.
std::uint64_t Recovery::bytes_to_borrow() const {
  const log::Log& log = *parts_.log;
  std::uint64_t log_bytes = 0;
  for (std::size_t i = 0; i < log.found_segment_count(); ++i) {
    log_bytes += log.found_segment(i).synced_bytes;
  }
  const std::uint64_t wanted = memory_bytes_to_hold(log_bytes);
  const std::uint64_t own = parts_.options->glean.memory_bytes;
  return std::min(wanted - std::min(wanted, own), parts_.pool->bytes_max() / 2);
}

// Keeps the tail for later. Without memory for the sessions that apply its rows, composes it.
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

// Gleans the tail. On a full device it removes older snapshots, and log that the newest one covers,
// and tries again.
Status Recovery::glean_tail_in_room(FoundCatalog* found) {
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
// only if far too many are superseded, because earlier runs were too short for it. Otherwise the
// running database moves them while no caller waits. Moves none if a tail waits, which follows the
// snapshot that was found.
Status Recovery::tidy() {
  if (unapplied_ == nullptr) {
    GleanReport report;
    FOEDUS_TRY(auto moved, reclaim_pages(parts_.device, *manifest_, ReclaimFrom::kUrgent, &report));
    if (moved.has_value()) {
      FOEDUS_SYNC_POINT("recovery:moved");
      parts_.retention->take_uninstalled(*moved);
      manifest_ = std::move(*moved);
    }
  }
  FOEDUS_SYNC_POINT("recovery:before_removal");
  FOEDUS_CHECK(parts_.retention->remove_superseded());
  // The log begins a segment, for which there may be no space without this (E16).
  return parts_.log->remove_found_segments_up_to(manifest_->covered);
}

Status Recovery::recover() {
  FoundCatalog found;
  FOEDUS_CHECK(glean_tail_in_room(&found));
  FOEDUS_CHECK(check_given_up());
  if (manifest_.has_value()) FOEDUS_CHECK(tidy());
  FOEDUS_SYNC_POINT("recovery:before_catalog");
  FOEDUS_CHECK(parts_.catalog->recover(found, manifest_.has_value() ? &*manifest_ : nullptr));
  if (unapplied_ != nullptr) {
    unapplied_->attach();
    parts_.tail->take(std::move(unapplied_));
  }
  FOEDUS_CHECK(parts_.log->start(parts_.clock));
  FOEDUS_SYNC_POINT("recovery:log_started");
  if (!manifest_.has_value()) return {};
  return parts_.log->remove_segments_up_to(manifest_->covered);  // E16
}

}  // namespace foedus::engine
