#include "foedus-core/engine/snapshots/newest_manifest.h"

#include <utility>

#include "foedus-core/snapshot/obsolete_snapshots.h"

namespace foedus::engine {

std::optional<snapshot::Manifest> NewestManifest::get() const {
  const std::lock_guard lock(mutex_);
  return manifest_;
}

void NewestManifest::add_stats(Stats* stats) const {
  const std::lock_guard lock(mutex_);
  if (!manifest_.has_value()) return;
  stats->snapshot = static_cast<std::uint32_t>(manifest_->number);
  stats->covered_epoch = manifest_->covered;
}

std::uint64_t NewestManifest::live_pages() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t pages = 0;
  if (!manifest_.has_value()) return pages;
  for (const snapshot::ManifestFile& file : manifest_->files) pages += file.live_pages;
  return pages;
}

void NewestManifest::replace(snapshot::Manifest manifest) {
  const std::lock_guard lock(mutex_);
  manifest_ = std::move(manifest);
}

void NewestManifest::publish(const snapshot::Manifest& manifest) {
  parts_.caches->adopt_nvm_pages(manifest);
  publish_found(manifest);
}

void NewestManifest::publish_found(const snapshot::Manifest& manifest) {
  Snapshots& snapshots = *parts_.snapshots;
  if (snapshots.newest() < manifest.number) snapshots.publish(manifest);
}

void NewestManifest::set(const snapshot::Manifest& manifest) {
  replace(manifest);
  publish(manifest);
}

void NewestManifest::set_older(const snapshot::Manifest& manifest) {
  replace(manifest);
  publish_found(manifest);
}

Status NewestManifest::restore_lost() {
  const std::optional<snapshot::Manifest> known = get();
  if (!known.has_value()) return {};
  const Result<snapshot::Manifest> newest = snapshot::read_newest_manifest(parts_.device);
  if (!snapshot::is_lost(newest, *known)) return newest.status();
  parts_.operator_log->say_of_gleaner(
      LogLevel::kWarning, Status::error(ErrorCode::kCorruption,
                                        snapshot::manifest_name(known->number) +
                                            " is damaged or gone; its contents are written again"));
  FOEDUS_TRY(snapshot::Manifest again, snapshot::restore_manifest(parts_.device, *known));
  publish(again);
  replace(std::move(again));
  return {};
}

Status NewestManifest::look_again() {
  FOEDUS_CHECK(restore_lost());
  if (!has_failed()) return {};
  Result<snapshot::Manifest> found = snapshot::read_newest_manifest(parts_.device);
  if (found.code() == ErrorCode::kNotFound) return {};  // no glean has made a manifest yet
  FOEDUS_CHECK(found.status());
  FOEDUS_CHECK(parts_.device->sync_directory());
  publish(*found);
  replace(std::move(found).value());
  return {};
}

}  // namespace foedus::engine
