#pragma once
// Reads and updates of single rows, as the SIGMOD'18 paper makes them (§5.2): YCSB's rows of ten
// fields of 100 bytes, of which one is read or written, chosen by Zipf's law.

#include <cstdint>

#include "experiments/tiers/figure.h"
#include "foedus/options.h"

namespace experiments::tiers {

inline constexpr std::uint64_t kFieldBytes = 100;
inline constexpr std::uint64_t kFields = 10;

struct LookupSetting {
  std::uint64_t rows;
  std::uint64_t memory_bytes;  // DRAM
  foedus::DeviceKind device = foedus::DeviceKind::kEmulated;
  foedus::NvmCache nvm_cache = foedus::NvmCache::kMiniPages;
  std::uint64_t latency_ns = 500;
  double theta = 0.99;
  std::uint32_t write_percent = 0;
  double seconds = 3;
};

struct LookupsSeen {
  double per_s;
  std::uint64_t lookups;
  std::uint64_t lines_read;  // of NVM, by all
  std::uint64_t cache_bytes;
};

// Makes the rows, in snapshots, and ends the process that did it. Once for each number of rows.
foedus::Status load_rows(const Plan& plan, std::uint64_t rows);

// Reads rows for a while, so that the caches fill, and then for a while that is measured, in a
// process of its own.
foedus::Result<LookupsSeen> measure_lookups(const Plan& plan, const LookupSetting& setting);

}  // namespace experiments::tiers
