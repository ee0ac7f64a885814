#pragma once
// Names of the files that a snapshot file consists of where there are two tiers (tiered_device.h):
// "snapshot-<x>" on non-volatile memory, "ssd-<x>" on the SSD, and "tiers-<x>", beside the first,
// which says what lies in which.

#include <string>
#include <string_view>

namespace foedus::device {

inline constexpr std::string_view kTieredPrefix = "snapshot-";
inline constexpr std::string_view kSsdPrefix = "ssd-";
inline constexpr std::string_view kTiersPrefix = "tiers-";

// Pages of the SSD that are kept on memory (snapshot/nvm_pages.h).
inline constexpr std::string_view kNvmPrefix = "nvm-";

// Pages that are on their way to the SSD (staging_area.h).
inline constexpr std::string_view kStagingPrefix = "staging-";

inline std::string ssd_name(std::string_view tiered) {
  return std::string(kSsdPrefix).append(tiered.substr(kTieredPrefix.size()));
}
inline std::string tiers_name(std::string_view tiered) {
  return std::string(kTiersPrefix).append(tiered.substr(kTieredPrefix.size()));
}
// The name of the snapshot file that `name` is a part of; `name` itself if it is none.
inline std::string whole_name(std::string_view name) {
  for (const std::string_view prefix : {kSsdPrefix, kTiersPrefix}) {
    if (!name.starts_with(prefix)) continue;
    return std::string(kTieredPrefix).append(name.substr(prefix.size()));
  }
  return std::string(name);
}

}  // namespace foedus::device
