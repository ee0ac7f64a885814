#pragma once
// NvmStats: counts of reads and writes of emulated non-volatile memory, or of the emulated SSD tier
// (DeviceKind::kEmulated). TierStats: bytes that snapshots take on each tier
// (TierOptions::ssd_dirs).

#include "foedus/cxx20.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace foedus {

// Counts since open, of all files of the database. Lines have 64 bytes, pages 4096. A line or page
// of which a part is read or written counts as one.
struct NvmStats {
  static constexpr std::size_t kWritesMax = 255;

  std::uint64_t reads = 0;
  std::uint64_t bytes_read = 0;
  std::uint64_t lines_read = 0;
  std::uint64_t pages_read = 0;
  std::uint64_t writes = 0;
  std::uint64_t bytes_written = 0;
  std::uint64_t lines_written = 0;
  std::uint64_t pages_written = 0;
  // Wear: lines_by_writes[n] lines have been written n times. The last element also counts lines
  // that were written more often. [0] stays 0: lines that were never written are not counted.
  std::array<std::uint64_t, kWritesMax + 1> lines_by_writes = {};
};

// Bytes that snapshots take on each tier of a database with two tiers (TierOptions::ssd_dirs),
// rounded up to pieces of 256 KiB.
struct TierStats {
  std::uint64_t nvm_bytes = 0;
  std::uint64_t ssd_bytes = 0;
  std::uint64_t moved_bytes = 0;   // moved from non-volatile memory to the SSD, since open
  // Pages of the SSD with a copy on non-volatile memory. After open(), copies of an earlier run
  // count once reads have looked at their part of the cache.
  std::uint64_t cached_bytes = 0;
  std::uint64_t cached_reads = 0;  // reads of these copies instead of the SSD, estimated
};

}  // namespace foedus
