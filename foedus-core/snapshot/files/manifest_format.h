#pragma once
// Bytes of a manifest, and nothing else. Byte-exact description: FORMAT.md.
//
//   ManifestHeader
//   ManifestFileEntry, file_count times, ascending by snapshot, then SOC
//   storage_count times, ascending by id:
//     ManifestStorageEntry, the name, zeroes up to a multiple of 8, the boundaries of 8 bytes each,
//     LivePagesEntry, live_count times, ascending by snapshot, then SOC

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "foedus-core/snapshot/files/format.h"

namespace foedus::snapshot {

inline constexpr std::uint32_t kManifestFormatVersion = 2;
inline constexpr std::uint64_t kManifestMagic = 0x494e414d44454f46;  // "FOEDMANI"
inline constexpr std::string_view kNewManifestName = "manifest-new";
// Bounds the memory that a reader of a manifest needs: eight million partition boundaries.
inline constexpr std::size_t kManifestBytesMax = 64u << 20;

struct ManifestHeader {
  std::uint64_t magic;            // +8 -> 8
  std::uint32_t version;          // +4 -> 12
  std::uint32_t crc;              // +4 -> 16  of the whole file
  std::uint64_t file_bytes;       // +8 -> 24
  std::uint64_t covered_epoch;    // +8 -> 32
  std::uint64_t newest_epoch;     // +8 -> 40
  std::uint32_t number;           // +4 -> 44
  std::uint32_t next_storage_id;  // +4 -> 48
  std::uint32_t file_count;       // +4 -> 52
  std::uint32_t storage_count;    // +4 -> 56
};
static_assert(sizeof(ManifestHeader) == 56);
static_assert(std::has_unique_object_representations_v<ManifestHeader>);
static_assert(offsetof(ManifestHeader, crc) == kChecksumOffset);

struct ManifestFileEntry {
  std::uint32_t snapshot;    // +4 -> 4
  std::uint32_t soc;         // +4 -> 8
  std::uint32_t pages;       // +4 -> 12  1 .. pages are there
  std::uint32_t live_pages;  // +4 -> 16
};
static_assert(sizeof(ManifestFileEntry) == 16);
static_assert(std::has_unique_object_representations_v<ManifestFileEntry>);

struct ManifestStorageEntry {
  std::uint64_t root;            // +8 -> 8   SnapshotPageId; 0: none
  std::uint64_t records;         // +8 -> 16
  std::uint32_t id;              // +4 -> 20
  std::uint32_t payload_bytes;   // +4 -> 24
  std::uint32_t boundary_count;  // +4 -> 28
  std::uint8_t kind;             // +1 -> 29  StorageKind
  std::uint8_t fan_out_bits;     // +1 -> 30
  std::uint16_t name_bytes;      // +2 -> 32
  std::uint64_t live_count;      // +8 -> 40  files with pages of it
};
static_assert(sizeof(ManifestStorageEntry) == 40);
static_assert(std::has_unique_object_representations_v<ManifestStorageEntry>);

struct LivePagesEntry {
  std::uint32_t snapshot;       // +4 -> 4
  std::uint32_t soc;            // +4 -> 8
  std::uint32_t pages;          // +4 -> 12
  std::uint32_t below_records;  // +4 -> 16
};
static_assert(sizeof(LivePagesEntry) == 16);
static_assert(std::has_unique_object_representations_v<LivePagesEntry>);

}  // namespace foedus::snapshot
