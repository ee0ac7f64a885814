#pragma once
// The systems that the figures of the SIGMOD'18 paper compare (§5.3), each as options of this
// engine, and the hardware below them.

#include <cstdint>
#include <string>

#include "foedus/options.h"
#include "foedus/status.h"

namespace experiments::tiers {

inline constexpr std::uint64_t kMiB = 1u << 20;

// One DIMM of the first such memory, read sequentially (Izraelevitz et al., "Basic Performance
// Measurements of the Intel Optane DC Persistent Memory Module", 2019).
inline constexpr std::uint64_t kNvmBandwidthMb = 6'600;
// Sequential reads of an SSD on PCIe.
inline constexpr std::uint64_t kSsdBandwidthMb = 2'000;

// Where the data lies.
enum class Place : std::uint8_t {
  kDram,       // all of it in pages that can be written; nothing is logged
  kNvm,        // all of it
  kNvmAndSsd,  // in two tiers: what does not fit NVM is on the SSD
  kSsd,        // all of it, and the log
};

struct System {
  const char* name;  // of its curve
  Place place;
  foedus::NvmCache cache;
};

inline constexpr System kMainMemory{"main memory only", Place::kDram, foedus::NvmCache::kPages};
inline constexpr System kThreeTiers{"three tiers", Place::kNvmAndSsd, foedus::NvmCache::kAuto};
// For data that is never larger than NVM. An eighth of the NVM of two tiers is left free for
// snapshots to come, so that data of its size would not fit.
inline constexpr System kTiersInNvm{"three tiers", Place::kNvm, foedus::NvmCache::kAuto};
inline constexpr System kNvmPages{"NVM page cache", Place::kNvm, foedus::NvmCache::kPages};
// All is read from NVM in place, and nothing is kept in DRAM but what was written since the last
// glean. The emulated memory makes each read of a line wait, where a processor would find some of
// them in its caches.
inline constexpr System kNvmDirect{"NVM-direct", Place::kNvm, foedus::NvmCache::kDirect};
// Pages above the rows are in DRAM; rows are read from NVM in place, as FPTree reads its leaves.
inline constexpr System kHybrid{"hybrid", Place::kNvm, foedus::NvmCache::kHybrid};
inline constexpr System kSsdPages{"SSD page cache", Place::kSsd, foedus::NvmCache::kPages};

struct Hardware {
  // Options::memory_bytes. Main memory only has as much as it takes.
  std::uint64_t dram_bytes = 200 * kMiB;
  std::uint64_t nvm_bytes = 0;  // of kNvmAndSsd only; on NVM alone there is room for all
  std::uint64_t nvm_latency_ns = 500;
  std::uint64_t ssd_latency_ns = 100'000;
};

// Returns options of a database in `dir` (and, in two tiers, in "<dir>-ssd").
foedus::Options options_on(const System& system, const Hardware& hardware, const std::string& dir);

// Returns the same for a load, which is not measured: devices take no time, DRAM is not scarce.
foedus::Options load_options_on(const System& system, const Hardware& hardware,
                                const std::string& dir);

// Copies such a database, which is closed, to another directory. kIoError.
foedus::Status copy_database(const std::string& from, const std::string& to);

// Removes the directories of such a database.
void remove_database(const std::string& dir);

}  // namespace experiments::tiers
