// Figure 8 of the FOEDUS paper (§9.3.2): TPC-C over the latency of NVM, with the cache of snapshot
// pages and without. Each run is in a process of its own and begins with nothing in memory, so that
// rows come from snapshots until they are written. The settings take turns.

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "experiments/common/text.h"
#include "experiments/tiers/figure.h"
#include "experiments/tiers/tpcc_speed.h"

namespace experiments::tiers {

namespace {

using Setting = std::pair<bool, std::uint64_t>;  // whether there is a cache; nanoseconds

foedus::Options tpcc_options(const Plan& plan, const Setting& setting) {
  foedus::Options options;
  options.dir = plan.dir + "/tpcc";
  options.files.device = foedus::DeviceKind::kEmulated;
  options.pages.snapshot_cache = setting.first;
  options.emulation.nvm_latency_ns = setting.second;
  return options;
}

}  // namespace

foedus::Result<Verdict> draw_foedus_8(const Plan& plan) {
  const std::vector<std::uint64_t> latencies =
      plan.is_quick
          ? std::vector<std::uint64_t>{100, 5'000, 30'000}
          : std::vector<std::uint64_t>{100, 300, 1'000, 3'000, 5'000, 10'000, 30'000, 50'000};
  tpcc::Scale scale;
  scale.warehouses = plan.is_quick ? 1 : 4;
  FOEDUS_CHECK(load_tpcc(plan, tpcc_options(plan, {true, 0}), scale).status());
  const TpccSeconds seconds =
      plan.is_quick ? TpccSeconds{.warm = 1, .measured = 1} : TpccSeconds{.warm = 2, .measured = 3};
  std::map<Setting, std::vector<double>> speeds;
  std::map<Setting, std::uint64_t> pages_read;
  for (std::uint64_t round = 0; round < plan.rounds; ++round) {
    for (const std::uint64_t latency : latencies) {
      for (const bool has_cache : {true, false}) {
        const Setting setting(has_cache, latency);
        FOEDUS_TRY(const TpccSpeed seen, measure_tpcc(plan, tpcc_options(plan, setting), seconds,
                                                      plan.seed + 10 * round));
        speeds[setting].push_back(seen.txns_per_s);
        pages_read[setting] = seen.pages_read;
      }
    }
  }
  for (const auto& [setting, runs] : speeds) {
    JsonObject point;
    point.add("latency_ns", setting.second);
    point.add("txn_per_s", median_of(runs));
    point.add("txn_per_s_least", *std::min_element(runs.begin(), runs.end()));
    point.add("txn_per_s_most", *std::max_element(runs.begin(), runs.end()));
    point.add("pages_read", pages_read[setting]);  // by the gleaner, too
    print_point("foedus8", setting.first ? "FOEDUS" : "FOEDUS-NoSC", point);
  }
  const auto speed = [&](bool has_cache, std::uint64_t latency) {
    return median_of(speeds[{has_cache, latency}]);
  };
  const std::uint64_t slowest = latencies.back();
  const double at_5_us = speed(true, 5'000) / speed(true, 100);
  const double at_slowest = speed(true, slowest) / speed(true, 100);
  const double uncached = speed(false, 100) / speed(true, 100);
  const double uncached_at_slowest = speed(false, slowest) / speed(true, slowest);
  // A short run on a busy machine differs from the next one by a fifth.
  const double noise = plan.is_quick ? 0.2 : 0.1;
  return Verdict{
      text("with the cache %.2f of the speed at 100 ns is left at 5 us and %.2f at %.0f us; "
           "without it %.2f of the speed with it at 100 ns, and %.3f at %.0f us",
           at_5_us, at_slowest, static_cast<double>(slowest) / 1e3, uncached, uncached_at_slowest,
           static_cast<double>(slowest) / 1e3),
      at_5_us > 1 - noise && at_slowest > 0.7 && uncached < 1 && uncached_at_slowest < 1.0 / 3};
}

}  // namespace experiments::tiers
