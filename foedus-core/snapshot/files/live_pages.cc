#include "foedus-core/snapshot/files/live_pages.h"

#include <utility>

#include "foedus-core/base/invariant.h"
#include "foedus-core/snapshot/files/format.h"
#include "foedus-core/snapshot/files/manifest.h"

namespace foedus::snapshot {

namespace {

std::uint64_t file_of(page::SnapshotPageId id) {
  return id.word() >> page::SnapshotPageId::kPageBits;
}
std::uint64_t file_of(page::SnapshotNumber snapshot, std::uint32_t soc) {
  return file_of(page::SnapshotPageId(snapshot, soc, 0));
}

}  // namespace

void PageAccounting::change(page::SnapshotPageId id, const page::PageHeader& page,
                            std::int64_t pages) {
  FOEDUS_INVARIANT(!id.is_null());
  Change& change = changes_[file_of(id)];
  change.pages += pages;
  if (is_below_records(page)) change.below_records += pages;
}

void PageAccounting::append(page::SnapshotPageId id, const page::PageHeader& page) {
  change(id, page, 1);
}

void PageAccounting::supersede(page::SnapshotPageId id, const page::PageHeader& page,
                               std::uint32_t pages) {
  change(id, page, -std::int64_t{pages});
}

void PageAccounting::add(const PageAccounting& other) {
  for (const auto& [file, change] : other.changes_) {
    changes_[file].pages += change.pages;
    changes_[file].below_records += change.below_records;
  }
}

Status PageAccounting::apply_to(std::vector<LivePages>* live) const {
  std::map<std::uint64_t, Change> counts = changes_;
  for (const LivePages& before : *live) {
    Change& count = counts[file_of(before.snapshot, before.soc)];
    count.pages += before.pages;
    count.below_records += before.below_records;
  }
  live->clear();
  for (const auto& [file, count] : counts) {
    const page::SnapshotPageId id(file << page::SnapshotPageId::kPageBits);
    const bool is_possible = 0 <= count.below_records && count.below_records <= count.pages &&
                             count.pages < kFilePagesMax;
    if (!is_possible) {
      return Status::error(ErrorCode::kCorruption, "the manifest counts fewer pages of " +
                                                       snapshot_name(id.snapshot(), id.soc()) +
                                                       " than were found: it would be left with " +
                                                       std::to_string(count.pages));
    }
    if (count.pages == 0) continue;
    live->push_back({id.snapshot(), id.soc(), static_cast<std::uint32_t>(count.pages),
                     static_cast<std::uint32_t>(count.below_records)});
  }
  return {};
}

void settle_files(Manifest* manifest) {
  std::map<std::uint64_t, std::uint32_t> sums;
  for (const ManifestStorage& storage : manifest->storages) {
    for (const LivePages& live : storage.live) sums[file_of(live.snapshot, live.soc)] += live.pages;
  }
  for (ManifestFile& file : manifest->files) {
    file.live_pages = sums[file_of(file.snapshot, file.soc)];
  }
  std::erase_if(manifest->files, [](const ManifestFile& file) { return file.live_pages == 0; });
}

}  // namespace foedus::snapshot
