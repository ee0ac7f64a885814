#include "gleaner/reclaim/reclaim.h"

#include <memory>
#include <utility>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/snapshot/files/orphaned_files.h"
#include "foedus-core/snapshot/snapshot_reader.h"
#include "foedus-core/snapshot/snapshot_writer.h"
#include "foedus-core/storage/page_check.h"
#include "gleaner/reclaim/relocation.h"
#include "gleaner/reclaim/victims.h"

namespace foedus::gleaner {

namespace {

// All moved pages lie in one file, of SOC 0; every SOC may read it.
constexpr std::uint32_t kSoc = 0;

Result<page::SnapshotPageId> move(Relocation* relocation) {
  switch (relocation->storage().kind) {
    case StorageKind::kArray:
      return move_array(relocation);
    case StorageKind::kHash:
      return move_hash(relocation);
    case StorageKind::kMasstree:
      return move_masstree(relocation);
    case StorageKind::kSequential:
      return move_sequential(relocation);
  }
  FOEDUS_INVARIANT(false, relocation->storage().kind);
}

bool has_pages_in(const snapshot::ManifestStorage& storage, const Victims& victims) {
  for (const snapshot::LivePages& live : storage.live) {
    if (victims.contains(live.snapshot, live.soc)) return true;
  }
  return false;
}

Result<snapshot::Manifest> move_all(device::Device* device, const snapshot::Manifest& manifest,
                                    const std::vector<snapshot::ManifestFile>& victims,
                                    ReclaimCounts* counts) {
  const Victims looked_for(victims);
  snapshot::SnapshotFiles files(device, [&manifest](const page::PageHeader& page) {
    return storage::broken_rule(page, manifest.covered);
  });
  snapshot::Manifest moved = manifest;
  moved.number = page::SnapshotNumber{static_cast<std::uint32_t>(manifest.number) + 1};
  FOEDUS_TRY(const auto writer, snapshot::SnapshotWriter::create(device, moved.number, kSoc));
  for (snapshot::ManifestStorage& storage : moved.storages) {
    if (!has_pages_in(storage, looked_for)) continue;
    Relocation relocation(storage, looked_for, &files, writer.get());
    FOEDUS_TRY(const page::SnapshotPageId root, move(&relocation));
    FOEDUS_TRY(auto live, relocation.finish());
    storage.root = root;
    storage.live = std::move(live);
    counts->pages_read += relocation.pages_read();
  }
  FOEDUS_CHECK(writer->finish());
  FOEDUS_INVARIANT(writer->pages() != 0, writer->path());
  counts->pages_written += writer->pages();
  const std::size_t files_before = moved.files.size() + 1;
  moved.files.push_back({moved.number, kSoc, writer->pages(), 0});
  snapshot::settle_files(&moved);
  counts->files_emptied += files_before - moved.files.size();
  FOEDUS_CHECK(snapshot::write_manifest(device, moved));
  return moved;
}

}  // namespace

Result<snapshot::Manifest> reclaim(device::Device* device, const snapshot::Manifest& manifest,
                                   const std::vector<snapshot::ManifestFile>& victims,
                                   ReclaimCounts* counts, const snapshot::FileInMaking* in_making) {
  const auto remove_orphaned_files = [&] {
    return snapshot::remove_orphaned_files(device, &manifest, nullptr, in_making);
  };
  FOEDUS_CHECK(remove_orphaned_files());
  Result<snapshot::Manifest> moved =
      base::catching([&] { return move_all(device, manifest, victims, counts); });
  if (moved.is_ok()) return moved;
  // The caller gets the first error; the next glean removes what cannot be removed now.
  const Status ignored = base::catching(remove_orphaned_files);
  static_cast<void>(ignored.is_ok());
  return moved;
}

Result<std::optional<snapshot::Manifest>> reclaim_if_due(device::Device* device,
                                                         const snapshot::Manifest& newest,
                                                         const ReclaimOptions& options,
                                                         GleanReport* report,
                                                         const snapshot::FileInMaking* in_making) {
  const auto victims = choose_victims(newest, options);
  if (victims.empty()) return std::optional<snapshot::Manifest>();
  ReclaimCounts counts;
  FOEDUS_TRY(snapshot::Manifest moved, reclaim(device, newest, victims, &counts, in_making));
  report->snapshot = static_cast<std::uint32_t>(moved.number);
  report->pages_moved += counts.pages_written;
  return std::optional<snapshot::Manifest>(std::move(moved));
}

}  // namespace foedus::gleaner
