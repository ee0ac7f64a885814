#pragma once
// Files of a TieredDevice whose blocks carry the name of their file and their number.

#include <cstdint>
#include <string>
#include <string_view>

#include "foedus-core/device/tiers/tiered_device.h"

namespace foedus::testing {

using device::kBlockBytes;
using device::kExtentBytes;

inline constexpr std::string_view kFirst = "snapshot-00000001-0";
inline constexpr std::string_view kSecond = "snapshot-00000002-0";
inline constexpr std::uint64_t kBlocksPerExtent = kExtentBytes / kBlockBytes;

// Returns the bytes of a block of a file.
inline std::string block_of(std::string_view name, std::uint64_t block) {
  std::string bytes(kBlockBytes, static_cast<char>('a' + block % 26));
  const std::string words = std::string(name) + " " + std::to_string(block);
  return bytes.replace(0, words.size(), words);
}

inline Status make_file(device::Device* device, std::string_view name, std::uint64_t blocks) {
  FOEDUS_TRY(const auto file, device->open(name, device::Access::kCreateDirect));
  std::string buffer;
  std::uint64_t written = 0;
  for (std::uint64_t i = 0; i < blocks; ++i) {
    buffer += block_of(name, i);
    if (buffer.size() < 3 * kExtentBytes && i + 1 < blocks) continue;
    FOEDUS_CHECK(file->write_at(written, buffer.data(), buffer.size()));
    written += buffer.size();
    buffer.clear();
  }
  FOEDUS_CHECK(file->sync());
  return device->sync_directory();
}

// Returns a complaint, or an empty string if the file holds the bytes of make_file().
inline std::string difference(device::Device* device, std::string_view name, std::uint64_t blocks) {
  const auto file = device->open(name, device::Access::kRead);
  if (!file.is_ok()) return file.status().message();
  std::string bytes(kBlockBytes, '\0');
  for (std::uint64_t i = 0; i < blocks; ++i) {
    const auto read = (*file)->read_at(i * kBlockBytes, bytes.data(), kBlockBytes);
    if (!read.is_ok()) return read.status().message();
    if (*read < kBlockBytes || bytes != block_of(name, i)) {
      return "block " + std::to_string(i) + " of " + std::string(name);
    }
  }
  return "";
}

inline std::uint64_t extents(std::uint64_t bytes) { return bytes / kExtentBytes; }

// Returns the limit at which the mover leaves `kept` extents on memory.
inline device::TierLimits limit_of(std::uint64_t kept) {
  return {.nvm_bytes = (kept * 8 + 6) / 7 * kExtentBytes};
}

}  // namespace foedus::testing
