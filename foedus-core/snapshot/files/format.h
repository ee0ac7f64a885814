#pragma once
// Bytes and names of snapshot files, and nothing else. Byte-exact description: FORMAT.md.
//
//   page 0         which file it is: SnapshotFileHeader, then zeroes
//   page 1 ...     pages of the snapshot, each with its id and checksum in its PageHeader
//
//   F1  Page 0, each page and each manifest carry a CRC32C over all their bytes, with its own four
//       taken as zero, and their identity. One that was damaged, or belongs elsewhere, is refused.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "foedus-core/page/page_header.h"
#include "foedus-core/page/page_id.h"

namespace foedus::snapshot {

inline constexpr std::uint32_t kSnapshotFormatVersion = 1;
inline constexpr std::uint64_t kSnapshotMagic = 0x50414e5344454f46;  // "FOEDSNAP"
// Eight digits: less than a page id could name.
inline constexpr std::uint32_t kSnapshotNumberMax = 99'999'999;
static_assert(kSnapshotNumberMax <= page::SnapshotPageId::kSnapshotMax);
// Pages of one file, page 0 included.
inline constexpr std::uint32_t kFilePagesMax = page::SnapshotPageId::kPageMax + 1;

struct SnapshotFileHeader {
  std::uint64_t magic;     // +8 -> 8
  std::uint32_t version;   // +4 -> 12
  std::uint32_t crc;       // +4 -> 16  of page 0
  std::uint32_t snapshot;  // +4 -> 20
  std::uint32_t soc;       // +4 -> 24
};
static_assert(sizeof(SnapshotFileHeader) == 24);
static_assert(std::has_unique_object_representations_v<SnapshotFileHeader>);

// Where the checksum stands in page 0, in pages and in manifests.
inline constexpr std::size_t kChecksumOffset = 12;
static_assert(offsetof(SnapshotFileHeader, crc) == kChecksumOffset);
static_assert(offsetof(page::PageHeader, crc32c) == kChecksumOffset);
static_assert(offsetof(page::PageHeader, page_id) == 0);

// Returns the CRC32C of `count` bytes, those of the checksum taken as zero. REQUIRES: count >=
// kChecksumOffset + 4.
std::uint32_t checksum_of(const void* bytes, std::size_t count);

// Fills in the kPageBytes of page 0.
void make_page_0(page::SnapshotNumber snapshot, std::uint32_t soc, void* page);

// Return "snapshot-<8 digits>-<soc>", "manifest-<8 digits>".
std::string snapshot_name(page::SnapshotNumber snapshot, std::uint32_t soc);
std::string manifest_name(page::SnapshotNumber snapshot);
struct SnapshotName {
  page::SnapshotNumber snapshot;
  std::uint32_t soc;
};
// Return the arguments for which the functions above give `name`. Nothing: there are none, the
// number is not in 1 .. kSnapshotNumberMax, or the SOC is not below kMaxSocs.
std::optional<SnapshotName> parse_snapshot_name(std::string_view name);
std::optional<page::SnapshotNumber> parse_manifest_name(std::string_view name);

}  // namespace foedus::snapshot
