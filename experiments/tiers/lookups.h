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
  std::uint64_t nvm_bytes = 0;  // of two tiers; 0: all lies on NVM
  std::uint64_t ssd_latency_ns = 100'000;
  bool is_in_memory = false;  // no log and no snapshots; load_rows() is not for it
  double theta = 0.99;
  std::uint32_t write_percent = 0;
  double seconds = 3;
  double warm_seconds = 0;  // before; 0: as many
};

struct LookupsSeen {
  double per_s;
  std::uint64_t lookups;
  std::uint64_t lines_read;  // of NVM, by all
  std::uint64_t ssd_reads;   // of the SSD tier
  std::uint64_t cache_bytes;
};

// Makes the rows, in snapshots, and ends the process that did it. Once for each number of rows and
// bytes of the NVM tier, as in the setting.
foedus::Status load_rows(const Plan& plan, const LookupSetting& setting);
// Removes them again.
void remove_rows(const Plan& plan, const LookupSetting& setting);

// Reads rows for a while, so that the caches fill, and then for a while that is measured, in a
// process of its own.
foedus::Result<LookupsSeen> measure_lookups(const Plan& plan, const LookupSetting& setting);

}  // namespace experiments::tiers
