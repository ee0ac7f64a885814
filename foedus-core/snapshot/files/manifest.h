#pragma once
// The manifest: the complete description of one snapshot. It says which storages there are, where
// their roots lie, which files hold their pages, and up to which epoch all commits are in.
//
//   F2  A manifest gets its name only after its bytes, and the names of the files that it lists,
//       are synced. So a manifest that is found is whole and its files exist. The newest one
//       counts. If it is damaged that is an error, never a reason to take an older one.
//   F3  Numbers grow. write_manifest() refuses a number that is not above the newest manifest's, as
//       SnapshotWriter does: a file that a manifest may name is never replaced.
//
// write_manifest():  manifest-new: write, sync │ sync_directory │ rename │ sync_directory
//                    old one is the newest ───────────────────────►│ either │◄─── the new one is

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "foedus-core/device/device.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/snapshot/files/live_pages.h"
#include "foedus/epoch.h"
#include "foedus/status.h"
#include "foedus/storage.h"

namespace foedus::snapshot {

struct ManifestStorage {
  page::StorageId id{};
  StorageKind kind = StorageKind::kMasstree;
  std::string name;
  std::uint64_t records = 0;              // arrays: number of records
  std::uint32_t payload_bytes = 0;        // arrays: bytes of a payload
  std::uint32_t fan_out_bits = 0;         // hash: bits of the hash that the root spreads by; <= 255
  page::SnapshotPageId root;              // null: the storage has no pages
  std::vector<std::uint64_t> boundaries;  // of its partitions; only the gleaner interprets them
  std::vector<LivePages> live = {};       // F7: files with pages of it; ascending as files are
  bool operator==(const ManifestStorage&) const = default;
};

struct ManifestFile {
  page::SnapshotNumber snapshot{};
  std::uint32_t soc = 0;
  std::uint32_t pages = 0;       // pages 1 .. pages are there
  std::uint32_t live_pages = 0;  // F7: pages that roots of this manifest lead to; at least one
  bool operator==(const ManifestFile&) const = default;
};

struct Manifest {
  page::SnapshotNumber number{};
  Epoch covered;      // all commits of epochs up to it are in, no later one is
  Epoch newest_seen;  // by the log when it was made; not below `covered`
  page::StorageId next_storage_id{};      // above all ids ever given, dropped ones included
  std::vector<ManifestFile> files;        // ascending by snapshot, then SOC
  std::vector<ManifestStorage> storages;  // ascending by id
  bool operator==(const Manifest&) const = default;
};

// Returns in words why no snapshot can have this manifest; empty if one can. Checks limits and
// order of all fields, names used twice, roots that lie in none of its files, and counts of pages
// that do not add up.
std::string problem_of(const Manifest& manifest);

// Returns the entry of a storage; null: there is none, or no manifest.
const ManifestStorage* find_storage(const Manifest* manifest, page::StorageId id);
inline page::SnapshotPageId root_in(const Manifest* manifest, page::StorageId id) {
  const ManifestStorage* const storage = find_storage(manifest, id);
  return storage == nullptr ? page::SnapshotPageId() : storage->root;
}

// Returns the bytes of a manifest's file. kTooLarge: more than kManifestBytesMax. REQUIRES:
// problem_of(manifest) is empty.
Result<std::string> encode_manifest(const Manifest& manifest);
// Parses such bytes. kCorruption: encode_manifest() cannot have made them. kWrongVersion. `path` is
// for messages.
Result<Manifest> parse_manifest(std::string_view bytes, const std::string& path);

// Makes the manifest the newest one, durably.
// REQUIRES: problem_of(manifest) is empty; the snapshot files of its number are finished, that is
// synced.
// kAlreadyExists: its number is not above the newest one's. kTooLarge. kOutOfSpace, kIoError: the
// newest one is still the one before, or, if a directory could not be synced, this one. The caller
// looks which it is, and relies on neither until Device::sync_directory() succeeds.
Status write_manifest(device::Device* device, const Manifest& manifest);

// Returns the numbers of all manifests, ascending.
Result<std::vector<page::SnapshotNumber>> find_manifests(device::Device* device);
// Returns true if this error of read_manifest() means that the file is not what was written, and
// never will be. Otherwise the device failed.
constexpr bool is_damage(ErrorCode code) {
  return code == ErrorCode::kCorruption || code == ErrorCode::kWrongVersion;
}
// Reads a manifest. kIoError: also, there is no such file. kCorruption, kWrongVersion.
Result<Manifest> read_manifest(device::Device* device, page::SnapshotNumber number);
// Reads the newest manifest. kNotFound: there is none; the database has no snapshot yet.
Result<Manifest> read_newest_manifest(device::Device* device);
// Returns true if `newest`, from read_newest_manifest(), is neither `known`, which is durable, nor
// a newer one. Returns false if the device failed.
bool is_lost(const Result<Manifest>& newest, const Manifest& known);
// Writes a lost manifest again, under a number above its own and those of all others that exist,
// damaged ones included: there is no other copy of it. Errors as of write_manifest().
Result<Manifest> restore_manifest(device::Device* device, const Manifest& known);

// Removes a manifest that is not the newest. Its files become orphaned files (orphaned_files.h)
// unless another manifest lists them. Until remove_orphaned_files() has returned, the removal is
// not durable: a power failure may bring the manifest back, whose files still exist then.
// kInvalidArgument: it is the newest one. kNotFound.
Status remove_manifest(device::Device* device, page::SnapshotNumber number);

}  // namespace foedus::snapshot
