// Figure 8 of the SIGMOD'18 paper (§5.2): reads of single rows over the size of the data, which
// outgrows DRAM, of 200 MB, and then NVM, of 1 GB. Beside three tiers, the same engine in main
// memory only, over NVM by whole pages, and over an SSD.

#include <array>
#include <map>
#include <string>
#include <vector>

#include "experiments/common/text.h"
#include "experiments/tiers/figure.h"
#include "experiments/tiers/lookups.h"

namespace experiments::tiers {

namespace {

using foedus::NvmCache;

constexpr std::uint64_t kMiB = 1u << 20;
constexpr std::uint64_t kPageBytesOfRow = 1'365;  // three rows of 1 KB to a page of 4 KiB

enum class System : std::uint8_t { kMemory, kTiers, kNvmPages, kSsdPages };
constexpr std::array kSystems = {System::kMemory, System::kTiers, System::kNvmPages,
                                 System::kSsdPages};

const char* name_of(System system) {
  switch (system) {
    case System::kMemory: return "main memory only";
    case System::kTiers: return "three tiers";
    case System::kNvmPages: return "NVM page cache";
    case System::kSsdPages: return "SSD page cache";
  }
  return "";
}

struct Sizes {
  std::uint64_t dram;
  std::uint64_t nvm;
  std::vector<std::uint64_t> rows;
  double seconds;

  // Main memory and NVM are only as large as they are.
  bool has(System system, std::uint64_t data_rows) const {
    const std::uint64_t bytes = data_rows * kPageBytesOfRow;
    return system != System::kNvmPages || bytes <= nvm;
  }
};

LookupSetting setting_of(System system, std::uint64_t rows, const Sizes& sizes) {
  LookupSetting setting{.rows = rows, .memory_bytes = sizes.dram, .seconds = sizes.seconds};
  setting.nvm_cache = NvmCache::kPages;
  setting.warm_seconds = 4 * sizes.seconds;
  switch (system) {
    case System::kMemory:
      setting.is_in_memory = true;
      setting.memory_bytes = 3 * rows * kPageBytesOfRow + 64 * kMiB;
      break;
    case System::kTiers:
      setting.nvm_cache = NvmCache::kAuto;
      setting.nvm_bytes = sizes.nvm;
      break;
    case System::kNvmPages: break;
    case System::kSsdPages: setting.latency_ns = setting.ssd_latency_ns; break;
  }
  return setting;
}

}  // namespace

foedus::Result<Verdict> draw_data_size(const Plan& plan) {
  const Sizes sizes =
      plan.is_quick ? Sizes{64 * kMiB, 256 * kMiB, {20'000, 120'000, 500'000}, 1.0}
                    : Sizes{200 * kMiB, 1'024 * kMiB, {60'000, 200'000, 600'000, 2'400'000}, 3.0};
  constexpr int kRounds = 3;
  std::map<std::uint64_t, std::map<System, double>> speeds;
  for (const std::uint64_t rows : sizes.rows) {
    std::map<System, std::vector<double>> seen;
    std::map<System, double> ssd_reads;
    const LookupSetting flat = setting_of(System::kNvmPages, rows, sizes);
    const LookupSetting tiered = setting_of(System::kTiers, rows, sizes);
    FOEDUS_CHECK(load_rows(plan, flat));
    FOEDUS_CHECK(load_rows(plan, tiered));
    for (int round = 0; round < kRounds; ++round) {
      for (const System system : kSystems) {
        if (!sizes.has(system, rows)) continue;
        FOEDUS_TRY(const LookupsSeen of, measure_lookups(plan, setting_of(system, rows, sizes)));
        seen[system].push_back(of.per_s);
        ssd_reads[system] =
            static_cast<double>(of.ssd_reads) / static_cast<double>(of.lookups);
      }
    }
    remove_rows(plan, flat);
    remove_rows(plan, tiered);
    for (const auto& [system, per_s] : seen) {
      speeds[rows][system] = median_of(per_s);
      JsonObject point;
      point.add("data_mb", static_cast<double>(rows) * kPageBytesOfRow / 1e6);
      point.add("lookups_per_s", median_of(per_s));
      point.add("ssd_reads_per_lookup", ssd_reads[system]);
      print_point("8", name_of(system), point);
    }
  }
  const auto ratio = [&](std::uint64_t rows, System one, System other) {
    return speeds[rows][one] / speeds[rows][other];
  };
  const std::uint64_t in_dram = sizes.rows.front();
  const std::uint64_t in_nvm = sizes.rows[sizes.rows.size() - 2];
  const std::uint64_t in_ssd = sizes.rows.back();
  const double of_memory = ratio(in_dram, System::kTiers, System::kMemory);
  const double of_nvm = ratio(in_nvm, System::kTiers, System::kNvmPages);
  const double of_ssd = ratio(in_ssd, System::kTiers, System::kSsdPages);
  return Verdict{text("three tiers have %.2f of the speed of main memory while the data fits DRAM, "
                      "%.2f times that of an NVM page cache while it fits NVM, and %.1f times that "
                      "of an SSD page cache beyond; NVM-direct is not compared",
                      of_memory, of_nvm, of_ssd),
                 of_memory >= 0.85 && of_nvm > 1 && of_ssd >= 3};
}

}  // namespace experiments::tiers
