#pragma once
// Names of the files that a snapshot file consists of where there are two tiers (tiered_device.h):
// "snapshot-<x>" on non-volatile memory, "ssd-<x>" on the SSD, and "tiers-<x>" on memory, too,
// which says which extents lie on the SSD.

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

namespace foedus::device {

inline constexpr std::string_view kTieredPrefix = "snapshot-";
inline constexpr std::string_view kSsdPrefix = "ssd-";
inline constexpr std::string_view kTiersPrefix = "tiers-";

// Pages of the SSD that are kept on memory (snapshot/nvm_pages.h).
inline constexpr std::string_view kNvmPrefix = "nvm-";

// Pages that are on their way to the SSD (staging/area.h).
inline constexpr std::string_view kStagingPrefix = "staging-";

inline std::string ssd_name(std::string_view tiered) {
  return std::string(kSsdPrefix).append(tiered.substr(kTieredPrefix.size()));
}
inline std::string tiers_name(std::string_view tiered) {
  return std::string(kTiersPrefix).append(tiered.substr(kTieredPrefix.size()));
}
// Returns the name of the snapshot file that `name` is a part of; `name` itself if it is none.
inline std::string whole_name(std::string_view name) {
  for (const std::string_view prefix : {kSsdPrefix, kTiersPrefix}) {
    if (!name.starts_with(prefix)) continue;
    return std::string(kTieredPrefix).append(name.substr(prefix.size()));
  }
  return std::string(name);
}

// Returns the name of the part on the SSD of a file that staging knows by a number:
// "ssd-00000012-3" is 12 * 2^32 + 3.
inline std::string staged_name(std::uint64_t id) {
  char name[40];
  std::snprintf(name, sizeof(name), "ssd-%08u-%u", static_cast<unsigned>(id >> 32),
                static_cast<unsigned>(id));
  return name;
}
// Returns the number by which staging knows the file `ssd_name`; nothing if it is no such name.
inline std::optional<std::uint64_t> staged_id(const std::string& ssd_name) {
  unsigned snapshot = 0;
  unsigned soc = 0;
  if (std::sscanf(ssd_name.c_str(), "ssd-%8u-%9u", &snapshot, &soc) != 2) return std::nullopt;
  const std::uint64_t id = std::uint64_t{snapshot} << 32 | soc;
  if (staged_name(id) != ssd_name) return std::nullopt;
  return id;
}

}  // namespace foedus::device
