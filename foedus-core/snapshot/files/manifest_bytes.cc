// What a manifest may hold, and its bytes.
#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "foedus-core/base/invariant.h"
#include "foedus-core/snapshot/files/format.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "foedus-core/snapshot/files/manifest_format.h"
#include "foedus/options.h"

namespace foedus::snapshot {

namespace {

constexpr std::size_t round_up_8(std::size_t bytes) { return (bytes + 7) & ~std::size_t{7}; }

template <typename T>
void put(std::string* bytes, const T& value) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// The bytes of a manifest that are not read yet.
class Remaining {
 public:
  explicit Remaining(std::string_view bytes) : bytes_(bytes) {}
  bool has(std::uint64_t bytes) const { return bytes <= bytes_.size(); }
  bool is_empty() const { return bytes_.empty(); }
  // REQUIRES: has(bytes).
  std::string_view take(std::size_t bytes) {
    const std::string_view taken = bytes_.substr(0, bytes);
    bytes_.remove_prefix(bytes);
    return taken;
  }
  // Takes a T. REQUIRES: has(sizeof(T)).
  template <typename T>
  T take() {
    T value;
    std::memcpy(&value, take(sizeof(value)).data(), sizeof(value));
    return value;
  }
  template <typename T>
  bool try_take(T* value) {
    if (!has(sizeof(*value))) return false;
    std::memcpy(value, take(sizeof(*value)).data(), sizeof(*value));
    return true;
  }

 private:
  std::string_view bytes_;
};

bool comes_before(const ManifestFile& left, const ManifestFile& right) {
  if (left.snapshot != right.snapshot) return left.snapshot < right.snapshot;
  return left.soc < right.soc;
}

std::string problem_of_file(const Manifest& manifest, const ManifestFile& file) {
  if (file.snapshot < page::SnapshotNumber{1} || file.snapshot > manifest.number) {
    return " is of no snapshot up to this one";
  }
  if (file.soc >= kMaxSocs) return " is of a SOC above the limit";
  if (file.pages >= kFilePagesMax) return " has more pages than an id can name";
  if (file.live_pages > file.pages) return " has more live pages than pages";
  if (file.live_pages == 0) return " has no live page";
  return {};
}

// Finds a file; null: there is none of that name. Relies on the order of the files, which was
// checked: a hostile manifest has millions of them, and of roots.
const ManifestFile* find_file(const Manifest& manifest, page::SnapshotNumber snapshot,
                              std::uint32_t soc) {
  const ManifestFile wanted{snapshot, soc, 0, 0};
  const auto file = std::lower_bound(manifest.files.begin(), manifest.files.end(), wanted,
                                     comes_before);
  if (file == manifest.files.end() || comes_before(wanted, *file)) return nullptr;
  return &*file;
}

bool is_held(const Manifest& manifest, page::SnapshotPageId id) {
  const ManifestFile* const file = find_file(manifest, id.snapshot(), id.soc());
  return file != nullptr && id.page() >= 1 && id.page() <= file->pages;
}

// Checks the counts of a storage, and adds them to `sums`, by the files' places.
std::string problem_of_counts(const Manifest& manifest, const ManifestStorage& storage,
                              std::vector<std::uint64_t>* sums) {
  bool has_root = storage.root.is_null();
  const LivePages* before = nullptr;
  for (const LivePages& live : storage.live) {
    const ManifestFile* const file = find_file(manifest, live.snapshot, live.soc);
    if (file == nullptr) return " has pages in a file that is not there";
    if (live.pages == 0 || live.below_records > live.pages) {
      return " has an impossible number of pages in " + snapshot_name(live.snapshot, live.soc);
    }
    if (before != nullptr && !comes_before({before->snapshot, before->soc, 0, 0}, *file)) {
      return " has counts of pages out of order";
    }
    before = &live;
    (*sums)[static_cast<std::size_t>(file - manifest.files.data())] += live.pages;
    has_root |= live.snapshot == storage.root.snapshot() && live.soc == storage.root.soc();
  }
  if (!has_root) return " has a root in a file that it has no pages in";
  if (storage.root.is_null() != storage.live.empty()) return " has pages, but no root";
  return {};
}

std::string problem_of_storage(const Manifest& manifest, const ManifestStorage& storage,
                               std::vector<std::uint64_t>* sums) {
  if (storage.id == page::StorageId{0} || storage.id >= manifest.next_storage_id) {
    return " has an id that was never given";
  }
  if (storage.kind < StorageKind::kArray || storage.kind > StorageKind::kSequential) {
    return " is of an unknown kind";
  }
  if (storage.name.empty() || storage.name.size() > kMaxStorageNameBytes) {
    return " has a name of impossible length";
  }
  if (storage.fan_out_bits > 0xff) return " has an impossible fan-out";
  const bool can_be_array = storage.records != 0 && storage.records <= kMaxArrayRecords &&
                            storage.payload_bytes != 0 &&
                            storage.payload_bytes <= kMaxArrayPayloadBytes;
  if (storage.kind == StorageKind::kArray && !can_be_array) return " has an impossible shape";
  if (!storage.root.is_null() && !is_held(manifest, storage.root)) {
    return " has a root that lies in no file";
  }
  return problem_of_counts(manifest, storage, sums);
}

std::string problem_of_head(const Manifest& manifest) {
  const auto number = static_cast<std::uint32_t>(manifest.number);
  if (number == 0 || number > kSnapshotNumberMax) return "its number is impossible";
  if (!manifest.covered.is_valid()) return "it covers no epoch";
  if (manifest.newest_seen < manifest.covered) return "it covers epochs that were never seen";
  if (manifest.newest_seen > Epoch(Epoch::kMax)) return "its newest epoch is impossible";
  return {};
}

// Reads the entries of files, if there are bytes for so many.
bool read_files(Remaining* bytes, std::uint32_t count, Manifest* manifest) {
  if (!bytes->has(std::uint64_t{count} * sizeof(ManifestFileEntry))) return false;
  manifest->files.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto entry = bytes->take<ManifestFileEntry>();
    manifest->files.push_back(
        {page::SnapshotNumber{entry.snapshot}, entry.soc, entry.pages, entry.live_pages});
  }
  return true;
}

bool read_live(Remaining* bytes, std::uint64_t count, std::vector<LivePages>* live) {
  if (count > kManifestBytesMax || !bytes->has(count * sizeof(LivePagesEntry))) return false;
  live->reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto entry = bytes->take<LivePagesEntry>();
    live->push_back(
        {page::SnapshotNumber{entry.snapshot}, entry.soc, entry.pages, entry.below_records});
  }
  return true;
}

bool read_storage(Remaining* bytes, ManifestStorage* storage) {
  ManifestStorageEntry entry;
  if (!bytes->try_take(&entry)) return false;
  storage->id = page::StorageId{entry.id};
  storage->kind = StorageKind{entry.kind};
  storage->records = entry.records;
  storage->payload_bytes = entry.payload_bytes;
  storage->fan_out_bits = entry.fan_out_bits;
  storage->root = page::SnapshotPageId(entry.root);
  const std::size_t padded = round_up_8(entry.name_bytes);
  const std::uint64_t boundary_bytes = std::uint64_t{entry.boundary_count} * 8;
  if (!bytes->has(padded + boundary_bytes)) return false;
  const std::string_view name = bytes->take(padded);
  storage->name = name.substr(0, entry.name_bytes);
  if (name.find_first_not_of('\0', entry.name_bytes) != name.npos) return false;
  if (entry.boundary_count != 0) {
    storage->boundaries.resize(entry.boundary_count);
    std::memcpy(storage->boundaries.data(), bytes->take(boundary_bytes).data(), boundary_bytes);
  }
  return read_live(bytes, entry.live_count, &storage->live);
}

void put_storage(std::string* bytes, const ManifestStorage& storage) {
  put(bytes,
      ManifestStorageEntry{.root = storage.root.word(),
                           .records = storage.records,
                           .id = static_cast<std::uint32_t>(storage.id),
                           .payload_bytes = storage.payload_bytes,
                           .boundary_count = static_cast<std::uint32_t>(storage.boundaries.size()),
                           .kind = static_cast<std::uint8_t>(storage.kind),
                           .fan_out_bits = static_cast<std::uint8_t>(storage.fan_out_bits),
                           .name_bytes = static_cast<std::uint16_t>(storage.name.size()),
                           .live_count = storage.live.size()});
  bytes->append(storage.name);
  bytes->append(round_up_8(storage.name.size()) - storage.name.size(), '\0');
  for (const std::uint64_t boundary : storage.boundaries) put(bytes, boundary);
  for (const LivePages& live : storage.live) {
    put(bytes, LivePagesEntry{static_cast<std::uint32_t>(live.snapshot), live.soc, live.pages,
                              live.below_records});
  }
}

Status damaged(const std::string& path, const std::string& what) {
  return Status::error(ErrorCode::kCorruption, path + ": " + what);
}

// Checks magic, checksum, version and length.
Status check_envelope(std::string_view bytes, const std::string& path, ManifestHeader* header) {
  if (!Remaining(bytes).try_take(header)) {
    return damaged(path, "a manifest cannot be " + std::to_string(bytes.size()) + " bytes long");
  }
  if (header->magic != kManifestMagic) return damaged(path, "does not begin like a manifest");
  if (header->crc != checksum_of(bytes.data(), bytes.size())) {
    return damaged(path, "the checksum over its " + std::to_string(bytes.size()) +
                             " bytes is not the one at offset 12");
  }
  if (header->version != kManifestFormatVersion) {
    return Status::error(ErrorCode::kWrongVersion,
                         path + " has format version " + std::to_string(header->version) +
                             ", this program knows " + std::to_string(kManifestFormatVersion));
  }
  if (header->file_bytes != bytes.size()) return damaged(path, "its length is not the header's");
  return {};
}

}  // namespace

std::string problem_of(const Manifest& manifest) {
  if (std::string problem = problem_of_head(manifest); !problem.empty()) return problem;
  const ManifestFile* file_before = nullptr;
  for (const ManifestFile& file : manifest.files) {
    const std::string problem = problem_of_file(manifest, file);
    if (!problem.empty()) return "file " + snapshot_name(file.snapshot, file.soc) + problem;
    if (file_before != nullptr && !comes_before(*file_before, file)) return "files out of order";
    file_before = &file;
  }
  std::unordered_set<std::string_view> names;
  std::vector<std::uint64_t> live_pages(manifest.files.size());
  auto id_before = page::StorageId{0};
  for (const ManifestStorage& storage : manifest.storages) {
    const std::string problem = problem_of_storage(manifest, storage, &live_pages);
    if (!problem.empty()) {
      return "storage " + std::to_string(static_cast<std::uint32_t>(storage.id)) + problem;
    }
    if (storage.id <= id_before) return "storages out of order";
    if (!names.insert(storage.name).second) return "two storages of one name";
    id_before = storage.id;
  }
  for (std::size_t i = 0; i < live_pages.size(); ++i) {
    const ManifestFile& file = manifest.files[i];
    if (live_pages[i] == file.live_pages) continue;
    return "file " + snapshot_name(file.snapshot, file.soc) + " has " +
           std::to_string(file.live_pages) + " live pages, its storages " +
           std::to_string(live_pages[i]);
  }
  return {};
}

Result<std::string> encode_manifest(const Manifest& manifest) {
  const std::string problem = problem_of(manifest);
  FOEDUS_INVARIANT(problem.empty(), problem);
  ManifestHeader header{.magic = kManifestMagic,
                        .version = kManifestFormatVersion,
                        .crc = 0,
                        .file_bytes = 0,
                        .covered_epoch = manifest.covered.number(),
                        .newest_epoch = manifest.newest_seen.number(),
                        .number = static_cast<std::uint32_t>(manifest.number),
                        .next_storage_id = static_cast<std::uint32_t>(manifest.next_storage_id),
                        .file_count = static_cast<std::uint32_t>(manifest.files.size()),
                        .storage_count = static_cast<std::uint32_t>(manifest.storages.size())};
  std::string bytes;
  put(&bytes, header);
  for (const ManifestFile& file : manifest.files) {
    put(&bytes, ManifestFileEntry{static_cast<std::uint32_t>(file.snapshot), file.soc, file.pages,
                                  file.live_pages});
  }
  for (const ManifestStorage& storage : manifest.storages) put_storage(&bytes, storage);
  if (bytes.size() > kManifestBytesMax) {
    return Status::error(ErrorCode::kTooLarge,
                         manifest_name(manifest.number) + " would be " +
                             std::to_string(bytes.size()) + " bytes long, the limit is " +
                             std::to_string(kManifestBytesMax));
  }
  header.file_bytes = bytes.size();
  std::memcpy(bytes.data(), &header, sizeof(header));
  header.crc = checksum_of(bytes.data(), bytes.size());
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

Result<Manifest> parse_manifest(std::string_view bytes, const std::string& path) {
  ManifestHeader header;
  FOEDUS_CHECK(check_envelope(bytes, path, &header));
  Manifest manifest;
  manifest.number = page::SnapshotNumber{header.number};
  manifest.covered = Epoch(header.covered_epoch);
  manifest.newest_seen = Epoch(header.newest_epoch);
  manifest.next_storage_id = page::StorageId{header.next_storage_id};
  Remaining remaining(bytes.substr(sizeof(header)));
  if (!read_files(&remaining, header.file_count, &manifest)) {
    return damaged(path, "it lists more files than it has bytes for");
  }
  for (std::uint32_t i = 0; i < header.storage_count; ++i) {
    ManifestStorage storage;
    if (!read_storage(&remaining, &storage)) {
      return damaged(path, "entry " + std::to_string(i) + " of its storages is not whole");
    }
    manifest.storages.push_back(std::move(storage));
  }
  if (!remaining.is_empty()) return damaged(path, "bytes follow the last storage");
  const std::string problem = problem_of(manifest);
  if (!problem.empty()) return damaged(path, problem);
  return manifest;
}

}  // namespace foedus::snapshot
