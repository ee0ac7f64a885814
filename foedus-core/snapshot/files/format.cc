#include "foedus-core/snapshot/files/format.h"

#include <cstdio>
#include <cstring>

#include "foedus-core/base/crc32c.h"
#include "foedus-core/base/invariant.h"
#include "foedus/options.h"

namespace foedus::snapshot {

namespace {

constexpr std::string_view kSnapshotPrefix = "snapshot-";
constexpr std::string_view kManifestPrefix = "manifest-";
constexpr std::size_t kNumberDigits = 8;

// Returns nothing unless all of `digits`, 1 .. 8 of them, are digits.
std::optional<std::uint32_t> parse_number(std::string_view digits) {
  if (digits.empty() || digits.size() > kNumberDigits) return {};
  std::uint32_t number = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return {};
    number = number * 10 + static_cast<std::uint32_t>(c - '0');
  }
  return number;
}

}  // namespace

std::uint32_t checksum_of(const void* bytes, std::size_t count) {
  constexpr char kZero[4] = {};
  constexpr std::size_t kBehind = kChecksumOffset + sizeof(kZero);
  FOEDUS_INVARIANT(count >= kBehind, count);
  std::uint32_t crc = base::crc32c(bytes, kChecksumOffset);
  crc = base::crc32c(kZero, sizeof(kZero), crc);
  return base::crc32c(static_cast<const char*>(bytes) + kBehind, count - kBehind, crc);
}

void make_page_0(page::SnapshotNumber snapshot, std::uint32_t soc, void* page) {
  SnapshotFileHeader header{.magic = kSnapshotMagic,
                            .version = kSnapshotFormatVersion,
                            .crc = 0,
                            .snapshot = static_cast<std::uint32_t>(snapshot),
                            .soc = soc};
  std::memset(page, 0, page::kPageBytes);
  std::memcpy(page, &header, sizeof(header));
  header.crc = checksum_of(page, page::kPageBytes);
  std::memcpy(page, &header, sizeof(header));
}

std::string snapshot_name(page::SnapshotNumber snapshot, std::uint32_t soc) {
  char name[40];
  std::snprintf(name, sizeof(name), "snapshot-%08u-%u", static_cast<std::uint32_t>(snapshot), soc);
  return name;
}

std::string manifest_name(page::SnapshotNumber snapshot) {
  char name[40];
  std::snprintf(name, sizeof(name), "manifest-%08u", static_cast<std::uint32_t>(snapshot));
  return name;
}

std::optional<SnapshotName> parse_snapshot_name(std::string_view name) {
  if (!name.starts_with(kSnapshotPrefix)) return {};
  name.remove_prefix(kSnapshotPrefix.size());
  const std::size_t dash = name.find('-');
  if (dash != kNumberDigits) return {};
  const auto number = parse_number(name.substr(0, dash));
  const auto soc = parse_number(name.substr(dash + 1));
  if (!number || *number == 0 || !soc || *soc >= kMaxSocs) return {};
  if (name.substr(dash + 1) != std::to_string(*soc)) return {};  // a leading zero
  return SnapshotName{page::SnapshotNumber{*number}, *soc};
}

std::optional<page::SnapshotNumber> parse_manifest_name(std::string_view name) {
  if (!name.starts_with(kManifestPrefix)) return {};
  name.remove_prefix(kManifestPrefix.size());
  if (name.size() != kNumberDigits) return {};
  const auto number = parse_number(name);
  if (!number || *number == 0) return {};
  return page::SnapshotNumber{*number};
}

}  // namespace foedus::snapshot
