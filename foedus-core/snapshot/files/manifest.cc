// The files of manifests.
#include "foedus-core/snapshot/files/manifest.h"

#include <algorithm>

#include "foedus-core/snapshot/files/format.h"
#include "foedus-core/snapshot/files/manifest_format.h"

namespace foedus::snapshot {

namespace {

Status write_new(device::Device* device, const std::string& bytes) {
  const Status removed = device->remove(kNewManifestName);  // of a crash or of a full device
  if (!removed.is_ok() && removed.code() != ErrorCode::kNotFound) return removed;
  FOEDUS_TRY(const auto file, device->open(kNewManifestName, device::Access::kCreate));
  FOEDUS_CHECK(file->write_at(0, bytes.data(), bytes.size()));
  return file->sync();
}

}  // namespace

const ManifestStorage* find_storage(const Manifest* manifest, page::StorageId id) {
  if (manifest == nullptr) return nullptr;
  const auto& storages = manifest->storages;
  const auto found = std::ranges::lower_bound(storages, id, {}, &ManifestStorage::id);
  return found != storages.end() && found->id == id ? &*found : nullptr;
}

Status write_manifest(device::Device* device, const Manifest& manifest) {
  FOEDUS_TRY(const std::string bytes, encode_manifest(manifest));
  FOEDUS_TRY(const auto numbers, find_manifests(device));
  const std::string name = manifest_name(manifest.number);
  if (!numbers.empty() && numbers.back() >= manifest.number) {
    return Status::error(ErrorCode::kAlreadyExists, device->path() + "/" + name +
                                                        " would not be newer than " +
                                                        manifest_name(numbers.back()));
  }
  FOEDUS_CHECK(write_new(device, bytes));
  FOEDUS_CHECK(device->sync_directory());  // F2: the names of the files that it lists
  FOEDUS_CHECK(device->rename(kNewManifestName, name));
  return device->sync_directory();
}

Result<std::vector<page::SnapshotNumber>> find_manifests(device::Device* device) {
  FOEDUS_TRY(const auto names, device->list());
  std::vector<page::SnapshotNumber> numbers;
  for (const std::string& name : names) {
    if (const auto number = parse_manifest_name(name)) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

Result<Manifest> read_manifest(device::Device* device, page::SnapshotNumber number) {
  FOEDUS_TRY(const auto file,
             device::open_existing(device, manifest_name(number), device::Access::kRead));
  FOEDUS_TRY(const std::uint64_t size, file->size());
  if (size > kManifestBytesMax) {
    return Status::error(ErrorCode::kCorruption, file->path() + ": a manifest cannot be " +
                                                     std::to_string(size) + " bytes long");
  }
  std::string bytes(size, '\0');
  FOEDUS_TRY(const std::size_t read, file->read_at(0, bytes.data(), bytes.size()));
  bytes.resize(read);
  FOEDUS_TRY(Manifest manifest, parse_manifest(bytes, file->path()));
  if (manifest.number != number) {
    return Status::error(ErrorCode::kCorruption,
                         file->path() + ": holds " + manifest_name(manifest.number));
  }
  return manifest;
}

Result<Manifest> read_newest_manifest(device::Device* device) {
  FOEDUS_TRY(const auto numbers, find_manifests(device));
  if (!numbers.empty()) return read_manifest(device, numbers.back());
  return Status::error(ErrorCode::kNotFound, "no manifest in " + device->path());
}

bool is_lost(const Result<Manifest>& newest, const Manifest& known) {
  if (newest.is_ok()) return newest->number < known.number;
  return is_damage(newest.code()) || newest.code() == ErrorCode::kNotFound;
}

Result<Manifest> restore_manifest(device::Device* device, const Manifest& known) {
  FOEDUS_TRY(const auto numbers, find_manifests(device));
  const auto newest = numbers.empty() ? known.number : std::max(known.number, numbers.back());
  if (static_cast<std::uint32_t>(newest) >= kSnapshotNumberMax) {
    return Status::error(ErrorCode::kTooLarge, device->path() + "/" + manifest_name(newest) +
                                                   " has the last number of a snapshot");
  }
  Manifest again = known;
  again.number = page::SnapshotNumber{static_cast<std::uint32_t>(newest) + 1};
  FOEDUS_CHECK(write_manifest(device, again));
  return again;
}

Status remove_manifest(device::Device* device, page::SnapshotNumber number) {
  FOEDUS_TRY(const auto numbers, find_manifests(device));
  if (!numbers.empty() && numbers.back() == number) {
    return Status::error(ErrorCode::kInvalidArgument,
                         device->path() + "/" + manifest_name(number) + " is the newest one");
  }
  FOEDUS_CHECK(device->sync_directory());  // F4: the newest one may be visible, but not durable
  return device->remove(manifest_name(number));
}

}  // namespace foedus::snapshot
