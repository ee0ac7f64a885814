#include "foedus-core/engine/glean/snapshot_retention.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/engine/snapshot_driver.h"
#include "foedus-core/snapshot/obsolete_snapshots.h"

namespace foedus::engine {

namespace {

constexpr std::uint64_t kReadersWaitUs = 500'000;  // longest wait for readers of old pages
constexpr std::uint64_t kReadersLookUs = 500;
constexpr std::uint64_t kDiskFactor = 3;
constexpr std::uint64_t kDiskPagesFree = 1024;  // added to kDiskFactor pages for each live page
constexpr std::uint64_t kMovedShare = 4;  // a move should write 1/kMovedShare of the live pages

}  // namespace

Status SnapshotRetention::reclaim_files(snapshot::Manifest manifest, GleanReport* report) {
  FOEDUS_CHECK(move_pages(&manifest, report));
  for (const snapshot::ManifestFile& file : manifest.files) {
    report->pages_live += file.live_pages;
    report->pages_total += file.pages;
  }
  FOEDUS_CHECK(wait_and_remove());
  make_tier_room();
  return {};
}

void SnapshotRetention::take_uninstalled(const snapshot::Manifest& manifest, bool is_newest) {
  is_newest ? parts_.newest->set(manifest) : parts_.newest->set_older(manifest);
  parts_.installer->set_installed(manifest);
}

void SnapshotRetention::make_wanted_tier_room() {
  if (parts_.device->wants_room()) make_tier_room();
}

// Makes room in the NVM tier. A failure is only reported: the glean may find room all the same.
void SnapshotRetention::make_tier_room() {
  const Status moved = parts_.device->make_room();
  if (!moved.is_ok()) parts_.operator_log->say_of_gleaner(LogLevel::kWarning, moved);
}

// Returns the number of pages in all snapshot files. Adds up the files of all manifests, because a
// file exists as long as a manifest lists it.
Result<std::uint64_t> SnapshotRetention::pages_of_files() const {
  FOEDUS_TRY(const auto numbers, snapshot::find_manifests(parts_.device));
  std::map<std::pair<page::SnapshotNumber, std::uint32_t>, std::uint64_t> files;
  for (const page::SnapshotNumber number : numbers) {
    const auto manifest = snapshot::read_manifest(parts_.device, number);
    if (snapshot::is_damage(manifest.code())) continue;  // name_damaged() reports it
    FOEDUS_CHECK(manifest.status());
    for (const snapshot::ManifestFile& file : manifest->files) {
      files[{file.snapshot, file.soc}] = file.pages;
    }
  }
  std::uint64_t pages = 0;
  for (const auto& [file, count] : files) pages += count;
  return pages;
}

Status SnapshotRetention::make_disk_room(std::uint64_t pages) {
  const std::optional<snapshot::Manifest> newest = parts_.newest->get();
  if (!newest.has_value()) return {};
  // The bound counts the live pages of the newest snapshot: those of the next are not known yet.
  const std::uint64_t bound = kDiskFactor * parts_.newest->live_pages() + kDiskPagesFree;
  FOEDUS_TRY(const std::uint64_t there, pages_of_files());
  if (there + pages <= bound) return {};
  parts_.snapshots->expire_all_but_newest();
  FOEDUS_CHECK(parts_.installer->settle(*newest, newest->number));
  return wait_and_remove();
}

Status SnapshotRetention::give_up_older() {
  parts_.newest->set_has_failed(true);
  FOEDUS_CHECK(parts_.newest->look_again());
  parts_.snapshots->expire_all_but_newest();
  FOEDUS_CHECK(wait_and_remove());
  closer_.wait();  // E50: the next glean may spill before it waits for the blocks itself
  make_tier_room();
  return {};
}

// Moves live pages out of mostly superseded files. Replaces `manifest` by the newest manifest,
// which is of the same snapshot, and lists the new files if pages have moved.
Status SnapshotRetention::move_pages(snapshot::Manifest* manifest, GleanReport* report) {
  FOEDUS_CHECK(parts_.newest->restore_lost());
  *manifest = *parts_.newest->get();
  FOEDUS_CHECK(make_disk_room(parts_.newest->live_pages() / kMovedShare));
  closer_.wait();  // E50
  FOEDUS_TRY(auto moved, reclaim_pages(parts_.device, *manifest, ReclaimFrom::kUsual,
                                       parts_.in_making, report));
  if (!moved.has_value()) return {};
  *manifest = std::move(*moved);
  parts_.newest->set(*manifest);
  FOEDUS_SYNC_POINT("gleaning:moved");
  GleanReport second;  // this installation drops nothing, and must not change counts of `report`
  return parts_.installer->install(*manifest, Drop::kNone, &second);
}

void SnapshotRetention::reclaim_recovered() {
  const std::optional<snapshot::Manifest> found = parts_.newest->get();
  if (!found.has_value()) return;
  FOEDUS_SYNC_POINT("gleaning:recovered");
  snapshot::Manifest newest = *found;
  GleanReport report;
  Status status = move_pages(&newest, &report);
  const bool has_moved = status.is_ok() && newest.number != found->number;
  if (has_moved) status = wait_and_remove();
  make_tier_room();
  if (status.is_ok()) return;
  parts_.operator_log->say_of_gleaner(LogLevel::kWarning, status);
  parts_.newest->set_has_failed(true);  // the next glean looks again
}

// Notes the oldest snapshot that is needed, and the current epoch as the stamp: transactions that
// began up to it may have seen pointers to earlier snapshots, so the removal waits for their end.
void SnapshotRetention::stamp_removal() {
  oldest_at_stamp_ = parts_.installer->oldest_needed();
  base::fence_seq_cst();  // order: E3: the pointers are changed before the epoch is read
  removal_stamp_ = parts_.clock->current();
}

// Sets the stamp, and removes files once the transactions up to the stamp have ended. If that takes
// too long, a later step removes the files.
Status SnapshotRetention::wait_and_remove() {
  epoch::EpochClock& clock = *parts_.clock;
  stamp_removal();
  for (std::uint64_t waited_us = 0; waited_us < kReadersWaitUs; waited_us += kReadersLookUs) {
    if (clock.reclaimable() >= removal_stamp_) break;
    clock.request_advance(removal_stamp_);
    parts_.runtime->pause(kReadersLookUs);
  }
  return remove_if_unread();
}

Status SnapshotRetention::remove_unread() {
  const bool have_expired = !parts_.snapshots->expire().empty();
  if (have_expired || parts_.installer->oldest_needed() > oldest_at_stamp_) stamp_removal();
  return remove_if_unread();
}

Status SnapshotRetention::remove_if_unread() {
  if (!removal_stamp_.is_valid() || parts_.clock->reclaimable() < removal_stamp_) return {};
  removal_stamp_ = {};
  FOEDUS_SYNC_POINT("gleaning:before_removal");
  return remove_before_stamp();
}

// Reports an old manifest that is damaged, once. The snapshot stays readable until the database is
// closed: its readers have the manifest in memory, and its files stay while the snapshot is kept.
Status SnapshotRetention::name_damaged(page::SnapshotNumber number) {
  if (damaged_.contains(number)) return {};
  Status status = snapshot::read_manifest(parts_.device, number).status();
  if (!snapshot::is_damage(status.code())) return status;
  damaged_.insert(number);
  base::trying([&] {
    parts_.operator_log->say(
        LogLevel::kWarning,
        "an old snapshot is lost when the database is closed: " + status.message());
  });
  return {};
}

Status SnapshotRetention::remove_superseded() {
  stamp_removal();
  removal_stamp_ = {};  // no transaction has to be waited for
  return remove_before_stamp();
}

// Removes the manifests that were not needed at the last stamp, and files that only they list.
Status SnapshotRetention::remove_before_stamp() {
  FOEDUS_CHECK(parts_.newest->restore_lost());
  Snapshots& snapshots = *parts_.snapshots;
  snapshots.expire();
  std::vector<page::SnapshotNumber> keep = snapshots.in_use();
  FOEDUS_TRY(const auto numbers, snapshot::find_manifests(parts_.device));
  std::copy_if(numbers.begin(), numbers.end(), std::back_inserter(keep),
               [this](page::SnapshotNumber number) { return number >= oldest_at_stamp_; });
  for (const page::SnapshotNumber number : numbers) {
    const bool is_kept = std::find(keep.begin(), keep.end(), number) != keep.end();
    if (is_kept && number != numbers.back()) FOEDUS_CHECK(name_damaged(number));
  }
  device::OpenFiles removed;
  Status status =
      snapshot::remove_obsolete_snapshots(parts_.device, keep, parts_.caches->files(),
                                          parts_.caches->pages(), &removed, parts_.in_making);
  closer_.close(std::move(removed));  // frees the blocks later (E50)
  return status;
}

}  // namespace foedus::engine
