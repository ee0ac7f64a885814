// Figure 9 of the SIGMOD'18 paper (§5.3): TPC-C over the number of warehouses, whose data outgrows
// DRAM and then NVM. Each run begins with a copy of what was loaded, for a run adds rows. How much
// less it matters to TPC-C that the data outgrows DRAM is seen beside reads of single rows (figure
// 8) of as much data.

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "experiments/common/text.h"
#include "experiments/tiers/curves.h"
#include "experiments/tiers/figure.h"
#include "experiments/tiers/lookups.h"
#include "experiments/tiers/systems.h"
#include "experiments/tiers/tpcc_speed.h"

namespace experiments::tiers {

namespace {

constexpr System kReads{"three tiers, YCSB-RO", kThreeTiers.place, kThreeTiers.cache};

// Quick, a warehouse has a fifth of its rows, and DRAM and NVM are as much smaller as a database
// allows.
class Warehouses {
 public:
  explicit Warehouses(const Plan& plan)
      : plan_(plan), curves_(plan, "9", "warehouses", "txn_per_s") {
    hardware_.dram_bytes = (plan.is_quick ? 64 : 200) * kMiB;
    hardware_.nvm_bytes = 5 * hardware_.dram_bytes;
    if (plan.is_quick) {
      scale_.customers_per_district = 600;
      scale_.orders = 600;
      scale_.items = 20'000;
    }
  }

  const Curves& curves() const { return curves_; }

  // Measures all systems that have room for so many warehouses.
  foedus::Status add(std::uint32_t warehouses) {
    scale_.warehouses = warehouses;
    FOEDUS_TRY(bytes_, load(kSsdPages));
    FOEDUS_CHECK(load(kThreeTiers).status());
    std::vector<std::pair<std::string, Curves::Measure>> curves;
    for (const System& system : {kMainMemory, kThreeTiers, kNvmPages, kNvmDirect, kSsdPages}) {
      if (!has_room(system)) continue;
      curves.emplace_back(system.name, [this, system] { return run(system); });
    }
    const foedus::Status added = curves_.add(warehouses, curves);
    remove_database(loaded(kSsdPages));
    remove_database(loaded(kThreeTiers));
    return added;
  }

  // Measures reads of single rows of as much data as the last number of warehouses.
  foedus::Status add_reads(std::uint32_t warehouses) {
    const LookupSetting setting{.system = kReads,
                                .hardware = hardware_,
                                .rows = bytes_ / kPageBytesOfRow,
                                .seconds = plan_.is_quick ? 0.6 : 2.0,
                                .warm_seconds = plan_.is_quick ? 1.0 : 4.0};
    FOEDUS_CHECK(load_rows(plan_, setting).status());
    const foedus::Status added = curves_.add_lookups(warehouses, {setting});
    remove_rows(plan_, setting);
    return added;
  }

 private:
  bool has_room(const System& system) const {
    if (system.place == Place::kDram) return bytes_ <= hardware_.dram_bytes;
    return system.place != Place::kNvm || bytes_ <= hardware_.nvm_bytes;
  }

  // Returns the directory of what was loaded for a system.
  std::string loaded(const System& system) const {
    return plan_.dir + (system.place == Place::kNvmAndSsd ? "/warehouses-tiers" : "/warehouses");
  }

  foedus::Result<std::uint64_t> load(const System& system) {
    return load_tpcc(plan_, load_options_on(system, hardware_, loaded(system)), scale_);
  }

  foedus::Result<PointSeen> run(const System& system) {
    const TpccSeconds seconds = plan_.is_quick ? TpccSeconds{.warm = 0.6, .measured = 0.6}
                                               : TpccSeconds{.warm = 1, .measured = 1.5};
    const std::string dir = plan_.dir + "/run";
    remove_database(dir);
    if (system.place != Place::kDram) FOEDUS_CHECK(copy_database(loaded(system), dir));
    const foedus::Options options = options_on(system, hardware_, dir);
    const std::uint64_t seed = plan_.seed + 10 * ++runs_;
    foedus::Result<TpccSpeed> seen =
        system.place == Place::kDram ? measure_tpcc_in_memory(plan_, options, scale_, seconds, seed)
                                     : measure_tpcc(plan_, options, seconds, seed);
    remove_database(dir);
    FOEDUS_CHECK(seen.status());
    const TpccSpeed speed = *seen;
    const double txns = std::max(speed.txns_per_s * seconds.measured, 1.0);
    return PointSeen{.per_s = speed.txns_per_s,
                     .members = {
                         {"data_mb", static_cast<double>(bytes_) / 1e6},
                         {"pages_read_per_txn", static_cast<double>(speed.pages_read) / txns},
                         {"ssd_reads_per_txn", static_cast<double>(speed.ssd_reads) / txns},
                     }};
  }

  const Plan& plan_;
  Curves curves_;
  Hardware hardware_;
  tpcc::Scale scale_;
  std::uint64_t bytes_ = 0;  // of the pages of what was loaded last
  std::uint64_t runs_ = 0;
};

}  // namespace

foedus::Result<Verdict> draw_warehouses(const Plan& plan) {
  const auto numbers = plan.is_quick ? std::vector<std::uint32_t>{1, 10, 20}
                                     : std::vector<std::uint32_t>{1, 4, 8, 12};
  const std::uint32_t in_dram = numbers.front();
  const std::uint32_t in_nvm = numbers[numbers.size() - 2];
  const std::uint32_t in_ssd = numbers.back();
  Warehouses warehouses(plan);
  for (const std::uint32_t number : numbers) {
    FOEDUS_CHECK(warehouses.add(number));
    if (number == in_dram || number == in_nvm) FOEDUS_CHECK(warehouses.add_reads(number));
  }
  const Curves& curves = warehouses.curves();
  const RegionRatios times(curves, in_dram, in_nvm, in_ssd);
  const double kept = curves.kept(kThreeTiers, in_dram, in_nvm);
  const double reads_kept = curves.kept(kReads, in_dram, in_nvm);
  return Verdict{text("%s; outgrowing DRAM leaves %.2f of TPC-C's speed, and %.2f of that of reads",
                      times.text().c_str(), kept, reads_kept),
                 times.of_memory <= 1 && times.of_nvm > 1 && times.of_direct > 1 &&
                     times.of_ssd >= 2.5 && kept > reads_kept};
}

}  // namespace experiments::tiers
