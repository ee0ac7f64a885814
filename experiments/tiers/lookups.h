#pragma once
// Reads and updates of single rows, as the SIGMOD'18 paper makes them (§5.2, §5.5).

#include <cstdint>

#include "experiments/tiers/figure.h"
#include "experiments/tiers/systems.h"

namespace experiments::tiers {

inline constexpr std::uint64_t kFieldBytes = 100;
inline constexpr std::uint64_t kFields = 10;
inline constexpr std::uint64_t kPageBytesOfRow = 1'365;  // three of YCSB to a page of 4 KiB

inline constexpr double kTheta = 0.99;

enum class RowKind : std::uint8_t {
  kYcsb,   // YCSB's rows: ten fields of 100 bytes, of which one is read or written
  kSmall,  // a key and a value of 8 bytes each
};

struct LookupSetting {
  System system = kTiersInNvm;
  Hardware hardware = {};
  std::uint64_t rows;
  RowKind kind = RowKind::kYcsb;
  // The cache in DRAM, whatever the hardware has; what else the engine needs is beside it. 0: of
  // the hardware's DRAM as much as the engine gives it.
  std::uint64_t cache_bytes = 0;
  double theta = kTheta;            // of Zipf's law, by which rows are chosen; 0: evenly
  std::uint32_t write_percent = 0;  // of YCSB rows
  double seconds = 3;
  double warm_seconds = 0;  // before; 0: as many
};

// Returns the setting, of that system.
inline LookupSetting on(const System& system, LookupSetting setting) {
  setting.system = system;
  return setting;
}

// Returns a setting of YCSB's rows, as many as fit NVM and five times what DRAM is: of 200 MB, or,
// quick, of 64 MB, the least that a database takes.
LookupSetting five_times_dram(const Plan& plan);

// Returns the size of the pages of so many rows of YCSB.
inline double data_mb(std::uint64_t rows) {
  return static_cast<double>(rows) * static_cast<double>(kPageBytesOfRow) / 1e6;
}

// A cache holds all pages once it has a quarter more room than they take: it keeps frames free for
// pages that come, and pages do not fall evenly into its stripes.
inline constexpr double kAllPagesPercent = 125;

inline std::uint64_t share_of(std::uint64_t bytes, double percent) {
  return static_cast<std::uint64_t>(static_cast<double>(bytes) * percent / 100);
}

struct LookupsSeen {
  double per_s;
  std::uint64_t lookups;
  std::uint64_t lines_read;  // of NVM, by all
  std::uint64_t ssd_reads;   // of the SSD tier
  std::uint64_t cache_bytes;
};

// Makes the rows, in snapshots, in a process of its own. Returns the bytes of pages that they take.
// Once for each number of rows, their kind, and whether there are two tiers (then of which bytes):
// systems in one place share it. Rows of main memory only are not loaded: the process that measures
// makes them.
foedus::Result<std::uint64_t> load_rows(const Plan& plan, const LookupSetting& setting);
// Removes them again.
void remove_rows(const Plan& plan, const LookupSetting& setting);

// Reads rows for a while, so that the caches fill, and then for a while that is measured, in a
// process of its own.
foedus::Result<LookupsSeen> measure_lookups(const Plan& plan, const LookupSetting& setting);

}  // namespace experiments::tiers
